#include "policy/program_risk.h"

#include "policy/program_tables.h"
#include "policy/unwrap.h"
#include "policy/wrapper_tables.h"
#include "tests/policy/support.h"

namespace oncelatch::policy::testing {
namespace {

// Under "allow shell PROGRAM *" and under "allow shell *" alike.
void expect_risky(const std::vector<std::string>& commands) {
  for (const std::string& command : commands) {
    const std::string program = command.substr(0, command.find(' '));
    for (const std::string& rule : {"allow shell " + program + " *", std::string("allow shell *")}) {
      const Decision decision = decide_on(rules_of(yaml_of({rule})), Capability::shell, command);
      EXPECT_EQ(decision.effect, Effect::ask) << command << " under " << rule;
      EXPECT_TRUE(has_floor(decision, "executes-other-programs")) << command << " under " << rule;
    }
  }
}

TEST(WildcardRisk, OptionsThatRunOrWrite) {
  expect_risky({"find . -exec id ';'",
                "find . -okdir id ';'",
                "find . -fprintf x y",
                "git -c core.pager=id log",
                "git -ccore.pager=id log",
                "git --config-env=a=b log",
                "git --exec-path=/x log",
                "git ls-remote --upload-pack=id .",
                "git ls-remote --upload=id .",
                "git log --outp=x",
                "git clone -u id x",
                "git rebase -x id",
                "git rebase --exec id",
                "git bisect run id",
                "git submodule foreach id",
                "git config core.pager id",
                "git grep -Oid x",
                "git archive --remote=x",
                "git diff --ext-diff",
                "git difftool -x id",
                "git -C x config a b",
                "tar --to-command=id -xf x",
                "tar -cIid x",
                "tar -Iid -xf x",
                "tar cIf id x y",
                "tar --checkpoint-act=exec=id x",
                "rsync -e id a b",
                "rsync -ae id a b",
                "rsync --rsh=id a b",
                "sort -uo x y",
                "sort -ox y",
                "sort --out=x y",
                "rg --pre id x",
                "curl -sSLo x y",
                "curl -O y",
                "curl --outp x y",
                "curl -Kx",
                "wget -O x y",
                "ssh -oProxyCommand=id h",
                "date --set=x",
                "npm --script-shell=id test",
                "make -fx",
                "make --eval=x",
                "cmake -P x",
                "go test -exec id",
                "go build -toolexec id",
                "cargo --config x build",
                "docker run -v /:/x i",
                "docker run --privileged i",
                "dd of=x",
                "tee x",
                "man ls",
                "less x",
                "vim x",
                "uniq a b",
                "ip netns exec x id",
                "printf -v x y",
                "fd -x id",
                "xxd -r a b",
                "psql -c x",
                "gcc -wrapper id x.c"});
}

TEST(WildcardRisk, ProgramTexts) {
  expect_risky({"sed '1e id' f",
                "sed 's/a/b/e' f",
                "sed 's/a/b/w x' f",
                "sed -i s/a/b/ f",
                "sed -f x f",
                "sed -Ei s/a/b/ f",
                "sed -ni.bak p f",
                "sed -Ef x f",
                "sed -n -e '1w x' f",
                "sed '/a/e' f",
                "sed --expression='1e id' f",
                "sed -e's/a/id/e' f",
                "sed -ne 1e f",
                "awk 'BEGIN{system(\"id\")}'",
                "awk '{print > \"x\"}' f",
                "awk '{print | \"id\"}' f",
                "awk '{\"id\" | getline}' f",
                "awk -f x",
                "gawk '@load \"x\"'",
                "python3 -c x",
                "python3.11 -c x",
                "python3 -Ic x",
                "python3 -m http.server",
                "perl -e x",
                "perl -ne x",
                "ruby -e x",
                "node -e x",
                "node -p x",
                "node --eval=x",
                "node --ev x",
                "php -r x",
                "lua5.4 -e x",
                "bun --preload x y",
                "deno eval x"});
}

TEST(WildcardRisk, ProgramsThatReadAProgramText) {
  for (const char* command :
       {"bash", "sh -s", "bash -x", "python3", "python3 -u", "perl", "node", "bash -", "python3 -", "sh /dev/stdin"}) {
    const std::string program = std::string(command).substr(0, std::string(command).find(' '));
    EXPECT_EQ(shell_effect({"allow shell " + program + " *", "allow shell curl *"}, std::string("curl x | ") + command),
              Effect::ask)
        << command;
    EXPECT_EQ(shell_effect({"allow shell *"}, std::string("curl x | ") + command), Effect::ask) << command;
  }
  EXPECT_EQ(shell_effect({"allow shell python3 *"}, "python3 --version"), Effect::allow);
  EXPECT_EQ(shell_effect({"allow shell python3 *"}, "python3 x.py"), Effect::allow);
  EXPECT_EQ(shell_effect({"allow shell bash", "allow shell echo *"}, "echo x | bash"), Effect::allow)
      << "named exactly";
}

TEST(WildcardRisk, Wrappers) {
  expect_risky({"sudo ls", "env ls", "env X=1 ls", "xargs rm", "xargs -n1 rm", "setsid ls", "command ls", "busybox ls",
                "bash -c ls", "sh -ec ls", "flock x ls", "script -c ls x", "watch ls", "su -c ls", "strace ls",
                "chroot x ls", "ssh h ls"});
}

TEST(WildcardRisk, ANamedWordIsMeant) {
  EXPECT_EQ(shell_effect({"allow shell find * -delete"}, "find . -name '*.o' -delete"), Effect::allow);
  EXPECT_EQ(shell_effect({"allow shell find * -delete"}, "find . -exec id ';' -delete"), Effect::ask);
  EXPECT_EQ(shell_effect({"allow shell sort -o out.txt *"}, "sort -o out.txt in.txt"), Effect::allow);
  EXPECT_EQ(shell_effect({"allow shell git log --output=* *"}, "git log --output=x"), Effect::allow);
  EXPECT_EQ(shell_effect({"allow shell sudo ls *"}, "sudo ls -l"), Effect::allow);
  EXPECT_EQ(shell_effect({"allow shell sudo find *"}, "sudo find . -delete"), Effect::ask);
  EXPECT_EQ(shell_effect({"allow shell xargs grep -n *"}, "xargs grep -n x"), Effect::allow);
  EXPECT_EQ(shell_effect({"allow shell bash -c 'npm test'"}, "bash -c 'npm test'"), Effect::allow);
  EXPECT_EQ(shell_effect({"allow shell bash -c *"}, "bash -c 'npm test'"), Effect::ask);
  EXPECT_EQ(shell_effect({"allow shell python3 -m json.tool *"}, "python3 -m json.tool x"), Effect::allow);
}

TEST(WildcardRisk, HarmlessWordsStayAllowed) {
  for (const char* command : {"find . -name '*.c' -print",
                              "git log --oneline -p",
                              "git diff --stat",
                              "git status -s",
                              "git add -u",
                              "tar tf x.tar",
                              "tar -tzf x.tar",
                              "rsync -av a b",
                              "sed -n 5p f",
                              "sed -n 1,10p f",
                              "sed 's/a/b/g' f",
                              "sed -E -e s,a,b, f",
                              "awk '{print $1}' f",
                              "sort -k2 -u f",
                              "rg -n foo",
                              "curl -sSL -XPOST https://x",
                              "npm run build",
                              "npm ci",
                              "make -j4 all",
                              "cmake --build b -j2",
                              "go test ./...",
                              "cargo test",
                              "uniq -c f",
                              "date +%s",
                              "docker ps -a",
                              "ssh-keygen -l",
                              "grep -rn e x"}) {
    const std::string program = std::string(command).substr(0, std::string(command).find(' '));
    EXPECT_EQ(shell_effect({"allow shell " + program + " *"}, command), Effect::allow) << command;
  }
}

TEST(Tables, EveryRowHasAHelpLineAndIsFound) {
  for (const RiskyOptions& row : risky_options()) {
    EXPECT_FALSE(row.help.empty()) << row.programs;
    EXPECT_FALSE(row.options.empty()) << row.programs;
    EXPECT_EQ(row.options.find("  "), std::string_view::npos) << row.programs;
  }
  for (const char* name : {"sudo", "env", "nice", "nohup", "time", "timeout", "xargs", "stdbuf", "setsid", "command",
                           "builtin", "exec", "doas", "busybox"}) {
    const Wrapper* wrapper = find_wrapper(name);
    ASSERT_NE(wrapper, nullptr) << name;
    EXPECT_FALSE(wrapper->help.empty()) << name;
  }
  for (const char* name : {"sh", "bash", "zsh", "dash", "ksh"}) EXPECT_TRUE(is_shell(name));
  EXPECT_EQ(without_version("python3.11"), "python");
  EXPECT_EQ(without_version("7"), "7");
  EXPECT_EQ(program_name("/usr/bin/x"), "x");
  EXPECT_FALSE(has_word("abc def", "ab"));
  EXPECT_FALSE(has_word("abc def", ""));
}

TEST(Unwrap, AnUnknownOptionNamesEveryPlace) {
  const Unwrapped inner = unwrap({"timeout", "--odd", "5", "git", "push"});
  EXPECT_FALSE(inner.known);
  EXPECT_FALSE(inner.transparent);
  EXPECT_THAT(inner.starts, ::testing::ElementsAre(3, 4));
}

TEST(Unwrap, AssignmentsAreRecognised) {
  for (const char* word : {"A=1", "_a1=", "A+=x", "a[0]=x", "a[$(id)]=x"}) EXPECT_TRUE(is_assignment(word)) << word;
  for (const char* word : {"", "=", "=a", "1a=b", "a-b=c", "a b=c", "--x=y", "+=x"})
    EXPECT_FALSE(is_assignment(word)) << word;
}

}  // namespace
}  // namespace oncelatch::policy::testing
