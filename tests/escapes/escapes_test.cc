// The catalogue is complete, the judge isn't fooled by what fails anyway, and the program can say that something
// doesn't hold.
#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/json.h"
#include "base/process.h"
#include "tests/escapes/catalogue.h"
#include "tests/escapes/judge.h"
#include "tests/escapes/launcher.h"
#include "tests/escapes/stage.h"
#include "tests/escapes/text.h"

namespace oncelatch::escapes {

namespace {

std::string beside(const std::string& name) {
  char self[PATH_MAX] = {};
  EXPECT_GT(::readlink("/proc/self/exe", self, sizeof self - 1), 0);
  return std::filesystem::path(self).parent_path() / name;
}

const Case kCase{.id = "E000", .technique = "x", .attempts = {{"io-uring", kPermission}, {"keyctl", "", true}}};

Verdict of(const Case& one, const std::vector<Line>& inside, const std::vector<Line>& outside, bool strict = false) {
  Observed observed{inside, {}, {}, {}};
  Observed without{outside, {}, {}, {}};
  return judge(one, observed, &without, strict).verdict;
}

// Those that need the host to act, and one for a profile of git, are elsewhere
// (tests/launcher/guarded_workspace_test.cc).
const std::set<std::string> kTestedElsewhere = {"E011", "E012", "E025", "E039", "E040", "E043", "E045", "E047"};

TEST(Catalogue, HoldsEveryCaseOnce) {
  std::ifstream file(ONCELATCH_CASES_DIR "/sandbox-escapes.json");
  std::stringstream text;
  text << file.rdbuf();
  Result<Json> entries = parse_json(text.str(), {}, "sandbox-escapes.json");
  ASSERT_TRUE(entries) << entries.error().message();
  std::set<std::string> wanted;
  for (const Json& entry : *entries)
    if (*json_string(entry, "part") == "sandbox core" ||
        (*json_string(entry, "part") == "workspace guard" && kTestedElsewhere.count(*json_string(entry, "id")) == 0))
      wanted.insert(*json_string(entry, "id"));
  std::set<std::string> found;
  for (const Case& one : catalogue()) {
    if (is_work(one)) continue;
    EXPECT_TRUE(found.insert(one.id).second) << one.id;
    EXPECT_TRUE(!one.attempts.empty() || one.procedure != nullptr) << one.id;
  }
  EXPECT_EQ(found, wanted);
}

TEST(Catalogue, EveryWordIsKnownToTheProbe) {
  std::set<std::string> names;
  for (const Case& one : catalogue())
    for (const Attempt& attempt : one.attempts) names.insert(attempt.word.substr(0, attempt.word.find('=')));
  Spawn spawn;
  spawn.path = "/bin/grep";
  spawn.argv = {"grep", "-c", "-F", "-w", "", beside("probe")};
  for (const std::string& name : names) {
    spawn.argv[4] = name;  // the table's names are strings of the program
    Result<Output> output = run_bounded(spawn, 4096, std::chrono::seconds(10));
    ASSERT_TRUE(output);
    EXPECT_EQ(output->status.code, 0) << name;
  }
}

// They are made without a launcher as well, by root too.
TEST(Catalogue, AttemptsChangeNothingOutsideTheScene) {
  const std::set<std::string> changing = {"write",       "mkdir",      "unlink",      "truncate",       "rename",
                                          "exchange",    "link",       "kill",        "mknod-block",    "mknod-char",
                                          "chmod-suid",  "race-write", "create-sgid", "tmpfile-suid",   "sparse-file",
                                          "shed-mounts", "mount",      "vm-write",    "file-capability"};
  int seen = 0;
  for (const Case& one : catalogue()) {
    for (const Attempt& attempt : one.attempts) {
      std::string word = attempt.word.starts_with("memfd-attempt=") ? attempt.word.substr(14) : attempt.word;
      if (!changing.contains(word.substr(0, word.find('=')))) continue;
      ++seen;
      EXPECT_EQ(word[word.find('=') + 1], '{') << one.id << " " << attempt.word;
    }
  }
  EXPECT_GT(seen, 20);
}

TEST(LauncherLine, IsSplitAndFilled) {
  Result<Launcher> launcher = Launcher::parse("env 'A=b c' {loopback:--net {workspace}} --in {workspace} {} end");
  ASSERT_TRUE(launcher) << launcher.error().message();
  EXPECT_EQ(launcher->command("/w", "", {"x", "y z"}),
            (std::vector<std::string>{"env", "A=b c", "--in", "/w", "x", "y z", "end"}));
  EXPECT_EQ(launcher->command("/w", "time loopback", {"x"}),
            (std::vector<std::string>{"env", "A=b c", "--net", "/w", "--in", "/w", "x", "end"}));
  EXPECT_TRUE(launcher->knows("loopback"));
  EXPECT_FALSE(launcher->knows("time"));
  EXPECT_FALSE(Launcher::parse("no-such-launcher {}"));
}

TEST(LauncherLine, TheCommandComesLastWhenNoPlaceIsNamed) {
  Result<Launcher> launcher = Launcher::parse(R"(env "q\"r" s)");
  ASSERT_TRUE(launcher);
  EXPECT_EQ(launcher->command("/w", "", {"x"}), (std::vector<std::string>{"env", "q\"r", "s", "x"}));
}

TEST(Judging, HeldOnlyWhereTheAttemptIsPossible) {
  EXPECT_EQ(of(kCase, {{"io-uring", "ENOSYS"}}, {{"io-uring", "OK"}}), Verdict::held);
  EXPECT_EQ(of(kCase, {{"io-uring", "ENOSYS"}}, {{"io-uring", "EINVAL"}}), Verdict::held);
  EXPECT_EQ(of(kCase, {{"io-uring", "ENOSYS"}}, {{"io-uring", "EPERM"}}), Verdict::untestable);
  EXPECT_EQ(of(kCase, {{"io-uring", "ENOSYS"}}, {{"io-uring", ""}}), Verdict::untestable);
  EXPECT_EQ(of(kCase, {{"io-uring", "SIG31"}}, {{"io-uring", "OK"}}), Verdict::held);
  EXPECT_EQ(of(kCase, {{"io-uring", "SIG31"}}, {{"io-uring", "ENOSYS"}}), Verdict::held);
  EXPECT_EQ(of(kCase, {{"io-uring", "SIG31"}}, {{"io-uring", "SIG31"}}), Verdict::untestable);
}

TEST(Judging, NotHeldWhenReachedOrSilent) {
  EXPECT_EQ(of(kCase, {{"io-uring", "OK"}}, {{"io-uring", "OK"}}), Verdict::open);
  EXPECT_EQ(of(kCase, {{"io-uring", "OK"}}, {{"io-uring", "EPERM"}}), Verdict::open);
  EXPECT_EQ(of(kCase, {{"io-uring", "EFAULT"}}, {{"io-uring", "OK"}}), Verdict::open);
  EXPECT_EQ(of(kCase, {{"io-uring", ""}}, {{"io-uring", "OK"}}), Verdict::open);
  EXPECT_EQ(of(kCase, {{"io-uring", "unknown"}}, {{"io-uring", "OK"}}), Verdict::open);
}

TEST(Judging, WorkMustSucceedBeside) {
  EXPECT_EQ(of(kCase, {{"io-uring", "EPERM"}, {"w", "ECANCELED", true}}, {{"io-uring", "OK"}, {"w", "OK", true}}),
            Verdict::open);
  EXPECT_EQ(
      of(kCase, {{"io-uring", "EPERM"}, {"w", "ECANCELED", true}}, {{"io-uring", "OK"}, {"w", "ECANCELED", true}}),
      Verdict::held);
  Case work{.id = "git", .technique = "x", .work = {"w"}};
  EXPECT_EQ(of(work, {{"w", "OK", true}}, {{"w", "OK", true}}), Verdict::held);
  EXPECT_EQ(of(work, {{"w", "ECANCELED", true}}, {{"w", "OK", true}}), Verdict::open);
  EXPECT_EQ(of(work, {{"w", "ECANCELED", true}}, {{"w", "ECANCELED", true}}), Verdict::untestable);
}

TEST(Judging, StricterAttemptsAreOurs) {
  std::vector<Line> outside = {{"io-uring", "OK"}, {"keyctl", "OK"}};
  std::vector<Line> inside = {{"io-uring", "EPERM"}, {"keyctl", "OK"}};
  EXPECT_EQ(of(kCase, inside, outside), Verdict::held);
  EXPECT_EQ(of(kCase, inside, outside, true), Verdict::open);
}

TEST(Judging, ALaunchThatFailedHoldsNothing) {
  Observed failed{{{"io-uring", "EPERM", false}}, "code 99", {}, {}};
  EXPECT_EQ(judge(kCase, failed, nullptr, false).verdict, Verdict::open);
}

Output run_suite(const std::vector<std::string>& options) {
  Spawn spawn;
  spawn.path = beside("oncelatch-escapes");
  spawn.argv = {"oncelatch-escapes"};
  spawn.argv.insert(spawn.argv.end(), options.begin(), options.end());
  spawn.environment = {"PATH=/usr/bin:/bin"};
  Result<Output> output = run_bounded(spawn, std::size_t{1} << 20, std::chrono::seconds(60));
  EXPECT_TRUE(output) << output.error().message();
  return output ? *output : Output{};
}

TEST(Program, SaysThatNothingHoldsWithoutASandbox) {
  std::vector<std::string> options = {"--launcher", "env {}", "--only", "E015,E062,E069,E087,E095,E104,E127,E129"};
  Output output = run_suite(options);
  EXPECT_EQ(output.status.code, 1) << output.out << output.err;
  EXPECT_NE(output.out.find(": 0 held, 8 not held"), std::string::npos) << output.out;
  options.insert(options.end(), {"--expect-open", options.back()});
  EXPECT_EQ(run_suite(options).status.code, 0);
  options.back() = "E015";
  EXPECT_EQ(run_suite(options).status.code, 1);
}

TEST(Program, PrintsJson) {
  Output output = run_suite({"--launcher", "env {}", "--only", "E015,shell", "--json"});
  Result<Json> json = parse_json(output.out, {}, "output");
  ASSERT_TRUE(json) << output.out;
  const Json* rows = json_array(*json, "results");
  ASSERT_NE(rows, nullptr);
  ASSERT_EQ(rows->size(), 4U);
  EXPECT_EQ(*json_string((*rows)[1], "verdict"), "NOT HELD");
  EXPECT_EQ(*json_string((*rows)[3], "verdict"), "works");
}

TEST(Program, ExpectedGapsThatHoldAreAFailure) {
  Output output = run_suite({"--launcher", "env {}", "--only", "shell", "--expect-open", "shell"});
  EXPECT_EQ(output.status.code, 1);
  EXPECT_NE(output.err.find("shell was expected not to hold"), std::string::npos) << output.err;
}

TEST(Program, RefusesUnknownWords) {
  EXPECT_EQ(run_suite({"--launcher", "no-such-launcher"}).status.code, 2);
  EXPECT_EQ(run_suite({"--no-such-option"}).status.code, 2);
  EXPECT_EQ(run_suite({"--only", "E999"}).status.code, 2);
}

}  // namespace
}  // namespace oncelatch::escapes
