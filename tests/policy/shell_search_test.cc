#include "policy/shell_search.h"

#include "policy/shell_scan.h"
#include "tests/policy/support.h"

namespace oncelatch::policy::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

// Every one of these runs `git push`, or may.
TEST(DenySearch, ReachesThroughEveryDisguise) {
  const std::vector<std::string> commands{
      "git push",
      "git push -f",
      "ls; git push",
      "ls && git push",
      "ls || git push",
      "ls | git push",
      "ls & git push",
      "ls\ngit push",
      "(git push)",
      "{ git push; }",
      "! git push",
      "if true; then git push; fi",
      "while git push; do :; done",
      "for x in a; do git push; done",
      "case x in x) git push;; esac",
      "f() { git push; }",
      "function f { git push; }",
      "echo $(git push)",
      "echo `git push`",
      "echo \"$(git push)\"",
      "echo \"`git push`\"",
      "echo $(echo $(git push))",
      "echo `echo \\`git push\\``",
      "cat <(git push)",
      "tee >(git push)",
      "X=$(git push) ls",
      "echo ${x:-$(git push)}",
      "echo \"${x:-`git push`}\"",
      "echo $(( $(git push) ))",
      "cat <<EOF\n$(git push)\nEOF",
      "bash <<EOF\ngit push\nEOF",
      "sh <<'EOF'\ngit push\nEOF",
      "bash <<< 'git push'",
      "echo git push | sh",
      "echo 'git push' | bash -s",
      "printf 'git push' | sh -",
      "echo push | xargs git",
      "echo 'git push' | xargs -I{} sh -c '{}'",
      "/usr/bin/git push",
      "\\git push",
      "'git' push",
      "g\"i\"t push",
      "gi\\\nt push",
      "$'git' push",
      "$'\\x67it' push",
      "$'\\147it' push",
      "g$()it push",
      "g${x}it push",
      "gi$@t push",
      "git${IFS}push",
      "git$IFS'push'",
      "{git,push}",
      "git -C /x push",
      "git --git-dir=/x push",
      "git --git-dir /x -c a=b push",
      "git -p push",
      "sudo git push",
      "sudo -u x git push",
      "sudo -ux git push",
      "sudo --user=x -n git push",
      "sudo --user x git push",
      "sudo X=1 git push",
      "sudo -- git push",
      "sudo --unknown git push",
      "sudo --unknown v git push",
      "doas -u x git push",
      "env git push",
      "env - git push",
      "env -i X=1 git push",
      "env -u X git push",
      "env -S 'git push'",
      "env -S'git push'",
      "env --split-string='git push'",
      "env -iS 'git push'",
      "nice git push",
      "nice -n 5 git push",
      "nice -5 git push",
      "nice --adjustment=5 git push",
      "nohup git push",
      "nohup -- git push",
      "time git push",
      "time -p git push",
      "timeout 5 git push",
      "timeout -k 1 -s KILL 5 git push",
      "timeout --signal=KILL 5 git push",
      "xargs git push",
      "xargs -n1 -P 4 git push",
      "xargs -I {} git push {}",
      "xargs -i git push",
      "xargs -i{} git push",
      "stdbuf -oL git push",
      "setsid -w git push",
      "command git push",
      "command -p git push",
      "builtin eval git push",
      "exec git push",
      "exec -a x git push",
      "coproc git push",
      "coproc N { git push; }",
      "busybox sh -c 'git push'",
      "flock /l git push",
      "flock -w 5 /l -c 'git push'",
      "script -qc 'git push' /dev/null",
      "script /dev/null -c 'git push'",
      "watch git push",
      "watch -n 1 'git push'",
      "su -c 'git push'",
      "su - user -c 'git push'",
      "su user -c 'git push'",
      "runuser -u x -- git push",
      "runuser x -c 'git push'",
      "strace -f -o x git push",
      "ionice -c2 git push",
      "chrt -f 9 git push",
      "taskset -c 0 git push",
      "chroot /x git push",
      "unshare -n git push",
      "ssh host git push",
      "parallel git push",
      "parallel ::: 'git push'",
      "systemd-run --user git push",
      "sh -c 'git push'",
      "bash -lc 'git push'",
      "bash -c -l 'git push'",
      "bash -o pipefail -c 'git push'",
      "bash --norc -c 'git push'",
      "zsh -c 'git push'",
      "dash -c 'git push'",
      "ksh -c 'git push'",
      "/bin/sh -ec 'git push'",
      "bash -c \"bash -c 'git push'\"",
      "sh -c 'sudo git push'",
      "eval git push",
      "eval 'git' 'push'",
      "eval \"git push\"",
      "trap 'git push' EXIT",
      "alias x='git push'",
      "find . -exec git push ';'",
      "find . -execdir sh -c 'git push' \\;",
      "timeout 5 nice sudo env X=1 git push",
      "echo a # x\ngit push",
      "ls # git push",
      "ls # don't\ngit push",
      "2>/dev/null git push",
      "> x git push",
      "git 2>&1 push",
      "git push > x 2>&1",
      "git push&>x",
      "{fd}>x git push",
      "X=1 git push",
      "X=1 Y+=2 a[0]=3 git push",
      "time ! git push",
      "echo 'x' && $(git push)",
      "ls |& git push",
      "git push <<EOF\nx\nEOF",
      "cat <<A <<B; git push\na\nA\nb\nB",
      "cat <<-E\n\tx\n\tE\ngit push",
  };
  const Rules rules = rules_of(yaml_of({"deny shell git push *", "allow shell *"}));
  for (const std::string& command : commands) {
    const Decision decision = decide_on(rules, Capability::shell, command);
    EXPECT_EQ(effect_name(decision.effect), "deny") << command;
  }
  std::printf("  %zu disguises\n", commands.size());
}

// Data is data: a search that denies these would be useless.
TEST(DenySearch, LeavesDataAlone) {
  const std::vector<std::string> commands{
      "echo 'git push'",
      "echo git push",
      "grep -rn 'git push' src",
      "git pushx",
      "git log push",
      "echo \"a; git push\"",
      "cat <<'EOF'\n$(git push)\nEOF",
      "git commit -m 'git push'",
      "cat <<EOF\ngit push\nEOF",
      "echo '`git push`'",
      "timeout 5 grep git push",
      "find . -name git -path push",
      "python3 git push",
      "echo 'git push",
      "man git push",
  };
  const Rules rules = rules_of(yaml_of({"deny shell git push *", "allow shell *"}));
  for (const std::string& command : commands) {
    EXPECT_NE(effect_name(decide_on(rules, Capability::shell, command).effect), "deny") << command;
  }
}

TEST(DenySearch, AskRulesSearchTheSameWay) {
  const Rules rules = rules_of(yaml_of({"ask shell git push *", "allow shell *", "allow shell timeout *"}));
  const Decision decision = decide_on(rules, Capability::shell, "timeout 5 git push");
  EXPECT_EQ(decision.effect, Effect::ask);
  EXPECT_EQ(decision.reasons.front().rule, "rule-1");
}

TEST(DenySearch, DepthAndSizeAreBoundedAndNeverAllow) {
  std::string deep = "ls";
  for (int level = 0; level < 40; ++level) deep = "$(" + deep + ")";
  EXPECT_TRUE(search_shell("echo " + deep).cut);
  std::string wrapped;
  for (int level = 0; level < 40; ++level) wrapped += "nice ";
  const Rules rules = rules_of(yaml_of({"allow shell *"}));
  const Decision decision = decide_on(rules, Capability::shell, wrapped + "ls");
  EXPECT_NE(decision.effect, Effect::allow);
  EXPECT_TRUE(has_floor(decision, "search-limit"));
  std::string many = "a";
  for (int count = 0; count < 5000; ++count) many += ";a";
  EXPECT_TRUE(search_shell(many).cut);
}

TEST(DenySearch, CommandsKnowTheirPlaceInTheLine) {
  const FoundCommands found = search_shell("ls; sudo rm $(id) | wc");
  std::vector<std::size_t> roots;
  for (const FoundCommand& command : found.commands) roots.push_back(command.root);
  EXPECT_THAT(roots, ElementsAre(0, 1, 1, 1, 1, 1, 2));
}

TEST(Scanner, RedirectionTargetsAreKept) {
  const ScannedText scanned = scan_shell("a <in >out 2>>log &>both >|force <>rw 3>&1 {fd}>named b");
  ASSERT_EQ(scanned.commands.size(), 1U);
  EXPECT_THAT(scanned.commands[0].words, ElementsAre("a", "b"));
  EXPECT_THAT(scanned.commands[0].reads, ElementsAre("in", "rw"));
  EXPECT_THAT(scanned.commands[0].writes, ElementsAre("out", "log", "both", "force", "rw", "1", "named"));
}

TEST(Scanner, AnsiCQuoting) {
  const ScannedText scanned = scan_shell(R"(a $'\x41\102\u0043\n\'\\' $'\e[0m' $"x")");
  ASSERT_EQ(scanned.commands.size(), 1U);
  EXPECT_THAT(scanned.commands[0].words, ElementsAre("a", "ABC\n'\\", "\x1b[0m", "x"));
}

TEST(Scanner, UnterminatedPiecesEndWithTheText) {
  for (const char* text :
       {"'", "\"", "`", "$(", "${", "$'", "<(", "<<", "<<'", "\\", "$", "\"\\", "$'\\", "&>", "2>", "<<<", "{"}) {
    EXPECT_FALSE(scan_shell(text).cut) << text;
    EXPECT_FALSE(search_shell(std::string("a ") + text).cut) << text;
  }
  EXPECT_THAT(scan_shell("a $(b").commands[0].nested, Contains("b"));
}

}  // namespace
}  // namespace oncelatch::policy::testing
