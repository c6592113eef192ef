#include "launcher/report.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>

#include "base/beneath.h"
#include "base/untrusted.h"

namespace oncelatch::launcher {
namespace {

Result<Fd> open_target(const std::string& target) {
  if (target.rfind("fd:", 0) == 0) {
    int number = -1;
    const char* end = target.data() + target.size();
    auto [rest, error] = std::from_chars(target.data() + 3, end, number);
    int copy = error == std::errc() && rest == end && number >= 0 ? ::fcntl(number, F_DUPFD_CLOEXEC, 3) : -1;
    if (copy < 0)
      return fail("events", escape_for_display(target, 100), "no such open descriptor",
                  "--events fd:N with N open, or a file");
    return Fd(copy);
  }
  Fd file(::open(target.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!file)
    return fail_errno("events", escape_for_display(target, 400), errno,
                      "name a file that can be created with --events FILE");
  return file;
}

// In pieces that a pipe takes whole once it says it has room; a reader that stalls for 100 ms loses the stream, never
// us.
bool write_in_time(int fd, std::string_view text) {
  while (!text.empty()) {
    pollfd room{fd, POLLOUT, 0};
    if (::poll(&room, 1, 100) <= 0) return false;
    ssize_t written = ::write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Result<Events> Events::open(const std::string& target, const redact::Redactor& redactor, const Clock& clock) {
  Events events;
  events.redactor_ = &redactor;
  events.clock_ = &clock;
  if (!target.empty()) events.file_ = TRY(open_target(target));
  return events;
}

void Events::emit(const std::string& kind, Json body) {
  if (!file_) return;
  body["event"] = kind;
  body["time"] = rfc3339(clock_->wall());
  std::string line = dump_json(redactor_->value(body)) + "\n";
  if (redactor_->contains_secret(line)) line = dump_json(Json{{"event", kind}, {"redacted", true}}) + "\n";
  if (write_in_time(file_.get(), line)) return;
  file_.reset();
  lost_ = true;
}

Status write_report(const ReportFile& file, const Json& report, const redact::Redactor& redactor) {
  std::string text = dump_json(redactor.value(report)) + "\n";
  if (redactor.contains_secret(text)) {
    return fail("report", file.shown(), "a credential would be in it; not written",
                "oncelatch audit list shows the run");
  }
  return file.write(text);
}

}  // namespace oncelatch::launcher
