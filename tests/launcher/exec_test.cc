// Exit codes with their reasons, the workspace by every name, and root that has less than all rights.
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
  // A report of another run doesn't stay.
  scratch.write("broken.yaml", "extnds: ci\n");
  for (const Words& options : {Words{"--net", "foo"}, Words{"--raed", "/x"}, Words{"--profile", "nosuch"},
                               Words{"--profile", path("broken.yaml")}}) {
    EXPECT_EQ(run({}, {"true"}).status.shell_code(), 0);
    Words words = {"exec", "--report", path("report.json")};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "true"});
    EXPECT_EQ(scratch.oncelatch(words).status.shell_code(), 122) << options[0];
    EXPECT_EQ(reason(), "configuration-refused") << options[0];
    EXPECT_EQ(scratch.report().at("exit").at("code"), 122);
    EXPECT_FALSE(scratch.report().value("error", "").empty());
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

// Ours are the most, the caller's own stay.
TEST_P(ExecCodes, TheCallersLowerLimitsStay) {
  Output output = scratch.oncelatch_behind(
      {"/bin/bash", "-c", "ulimit -S -n 256; ulimit -S -f 1000; ulimit -S -u 200; ulimit -S -l 64; exec \"$@\"",
       "bash"},
      {"exec", "--", "bash", "-c", "ulimit -Sn; ulimit -Sf; ulimit -Su; ulimit -Sl; ulimit -Hn"});
  EXPECT_EQ(output.out, "256\n1000\n200\n64\n4096\n") << output.err;
  EXPECT_EQ(run({"--limit", "processes=4194304"}, {"true"}).status.shell_code(), 0);
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
  // What gives up instead of trying again keeps its code, and is told why.
  const std::string giving_up = "i=0; while [ $i -lt 80 ]; do sleep 30 & i=$((i+1)); done";
  Output full = shell(giving_up, {"--limit", "processes=40"});
  EXPECT_EQ(full.status.shell_code(), 2) << full.err;
  EXPECT_THAT(full.err, HasSubstr("the command failed, and the limit of processes had been reached"));
  EXPECT_EQ(scratch.report().at("exit").at("limit_reached"), "processes");
  EXPECT_EQ(shell("sleep 0.1 & exit 2", {"--limit", "processes=40"}).status.shell_code(), 2);
  EXPECT_FALSE(scratch.report().at("exit").contains("limit_reached"));
  EXPECT_EQ(shell("exec head -c 3000000 /dev/zero > large", {"--limit", "file-size=1M"}).status.shell_code(), 153);
  EXPECT_EQ(reason(), "file size");
  // Their codes alone say nothing.
  Output forged = shell("exit 153", {});
  EXPECT_EQ(forged.status.shell_code(), 153);
  EXPECT_EQ(reason(), "exited");
  EXPECT_THAT(forged.err, AllOf(HasSubstr("perhaps"), Not(HasSubstr("oncelatch: limit"))));
  EXPECT_EQ(shell("exit 137", {}).status.shell_code(), 137);
  EXPECT_EQ(reason(), "exited");
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

// A build whose exec path leaves one layer out: nothing is started, and the report says which one was missing.
TEST(ExecWeakened, TheReportNamesTheMissingLayer) {
  Scratch scratch;
  const std::string place = scratch.path("weakened");
  fs::create_directory(place);
  fs::copy_file(program("oncelatch"), place + "/oncelatch");
  fs::copy_file(std::string(ONCELATCH_BINARY_DIR) + "/tests/sandbox/weakened/oncelatch-exec",
                place + "/oncelatch-exec");
  for (const std::string layer : {"pid-namespace", "network-namespace", "userns-limit", "capabilities", "landlock",
                                  "seccomp", "init-not-dumpable", "none"}) {
    Spawn spawn = scratch.spawn(
        {"exec", "--env", "ONCELATCH_WEAKEN=" + layer, "--report", scratch.path("report.json"), "--", "echo", "RAN"});
    spawn.path = place + "/oncelatch";
    Result<Output> output = run_bounded(std::move(spawn), 65536, std::chrono::seconds(20));
    ASSERT_TRUE(output);
    const bool whole = layer == "none";
    EXPECT_EQ(output->status.shell_code(), whole ? 0 : 125) << layer << output->err;
    EXPECT_EQ(output->out, whole ? "RAN\n" : "") << layer;
    const Json report = scratch.report();
    EXPECT_EQ(report.contains("error"), !whole) << layer;
    EXPECT_THAT(report.value("error", ""), HasSubstr(whole ? "" : "self-test: " + layer + ": ")) << layer;
    EXPECT_EQ(report.at("plan_sha256").get<std::string>().size(), 64U);
    EXPECT_FALSE(report.at("kernel").get<std::string>().empty());
    EXPECT_GT(report.at("landlock_abi").get<int>(), 0);
    EXPECT_EQ(report.value("self_test", Json::array()).empty(), !whole) << layer;
  }
}

// Root of a container: without some rights, or of a user namespace. A named loss, and the work goes on.
TEST(ExecAsLesserRoot, FallsBackWithTheLossNamed) {
  if (::geteuid() != 0) GTEST_SKIP() << "this is about root";
  Scratch scratch;
  auto without = [](const std::string& rights) {
    return std::vector<std::string>{"/usr/bin/setpriv", "--bounding-set", rights, "--inh-caps", rights};
  };
  const std::vector<std::string> all = {"/usr/bin/setpriv", "--bounding-set=-all,+setfcap",
                                        "--inh-caps=-all,+setfcap"};  // without which the kernel maps no user 0
  const std::vector<std::string> namespaced = {"/usr/bin/unshare", "--user", "--map-root-user", "--mount"};
  for (const std::vector<std::string>& front :
       {without("-chown"), without("-setuid,-chown"), without("-sys_admin"), all, namespaced}) {
    Output output = scratch.oncelatch_behind(
        front,
        {"exec", "--", "sh", "-c", "id -u; echo x > new && rm new; head -c 1 /dev/zero > /dev/null && echo works"});
    EXPECT_EQ(output.out, "0\nworks\n") << ::testing::PrintToString(front) << output.err;
    EXPECT_THAT(output.err, HasSubstr("as this machine's root")) << ::testing::PrintToString(front);
  }
}

// Also where a container's root may trace nobody: what isn't needed for it must not be asked for.
TEST(ExecAsLesserRoot, MapsOwnersWithoutTheRightToTrace) {
  if (::geteuid() != 0) GTEST_SKIP() << "this is about root";
  Scratch scratch;
  Output output = scratch.oncelatch_behind(
      {"/usr/bin/setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"},
      {"exec", "--report", scratch.path("report.json"), "--", "sh", "-c", "echo x > new && echo works"});
  EXPECT_EQ(output.out, "works\n") << output.err;
  EXPECT_EQ(output.err, "");
  EXPECT_NE(scratch.report().at("confined_uid"), 0);
}

// systemd makes every mount shared: what is mounted inside must not come out.
TEST(ExecAsLesserRoot, LeavesNoMountOnAHostWithSharedMounts) {
  if (::geteuid() != 0) GTEST_SKIP() << "this is about root";
  Scratch scratch;
  for (const char* part : {".git", ".git/hooks", ".git/info"})
    ASSERT_EQ(::mkdir(scratch.path(std::string("repository/") + part).c_str(), 0755), 0);
  scratch.write("repository/.git/config", "[core]\n", 0644);
  const std::string compare =
      "mounts() { cut -d' ' -f3- /proc/self/mountinfo | sort; }; before=$(mounts); \"$@\"; "
      "[ \"$before\" = \"$(mounts)\" ] && echo same; touch .git/x && echo written";
  Output output = scratch.oncelatch_behind(
      {"/usr/bin/unshare", "--mount", "--propagation", "shared", "/bin/sh", "-c", compare, "sh"},
      {"exec", "--write", scratch.path("bin"), "--", "sh", "-c", "cat .git/config; echo x 2>/dev/null > .git/config"});
  EXPECT_EQ(output.out, "[core]\nsame\nwritten\n") << output.err;
}

// Owners can't be mapped there, which is found out while the first attempt is on its way: its pipes come back.
TEST(ExecAsLesserRoot, TheSecondAttemptHasItsStreams) {
  if (::geteuid() != 0) GTEST_SKIP() << "this is about root";
  Scratch scratch;
  const std::string mount =
      "mount -t tmpfs tmpfs \"$0/home\" && cd \"$0/home\" && mkdir low up work merged && "
      "mount -t overlay overlay -o lowerdir=low,upperdir=up,workdir=work merged && cd merged && exec \"$@\"";
  Output output = scratch.oncelatch_behind({"/usr/bin/unshare", "--mount", "/bin/sh", "-c", mount, scratch.path("")},
                                           {"exec", "--", "sh", "-c", "echo text > /dev/stdout; echo more > new; ls"});
  EXPECT_EQ(output.out, "text\nnew\n") << output.err;
}

// Where images have their work.
TEST(ExecAsLesserRoot, WorksBelowUsrSrc) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can mount there";
  Scratch scratch;
  const std::vector<std::string> front = {
      "/usr/bin/unshare",
      "--mount",
      "/bin/sh",
      "-c",
      "mount -t tmpfs tmpfs /usr/src && mkdir /usr/src/app && cd /usr/src/app && echo secret > .env && exec \"$@\"",
      "sh"};
  Output output = scratch.oncelatch_behind(
      front, {"exec", "--deny", ".env", "--", "sh", "-c", "pwd; echo made > new; cat new .env; echo x > ../beside"});
  EXPECT_EQ(output.out, "/usr/src/app\nmade\n") << output.err;
  EXPECT_THAT(output.err, HasSubstr("Read-only file system"));
}

// Kernel user 0 owns what every /dev and /proc of the machine shares.
TEST(ExecAsLesserRoot, ChangesNoDeviceAndNoKernelFile) {
  if (::geteuid() != 0) GTEST_SKIP() << "this is about root";
  Scratch scratch;
  const std::vector<std::string> front = {"/usr/bin/setpriv", "--bounding-set", "-setuid", "--inh-caps", "-setuid"};
  const std::string words = " /dev/null /dev/full /dev/tty /proc/execdomains /proc/self/fd/0";
  Output output = scratch.oncelatch_behind(
      front, {"exec", "--", "sh", "-c",
              "grep -q '^ *0 *0 ' /proc/self/uid_map && echo kernel root; for i in" + words +
                  "; do chmod 666 $i && echo CHANGED $i; touch -m $i && echo TOUCHED $i; done < /dev/null; exit 0"});
  EXPECT_EQ(output.out, "kernel root\n") << output.err;
}

}  // namespace
}  // namespace oncelatch::test
