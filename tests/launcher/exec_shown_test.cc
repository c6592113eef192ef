// What exec shows and hides, git, and sandboxes within sandboxes. Names of cases stand in the tests' names.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <fstream>
#include "base/fd.h"

#include "tests/launcher/exec_support.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
namespace fs = std::filesystem;

class ExecShown : public Exec {};

TEST_P(ExecShown, ReadWriteAndDeny) {
  scratch.write("shown/file", "text", 0644);
  scratch.write("shown/hidden", "secret", 0644);
  make_directory("writable");
  scratch.write("repository/.env", "secret", 0644);
  Output output =
      shell("cat " + path("shown/file") + "; echo x > " + path("shown/new") + "; echo y > " + path("writable/new") +
                "; cat " + path("shown/hidden") + " .env; echo z > .env; ls " + path("state"),
            {"--read", path("shown"), "--write", path("writable"), "--deny", path("shown/hidden"), "--deny",
             path("repository/.env")});
  EXPECT_EQ(output.out, "text") << output.err;
  EXPECT_THAT(output.err, AllOf(HasSubstr("Read-only file system"), HasSubstr("No such file")));
  EXPECT_FALSE(scratch.exists("shown/new"));
  EXPECT_EQ(scratch.read("writable/new"), "y\n");
  EXPECT_EQ(scratch.read("repository/.env"), "secret");
}

// In whatever order, from the command line or from a profile.
TEST_P(ExecShown, DenyTakesBackWhatIsShown) {
  scratch.write("shown/inner/file", "secret", 0644);
  scratch.write("other/file", "text", 0644);
  scratch.write("lab.yaml", "read: [" + path("shown") + "]\n", 0644);
  const std::string script = "cat " + path("shown/inner/file") + " " + path("other/file");
  for (const Words& options :
       {Words{"--read", path("shown"), "--deny", path("shown")},
        Words{"--deny", path("shown"), "--write", path("shown")},
        Words{"--read", path("shown/inner/file"), "--deny", path("shown")},
        Words{"--read", path("shown"), "--read", path("shown/inner"), "--deny", path("shown/inner")},
        Words{"--profile", path("lab.yaml"), "--deny", path("shown")}}) {
    Words all = options;
    all.insert(all.end(), {"--read", path("other")});
    Output output = shell(script, all);
    EXPECT_EQ(output.out, "text") << ::testing::PrintToString(options) << output.err;
    EXPECT_THAT(output.err, AllOf(HasSubstr("No such file"), HasSubstr("isn't shown")));
  }
  make_directory("home/.nvm");
  scratch.write("home/.nvm/file", "secret", 0644);
  EXPECT_EQ(shell("cat " + path("home/.nvm/file"), {"--deny", path("home/.nvm")}).out, "");
  EXPECT_EQ(shell("echo works", {"--deny", "/run", "--deny", "/home"}).out, "works\n") << "not shown anyway";
}

// What toolchains are shown for, and not what lies beside it.
TEST_P(ExecShown, ToolchainsShowNoCredentials) {
  for (const char* name : {"home/.local/bin/tool", "home/.local/share/uv/tools/x/f", "home/.cargo/bin/tool"})
    scratch.write(name, "tool", 0755);
  for (const char* name : {"home/.local/share/uv/credentials/credentials.toml", "home/.cargo/credentials.toml",
                           "home/.npmrc", "home/.ghcup/config.yaml"})
    scratch.write(name, "secret", 0644);
  make_directory("home/.ghcup/bin");
  Output output =
      shell("cd " + path("home") +
            "; cat .local/bin/tool .local/share/uv/tools/x/f .cargo/bin/tool; cat "
            ".local/share/uv/credentials/credentials.toml .cargo/credentials.toml .npmrc .ghcup/config.yaml");
  EXPECT_EQ(output.out, "tooltooltool") << output.err;
}

// E089
TEST_P(ExecShown, TheRepositorysSettingsAreNotReadAndThatIsSaid) {
  scratch.write("repository/.oncelatch.yaml", "sandbox: {enabled: false}\nextends: none\nnetwork: ports\n", 0644);
  Output output = shell("cat " + path("home/secret") + "; grep -c . /proc/net/dev", {});
  EXPECT_THAT(output.err, AllOf(HasSubstr(".oncelatch.yaml isn't read"), HasSubstr("No such file")));
  ::unlink(path("repository/.oncelatch.yaml").c_str());
  EXPECT_EQ(run({}, {"true"}).err, "");
}

// The last name of the way to it may have been planted.
TEST_P(ExecShown, AWorkspaceThatIsALinkIsTold) {
  make_directory("elsewhere");
  ASSERT_EQ(::symlink("../elsewhere", path("repository/app").c_str()), 0);
  Output output = run({"--workspace", path("repository/app")}, {"pwd"});
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr("the workspace is a link, and leads to " + path("elsewhere")));
}

TEST_P(ExecShown, WhatCantBeEnforcedIsRefused) {
  Output pattern = run({"--deny", "*.pem"}, {"echo", "RAN"});
  EXPECT_EQ(pattern.status.shell_code(), 122);
  EXPECT_THAT(pattern.err, HasSubstr("can't be enforced"));
  for (const Words& options :
       {Words{"--deny", "absent"}, Words{"--read", "absent"}, Words{"--write", "absent"}, Words{"--read", "/"},
        Words{"--write", "/usr"}, Words{"--write", "/run"}, Words{"--workspace", "/sys/kernel"},
        Words{"--workspace", "/usr/local/bin"}, Words{"--write", "/var/lib"}, Words{"--read", "/proc"},
        Words{"--deny", "."}, Words{"--allow", "loopback", "--net", "ports:443"},
        Words{"--net", "ports:443", "--allow", "loopback"}, Words{"--read", ""}, Words{"--deny", "/usr/share/doc"},
        Words{"--deny", "/etc/passwd"}, Words{"--deny", "/etc"}, Words{"--deny", "/proc/self"}, Words{"--deny", "/"}}) {
    Output output = run(options, {"echo", "RAN"});
    EXPECT_EQ(output.status.shell_code(), 122) << ::testing::PrintToString(options);
    EXPECT_EQ(output.out, "");
  }
}

TEST_P(ExecShown, GitWorksAndWhatItWouldRunIsProtected) {
  ASSERT_EQ(scratch.on_host("git init -q . && echo a > a && git add a && "
                            "git -c user.name=t -c user.email=t@e commit -qm a"),
            "");
  Output output = shell(
      "echo b > b && git add b && git -c user.name=t -c user.email=t@e commit -qm b && git log --oneline | wc -l; "
      "echo '#!/bin/sh' > .git/hooks/post-commit; echo x >> .git/config; git config core.fsmonitor ./x; "
      "mv .git/hooks .git/h; mv .git g; rm .git/config; rm -r .git/hooks");
  EXPECT_EQ(output.out, "2\n") << output.err;
  EXPECT_THAT(output.err, AllOf(HasSubstr("Permission denied"), HasSubstr("Read-only file system")));
  EXPECT_EQ(scratch.on_host("git status --porcelain"), "");
  EXPECT_EQ(scratch.on_host("git log --oneline | wc -l; git config core.fsmonitor; "
                            "ls .git/hooks/post-commit 2>/dev/null; ls .git/config"),
            "2\n.git/config\n");
}

// B033: what git would run, reached by links of every kind.
TEST_P(ExecShown, B033LinksToWhatGitWouldRun) {
  const std::string git = path("repository/.git");
  for (const char* name : {"real/hooks", "outside/hooks"}) make_directory(name);
  make_directory("repository/shared");
  make_directory("repository/.git");
  make_directory("repository/.git/info");
  scratch.write("repository/.git/real-config", "[core]\n", 0644);
  own("repository/.git/real-config");
  fs::create_symlink("real-config", git + "/config");
  fs::create_symlink("../shared", git + "/hooks");
  fs::create_symlink(path("outside/hooks"), git + "/modules");
  fs::create_symlink("config.worktree", git + "/config.worktree");
  Output output = shell(
      "cd .git; for f in config hooks modules config.worktree; do rm -rf $f; mv $f moved; ln -sfn /tmp $f; done; "
      "echo x >> config; echo x >> real-config; echo x > ../shared/post-commit; echo x > hooks/post-commit; mv "
      "../shared ../s; "
      "cat config; echo work > ../work");
  EXPECT_EQ(output.out, "[core]\n") << output.err;
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_EQ(fs::read_symlink(git + "/config"), "real-config");
  EXPECT_EQ(fs::read_symlink(git + "/hooks"), "../shared");
  EXPECT_EQ(fs::read_symlink(git + "/modules"), path("outside/hooks"));
  EXPECT_EQ(fs::read_symlink(git + "/config.worktree"), "config.worktree");
  EXPECT_EQ(scratch.read("repository/.git/real-config"), "[core]\n");
  EXPECT_TRUE(fs::is_empty(path("repository/shared")));
  EXPECT_EQ(scratch.read("repository/work"), "work\n");
  EXPECT_THAT(output.err, HasSubstr("/.git/hooks is a link"));
}

// B033: the whole git directory by a link, beside the workspace and in it.
TEST_P(ExecShown, B033ALinkToTheGitDirectory) {
  for (const char* place : {"elsewhere", "repository/inside"}) {
    fs::remove(path("repository/.git"));
    make_directory(std::string(place) + "/hooks");
    own(place);
    scratch.write(std::string(place) + "/config", "[core]\n", 0644);
    own(std::string(place) + "/config");
    fs::create_symlink(path(place), path("repository/.git"));
    Output output = shell(
        "rm .git; mv .git g; ln -sfn /tmp .git; mv inside i; echo x >> inside/config; echo x > inside/hooks/h; "
        "echo x > .git/hooks/h; echo ran");
    EXPECT_EQ(output.out, "ran\n") << output.err;
    EXPECT_EQ(fs::read_symlink(path("repository/.git")), path(place));
    EXPECT_EQ(scratch.read(std::string(place) + "/config"), "[core]\n");
    EXPECT_TRUE(fs::is_empty(path(place) + "/hooks"));
  }
}

// B044: the message names what is missing, a target or an interpreter too, and the option that shows it.
TEST_P(ExecShown, B044WhatAProgramNeedsAndDoesntHave) {
  for (const char* name : {"tool", "elsewhere", "interpreters"}) make_directory(name);
  fs::copy_file("/bin/true", path("tool/program"));
  fs::copy_file("/bin/true", path("elsewhere/wrapped"));
  fs::copy_file("/bin/sh", path("interpreters/own"));
  fs::create_symlink("../elsewhere/wrapped", path("tool/wrapper"));
  scratch.write("tool/script", "#!/usr/bin/env python3\nprint('ran')\n", 0755);
  scratch.write("tool/odd", "#!" + path("interpreters/own") + "\necho ran\n", 0755);
  const Words shown = {"--read", path("tool")};
  EXPECT_EQ(run(shown, {path("tool/program")}).status.shell_code(), 0);
  EXPECT_EQ(run(shown, {path("tool/script")}).out, "ran\n");
  const std::pair<const char*, const char*> missing[] = {{"wrapper", "elsewhere/wrapped"}, {"odd", "interpreters/own"}};
  for (const auto& [name, needed] : missing) {
    Output output = run(shown, {path("tool/") + name});
    EXPECT_EQ(output.status.shell_code(), 127) << name;
    const std::string directory = fs::path(path(needed)).parent_path();
    EXPECT_THAT(output.err, AllOf(HasSubstr(path(needed) + " isn't visible"), HasSubstr("add --read " + directory)));
    Words more = shown;
    more.insert(more.end(), {"--read", directory});
    Output again = run(more, {path("tool/") + name});
    EXPECT_EQ(again.status.shell_code(), 0) << "the advice works: " << again.err;
  }
  EXPECT_THAT(run({}, {path("tool/program")}).err, HasSubstr("add --read " + path("tool")));
}

// B034: kept from every spelling, or refused; a late file is what the refusal speaks of.
TEST_P(ExecShown, B034WhatIsDeniedByEverySpelling) {
  add_probe();
  make_directory("repository/build");
  make_directory("repository/keys");
  scratch.write("repository/build/file", "canary", 0644);
  scratch.write("repository/keys/file.kdbx", "canary", 0644);
  scratch.write("repository/.env", "canary", 0644);
  fs::create_symlink(".env", path("repository/link"));
  fs::create_symlink("build", path("repository/by-link"));
  const std::string ws = path("repository");
  Output output =
      run({"--deny", ws + "/.env", "--deny", "build/", "--deny", "keys/file.kdbx"},
          {"sh", "-c",
           "cat .env ./.env " + ws +
               "/.env link build/file by-link/file keys/../build/file keys/file.kdbx "
               "/proc/self/cwd/.env; git show :.env; git hash-object .env keys/file.kdbx; ln .env hard; cat hard; "
               "mv build b; mv .env e; cat b/file e; ./probe read=.env read=build/file; echo end"});
  EXPECT_THAT(output.out, Not(HasSubstr("canary"))) << output.err;
  EXPECT_THAT(output.out, HasSubstr("end\n"));
  EXPECT_THAT(output.out, Not(HasSubstr(" OK")));
  EXPECT_EQ(scratch.read("repository/.env"), "canary");
  EXPECT_EQ(scratch.read("repository/build/file"), "canary");
  for (const char* pattern : {"**/.env", "keys/**.kdbx", "*.pem"}) {
    Output refused = run({"--deny", pattern}, {"echo", "RAN"});
    EXPECT_EQ(refused.status.shell_code(), 122) << pattern;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("can't be enforced"), HasSubstr("made later")));
    EXPECT_EQ(refused.out, "");
  }
}

// B039: a repository that is only shown, with a workspace beside it.
TEST_P(ExecShown, B039ARepositoryThatIsOnlyRead) {
  add_probe();
  make_directory("scrap");
  scratch.write("repository/file", "text", 0644);
  const std::string before = "oncelatch-b039-" + std::to_string(::getpid());
  Output output =
      run({"--workspace", path("scrap"), "--read", path("repository")},
          {"sh", "-c",
           "cd " + path("repository") + "; cat file; for d in . /tmp /var/tmp /dev/shm \"$TMPDIR\" \"$HOME\" " +
               path("scrap") + "; do echo x > $d/" + before + " && echo wrote $d; done; echo x >> file; rm file"});
  EXPECT_THAT(output.out, StartsWith("text")) << output.err;
  EXPECT_THAT(output.out, AllOf(HasSubstr("wrote /tmp\n"), HasSubstr("wrote /dev/shm\n"), Not(HasSubstr("wrote .\n"))));
  for (const char* place : {"/tmp/", "/var/tmp/", "/dev/shm/"}) EXPECT_FALSE(fs::exists(place + before)) << place;
  EXPECT_EQ(scratch.read("repository/file"), "text");
  EXPECT_FALSE(fs::exists(path("repository/") + before));
}

// B038: what governs the launcher lies out of reach, and inside it only tightens.
TEST_P(ExecShown, B038WhatGovernsTheLauncherCantBeWritten) {
  add_probe();
  for (const char* name : {"state/oncelatch", "config/oncelatch/profiles", "home"}) make_directory(name);
  Words attempts = {"./probe"};
  for (const std::string& place : {path("config/oncelatch/policy.yaml"), path("config/oncelatch/profiles/strict.yaml"),
                                   path("state/oncelatch/audit.db"), path("home/.bashrc"), path("home/.profile")}) {
    attempts.push_back("write=" + place);
    attempts.push_back("append=" + place);
  }
  Output output = run({}, attempts);
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_THAT(output.out, Not(HasSubstr(" OK")));
  EXPECT_THAT(output.out, HasSubstr(" E"));
  EXPECT_FALSE(scratch.exists("config/oncelatch/policy.yaml"));
  EXPECT_FALSE(scratch.exists("config/oncelatch/profiles/strict.yaml"));
}

TEST_P(ExecShown, ASandboxInASandboxIsRefusedInOneParagraph) {
  std::string programs = GetParam() == ::geteuid() ? std::string(ONCELATCH_BINARY_DIR) + "/launcher" : path("bin");
  Output output = run({"--read", programs}, {programs + "/oncelatch", "exec", "--", "echo", "RAN"});
  EXPECT_EQ(output.status.shell_code(), 121) << output.err;
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(output.err, StartsWith("oncelatch: sandbox: "));
  EXPECT_THAT(output.err, AllOf(HasSubstr("in a sandbox already"), Not(HasSubstr("\n\n"))));
  EXPECT_EQ(reason(), "exited") << "the outer one's program ended so";
}

// B037: a process of the same user beside it, and the launcher itself.
TEST_P(ExecShown, B037NothingOutsideIsSeenOrSignalled) {
  add_probe();
  Spawn sibling;
  sibling.path = "/bin/sleep";
  sibling.argv = {"sleep", "60"};
  sibling.environment = {"CANARY=canary-4711"};
  Result<Process> beside = oncelatch::start(sibling);
  ASSERT_TRUE(beside);
  std::string pid = std::to_string(beside->pid());
  Words environment = environment_with({"KIRO_API_KEY=canary-4711"});
  Output output = changed({},
                          {"sh", "-c",
                           "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | grep -c canary-471[1]; "
                           "./probe signal=" +
                               pid + " ptrace-attach=" + pid + " read=/proc/1/mem list=/proc/1/fd"},
                          environment);
  EXPECT_THAT(output.out, StartsWith("0\n"));
  EXPECT_THAT(output.out, Not(HasSubstr(" OK"))) << output.err;
  EXPECT_TRUE(is_running(beside->pid()));
  Process launcher = scratch.start(all({}, {"sleep", "30"}));
  ASSERT_TRUE(eventually([&] {  // the command runs: no step of the others is left
    std::vector<ProcessLine> tree = process_tree(launcher.pid());
    return std::any_of(tree.begin(), tree.end(), [](const ProcessLine& one) { return one.command == "sleep 30 "; });
  }));
  for (const ProcessLine& one : process_tree(launcher.pid())) {
    struct stat owner {};
    if (one.command.find("sleep") == 0 || GetParam() == 0) continue;
    ASSERT_EQ(::stat(("/proc/" + std::to_string(one.pid) + "/environ").c_str(), &owner), 0);
    EXPECT_EQ(owner.st_uid, 0U) << one.command << ": dumpable";
  }
}

// Two slashes at the start are one, wherever they come from.
TEST_P(ExecShown, TwoLeadingSlashesAreOne) {
  scratch.write("repository/secret", "canary-4711\n");
  const std::string twice = "/" + path("repository/secret");
  std::filesystem::create_symlink(twice, path("repository/link"));
  for (const std::string& spelling :
       {twice, "//." + path("repository/secret"), "//tmp/.." + path("repository/secret"), path("repository/link")}) {
    Output output = run({"--deny", spelling}, {"cat", "secret"});
    EXPECT_EQ(output.out, "") << spelling << output.err;
  }
  Words environment = scratch.environment();
  for (std::string& entry : environment)
    if (entry.starts_with("HOME=")) entry = "HOME=/" + path("home");
  Output home = changed({"--workspace", path("home")}, {"echo", "RAN"}, environment);
  EXPECT_EQ(home.status.shell_code(), 122) << home.out;
  EXPECT_EQ(changed({"--write", path("home")}, {"echo", "RAN"}, environment).status.shell_code(), 122);
}

// What git outside follows to a linked worktree's repository can't be changed either.
TEST_P(ExecShown, TheFilesOfLinkedWorktrees) {
  for (const char* name : {"repository/.git", "repository/.git/worktrees", "repository/.git/worktrees/one"})
    make_directory(name);
  for (const char* file : {"commondir", "gitdir", "config.worktree", "HEAD"})
    scratch.write("repository/.git/worktrees/one/" + std::string(file), "as it was\n", 0644);
  Output output = shell(
      "cd .git/worktrees/one; for f in commondir gitdir config.worktree HEAD; do echo x > $f && echo $f; done; "
      "cd ..; mv one two && echo moved");
  EXPECT_EQ(output.out, "HEAD\n") << output.err;
  EXPECT_EQ(scratch.read("repository/.git/worktrees/one/commondir"), "as it was\n");
}

// In the workspace, --read means that it is never changed, nor moved away.
TEST_P(ExecShown, WhatIsOnlyReadInTheWorkspace) {
  make_directory("repository/a");
  make_directory("repository/a/kept");
  scratch.write("repository/a/kept/file", "as it was\n", 0644);
  Output output = run({"--read", "a/kept"}, {"sh", "-c",
                                             "echo x > a/kept/file && echo wrote; mv a b && echo moved; "
                                             "echo x > a/other && echo beside; cat a/kept/file"});
  EXPECT_EQ(output.out, "beside\nas it was\n") << output.err;
}

// A link that an earlier run may have laid gives nothing to write.
TEST_P(ExecShown, NothingIsWritableByALinkOfTheWorkspace) {
  make_directory("elsewhere");
  std::filesystem::create_symlink("../elsewhere", path("repository/build"));
  Output output = run({"--write", "build"}, {"sh", "-c", "echo x > build/new"});
  EXPECT_EQ(output.status.shell_code(), 122) << output.err;
  EXPECT_THAT(output.err, HasSubstr("leads through the workspace"));
  EXPECT_FALSE(scratch.exists("elsewhere/new"));
  EXPECT_EQ(run({"--write", path("elsewhere")}, {"sh", "-c", "echo x > build/new"}).status.shell_code(), 0);
}

// Nor does one in PATH show a directory of /opt.
TEST_P(ExecShown, ALinkInPathShowsNothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "makes a directory in /opt";
  const std::string vault = "/opt/oncelatch-test-" + std::to_string(::getpid());
  std::filesystem::create_directories(vault + "/bin");
  std::ofstream(vault + "/token") << "canary-4711\n";
  std::filesystem::create_directory_symlink(vault + "/bin", path("repository/bin"));
  Words environment = scratch.environment();
  for (std::string& entry : environment)
    if (entry.starts_with("PATH=")) entry = "PATH=" + path("repository/bin") + ":" + entry.substr(5);
  EXPECT_EQ(changed({}, {"cat", vault + "/token"}, environment).out, "");
  for (std::string& entry : environment)
    if (entry.starts_with("PATH=")) entry = "PATH=" + vault + "/bin:" + entry.substr(5);
  EXPECT_EQ(changed({}, {"cat", vault + "/token"}, environment).out, "canary-4711\n") << "named by its own path";
  std::filesystem::remove_all(vault);
}
EXEC_USERS(ExecShown);

}  // namespace
}  // namespace oncelatch::test
