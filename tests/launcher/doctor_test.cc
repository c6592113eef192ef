// `oncelatch doctor`: what it says is proved by a sandbox that it made; without a needed feature it says what is
// missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/untrusted.h"
#include "tests/launcher/scratch.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Without the page's line breaks.
std::string in_a_row(const std::string& page) {
  std::string text;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const bool goes_on = line.starts_with("                    ");
    text += (goes_on ? " " : "\n") + (goes_on ? line.substr(line.find_first_not_of(' ')) : line);
  }
  return text;
}

class Doctor : public ::testing::TestWithParam<uid_t> {
 protected:
  Json ask_json() const {
    Output output = scratch.oncelatch({"doctor", "--json"});
    EXPECT_EQ(output.status.shell_code(), 0) << output.out << output.err;
    Result<Json> body = parse_json(output.out, {}, "doctor");
    EXPECT_TRUE(body) << output.out;
    return body ? *body : Json::object();
  }
  Scratch scratch{GetParam()};
};

std::set<std::string> doctors_directories() {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/tmp"))
    if (entry.path().filename().string().starts_with("oncelatch-doctor-")) found.insert(entry.path());
  return found;
}

// Those of tests beside this one come and go.
bool leaves_nothing(const std::set<std::string>& before) {
  return eventually(
      [&] {
        const std::set<std::string> now = doctors_directories();
        return std::includes(before.begin(), before.end(), now.begin(), now.end());
      },
      std::chrono::seconds(10));
}

TEST_P(Doctor, ProvesWhatItSays) {
  const std::set<std::string> before = doctors_directories();
  Json body = ask_json();
  EXPECT_EQ(body.at("tier"), "full");
  EXPECT_EQ(body.at("ready"), true);
  EXPECT_EQ(body.at("self_test").at("held"), true);
  ASSERT_GE(body.at("self_test").at("probes").size(), 10U);
  for (const Json& probe : body.at("self_test").at("probes")) {
    EXPECT_EQ(probe.at("refused"), true) << probe;
    EXPECT_NE(probe.at("errno"), 0) << probe;
    EXPECT_NE(probe.at("layers"), "") << probe;
  }
  EXPECT_EQ(body.at("guarantees").size(), 11U);
  EXPECT_THAT(body.at("limits").get<std::string>(), AllOf(HasSubstr("memory: "), HasSubstr("processes: ")));
  EXPECT_TRUE(leaves_nothing(before));
}

TEST_P(Doctor, NamesTheUser) {
  Json identity = ask_json().at("identity");
  if (GetParam() == 0) {
    EXPECT_NE(identity.at("uid"), 0) << "root isn't used";
    EXPECT_EQ(identity.at("shown_uid"), 0);
  } else {
    EXPECT_EQ(identity.at("uid"), GetParam());
    EXPECT_EQ(identity.at("idmapped"), false);
  }
}

TEST_P(Doctor, ReadsWellInATerminal) {
  Output output = scratch.oncelatch({"doctor"});
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_THAT(output.out,
              AllOf(HasSubstr("self-test"), HasSubstr("refused  write-outside"), HasSubstr("landlock alone"),
                    HasSubstr("who the sandbox runs as"), HasSubstr("Ready:")));
  std::istringstream lines(output.out);
  for (std::string line; std::getline(lines, line);) {
    const bool is_path = line.find('/') != std::string::npos;  // one word, however long
    EXPECT_TRUE(is_path || display_width(line) <= 80U) << line;
  }
}

// What is left out of the machine is named, with what is lost and what helps; and where it says "ready", exec starts.
TEST_P(Doctor, WhatIsMissingIsLostAndSaid) {
  struct Row {
    const char* what;
    std::vector<std::string> says;
    std::vector<std::string> lost;
  };
  const std::string words = "lost: it can make files in the workspace";
  const Row rows[] = {
      {"listener",
       {"no       creation-listener", "no outer sandbox", words, "--workspace-mode overlay", "--accept-loss NAME"},
       {"creation_guard"}},
      {"user-namespaces",
       {"MISSING  user-namespace", "allow user namespaces", "tier: landlock", words, "--accept-loss NAME"},
       {"write_scope", "read_scope", "deny_inside", "creation_guard", "processes"}},
      {"landlock",
       {"MISSING  landlock", "lsm=", "put right what else is missing", "tier: none", "or FAILED is put right"},
       {"write_scope", "read_scope", "deny_inside", "creation_guard", "network", "host_sockets", "processes",
        "terminal", "limits"}},
      {"mount",
       {"MISSING  user-namespace", "tier: landlock"},
       {"write_scope", "read_scope", "deny_inside", "creation_guard"}},
      {"sched_rr_get_interval", {"Ready: "}, {}}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const std::vector<std::string> front = {std::string(ONCELATCH_BINARY_DIR) + "/tests/probes/deny_syscall", row.what};
    const Output told = scratch.oncelatch_behind(front, {"doctor"});
    EXPECT_EQ(told.status.shell_code(), row.lost.empty() ? 0 : 121) << told.out;
    for (const std::string& one : row.says) EXPECT_THAT(in_a_row(told.out), HasSubstr(one));
    const std::vector<Json> body = json_lines(scratch.oncelatch_behind(front, {"doctor", "--json"}).out);
    ASSERT_EQ(body.size(), 1U);
    EXPECT_EQ(body[0].at("ready"), row.lost.empty());
    std::vector<std::string> missing;
    for (const Json& one : body[0].at("missing")) {
      missing.push_back(one.at("name"));
      EXPECT_NE(one.at("gives_up"), "");
    }
    EXPECT_THAT(missing, ::testing::IsSupersetOf(row.lost));
    const Output done = scratch.oncelatch_behind(front, {"exec", "--", "echo", "started"});
    EXPECT_EQ(done.status.shell_code(), told.status.shell_code()) << done.err;
    EXPECT_EQ(done.out, row.lost.empty() ? "started\n" : "");
  }
}

// A real one around it, which has the listener, no namespaces, and refuses calls.
TEST_P(Doctor, InsideOfAnotherSandbox) {
  const std::string own = scratch.spawn({}).argv.back();
  const std::string program = own.find('/') == std::string::npos ? test::program("oncelatch") : own;
  const std::string place = program.substr(0, program.rfind('/'));
  const Output told = scratch.oncelatch({"exec", "--read", place, "--", program, "doctor"});
  EXPECT_EQ(told.status.shell_code(), 121) << told.out << told.err;
  EXPECT_THAT(in_a_row(told.out), AllOf(HasSubstr("MISSING  user-namespace"), HasSubstr("no       creation-listener"),
                                        HasSubstr("leave the sandbox you are in"),
                                        HasSubstr("start oncelatch outside of it"), HasSubstr("Not ready")));
}

INSTANTIATE_TEST_SUITE_P(Users, Doctor, ::testing::ValuesIn(users()));

TEST(DoctorWithout, SaysWhatFailed) {
  Scratch scratch;
  Output output =
      scratch.oncelatch_behind({std::string(ONCELATCH_BINARY_DIR) + "/tests/probes/deny_syscall", "mount"}, {"doctor"});
  EXPECT_EQ(output.status.shell_code(), 121) << output.out;
  EXPECT_THAT(output.out, AllOf(HasSubstr("MISSING"), HasSubstr("FAILED"), HasSubstr("try:"), HasSubstr("Not ready")));
  Output json = scratch.oncelatch_behind({std::string(ONCELATCH_BINARY_DIR) + "/tests/probes/deny_syscall", "mount"},
                                         {"doctor", "--json"});
  std::vector<Json> body = json_lines(json.out);
  ASSERT_EQ(body.size(), 1U) << json.out;
  EXPECT_EQ(body[0].at("ready"), false);
  EXPECT_EQ(body[0].at("self_test").at("held"), false);
}

TEST(DoctorWithout, ProvesTheLowerTierByItsOwnLayers) {
  Scratch scratch;
  const std::vector<std::string> front = {std::string(ONCELATCH_BINARY_DIR) + "/tests/probes/deny_syscall",
                                          "user-namespaces"};
  Output output = scratch.oncelatch_behind(front, {"doctor"});
  EXPECT_EQ(output.status.shell_code(), 121) << output.out;
  EXPECT_THAT(output.out, AllOf(HasSubstr("tier: landlock"), HasSubstr("each loss is"), HasSubstr("accept-loss NAME")));
  std::vector<Json> body = json_lines(scratch.oncelatch_behind(front, {"doctor", "--json"}).out);
  ASSERT_EQ(body.size(), 1U);
  EXPECT_EQ(body[0].at("self_test").at("held"), true);
  for (const Json& probe : body[0].at("self_test").at("probes")) {
    const std::string layers = probe.at("layers");
    EXPECT_FALSE(layers.empty()) << probe;
    EXPECT_EQ(layers.find("namespace"), std::string::npos) << probe;
  }
}

TEST(DoctorWithout, ASignalAtAnyMomentLeavesNothing) {
  Scratch scratch;
  const std::set<std::string> before = doctors_directories();
  for (useconds_t moment = 0; moment < 24'000; moment += 1'000) {
    Result<Process> doctor = start(scratch.spawn({"doctor"}));
    ASSERT_TRUE(doctor);
    ::usleep(moment);
    ASSERT_TRUE(doctor->signal(SIGTERM));
    ASSERT_TRUE(doctor->wait(std::chrono::seconds(20)));
  }
  EXPECT_TRUE(leaves_nothing(before));
}

// A build whose exec path leaves one layer out. On the old root there is no home of the sandbox, which Landlock's rules
// miss before the self-test: not ready either.
TEST(DoctorWithout, NamesTheLayerThatIsMissing) {
  Scratch scratch;
  const std::string place = scratch.path("weakened");
  std::filesystem::create_directory(place);
  for (const char* name : {"oncelatch", "oncelatch-session", "oncelatch-narrow", "oncelatch-relay"})
    std::filesystem::copy_file(program(name), place + "/" + name);
  std::filesystem::copy_file(std::string(ONCELATCH_BINARY_DIR) + "/tests/sandbox/weakened/oncelatch-exec",
                             place + "/oncelatch-exec");
  for (const std::string layer : {"mount-namespace", "pid-namespace", "network-namespace", "userns-limit",
                                  "capabilities", "landlock", "seccomp", "init-not-dumpable", "none"}) {
    SCOPED_TRACE(layer);
    scratch.write("weakened/oncelatch-exec.layer", layer, 0644);
    auto doctor = [&](std::vector<std::string> words) {
      Spawn spawn = scratch.spawn(std::move(words));
      spawn.path = place + "/oncelatch";
      Result<Output> output = run_bounded(std::move(spawn), 65536, std::chrono::seconds(20));
      EXPECT_TRUE(output);
      return output ? *output : Output{};
    };
    const bool whole = layer == "none";
    const Output told = doctor({"doctor"});
    EXPECT_EQ(told.status.shell_code(), whole ? 0 : 121) << told.out;
    EXPECT_THAT(told.out, HasSubstr(whole ? "Ready: " : "Not ready: "));
    const std::string missing = layer == "mount-namespace" ? "landlock: /home/agent: " : "self-test: " + layer + ": ";
    if (!whole) {
      EXPECT_THAT(told.out, HasSubstr(missing.substr(0, missing.rfind(':'))));
    }
    const std::vector<Json> body = json_lines(doctor({"doctor", "--json"}).out);
    ASSERT_EQ(body.size(), 1U);
    EXPECT_EQ(body[0].at("ready"), whole);
    EXPECT_EQ(body[0].at("self_test").at("held"), whole);
    EXPECT_THAT(body[0].at("self_test").value("error", ""), HasSubstr(whole ? "" : missing));
  }
}

}  // namespace
}  // namespace oncelatch::test
