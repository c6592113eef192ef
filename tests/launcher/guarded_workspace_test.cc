// The workspace guard as a user meets it: what the host does in the workspace afterwards, or meanwhile, runs nothing of
// what was inside.
#include <fcntl.h>
#include <sys/inotify.h>

#include "tests/launcher/exec_support.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GuardedWorkspace : public Exec {
 protected:
  void make_repository() const {
    ASSERT_EQ(scratch.on_host("git init -q -b main . && git config user.name t && git config user.email t@e && "
                              "echo a > a && git add a && git commit -qm a"),
              "");
  }
  // A program that leaves a mark outside when it runs there.
  [[nodiscard]] std::string marking() const { return "touch " + path("home/MARK"); }
  [[nodiscard]] bool marked() const { return scratch.exists("home/MARK"); }
  [[nodiscard]] std::vector<std::string> kinds() const {
    std::vector<std::string> all;
    const Json report = scratch.report();
    for (const Json& effect : report.at("host_effects"))
      all.push_back(effect.at("kind").get<std::string>() + " " +
                    effect.at("path").get<std::string>().substr(path("repository/").size()));
    return all;
  }
};

// E039, E031, E032 and the rest of git's ways: tried by whoever wants to, and git used outside meanwhile and after.
TEST_P(GuardedWorkspace, E039NothingRunsWhenGitIsUsedOutside) {
  make_repository();
  scratch.write("evil", "#!/bin/sh\n" + marking() + "\n", 0755);
  const std::string evil = path("evil");
  const std::string hostile = R"sh(
evil="$1"
for round in 1 2 3 4 5 6; do
  for d in . sub sub/deep; do
    mkdir -p $d; git init -q $d/new 2>/dev/null; git -C $d/new config core.fsmonitor "$evil" 2>/dev/null
    git config core.fsmonitor "$evil" 2>/dev/null; git config core.hooksPath . 2>/dev/null
    for hook in pre-commit post-commit post-checkout reference-transaction prepare-commit-msg; do
      printf '#!/bin/sh\n%s\n' "$evil" > .git/hooks/$hook; chmod +x .git/hooks/$hook
    done
    mkdir -p e; cp -r .git/objects .git/refs e; echo ../e > .git/commondir; printf '[core]\nfsmonitor=%s\n' "$evil" > e/config
    mkdir bare; cp -r .git/HEAD .git/objects .git/refs bare; printf '[core]\nbare=false\nworktree=.\nfsmonitor=%s\n' "$evil" > bare/config
    printf '[filter "x"]\nclean=%s\n' "$evil" > $d/c; mv $d/c .git/config; ln -sf $d/c .git/config.worktree
    echo '* filter=x' > .gitattributes; echo '* filter=x' > .git/info/attributes
    mkdir -p h; cp .git/hooks/pre-commit h/ 2>/dev/null; mv .git/hooks h/old; ln -s ../h .git/hooks
  done 2>/dev/null
  sleep 0.1
done
echo tried)sh";
  Process running = scratch.start(all({}, {"sh", "-c", hostile, "sh", evil}));
  for (bool more = true; more;) {
    more = !running.poll().value_or(std::optional<ExitStatus>(ExitStatus{}));
    (void)scratch.on_host("git status; cd bare 2>/dev/null && git status; cd ../sub 2>/dev/null && git status");
  }
  EXPECT_THAT(scratch.read("stdout.txt"), HasSubstr("tried"));
  (void)scratch.on_host(
      "git status; git add -A; git commit -qm after; git checkout -q -b other; git gc -q; git diff HEAD~1");
  for (const char* place : {"new", "sub/new", "sub/deep/new", "bare", "e", "sub"})
    (void)scratch.on_host("cd " + std::string(place) + " && git status && git log");
  EXPECT_FALSE(marked());
  EXPECT_THAT(scratch.on_host("git log --format=%s | head -n 1"), HasSubstr("after"));
}

// E041, E042: what an editor, a shell or another agent would find.
TEST_P(GuardedWorkspace, EditorsShellsAndAgentsFindNothing) {
  const std::string hostile =
      "mkdir -p .vscode .idea .cursor .kiro/settings .devcontainer sub/.vscode; "
      "for f in .vscode/tasks.json .vscode/settings.json sub/.vscode/tasks.json .idea/workspace.xml .envrc sub/.envrc "
      ".mcp.json .cursor/mcp.json .kiro/settings/mcp.json .devcontainer/devcontainer.json .bashrc .husky/pre-commit; "
      "do "
      "echo '" +
      marking() + "' > $f; cp .seed $f; mv .seed2 $f; done 2>/dev/null; echo tried";
  scratch.write("repository/.seed", "x", 0644);
  EXPECT_EQ(shell(hostile).out, "tried\n");
  EXPECT_EQ(scratch.on_host("find . -type f ! -name '.seed*' ! -path './.git/*' | sort"), "");
  (void)scratch.on_host("if test -e .envrc; then . ./.envrc; fi; HOME=$PWD bash -ic true </dev/null");
  EXPECT_FALSE(marked());
}

// Private directories hold the places where the workspace and its repository are shown: moved, they would take them
// away from the rules.
TEST_P(GuardedWorkspace, WhatLeadsToItIsntMoved) {
  make_repository();
  ASSERT_EQ(scratch.on_host("git worktree add -q -b fix ../fix 2>&1"), "");
  for (const char* place : {"repository", "fix"}) {
    const Output output = scratch.oncelatch(all({"--workspace", path(place)}, {"sh", "-c", R"sh(
above=$(dirname "$PWD"); mkdir -p /tmp/other; exec 2>/dev/null
mv "$above" /tmp/x && echo MOVED; mv "$above/" /tmp/x && echo MOVED; mv "$above/../$(basename "$above")" /tmp/x && echo MOVED
cd /tmp && mv "$(basename "$above")" x && echo MOVED
python3 -c "
import ctypes, sys
libc = ctypes.CDLL(None)
for flags in (0, 1, 2):
    for one, two in ((b'$above', b'/tmp/other'), (b'/tmp/other', b'$above')):
        if libc.renameat2(-100, one, -100, two, flags) == 0: print('MOVED', one)
"
mv /tmp/other /tmp/free && echo free; cd "$1" && echo x > .envrc && echo MADE; cd /tmp/x/* && echo THERE)sh",
                                                                               "sh", path(place)}));
    EXPECT_EQ(output.out, "free\n") << place << output.err;
  }
  EXPECT_FALSE(scratch.exists("repository/.envrc"));
}

// Names below such a directory are its own, and a workspace of their own would give them none.
TEST_P(GuardedWorkspace, ItDoesntLieWhereNamesTakeEffect) {
  make_repository();
  for (const char* name : {".vscode", ".github/workflows/more", ".husky/_", "sub/.kiro/settings", "loose/.idea"})
    make_directory("repository/" + std::string(name));
  ASSERT_EQ(scratch.on_host("git init -q --bare bare.git && mkdir -p .claude/worktrees bare.git/mine && "
                            "git worktree add -q -b fix .claude/worktrees/fix && mkdir .claude/worktrees/fix/.idea"),
            "");
  auto at = [&](const std::string& place) {
    return scratch.oncelatch(all({"--workspace", path(place)}, {"sh", "-c", "echo started"}));
  };
  for (const char* name : {".vscode", ".github", ".github/workflows", ".github/workflows/more", ".husky", ".husky/_",
                           "sub/.kiro/settings", ".claude/worktrees/fix/.idea"}) {
    const Output output = at("repository/" + std::string(name));
    EXPECT_EQ(output.status.shell_code(), 122) << name << output.err;
    EXPECT_THAT(output.err, AllOf(HasSubstr("takes effect outside"), HasSubstr("takes the whole repository"))) << name;
  }
  for (const char* name : {".git", ".git/refs", "bare.git/refs", "bare.git/mine"}) {
    const Output output = at("repository/" + std::string(name));
    EXPECT_EQ(output.status.shell_code(), 122) << name << output.err;
    EXPECT_THAT(output.err, HasSubstr("lies in a git directory")) << name;
  }
  for (const char* name : {"sub", ".claude/worktrees/fix", "bare.git"})
    EXPECT_EQ(at("repository/" + std::string(name)).out, "started\n") << name;
  std::filesystem::remove_all(path("repository/.git"));
  const Output output = at("repository/loose/.idea");
  EXPECT_EQ(output.status.shell_code(), 122);
  EXPECT_THAT(output.err, HasSubstr("name what it belongs to"));
}

// E043, E045: what a build, a package manager or a service would run is made, and told.
TEST_P(GuardedWorkspace, E043WhatIsRunLaterIsTold) {
  Output output =
      run({"--fail-on", "any"},
          {"sh", "-c",
           "mkdir -p .github/workflows .venv/bin node_modules/.bin; "
           "for f in package.json Makefile .github/workflows/x.yml conftest.py setup.py build.rs .npmrc "
           "AGENTS.md .gitmodules; do echo 'run me' > $f || echo REFUSED $f; done; "
           "for f in .venv/bin/python node_modules/.bin/tsc ls; do echo '#!/bin/sh' > $f; chmod +x $f; done; "
           "ln -s /etc/passwd out; mkfifo pipe; echo plain > notes.txt"});
  EXPECT_EQ(output.out, "");
  EXPECT_EQ(output.status.shell_code(), 123) << output.err;
  for (const char* told :
       {"package package.json", "build Makefile", "ci .github/workflows/x.yml", "package conftest.py",
        "package setup.py", "build build.rs", "package .npmrc", "agent AGENTS.md", "git .gitmodules",
        "package .venv/bin/python", "package node_modules/.bin/tsc", "program ls", "link out", "special pipe"})
    EXPECT_THAT(kinds(), Contains(told));
  EXPECT_THAT(kinds(), ::testing::Not(Contains(HasSubstr("notes.txt"))));
}

// E012: whatever the order of the options, a denied directory is hidden as a whole.
TEST_P(GuardedWorkspace, E012TheOrderOfRulesDoesntMatter) {
  make_directory("repository/a");
  make_directory("repository/a/b");
  scratch.write("repository/a/secret", "x", 0644);
  const std::vector<Words> rules = {{"--write", path("repository")},
                                    {"--deny", "a"},
                                    {"--read", path("repository/a/b")},
                                    {"--write", path("repository/a/b")}};
  std::vector<std::size_t> order = {0, 1, 2, 3};
  std::set<std::string> seen;
  std::set<std::string> explained;
  do {
    Words options;
    for (std::size_t one : order) options.insert(options.end(), rules[one].begin(), rules[one].end());
    Words explain = options;
    explain.emplace_back("--explain");
    explained.insert(scratch.oncelatch(all(explain, {"true"})).out);
    Output output = run(options, {"sh", "-c",
                                  "echo x > top && echo top; echo x > a/in 2>/dev/null && echo in; "
                                  "echo x > a/b/deep 2>/dev/null && echo deep; cat a/secret 2>/dev/null"});
    seen.insert(std::to_string(output.status.shell_code()) + output.out);
    EXPECT_THAT(output.err, AllOf(HasSubstr("a/b isn't shown: --deny a hides it"),
                                  ::testing::Not(HasSubstr("a/b lies in the workspace"))));
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_THAT(seen, ::testing::ElementsAre(HasSubstr("top\n")));
  for (const std::string& text : explained)
    EXPECT_THAT(text, ::testing::ContainsRegex(path("repository/a") + "[ \n]+--deny"));
  EXPECT_THAT(*seen.begin(), AllOf(::testing::Not(HasSubstr("in\n")), ::testing::Not(HasSubstr("deep"))));
}

// E025: what is refused doesn't depend on how much there is: nothing below the workspace is looked at before the start,
// nor after it unless the report asks.
TEST_P(GuardedWorkspace, E025NoScanOfTheWorkspace) {
  make_directory("repository/many");
  ASSERT_EQ(scratch.on_host("cd many && seq 500 | xargs touch && mkdir -p deep/$(seq -s/ 100)"), "");
  Fd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(watch.get(), path("repository/many").c_str(), IN_OPEN | IN_ACCESS), 0);
  EXPECT_EQ(scratch.oncelatch(all({}, {"touch", "beside"})).status.shell_code(), 0);
  char events[4096];
  EXPECT_LT(::read(watch.get(), events, sizeof events), 0) << "it was opened";
  EXPECT_EQ(scratch.oncelatch(all({}, {"ls", "many"})).status.shell_code(), 0);
  EXPECT_GT(::read(watch.get(), events, sizeof events), 0) << "the watch works";
}
EXEC_USERS(GuardedWorkspace);

}  // namespace
}  // namespace oncelatch::test
