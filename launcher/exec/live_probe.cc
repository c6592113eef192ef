#include "launcher/exec/live_probe.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "launcher/exec/attempt.h"
#include "verify/verify_file.h"

namespace oncelatch::launcher {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongest{30};
constexpr std::size_t kMostHeard = 4096;
constexpr int kMostErrno = 4095;

// Until the far side is closed, the bound or the deadline.
std::string hear(int fd) {
  std::string heard;
  std::array<char, 512> buffer;
  const Clock::time_point deadline = Clock::now() + kLongest;
  while (heard.size() < kMostHeard) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry{fd, POLLIN, 0};
    if (left <= 0 || ::poll(&entry, 1, static_cast<int>(left)) <= 0) break;
    ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) break;
    heard.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return heard;
}

// "NAME ERRNO" a line; anything else is a fault.
Result<std::vector<Attempt>> attempts_of(const std::string& heard) {
  std::vector<Attempt> attempts;
  for (std::size_t start = 0; start < heard.size();) {
    std::size_t end = std::min(heard.find('\n', start), heard.size());
    std::size_t blank = std::min(heard.find(' ', start), end);
    Attempt one{heard.substr(start, blank - start), -1};
    std::from_chars(heard.data() + std::min(blank + 1, end), heard.data() + end, one.error);
    if (one.name.empty() || one.error < 0 || one.error > kMostErrno)
      return fail("probe", "live probe", "told something else than results", "run it again");
    attempts.push_back(std::move(one));
    start = end + 1;
  }
  return attempts;
}

}  // namespace

std::optional<int> LiveProbe::error_of(std::string_view name) const {
  auto found = std::find_if(attempts.begin(), attempts.end(), [&](const Attempt& one) { return one.name == name; });
  return found == attempts.end() ? std::nullopt : std::optional<int>(found->error);
}

Result<LiveProbe> probe_live(sandbox::SandboxPlan plan, const std::string& program,
                             const std::vector<std::string>& words, const sandbox::HostFacts& facts) {
  VerifiedArtifact artifact = TRY(verify::open_program(program));
  plan.argv = {std::string(kAttemptName)};
  plan.argv.insert(plan.argv.end(), words.begin(), words.end());
  plan.program_inside.clear();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("probe", "pipe", errno);
  Fd read(ends[0]);
  Fd write(ends[1]);
  sandbox::Confined confined = TRY(sandbox::enter(plan, artifact, facts, {.output = write.get()}));
  write.reset();
  std::string heard = hear(read.get());
  LiveProbe probe;
  probe.limits = confined.group.in_words();
  probe.self_test = confined.self_test;
  confined.lifeline.reset();  // ends what is still there
  (void)TRY(confined.process.wait(kLongest));
  probe.attempts = TRY(attempts_of(heard));
  return probe;
}

}  // namespace oncelatch::launcher
