// Every way in which a launch is refused before anything starts: message with stage, object, what and a next step; exit
// code; nothing left.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/launcher/scratch.h"

namespace oncelatch::test {
namespace {

void expect_refused(const Scratch& scratch, const std::vector<std::string>& arguments, int code,
                    const std::vector<std::string>& words) {
  Output output = scratch.oncelatch(arguments);
  EXPECT_EQ(output.status.shell_code(), code) << output.err;
  for (const std::string& word : words)
    EXPECT_NE(output.err.find(word), std::string::npos) << "no \"" << word << "\" in: " << output.err;
  EXPECT_NE(output.err.find("try:"), std::string::npos) << output.err;
  EXPECT_TRUE(scratch.session_directories().empty());
}

std::vector<std::string> with(const Scratch& scratch, std::vector<std::string> more) {
  return scratch.run_arguments(std::move(more));
}

TEST(Refusal, UnknownCommandAndAgent) {
  Scratch scratch;
  expect_refused(scratch, {"fly"}, 122, {"command line: fly", "no such command"});
  expect_refused(scratch, {"aproval"}, 122, {"did you mean approvals"});
  expect_refused(scratch, {"run", "kiroo"}, 122, {"agent: kiroo", "did you mean kiro"});
  expect_refused(scratch, {"doctor", "--", "x"}, 122, {"belong to run"});
}

TEST(Refusal, NoSuchCli) {
  Scratch scratch;
  expect_refused(scratch, {"run", "kiro"}, 127, {"agent: kiro-cli", "no such program", "--cli-path"});
  expect_refused(scratch, {"run", "kiro", "--cli-path", "/nowhere/kiro-cli"}, 127, {"verify: /nowhere/kiro-cli"});
  scratch.write("not-executable", "x", 0600);
  expect_refused(scratch, {"run", "kiro", "--cli-path", scratch.path("not-executable")}, 126, {"verify:"});
}

TEST(Refusal, DigestMismatch) {
  Scratch scratch;
  expect_refused(scratch, with(scratch, {"--sha256", std::string(64, 'a')}), 125,
                 {"verify:", std::string(64, 'a'), sha256_file(program("kiro-cli"))});
  expect_refused(scratch, with(scratch, {"--sha256", "abc"}), 122, {"--sha256", "64 hexadecimal"});
  EXPECT_EQ(scratch.report().at("exit").at("reason"), "configuration-refused");
}

TEST(Refusal, Policy) {
  Scratch scratch;
  expect_refused(scratch, with(scratch, {"--policy", scratch.path("none.yaml")}), 122, {"policy:", "none.yaml"});
  scratch.write("typo.yaml", "rules:\n  - match: [\"ls\"]\n    capability: shell\n    efect: allow\n");
  expect_refused(scratch, with(scratch, {"--policy", scratch.path("typo.yaml")}), 122,
                 {"typo.yaml:4:5", "efect", "effect"});
  scratch.write("open.yaml", "rules: []\n", 0666);
  expect_refused(scratch, with(scratch, {"--policy", scratch.path("open.yaml")}), 122,
                 {"others can write it", "chmod"});
  scratch.write("repository/policy.yaml", "rules: []\n");
  expect_refused(scratch, with(scratch, {"--policy", scratch.path("repository/policy.yaml")}), 122,
                 {"the policy lies in it"});
}

TEST(Refusal, EmptyValuesSwitchNothingOff) {
  Scratch scratch;
  for (const char* option : {"--sha256", "--policy", "--workspace", "--report", "--events", "--cli-path"}) {
    expect_refused(scratch, {"run", "kiro", option, ""}, 122, {option, "empty"});
  }
}

TEST(Refusal, WhatIsNoProgram) {
  Scratch scratch;
  expect_refused(scratch, {"run", "kiro", "--cli-path", "/etc"}, 126, {"verify: /etc"});
  scratch.write("junk", "no program at all", 0755);
  Output output = scratch.oncelatch({"run", "kiro", "--cli-path", scratch.path("junk")});
  EXPECT_EQ(output.status.shell_code(), 126) << output.err;
}

TEST(Refusal, Workspace) {
  Scratch scratch;
  std::vector<std::string> base = {"run", "kiro", "--cli-path", program("kiro-cli"), "--workspace"};
  auto at = [&base](const std::string& workspace) {
    std::vector<std::string> all = base;
    all.push_back(workspace);
    return all;
  };
  expect_refused(scratch, at(scratch.path("missing")), 122, {"workspace:", "No such file"});
  expect_refused(scratch, at("/"), 122, {"workspace: /"});
  expect_refused(scratch, at(scratch.path("home")), 122, {"workspace:", "home"});
  expect_refused(scratch, at(scratch.path("")), 122, {"workspace:", "home"});
  for (const char* system : {"/etc", "/etc/ssl", "/usr/local/bin", "/usr/src", "/sys/kernel", "/sys/fs/cgroup",
                             "/dev/shm", "/proc/self", "/run", "/var/lib"})
    expect_refused(scratch, at(system), 122, {"workspace: /", "system directory"});
  expect_refused(scratch, at(program("kiro-cli")), 122, {"is not a directory"});
  ASSERT_EQ(::symlink(scratch.path("home").c_str(), scratch.path("link").c_str()), 0);
  expect_refused(scratch, at(scratch.path("link")), 122, {"home"});
}

TEST(Refusal, AWorkspaceThatHoldsOurOwnThings) {
  Scratch scratch;
  std::vector<std::string> base = {"run", "kiro", "--workspace"};
  auto at = [&base](const std::string& workspace, std::vector<std::string> more) {
    std::vector<std::string> all = base;
    all.push_back(workspace);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  std::vector<std::string> cli = {"--cli-path", program("kiro-cli")};
  expect_refused(scratch, at(scratch.path("state"), cli), 122, {"the record lies in it"});
  expect_refused(scratch, at(scratch.path("runtime"), cli), 122, {"the session directory lies in it"});
  expect_refused(scratch, at(std::string(ONCELATCH_BINARY_DIR) + "/launcher", cli), 122,
                 {"oncelatch itself lies in it"});
  scratch.write("repository/kiro-cli", "#!/bin/sh\n", 0755);
  expect_refused(scratch, at(scratch.path("repository"), {"--cli-path", scratch.path("repository/kiro-cli")}), 122,
                 {"the agent's program lies in it", "--sha256"});
}

TEST(Refusal, ReportPlace) {
  Scratch scratch;
  expect_refused(scratch,
                 {"run", "kiro", "--cli-path", program("kiro-cli"), "--workspace", scratch.path("repository"),
                  "--report", scratch.path("no/such/report.json")},
                 122, {"report:"});
}

TEST(Refusal, TrustFlagsOfTheAgent) {
  Scratch scratch;
  for (const char* flag : {"--trust-all-tools", "-a", "--trust-tools=shell"}) {
    expect_refused(scratch, with(scratch, {"--", flag}), 122, {"agent:", flag, "--policy"});
  }
}

TEST(Refusal, EventsTarget) {
  Scratch scratch;
  std::vector<std::string> arguments = {
      "run", "kiro", "--cli-path", program("kiro-cli"), "--workspace", scratch.path("repository"), "--events"};
  std::vector<std::string> closed = arguments;
  closed.emplace_back("fd:77");
  expect_refused(scratch, closed, 122, {"events: fd:77"});
  arguments.push_back(scratch.path("no/such/file"));
  expect_refused(scratch, arguments, 122, {"events:", "No such file"});
}

TEST(Refusal, EscapesHostileNames) {
  Scratch scratch;
  Output output = scratch.oncelatch({"run", "kiro", "--workspace", scratch.path("\x1b]0;x\x07\u202e")});
  EXPECT_EQ(output.status.shell_code(), 122);
  EXPECT_EQ(output.err.find('\x1b'), std::string::npos);
  EXPECT_EQ(output.err.find("\u202e"), std::string::npos);
}

// A mount namespace of its own in which tmux is another file.
Output with_tmux(const Scratch& scratch, const std::string& script, unsigned mode) {
  scratch.write("tmux", script, mode);
  std::string mount = "mount --bind " + scratch.path("tmux") + " /usr/bin/tmux && exec \"$@\"";
  std::vector<std::string> front = {"/usr/bin/unshare", "-m"};
  if (::geteuid() != 0) front = {"/usr/bin/unshare", "-rm"};
  front.insert(front.end(), {"/bin/sh", "-c", mount, "sh"});
  return scratch.oncelatch_behind(front, scratch.run_arguments());
}

TEST(Refusal, NoTmux) {
  Scratch scratch;
  Output output = with_tmux(scratch, "", 0644);
  EXPECT_EQ(output.status.shell_code(), 125) << output.err;
  EXPECT_NE(output.err.find("tmux: "), std::string::npos) << output.err;
  EXPECT_NE(output.err.find("try: "), std::string::npos) << output.err;
  EXPECT_TRUE(scratch.session_directories().empty());
}

TEST(Refusal, OldTmux) {
  Scratch scratch;
  Output output = with_tmux(scratch, "#!/bin/sh\necho tmux 2.9a\n", 0755);
  EXPECT_EQ(output.status.shell_code(), 125) << output.err;
  EXPECT_NE(output.err.find("2.9"), std::string::npos) << output.err;
  EXPECT_NE(output.err.find("3.3"), std::string::npos) << output.err;
  EXPECT_NE(output.err.find("try: "), std::string::npos) << output.err;
}

// As on a kernel without the feature: the launch is refused with one paragraph, and doctor says the same.
TEST(Refusal, AKernelWithoutANeededFeature) {
  for (const char* missing : {"landlock", "user-namespaces"}) {
    Scratch scratch;
    std::vector<std::string> front = {std::string(ONCELATCH_BINARY_DIR) + "/tests/probes/deny_syscall", missing};
    Output run = scratch.oncelatch_behind(front, scratch.run_arguments());
    EXPECT_EQ(run.status.shell_code(), 121) << missing << run.err;
    EXPECT_NE(run.err.find("sandbox: "), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("try: "), std::string::npos) << run.err;
    EXPECT_EQ(scratch.report().at("exit").at("reason"), "guarantee-unavailable");
    Output doctor = scratch.oncelatch_behind(front, {"doctor"});
    EXPECT_EQ(doctor.status.shell_code(), 121) << missing;
    EXPECT_NE(doctor.out.find("MISSING"), std::string::npos) << doctor.out;
    EXPECT_TRUE(scratch.session_directories().empty());
  }
}

// The record can't be written: nothing may run.
TEST(Refusal, NoRecordNoSession) {
  Scratch scratch;
  scratch.write("state/oncelatch", "a file where the directory should be");
  Output output = scratch.oncelatch(scratch.run_arguments());
  EXPECT_EQ(output.status.shell_code(), 125) << output.err;
  EXPECT_NE(output.err.find("state/oncelatch"), std::string::npos) << output.err;
  EXPECT_TRUE(scratch.session_directories().empty());
  EXPECT_TRUE(scratch.processes_left().empty());
}

}  // namespace
}  // namespace oncelatch::test
