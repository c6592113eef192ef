// Whole runs on the stand-in agent: real tmux, real kernel confinement, real record.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <sstream>

#include "tests/launcher/scratch.h"

namespace oncelatch::test {
namespace {

constexpr const char* kPolicy = R"(rules:
  - {id: touch-ok, capability: shell, match: ["touch allowed*"], effect: allow}
  - {id: no-push, capability: shell, match: ["git push *"], effect: deny, reason: "Push goes through review."}
)";

Json shell(const std::string& command) {
  return {{"type", "prompt"}, {"tool", "shell"}, {"command", command}};
}

Json steps(std::vector<Json> all, const std::string& engine = "v2") {
  return {{"engine", engine}, {"key_log", "keys.jsonl"}, {"steps", all}};
}

void expect_nothing_left(const Scratch& scratch) {
  EXPECT_TRUE(eventually([&] { return scratch.session_directories().empty(); }));
  EXPECT_TRUE(eventually([&] { return scratch.processes_left().empty(); }))
      << ::testing::PrintToString(scratch.processes_left());
}

class RunOnEngine : public ::testing::TestWithParam<std::string> {};

TEST_P(RunOnEngine, AllowsDeniesAndAsksAPerson) {
  Scratch scratch;
  scratch.write("policy.yaml", kPolicy);
  scratch.scenario(steps(
      {shell("touch allowed-1"), shell("git push origin main"), shell("touch by-person"), shell("touch not-by-person")},
      GetParam()));
  Process run = scratch.start(scratch.run_arguments());
  Json first = scratch.wait_event("waiting_for_permission");
  Output list = scratch.oncelatch({"approvals", "list"});
  EXPECT_NE(list.out.find("touch by-person"), std::string::npos) << list.out << list.err;
  Output accepted = scratch.oncelatch({"approvals", "accept", first.value("id", "")});
  EXPECT_EQ(accepted.status.shell_code(), 0) << accepted.err;
  Json second = scratch.wait_event("waiting_for_permission", 2);
  EXPECT_NE(scratch.oncelatch({"approvals", "accept", first.value("id", "")}).status.shell_code(), 0)
      << "an answer counts once";
  EXPECT_EQ(scratch.oncelatch({"approvals", "decline", second.value("id", "")}).status.shell_code(), 0);
  Result<ExitStatus> status = run.wait(std::chrono::seconds(30));
  ASSERT_TRUE(status) << scratch.read("stderr.txt");
  EXPECT_EQ(status->shell_code(), 0) << scratch.read("stderr.txt");
  EXPECT_TRUE(scratch.exists("repository/allowed-1"));
  EXPECT_TRUE(scratch.exists("repository/by-person"));
  EXPECT_FALSE(scratch.exists("repository/not-by-person"));
  std::string verdicts;
  const Json report = scratch.report();
  for (const Json& prompt : report.at("prompts")) {
    EXPECT_EQ(prompt.value("outcome", ""), "confirmed") << prompt;
    verdicts += prompt.value("decider", "") + " " + prompt.value("verdict", "") + "; ";
  }
  EXPECT_EQ(verdicts, "policy accept; policy decline; person accept; person decline; ");
  expect_nothing_left(scratch);
  Output audit = scratch.oncelatch({"audit", "list", "--json"});
  std::string kinds;
  for (const Json& row : json_lines(audit.out)) kinds += row.value("kind", "") + " ";
  EXPECT_NE(kinds.find("request decision delivering outcome request decision delivering outcome"), std::string::npos)
      << kinds;
  EXPECT_EQ(scratch.oncelatch({"audit", "verify"}).status.shell_code(), 0);
}
INSTANTIATE_TEST_SUITE_P(Engines, RunOnEngine, ::testing::Values("v2", "v3"));

TEST(Run, UnattendedDeclinesWhatPolicyLeavesOpen) {
  Scratch scratch;
  scratch.write("policy.yaml", kPolicy);
  scratch.scenario(steps({shell("touch allowed-1"), shell("touch open-question")}));
  Output output = scratch.oncelatch(scratch.run_arguments({"--unattended"}));
  EXPECT_EQ(output.status.shell_code(), 120) << output.err;
  EXPECT_TRUE(scratch.exists("repository/allowed-1"));
  EXPECT_FALSE(scratch.exists("repository/open-question"));
  EXPECT_EQ(scratch.report().at("child").at("code"), 0);
  expect_nothing_left(scratch);
}

// A prompt that nobody can ever answer must not hold a CI job.
TEST(Run, UnattendedEndsWhenAPromptCanOnlyBeAnsweredInTheTerminal) {
  Scratch scratch;
  scratch.scenario(steps({Json{{"type", "question"},
                               {"title", "**Is this a feature or a bugfix?**"},
                               {"options", {{{"name", "Feature"}}, {{"name", "Bugfix"}}}}}},
                         "v3"));
  Output output = scratch.oncelatch(scratch.run_arguments({"--unattended"}));
  EXPECT_EQ(output.status.shell_code(), 120) << output.err;
  EXPECT_NE(output.err.find("only be answered in the terminal"), std::string::npos) << output.err;
  expect_nothing_left(scratch);
}

// The way to the report is opened at the start: a link that the agent plants leads nowhere.
TEST(Run, TheReportStaysWhereItWasAskedFor) {
  Scratch scratch;
  scratch.write("home/report.json", "precious");
  scratch.write("repository/out/keep", "");
  scratch.scenario(
      steps({Json{{"type", "exec"}, {"command", "mv out moved; ln -s " + scratch.path("home") + " out"}}}));
  std::vector<std::string> arguments = {
      "run",      "kiro",           "--cli-path", program("kiro-cli"), "--workspace", scratch.path("repository"),
      "--report", "out/report.json"};
  EXPECT_EQ(scratch.oncelatch(arguments).status.shell_code(), 0);
  EXPECT_EQ(scratch.read("home/report.json"), "precious");
  EXPECT_NE(scratch.read("repository/moved/report.json").find("\"exit\""), std::string::npos);
}

TEST(Run, AScriptCanBeTheAgent) {
  Scratch scratch;
  scratch.write("agent.sh", "#!/bin/sh\necho \"$0 $*\" > ran.txt\nexit 9\n", 0755);
  Output output = scratch.oncelatch(
      {"run", "kiro", "--cli-path", scratch.path("agent.sh"), "--workspace", scratch.path("repository")});
  EXPECT_EQ(output.status.shell_code(), 9) << output.err;
  EXPECT_EQ(scratch.read("repository/ran.txt"), "/opt/oncelatch/agent/agent.sh chat --tui\n");
}

TEST(Run, TheChildsExitCodePasses) {
  for (int code : {0, 3, 77}) {
    Scratch scratch;
    scratch.scenario({{"steps", Json::array()}, {"exit_code", code}});
    Output output = scratch.oncelatch(scratch.run_arguments());
    EXPECT_EQ(output.status.shell_code(), code) << output.err;
    expect_nothing_left(scratch);
  }
}

TEST(Run, ACrashOfTheAgentIsItsSignal) {
  Scratch scratch;
  scratch.scenario(steps({Json{{"type", "crash"}}}));
  Output output = scratch.oncelatch(scratch.run_arguments());
  EXPECT_EQ(output.status.shell_code(), 128 + SIGSEGV) << output.err;
  expect_nothing_left(scratch);
}

TEST(Run, TheRightDigestIsAccepted) {
  Scratch scratch;
  scratch.scenario({{"steps", Json::array()}});
  Output output = scratch.oncelatch(scratch.run_arguments({"--sha256", sha256_file(program("kiro-cli"))}));
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_EQ(scratch.report().at("artifact").at("sha256"), sha256_file(program("kiro-cli")));
}

// What the agent left for the host: told at the end, in the report, as SARIF and in the record; it counts where asked.
TEST(Run, E029WhatTakesEffectOnTheHostIsTold) {
  Scratch scratch;
  EXPECT_EQ(scratch.on_host("git init -q"), "");
  scratch.scenario(steps({Json{{"type", "exec"},
                               {"command",
                                "printf 'all:\\n\\tevil\\n' > Makefile; "
                                "ln -s / out; mkfifo pipe; cp /bin/true ls; mkdir -p .git/rebase-merge; "
                                "printf 'pick 1 a\\nexec ./evil\\n' > .git/rebase-merge/git-rebase-todo"}}}));
  const std::vector<std::string> more = {"--sarif", scratch.path("log.sarif"), "--fail-on", "package"};
  Output output = scratch.oncelatch(scratch.run_arguments(more));
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_NE(output.err.find("after the run: 5 changes take effect outside later"), std::string::npos) << output.err;
  EXPECT_NE(output.err.find("git rebase --continue runs its exec lines: exec ./evil"), std::string::npos) << output.err;
  std::string kinds;
  const Json report = scratch.report();
  for (const Json& one : report.at("host_effects")) kinds += one.value("kind", "") + " ";
  EXPECT_EQ(kinds, "git build program link special ");
  EXPECT_EQ(report.at("host_effects_complete"), true);
  const Json log = Json::parse(scratch.read("log.sarif"));
  EXPECT_EQ(log.at("runs")[0].at("results").size(), 5U);
  Output audit = scratch.oncelatch({"audit", "list", "--json"});
  std::string found;
  for (const Json& row : json_lines(audit.out))
    if (row.value("kind", "") == "host_effects") found = dump_json(row);
  EXPECT_NE(found.find("exec ./evil"), std::string::npos) << audit.out;
  EXPECT_EQ(scratch.oncelatch({"audit", "verify"}).status.shell_code(), 0);
  expect_nothing_left(scratch);
}

// Over the agent's own code, and over 120.
TEST(Run, E029FindingsGive123) {
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--unattended"}}) {
    Scratch scratch;
    Json body = steps({Json{{"type", "exec"}, {"command", "echo evil > Makefile"}}, shell("touch open")});
    if (more.empty()) body.at("steps").erase(1);
    body["exit_code"] = 3;
    scratch.scenario(body);
    std::vector<std::string> options = {"--fail-on", "ci", "--fail-on", "reported"};
    options.insert(options.end(), more.begin(), more.end());
    Output output = scratch.oncelatch(scratch.run_arguments(options));
    EXPECT_EQ(output.status.shell_code(), 123) << output.err;
    EXPECT_EQ(scratch.report().at("exit").at("reason"), "findings");
    expect_nothing_left(scratch);
  }
  Scratch scratch;
  EXPECT_EQ(scratch.oncelatch(scratch.run_arguments({"--fail-on", "gti"})).status.shell_code(), 122);
}

// A line that holds the agent's credential is no exception to redaction.
TEST(Run, WhatIsToldOfTheWorkspaceIsRedacted) {
  Scratch scratch;
  scratch.scenario(steps({Json{{"type", "exec"}, {"command", "echo \"x $KIRO_API_KEY\" > Makefile"}}}));
  Spawn spawn = scratch.spawn(scratch.run_arguments({"--sarif", scratch.path("log.sarif")}));
  spawn.environment.emplace_back("KIRO_API_KEY=canary-7fq2x9vd");
  Result<Output> output = run_bounded(std::move(spawn), std::size_t{1} << 20, std::chrono::seconds(60));
  ASSERT_TRUE(output);
  EXPECT_EQ(scratch.read("repository/Makefile"), "x canary-7fq2x9vd\n");
  EXPECT_NE(output->err.find("Makefile"), std::string::npos) << output->err;
  for (const std::string& text : {output->err, scratch.read("report.json"), scratch.read("log.sarif")})
    EXPECT_EQ(text.find("canary"), std::string::npos) << text;
}

class RunEndedBySignal : public ::testing::TestWithParam<int> {};

TEST_P(RunEndedBySignal, EndsCleanly) {
  Scratch scratch;
  scratch.scenario(steps({shell("touch waits")}));
  Process run = scratch.start(scratch.run_arguments());
  scratch.wait_event("waiting_for_permission");
  ASSERT_TRUE(run.signal(GetParam()));
  Result<ExitStatus> status = run.wait(std::chrono::seconds(15));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->shell_code(), 128 + GetParam()) << scratch.read("stderr.txt");
  EXPECT_FALSE(scratch.exists("repository/waits"));
  EXPECT_EQ(scratch.report().at("prompts").at(0).at("outcome"), "superseded");
  expect_nothing_left(scratch);
}
INSTANTIATE_TEST_SUITE_P(Signals, RunEndedBySignal, ::testing::Values(SIGINT, SIGTERM, SIGHUP));

// The run's process whose command line begins with `word`, its directory left out.
int find_process(const std::vector<ProcessLine>& tree, const std::string& word) {
  for (const ProcessLine& one : tree) {
    std::string name = one.command.substr(0, one.command.find(' '));
    if (one.command.substr(name.rfind('/') + 1).rfind(word, 0) == 0) return one.pid;
  }
  return -1;
}

class RunWithAProcessKilled : public ::testing::TestWithParam<std::string> {};

TEST_P(RunWithAProcessKilled, LeavesNothing) {
  Scratch scratch;
  scratch.scenario(steps({shell("touch waits")}));
  Process run = scratch.start(scratch.run_arguments());
  scratch.wait_event("waiting_for_permission");
  std::vector<ProcessLine> tree = process_tree(run.pid());
  ASSERT_GE(tree.size(), 7U) << "front end, supervisor, tmux, its client, relay, exec path, first process, agent";
  std::string victim = GetParam();
  int pid = victim == "front" ? run.pid() : -1;
  if (victim == "supervisor") pid = process_tree(run.pid()).at(1).pid;
  if (victim == "tmux -D" || victim == "oncelatch-relay" || victim == "oncelatch-exec")
    pid = find_process(tree, victim);
  if (victim == "agent") pid = find_process(tree, "kiro-cli");
  ASSERT_GT(pid, 0) << victim;
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  Result<ExitStatus> status = run.wait(std::chrono::seconds(15));
  ASSERT_TRUE(status) << victim;
  EXPECT_NE(status->shell_code(), 0) << victim;
  EXPECT_FALSE(scratch.exists("repository/waits"));
  for (const ProcessLine& one : tree) {
    EXPECT_TRUE(eventually([&] { return !is_running(one.pid); }))
        << victim << " left " << one.pid << ": " << one.command;
  }
  expect_nothing_left(scratch);
}
// Also while the session is being set up: the self-test's targets lie in the session's directory.
TEST(Run, AKillDuringTheStartLeavesNothing) {
  for (int delay = 0; delay < 12; ++delay) {
    Scratch scratch;
    scratch.scenario(steps({shell("touch waits")}));
    Process run = scratch.start(scratch.run_arguments());
    int supervisor = -1;
    ASSERT_TRUE(eventually([&] {
      // The checks before have children too; the session's directory is made right before the supervisor.
      const std::vector<std::string> sessions = scratch.session_directories();
      if (sessions.size() != 1 || sessions[0].rfind("new-", 0) == 0) return false;
      const std::vector<ProcessLine> tree = process_tree(run.pid());
      if (tree.size() > 1) supervisor = tree[1].pid;
      return supervisor > 0;
    }));
    ::usleep(static_cast<useconds_t>(delay) * 8000);
    const std::vector<ProcessLine> tree = process_tree(run.pid());
    ASSERT_EQ(::kill(supervisor, SIGKILL), 0);
    ASSERT_TRUE(run.wait(std::chrono::seconds(15)));
    for (const ProcessLine& one : tree) {
      EXPECT_TRUE(eventually([&] { return !is_running(one.pid); })) << delay << ": " << one.command;
    }
    EXPECT_TRUE(eventually([&] { return scratch.session_directories().empty(); })) << delay;
  }
}

// The client that captures and sends keys is no part of the session: a new one is started when it is needed.
TEST(Run, SurvivesItsControlClient) {
  Scratch scratch;
  scratch.scenario(steps({shell("touch made")}));
  Process run = scratch.start(scratch.run_arguments());
  Json waiting = scratch.wait_event("waiting_for_permission");
  int client = find_process(process_tree(run.pid()), "tmux -N");
  ASSERT_GT(client, 0);
  ASSERT_EQ(::kill(client, SIGKILL), 0);
  EXPECT_EQ(scratch.oncelatch({"approvals", "accept", waiting.value("id", "")}).status.shell_code(), 0);
  Result<ExitStatus> status = run.wait(std::chrono::seconds(20));
  ASSERT_TRUE(status) << scratch.read("stderr.txt") << scratch.read("events.jsonl");
  EXPECT_EQ(status->shell_code(), 0);
  EXPECT_TRUE(scratch.exists("repository/made"));
  expect_nothing_left(scratch);
}

INSTANTIATE_TEST_SUITE_P(Processes, RunWithAProcessKilled,
                         ::testing::Values("front", "supervisor", "tmux -D", "oncelatch-relay", "oncelatch-exec",
                                           "agent"));

}  // namespace
}  // namespace oncelatch::test
