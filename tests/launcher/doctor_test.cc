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

int left_behind() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/tmp"))
    if (entry.path().filename().string().starts_with("oncelatch-doctor-")) ++count;
  return count;
}

TEST_P(Doctor, ProvesWhatItSays) {
  const int before = left_behind();
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
  EXPECT_EQ(left_behind(), before);
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

std::set<std::string> doctors_directories() {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/tmp"))
    if (entry.path().filename().string().starts_with("oncelatch-doctor-")) found.insert(entry.path());
  return found;
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
  auto clean = [&] {  // those of tests beside this one come and go
    std::set<std::string> now = doctors_directories();
    return std::includes(before.begin(), before.end(), now.begin(), now.end());
  };
  EXPECT_TRUE(eventually(clean, std::chrono::seconds(10)));
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
