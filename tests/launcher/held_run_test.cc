// Held names in whole runs: the agent's tool waits in the kernel until the policy or a person has decided, and the
// record has it before the answer is given.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/launcher/scratch.h"

namespace oncelatch::test {
namespace {

constexpr const char* kPolicy = R"(rules:
  - {id: workflows, capability: fs_write, match: [".github/**"], effect: deny, reason: "CI is ours."}
  - {id: packages, capability: fs_write, match: ["web/package.json"], effect: allow}
)";

Json tool(const std::string& command) {
  return {{"type", "exec"}, {"command", command}};
}

std::string outcomes(const Json& report) {
  std::string all;
  for (const Json& prompt : report.at("prompts"))
    all += prompt.value("origin", "") + " " + prompt.value("decider", "") + " " + prompt.value("verdict", "") + " " +
           prompt.value("outcome", "") + "; ";
  return all;
}

// At the right of the status line of the one session.
std::string notice(const Scratch& scratch) {
  Spawn tmux;
  tmux.path = "/usr/bin/tmux";
  tmux.argv = {"tmux",
               "-S",
               scratch.path("runtime/oncelatch/") + scratch.session_directories().at(0) + "/tmux/tmux.sock",
               "show-options",
               "-gv",
               "status-right"};
  tmux.environment = scratch.environment();
  const Result<Output> output = run_bounded(std::move(tmux), 4096, std::chrono::seconds(10));
  return output ? output->out : "";
}

TEST(HeldRun, APersonDecidesEachCall) {
  Scratch scratch;
  scratch.scenario({{"steps", {tool("echo one > package.json; echo two > package.json; echo $? > code")}}});
  Process run = scratch.start(scratch.run_arguments());
  const Json first = scratch.wait_event("waiting_for_permission");
  EXPECT_FALSE(scratch.exists("repository/package.json"));
  const Output list = scratch.oncelatch({"approvals", "list"});
  EXPECT_NE(list.out.find("workspace guard asks: fs_write"), std::string::npos) << list.out << list.err;
  EXPECT_NE(list.out.find(scratch.path("repository/package.json")), std::string::npos) << list.out;
  EXPECT_NE(list.out.find("package managers run its scripts"), std::string::npos) << list.out;
  EXPECT_TRUE(eventually([&] { return notice(scratch).find("workspace guard asks (1)") != std::string::npos; }));
  EXPECT_EQ(scratch.oncelatch({"approvals", "accept", first.value("id", "")}).status.shell_code(), 0);
  const Json second = scratch.wait_event("waiting_for_permission", 2);
  EXPECT_EQ(scratch.read("repository/package.json"), "one\n");
  EXPECT_EQ(scratch.oncelatch({"approvals", "decline", second.value("id", "")}).status.shell_code(), 0);
  Result<ExitStatus> status = run.wait(std::chrono::seconds(30));
  ASSERT_TRUE(status) << scratch.read("stderr.txt");
  EXPECT_EQ(status->shell_code(), 0) << scratch.read("stderr.txt");
  EXPECT_EQ(scratch.read("repository/package.json"), "one\n");
  EXPECT_EQ(scratch.read("repository/code"), "2\n");
  const Json report = scratch.report();
  EXPECT_EQ(outcomes(report), "workspace guard person accept confirmed; workspace guard person decline confirmed; ");
  EXPECT_EQ(report.at("held_names"), (Json{{"mode", "ask"}, {"asked", 2}, {"allowed", 1}, {"refused", 1}}));
  std::string kinds;
  for (const Json& row : json_lines(scratch.oncelatch({"audit", "list", "--json"}).out))
    kinds += row.value("kind", "") + " ";
  EXPECT_NE(kinds.find("request decision delivering outcome request decision delivering outcome"), std::string::npos)
      << kinds;
  EXPECT_EQ(scratch.oncelatch({"audit", "verify"}).status.shell_code(), 0);
}

TEST(HeldRun, ThePolicyDecides) {
  Scratch scratch;
  scratch.write("policy.yaml", kPolicy);
  scratch.scenario({{"steps",
                     {tool("mkdir -p .github/workflows web; echo x > .github/workflows/ci.yml; echo x > t; "
                           "mv t web/package.json; echo x > Makefile; echo x > .envrc; ls -A > seen")}}});
  const Output output = scratch.oncelatch(scratch.run_arguments());
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_FALSE(scratch.exists("repository/.github/workflows/ci.yml"));
  EXPECT_TRUE(scratch.exists("repository/web/package.json"));
  EXPECT_TRUE(scratch.exists("repository/Makefile")) << "only held where a profile is strict";
  EXPECT_FALSE(scratch.exists("repository/.envrc")) << "never made, and nobody is asked";
  EXPECT_EQ(outcomes(scratch.report()),
            "workspace guard policy decline confirmed; workspace guard policy accept confirmed; ");
}

TEST(HeldRun, UnattendedRefusesWhatIsLeftOpen) {
  Scratch scratch;
  scratch.scenario({{"steps",
                     {tool("echo x > package.json; echo $? > code; "
                           "d=$(printf '\\377'); mkdir \"$d\"; echo x > \"$d/package.json\"")}}});
  const Output output = scratch.oncelatch(scratch.run_arguments({"--unattended"}));
  EXPECT_EQ(output.status.shell_code(), 120) << output.err;
  EXPECT_FALSE(scratch.exists("repository/package.json"));
  EXPECT_EQ(scratch.read("repository/code"), "2\n");
  EXPECT_EQ(outcomes(scratch.report()),
            "workspace guard unattended decline confirmed; workspace guard unattended decline confirmed; ");
  EXPECT_EQ(scratch.oncelatch({"audit", "verify"}).status.shell_code(), 0);
}

// The tool is killed: the card goes, and an answer comes too late. Then the session ends with a question open.
TEST(HeldRun, WhatWaitsNoLongerIsSuperseded) {
  Scratch scratch;
  scratch.scenario({{"steps",
                     {tool("sh -c 'echo $$ > pid; echo x > package.json' & while [ ! -e go ]; do sleep 0.02; done; "
                           "kill -9 $(cat pid); echo x > AGENTS.md")}}});
  Process run = scratch.start(scratch.run_arguments());
  const Json first = scratch.wait_event("waiting_for_permission");
  scratch.write("repository/go", "", 0644);
  EXPECT_EQ(scratch.wait_event("prompt_ended").value("outcome", ""), "superseded");
  EXPECT_NE(scratch.oncelatch({"approvals", "accept", first.value("id", "")}).status.shell_code(), 0);
  (void)scratch.wait_event("waiting_for_permission", 2);
  ASSERT_TRUE(run.signal(SIGTERM));
  Result<ExitStatus> status = run.wait(std::chrono::seconds(30));
  ASSERT_TRUE(status);
  EXPECT_EQ(outcomes(scratch.report()), "workspace guard nobody  superseded; workspace guard nobody  superseded; ");
  EXPECT_FALSE(scratch.exists("repository/package.json"));
  EXPECT_FALSE(scratch.exists("repository/AGENTS.md"));
  EXPECT_EQ(scratch.oncelatch({"audit", "verify"}).status.shell_code(), 0);
}

}  // namespace
}  // namespace oncelatch::test
