// Exit codes with their reasons, the workspace by every name, the environment, what is shown and hidden, git, and
// sandboxes within sandboxes. Names of cases stand in the tests' names.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

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

class ExecCodes : public Exec {};

TEST_P(ExecCodes, TheProgramsOwn) {
  for (int code : {0, 1, 42, 120, 121, 125, 255}) {
    EXPECT_EQ(shell("exit " + std::to_string(code)).status.shell_code(), code);
    EXPECT_EQ(scratch.report().at("exit").value("code", -1), code);
    EXPECT_EQ(reason(), "exited");
  }
  for (int number : {SIGTERM, SIGSEGV, SIGUSR1}) {
    EXPECT_EQ(shell("kill -" + std::to_string(number) + " $$").status.shell_code(), 128 + number);
    EXPECT_EQ(reason(), "signal");
  }
}

TEST_P(ExecCodes, NotFoundAndNotExecutable) {
  scratch.write("repository/plain", "text", 0644);
  scratch.write("repository/damaged", "\177ELF and nothing", 0755);
  scratch.write("repository/orphan", "#!/nowhere/interpreter\n", 0755);
  const std::pair<const char*, int> cases[] = {
      {"./plain", 126}, {"no-such-program", 127}, {"./no-such-file", 127}, {"/tmp", 126}, {"./orphan", 127}};
  for (const auto& [name, code] : cases) {
    Output output = run({}, {name});
    EXPECT_EQ(output.status.shell_code(), code) << name << output.err;
    EXPECT_EQ(reason(), code == 126 ? "not-executable" : "not-found");
    EXPECT_THAT(output.err, AllOf(StartsWith("oncelatch: command: "), HasSubstr("try: "))) << name;
  }
  EXPECT_EQ(run({}, {"./damaged"}).status.shell_code(), 126);
}

TEST_P(ExecCodes, ConfigurationIsRefused) {
  for (const Words& options : {Words{"--workspace", path("absent")}, Words{"--workspace", "/"},
                               Words{"--read", path("absent")}, Words{"--require", "no-such-guarantee"}}) {
    Output output = run(options, {"true"});
    EXPECT_EQ(output.status.shell_code(), 122) << options[0] << output.err;
    EXPECT_EQ(reason(), "configuration-refused");
  }
  EXPECT_EQ(scratch.oncelatch({"exec", "--profile", "nosuch", "--", "true"}).status.shell_code(), 122);
  EXPECT_EQ(scratch.oncelatch({"exec", "--bogus", "--", "true"}).status.shell_code(), 122);
  EXPECT_EQ(scratch.oncelatch({"exec"}).status.shell_code(), 122);
  EXPECT_EQ(run({}, {"true"}).status.shell_code(), 0);
}

// Neither a dying look at the report's place nor a fault is taken for the command's own end.
TEST_P(ExecCodes, AFaultOfTheLauncher) {
  std::string deny = std::string(ONCELATCH_BINARY_DIR) + "/tests/probes/deny_syscall";
  Output output = scratch.oncelatch_behind({deny, "signalfd4:1"}, reported({}, {"echo", "RAN"}));
  EXPECT_EQ(output.status.shell_code(), 125) << output.err;
  EXPECT_EQ(output.out, "");
  EXPECT_EQ(reason(), "launcher-fault");
}

// B028, B029
TEST_P(ExecCodes, B028B029AMissingGuaranteeNamesItselfAndRunsNothing) {
  std::string deny = std::string(ONCELATCH_BINARY_DIR) + "/tests/probes/deny_syscall";
  for (const char* what : {"user-namespaces", "mount:1", "landlock", "seccomp:1"}) {
    Output output = scratch.oncelatch_behind({deny, what}, reported({}, {"echo", "RAN"}));
    EXPECT_EQ(output.status.shell_code(), 121) << what << output.err;
    EXPECT_EQ(output.out, "") << what;
    EXPECT_EQ(reason(), "guarantee-unavailable");
    EXPECT_THAT(output.err, AllOf(HasSubstr("oncelatch: sandbox: "), HasSubstr("try: "))) << what;
  }
}

TEST_P(ExecCodes, TheReportNamesThePlanByItsDigest) {
  std::set<std::string> digests;
  auto digest = [&](const std::vector<std::string>& options) {
    EXPECT_EQ(run(options, {"true"}).status.shell_code(), 0);
    std::string text = scratch.report().value("plan_sha256", "");
    EXPECT_EQ(text.size(), 64U);
    digests.insert(text);
  };
  digest({});
  digest({});
  EXPECT_EQ(digests.size(), 1U) << "the same rules, the same digest";
  digest({"--net", "loopback"});
  digest({"--read", "/var/log"});
  digest({"--limit", "processes=99"});
  EXPECT_EQ(digests.size(), 4U);
}

TEST_P(ExecCodes, ALimitThatMakesNoSenseIsRefused) {
  for (const char* limit : {"processes=999999999999", "processes=1", "memory=1", "files=0", "tmp=9999999999T",
                            "file-size=-1", "cpu=3", "memory"}) {
    Output output = run({"--limit", limit}, {"echo", "RAN"});
    EXPECT_EQ(output.status.shell_code(), 122) << limit << output.err;
    EXPECT_THAT(output.err, HasSubstr("command line: --limit ")) << limit;
    EXPECT_EQ(output.out, "") << limit;
  }
}

// B027: what the report claims is refused is refused.
TEST_P(ExecCodes, B027TheReportClaimsWhatHolds) {
  add_probe();
  scratch.write("shown/file", "text", 0644);
  own("shown");
  Output output =
      run({"--read", path("shown")}, {"./probe", "truncate=" + path("shown/file"), "write=" + path("shown/new"),
                                      "tcp=443", "signal=" + std::to_string(::getpid()), "unshare-user"});
  EXPECT_THAT(output.out, Not(HasSubstr(" OK"))) << output.err;
  Json report = scratch.report();
  EXPECT_EQ(report.value("tier", ""), "full");
  EXPECT_GE(report.value("landlock_abi", 0), 1);
  EXPECT_GE(report.at("guarantees").size(), 5U);
  for (const Json& one : report.at("guarantees")) {
    // Not held is said, and why.
    EXPECT_FALSE(one.at("layers").empty() && one.value("limit", "").empty()) << one.dump();
    if (one.value("name", "") == "write_scope") {
      EXPECT_GE(one.at("layers").size(), 2U) << one.dump();
    }
  }
  EXPECT_GE(report.at("self_test").size(), 20U);
  for (const Json& one : report.at("self_test")) EXPECT_TRUE(one.value("refused", false)) << one.dump();
  EXPECT_EQ(report.at("network").value("mode", ""), "none");
}

TEST_P(ExecCodes, TimeIsOver) {
  auto start = std::chrono::steady_clock::now();
  Output output = shell("trap '' TERM HUP INT; echo begun; while :; do sleep 1; done", {"--time", "1"});
  auto took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(output.status.shell_code(), 124) << output.err;
  EXPECT_EQ(reason(), "time limit");
  EXPECT_EQ(output.out, "begun\n");
  EXPECT_THAT(output.err, HasSubstr("time limit: 1 s are over"));
  EXPECT_LT(took, std::chrono::seconds(10));
  EXPECT_EQ(shell("true", {"--time", "20"}).status.shell_code(), 0);
}

TEST_P(ExecCodes, Limits) {
  add_probe();
  EXPECT_EQ(run({"--limit", "memory=64M"}, {"./probe", "hog=600"}).status.shell_code(), 137);
  EXPECT_EQ(reason(), "memory");
  EXPECT_EQ(run({"--limit", "memory=256M"}, {"./probe", "hog=16"}).status.shell_code(), 0);
  EXPECT_EQ(run({"--limit", "processes=60", "--time", "40"}, {"./probe", "fork-bomb"}).status.shell_code(), 137);
  EXPECT_EQ(reason(), "processes");
  EXPECT_EQ(shell("exec head -c 3000000 /dev/zero > large", {"--limit", "file-size=1M"}).status.shell_code(), 153);
  EXPECT_EQ(reason(), "file size");
  EXPECT_EQ(shell("exec head -c 30000 /dev/zero > small", {"--limit", "file-size=1M"}).status.shell_code(), 0);
}
EXEC_USERS(ExecCodes);

class ExecWorkspace : public Exec {};

// B013: the same directory by every name it has, and the home hidden by each of its own.
TEST_P(ExecWorkspace, B013EverySpelling) {
  make_directory("real");
  make_directory("real/home");
  make_directory("real/home/project");
  scratch.write("real/home/private", "secret");
  fs::create_symlink(path("real/home"), path("linked-home"));
  const std::string real = path("real/home/project");
  const std::string linked = path("linked-home/project");
  const std::string script = "cd " + linked + " && echo one > f && cat " + real + "/f && ls && rm f; ls " +
                             path("linked-home") + "/private " + real + "/../private; pwd -P";
  Words environment = scratch.environment();
  environment[0] = "HOME=" + path("linked-home");
  for (const std::string& spelled : {linked, linked + "/", linked + "/.", linked + "/../project"}) {
    Output output = changed({"--workspace", spelled}, {"sh", "-c", script}, environment);
    EXPECT_THAT(output.out, AllOf(StartsWith("one\nf\n"), Not(HasSubstr("private\n")))) << spelled << output.err;
    EXPECT_THAT(output.err, HasSubstr("No such file")) << spelled;
  }
  environment.push_back("PWD=" + linked);
  Output here = changed({"--workspace", "."}, {"sh", "-c", script}, environment, linked);
  EXPECT_THAT(here.out, AllOf(StartsWith("one\nf\n"), HasSubstr(real))) << here.err;
  EXPECT_EQ(changed({}, {"sh", "-c", script}, environment, linked).out, here.out);
}

TEST_P(ExecWorkspace, ASubDirectoryOfARepositoryIsNoted) {
  make_directory("repository/.git");
  make_directory("repository/part");
  Output output =
      changed({}, {"sh", "-c", "touch made; ls .. ../.git"}, scratch.environment(), path("repository/part"));
  EXPECT_THAT(output.err, AllOf(HasSubstr("note: "), HasSubstr(path("repository")), HasSubstr("No such file")));
  EXPECT_TRUE(scratch.exists("repository/part/made"));
}

TEST_P(ExecWorkspace, AnotherOwner) {
  if (::geteuid() != 0 || GetParam() != 0) return;  // only root can
  make_directory("theirs");
  ASSERT_EQ(::chown(path("theirs").c_str(), 12345, 12345), 0);
  Output output = shell("touch made && id -u", {"--workspace", path("theirs")});
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  struct stat made {};
  ASSERT_EQ(::stat(path("theirs/made").c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, 12345U);
  EXPECT_EQ(made.st_mode & 07777U, 0644U);
}

// B040
TEST_P(ExecWorkspace, B040WhatLiesBesideItByEveryName) {
  scratch.write("secret", "canary", 0644);
  fs::create_symlink("../secret", path("repository/out"));
  add_probe();
  std::string outside = path("secret");
  Output output = run({}, {"./probe", "read=out", "append=out", "read=" + outside, "append=" + outside,
                           "read=/proc/self/cwd/../secret", "read=/proc/self/root" + outside,
                           "read=/proc/1/root" + outside, "read=/proc/1/cwd/../secret", "write=inside"});
  std::istringstream lines(output.out);
  int refused = 0;
  for (std::string line; std::getline(lines, line);) refused += line.find(" E") != std::string::npos ? 1 : 0;
  EXPECT_EQ(refused, 8) << output.out;
  EXPECT_THAT(output.out, HasSubstr("write=inside OK"));
  EXPECT_EQ(scratch.read("secret"), "canary");
}

// B042
TEST_P(ExecWorkspace, B042NoOldRootIsLeft) {
  scratch.write("marker-of-the-host", "x", 0644);
  Output output = shell(
      "ls -d /.old* /oldroot /run/oncelatch* 2>/dev/null; find / -name 'marker-of-*' 2>/dev/null; "
      "grep -c . /proc/self/mountinfo >/dev/null && cut -d' ' -f5 /proc/self/mountinfo; "
      "cat /proc/1/root/etc/hostname");
  EXPECT_THAT(output.out, AllOf(Not(HasSubstr("marker")), Not(HasSubstr("old")), HasSubstr("/tmp")));
  EXPECT_THAT(output.out, Not(HasSubstr(path("state"))));
  EXPECT_THAT(output.err, HasSubstr("Permission denied"));
}

// B041: descriptors of the caller, and the launcher's own.
TEST_P(ExecWorkspace, B041NoDescriptorGoesIn) {
  scratch.write("secret", "canary", 0644);
  Fd secret(::open(path("secret").c_str(), O_RDONLY));
  Fd root(::open("/", O_RDONLY | O_DIRECTORY));
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  Fd first(pair[0]);
  Fd second(pair[1]);
  Spawn spawn = scratch.spawn(reported({}, {"sh", "-c", "ls /proc/self/fd; ls /proc/$$/fd/11/etc; cat <&9"}));
  spawn.keep = {{9, secret.get()}, {10, first.get()}, {11, root.get()}};
  Result<Output> output = run_bounded(std::move(spawn), 65536, std::chrono::seconds(30));
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "0\n1\n2\n3\n") << "3 is of ls itself";
  EXPECT_THAT(output->err, HasSubstr("No such file"));
}
EXEC_USERS(ExecWorkspace);

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

TEST_P(ExecShown, WhatCantBeEnforcedIsRefused) {
  Output pattern = run({"--deny", "*.pem"}, {"echo", "RAN"});
  EXPECT_EQ(pattern.status.shell_code(), 122);
  EXPECT_THAT(pattern.err, HasSubstr("can't be enforced"));
  for (const Words& options :
       {Words{"--deny", "absent"}, Words{"--read", "absent"}, Words{"--write", "absent"}, Words{"--read", "/"},
        Words{"--write", "/usr"}, Words{"--read", "/proc"}, Words{"--deny", "."}, Words{"--read", ""},
        Words{"--deny", "/usr/share/doc"}, Words{"--deny", "/etc/passwd"}, Words{"--deny", "/etc"},
        Words{"--deny", "/proc/self"}, Words{"--deny", "/"}}) {
    Output output = run(options, {"echo", "RAN"});
    EXPECT_EQ(output.status.shell_code(), 122) << ::testing::PrintToString(options);
    EXPECT_EQ(output.out, "");
  }
}

TEST_P(ExecShown, GitWorksAndWhatItWouldRunIsProtected) {
  Words environment = scratch.environment();
  auto git = [&](const std::string& script) {
    Spawn spawn = scratch.spawn({"x"});
    spawn.argv.back() = script;
    spawn.argv.insert(spawn.argv.end() - 1, "-c");
    for (std::string& word : spawn.argv)
      if (word.ends_with("oncelatch") || word == "oncelatch") word = "sh";
    if (spawn.argv[0] == "sh") spawn.path = "/bin/sh";
    if (spawn.argv[0] == "setpriv")
      std::replace(spawn.argv.begin(), spawn.argv.end(), std::string("sh"), std::string("/bin/sh"));
    Result<Output> output = run_bounded(std::move(spawn), 65536, std::chrono::seconds(30));
    return output ? output->out + output->err : std::string("failed");
  };
  ASSERT_EQ(git("git init -q . && echo a > a && git add a && git -c user.name=t -c user.email=t@e commit -qm a"), "");
  Output output = shell(
      "echo b > b && git add b && git -c user.name=t -c user.email=t@e commit -qm b && git log --oneline | wc -l; "
      "echo '#!/bin/sh' > .git/hooks/post-commit; echo x >> .git/config; git config core.fsmonitor ./x; "
      "mv .git/hooks .git/h; mv .git g");
  EXPECT_EQ(output.out, "2\n") << output.err;
  EXPECT_THAT(output.err, AllOf(HasSubstr("Read-only file system"), HasSubstr("busy")));
  EXPECT_EQ(git("git status --porcelain"), "");
  EXPECT_EQ(git("git log --oneline | wc -l; git config core.fsmonitor; ls .git/hooks/post-commit 2>/dev/null"), "2\n");
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
  ASSERT_TRUE(eventually([&] { return process_tree(launcher.pid()).size() >= 4; }));
  for (const ProcessLine& one : process_tree(launcher.pid())) {
    struct stat owner {};
    if (one.command.find("sleep") == 0 || GetParam() == 0) continue;
    ASSERT_EQ(::stat(("/proc/" + std::to_string(one.pid) + "/environ").c_str(), &owner), 0);
    EXPECT_EQ(owner.st_uid, 0U) << one.command << ": dumpable";
  }
}
EXEC_USERS(ExecShown);

}  // namespace
}  // namespace oncelatch::test
