#include <algorithm>

#include "tests/policy/support.h"

namespace oncelatch::policy::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Decide, NoRulesAsk) {
  for (const Capability capability :
       {Capability::shell, Capability::fs_read, Capability::fs_write, Capability::web_fetch, Capability::mcp,
        Capability::subagent, Capability::unknown}) {
    EXPECT_EQ(decide_on(Rules(), capability, "x").effect, Effect::ask) << capability_name(capability);
  }
}

TEST(Decide, AnEmptyRequestIsNeverAllowed) {
  const Rules rules = rules_of(yaml_of({"allow all *"}));
  for (const Capability capability :
       {Capability::shell, Capability::fs_write, Capability::web_fetch, Capability::mcp, Capability::unknown}) {
    const Decision decision = decide_on(rules, capability, "");
    EXPECT_EQ(decision.effect, Effect::ask) << capability_name(capability);
    EXPECT_TRUE(has_floor(decision, "empty-subject"));
  }
}

TEST(Decide, DenyOverAskOverAllowInEveryOrder) {
  std::vector<std::string> lines{"allow shell git *", "ask shell git push *", "deny shell git push -f *"};
  std::sort(lines.begin(), lines.end());
  do {
    EXPECT_EQ(shell_effect(lines, "git status"), Effect::allow);
    EXPECT_EQ(shell_effect(lines, "git push"), Effect::ask);
    EXPECT_EQ(shell_effect(lines, "git push -f"), Effect::deny);
    EXPECT_EQ(shell_effect(lines, "git status && git push -f"), Effect::deny);
  } while (std::next_permutation(lines.begin(), lines.end()));
}

TEST(Decide, EveryMemberMustBeAllowed) {
  EXPECT_EQ(shell_effect({"allow shell ls *"}, "ls && id"), Effect::ask);
  EXPECT_EQ(shell_effect({"allow shell ls *"}, "id | ls"), Effect::ask);
  EXPECT_EQ(shell_effect({"allow shell ls *", "allow shell id"}, "ls -l && id; ls"), Effect::allow);
}

TEST(Decide, MembersAndReasonsAreNamed) {
  const Rules rules =
      rules_of("rules: [{id: look, capability: shell, match: ['ls *'], effect: allow, reason: Why not.}]\n");
  const Decision decision = decide_on(rules, Capability::shell, "ls 'a b'; id");
  ASSERT_EQ(decision.members.size(), 2U);
  EXPECT_THAT(decision.members[0].argv, ElementsAre("ls", "a b"));
  EXPECT_EQ(decision.members[0].effect, Effect::allow);
  EXPECT_EQ(decision.members[1].effect, Effect::ask);
  ASSERT_EQ(decision.reasons.size(), 2U);
  EXPECT_EQ(decision.reasons[0].rule, "look");
  EXPECT_EQ(decision.reasons[0].member, "ls 'a b'");
  EXPECT_EQ(decision.reasons[0].text, "Why not.");
  EXPECT_EQ(decision.reasons[1].rule, "");
  EXPECT_EQ(decision.reasons[1].text, "no rule matches");
  EXPECT_THAT(decision.floor, IsEmpty());
}

TEST(Decide, TheDefaultHoldsForEachUnmatchedMember) {
  const Rules rules = rules_of(yaml_of({"allow shell ls *", "ask shell id"}) + "default: deny\n");
  EXPECT_EQ(decide_on(rules, Capability::shell, "ls").effect, Effect::allow);
  EXPECT_EQ(decide_on(rules, Capability::shell, "id").effect, Effect::ask);
  EXPECT_EQ(decide_on(rules, Capability::shell, "ls; whoami").effect, Effect::deny);
  EXPECT_EQ(decide_on(rules, Capability::shell, "ls $x").effect, Effect::ask) << "opaque, but its program has a rule";
  EXPECT_EQ(decide_on(rules, Capability::shell, "whoami $x").effect, Effect::deny);
  EXPECT_EQ(decide_on(rules, Capability::shell, "# x").effect, Effect::deny);
  EXPECT_EQ(decide_on(rules, Capability::shell, "> x").effect, Effect::deny);
  EXPECT_EQ(decide_on(rules, Capability::fs_read, "x").effect, Effect::deny);
}

TEST(Decide, ADenyOfEverythingDeniesWhatHasNoProgram) {
  for (const char* command : {"> x", "X=1", "ls $x", "$(ls)", "ls"}) {
    EXPECT_EQ(shell_effect({"allow shell *", "deny all *"}, command), Effect::deny) << command;
  }
}

TEST(Decide, AnOpaqueCommandIsNeverAllowed) {
  const Rules rules = rules_of(yaml_of({"allow all *"}));
  for (const char* command :
       {"ls $HOME", "ls > x", "ls *", "(ls)", "ls &", "echo 'a", "ls\nls", "X=1 ls", "if ls; then ls; fi"}) {
    const Decision decision = decide_on(rules, Capability::shell, command);
    EXPECT_EQ(decision.effect, Effect::ask) << command;
    EXPECT_THAT(decision.floor, Contains("opaque-shell")) << command;
  }
}

TEST(Decide, ASubjectThatIsNotWholeIsNeverAllowedButDenied) {
  const Rules rules = rules_of(yaml_of({"allow shell *", "deny shell rm *"}));
  PermissionRequest request;
  request.capability = Capability::shell;
  request.subject = Untrusted("ls -l");
  Decision decision = decide(rules, request, {kWorkspace, kWorkspace});
  EXPECT_EQ(decision.effect, Effect::ask);
  EXPECT_TRUE(has_floor(decision, "subject-not-whole"));
  request.subject = Untrusted("ls; rm x");
  EXPECT_EQ(decide(rules, request, {kWorkspace, kWorkspace}).effect, Effect::deny);
}

TEST(Decide, ANulByteIsDenied) {
  const Rules rules = rules_of(yaml_of({"allow all *"}));
  for (const Capability capability : {Capability::shell, Capability::fs_read, Capability::mcp}) {
    const Decision decision = decide_on(rules, capability, std::string("a\0b", 3));
    EXPECT_EQ(decision.effect, Effect::deny);
    EXPECT_TRUE(has_floor(decision, "nul-byte"));
  }
}

TEST(Decide, HiddenTextIsNeverAllowed) {
  const Rules rules = rules_of(yaml_of({"allow all *"}));
  for (const Capability capability :
       {Capability::shell, Capability::fs_write, Capability::web_fetch, Capability::mcp}) {
    EXPECT_EQ(decide_on(rules, capability,
                        "a\xe2\x80\xae"
                        "b")
                  .effect,
              Effect::ask);
  }
}

TEST(Decide, StateChangingBuiltinsAreNeverAllowed) {
  for (const char* command : {"export X=1", "alias ls=id", "source x", ". x", "eval ls", "trap x EXIT", "exec ls",
                              "unset x", "read x", "set -e", "shopt -s x", "enable -f x", "hash -p x y", "declare x",
                              "typeset x", "mapfile x", "let x", "ls; export PATH=x", "timeout 5 eval ls"}) {
    const Decision decision = decide_on(rules_of(yaml_of({"allow shell *"})), Capability::shell, command);
    EXPECT_EQ(decision.effect, Effect::ask) << command;
    EXPECT_TRUE(has_floor(decision, "state-changing-builtin")) << command;
  }
}

TEST(Decide, LoaderVariablesAreDenied) {
  for (const char* command :
       {"LD_PRELOAD=x ls", "env LD_PRELOAD=x ls", "sudo LD_AUDIT=x ls", "export LD_PRELOAD=x", "ls; BASH_ENV=x bash y",
        "LD_PRELOAD+=x ls", "sh -c 'LD_LIBRARY_PATH=x ls'", "DYLD_X=1 ls", "env LD_PRELOAD=x"}) {
    const Decision decision = decide_on(rules_of(yaml_of({"allow shell *"})), Capability::shell, command);
    EXPECT_EQ(decision.effect, Effect::deny) << command;
    EXPECT_TRUE(has_floor(decision, "loader-variable")) << command;
  }
  EXPECT_NE(shell_effect({"allow shell *"}, "FOO=x ls"), Effect::deny);
  EXPECT_EQ(shell_effect({"allow shell echo *"}, "echo LD_PRELOAD=x"), Effect::allow);
}

TEST(Decide, TransparentWrappersAreAllowedByTheirCommand) {
  const std::vector<std::string> lines{"allow shell npm test *"};
  for (const char* command : {"timeout 60 npm test", "nice -n 5 npm test x", "nohup npm test", "stdbuf -oL npm test",
                              "ionice -c2 timeout -k 1 5 npm test", "timeout --signal=KILL 5 npm test"}) {
    EXPECT_EQ(shell_effect(lines, command), Effect::allow) << command;
  }
  for (const char* command :
       {"sudo npm test", "env npm test", "timeout 60 npm publish", "timeout --what 60 npm test", "xargs npm test",
        "./timeout 60 npm test", "/tmp/timeout 60 npm test", "timeout 60 ./npm test", "timeout npm test",
        "time npm test", "setsid npm test", "command npm test", "timeout 60"}) {
    EXPECT_EQ(shell_effect(lines, command), Effect::ask) << command;
  }
}

TEST(Decide, ExcludeNarrowsAnAllowForEveryReading) {
  const Rules rules = rules_of(
      "rules: [{capability: shell, match: ['git *'], exclude: ['git push *', 'git status -s'], effect: allow}]\n");
  EXPECT_EQ(decide_on(rules, Capability::shell, "git status").effect, Effect::allow);
  for (const char* command : {"git push", "git push -f", "git -C x push", "git --no-pager push", "git status -s"}) {
    EXPECT_EQ(decide_on(rules, Capability::shell, command).effect, Effect::ask) << command;
  }
}

TEST(Decide, ExcludeNarrowsADeny) {
  const Rules rules = rules_of(
      "rules: [{capability: shell, match: ['git push *'], exclude: ['git push --dry-run *'], effect: deny},"
      "{capability: shell, match: ['git push --dry-run *'], effect: allow}]\n");
  EXPECT_EQ(decide_on(rules, Capability::shell, "git push --dry-run").effect, Effect::allow);
  EXPECT_EQ(decide_on(rules, Capability::shell, "git push").effect, Effect::deny);
  EXPECT_EQ(decide_on(rules, Capability::shell, "git push --dry-run; git push").effect, Effect::deny);
}

TEST(Decide, DenyMatchesAPathOfTheProgramButAllowDoesNot) {
  EXPECT_EQ(shell_effect({"deny shell rm *", "allow shell *"}, "/bin/rm x"), Effect::deny);
  EXPECT_EQ(shell_effect({"allow shell rm *"}, "/bin/rm x"), Effect::ask);
  EXPECT_EQ(shell_effect({"allow shell rm *"}, "./rm x"), Effect::ask);
  EXPECT_EQ(shell_effect({"allow shell ./rm *"}, "./rm x"), Effect::allow);
}

TEST(Decide, FileRulesHoldForWordsOfCommands) {
  const std::vector<std::string> lines{"allow shell *", "deny fs_read **/.env", "deny fs_write secrets/**"};
  for (const char* command :
       {"cat .env", "cat ./a/../.env", "cat /repo/project/x/.env", "grep x --file=.env", "grep -f.env x",
        "curl -d @.env x", "cat <.env", "sh -c 'cat .env'", "rm secrets/x", "cp a secrets/b", "ls > secrets/x",
        "tee secrets/x", "sudo rm secrets/x", "cat /home/other/.env"}) {
    EXPECT_EQ(shell_effect(lines, command), Effect::deny) << command;
  }
  for (const char* command : {"cat env", "echo .env", "cat secrets/x", "git commit -m 'remove .env'"}) {
    EXPECT_EQ(shell_effect(lines, command), Effect::allow) << command;
  }
}

TEST(Decide, ARelativeProgramAfterCdAsks) {
  const std::vector<std::string> lines{"allow shell cd *", "allow shell ./run *", "allow shell ls *",
                                       "allow shell /bin/ls"};
  EXPECT_EQ(shell_effect(lines, "./run x"), Effect::allow);
  EXPECT_EQ(shell_effect(lines, "cd src && ls"), Effect::allow);
  EXPECT_EQ(shell_effect(lines, "cd src && /bin/ls"), Effect::allow);
  EXPECT_EQ(shell_effect(lines, "cd /tmp && ./run x"), Effect::ask);
  EXPECT_EQ(shell_effect(lines, "./run x && cd src"), Effect::allow);
}

TEST(Decide, ARuleForAllCapabilities) {
  const Rules rules = rules_of(yaml_of({"allow all *"}));
  EXPECT_EQ(decide_on(rules, Capability::shell, "ls").effect, Effect::allow);
  EXPECT_EQ(decide_on(rules, Capability::fs_write, "/etc/x").effect, Effect::allow);
  EXPECT_EQ(decide_on(rules, Capability::mcp, "a/b").effect, Effect::allow);
  EXPECT_EQ(decide_on(rules, Capability::web_fetch, "https://x/").effect, Effect::allow);
  EXPECT_EQ(decide_on(rules, Capability::unknown, "x").effect, Effect::allow);
  EXPECT_EQ(decide_on(rules_of(yaml_of({"allow shell *"})), Capability::unknown, "ls").effect, Effect::ask);
}

TEST(Decide, McpServersAndToolsAreApart) {
  const Rules rules = rules_of(yaml_of({"allow mcp github/get_*", "allow mcp files/*"}));
  EXPECT_EQ(decide_on(rules, Capability::mcp, "github/get_issue").effect, Effect::allow);
  EXPECT_EQ(decide_on(rules, Capability::mcp, "files/read").effect, Effect::allow);
  for (const char* name :
       {"github_evil/get_issue", "github/create_issue", "github/get_/x", "github", "x/github/get_issue", "files/a/b"}) {
    EXPECT_EQ(decide_on(rules, Capability::mcp, name).effect, Effect::ask) << name;
  }
}

TEST(Decide, SubagentsAreGlobbed) {
  const Rules rules = rules_of(yaml_of({"allow subagent review-*", "deny subagent *-root"}));
  EXPECT_EQ(decide_on(rules, Capability::subagent, "review-code").effect, Effect::allow);
  EXPECT_EQ(decide_on(rules, Capability::subagent, "review-root").effect, Effect::deny);
  EXPECT_EQ(decide_on(rules, Capability::subagent, "writer").effect, Effect::ask);
}

TEST(Decide, ReasonsAreBoundedAndEscaped) {
  const Rules rules = rules_of(yaml_of({"deny shell rm *"}));
  std::string many;
  for (int count = 0; count < 3000; ++count) many += "rm " + std::to_string(count) + ";";
  const Decision decision = decide_on(rules, Capability::shell, many);
  EXPECT_EQ(decision.effect, Effect::deny);
  EXPECT_LE(decision.reasons.size(), 512U);
  for (const Reason& reason : decide_on(rules, Capability::shell, "rm \x1b[2J").reasons) {
    EXPECT_EQ(reason.member.find('\x1b'), std::string::npos);
  }
}

}  // namespace
}  // namespace oncelatch::policy::testing
