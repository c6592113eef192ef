// What goes with a command into the sandbox: its variables, its home, and nothing of the caller's credentials.
#include <fcntl.h>
#include <signal.h>

#include <cstring>
#include <fstream>
#include <random>

#include "base/fd.h"
#include "tests/launcher/exec_support.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ExecEnvironment : public Exec {
 protected:
  [[nodiscard]] std::set<std::string> names(const std::string& text) const {
    std::istringstream in(text);
    std::set<std::string> all;
    for (std::string line; std::getline(in, line, '\0');) all.insert(line.substr(0, line.find('=')));
    return all;
  }
};

// B017
TEST_P(ExecEnvironment, B017ExactlyTheList) {
  Words many;
  for (const char* name : {"GITHUB_TOKEN", "NPM_TOKEN", "DATABASE_URL", "SSH_AUTH_SOCK", "KUBECONFIG", "GPG_AGENT_INFO",
                           "DBUS_SESSION_BUS_ADDRESS", "ACME_PW", "my_lower_secret", "X", "AWS_SECRET_ACCESS_KEY"})
    many.push_back(std::string(name) + "=canary-4711");
  for (int i = 0; i < 50; ++i) many.push_back("SECRET_" + std::to_string(i) + "=canary-4711");
  Output output = changed({}, {"env", "-0"}, environment_with(many));
  EXPECT_EQ(names(output.out), (std::set<std::string>{"HOME", "LANG", "PATH", "SHELL", "TERM", "TMPDIR", "USER"}));
  EXPECT_THAT(scratch.read("report.json"), AllOf(Not(HasSubstr("canary")), HasSubstr("GITHUB_TOKEN")));
  Json dropped = scratch.report().at("environment").at("dropped");
  EXPECT_TRUE(std::find(dropped.begin(), dropped.end(), "my_lower_secret") != dropped.end());
  Output tree = changed({}, {"sh", "-c", "cat /proc/[0-9]*/environ | grep -c canary"}, environment_with(many));
  EXPECT_EQ(tree.out, "0\n");
}

// B020
TEST_P(ExecEnvironment, B020StrangeNamesAndValues) {
  const std::string value = "$(touch /tmp/pwn-4711) `id` \"'\\ \xff\xfe\nX=1";
  Output output = changed({"--pass-env", "STRANGE", "--env", "MINE=" + value}, {"env", "-0"},
                          environment_with({"BASH_FUNC_module%%=() {\n echo x\n}", "ProgramFiles(x86)=x",
                                            "LC_ALL=C\nX=1", "STRANGE=" + value, "no-equals", "=C:=x"}));
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  std::string text = '\0' + output.out;
  for (const std::string& whole : {"STRANGE=" + value, "MINE=" + value, std::string("LC_ALL=C\nX=1")})
    EXPECT_NE(text.find('\0' + whole + '\0'), std::string::npos) << whole;
  EXPECT_EQ(names(output.out), (std::set<std::string>{"HOME", "LANG", "LC_ALL", "MINE", "PATH", "SHELL", "STRANGE",
                                                      "TERM", "TMPDIR", "USER"}));
  EXPECT_NE(::access("/tmp/pwn-4711", F_OK), 0);
  EXPECT_THAT(scratch.read("report.json"), AllOf(HasSubstr("MINE"), Not(HasSubstr("pwn-4711"))));
}

// B021
TEST_P(ExecEnvironment, B021WhatLoadsCodeNeedsItsExactName) {
  const Words loading = {"LD_PRELOAD=/w/x.so", "LD_AUDIT=/w/x",      "NODE_OPTIONS=--require /w/x.js",
                         "BASH_ENV=/w/x",      "ENV=/w/x",           "PYTHONSTARTUP=/w/x",
                         "PERL5OPT=-x",        "RUBYOPT=-x",         "GIT_SSH_COMMAND=/w/x",
                         "GIT_EXEC_PATH=/w",   "GIT_CONFIG_COUNT=1", "BUN_INSPECT_PRELOAD=/w/x",
                         "LD_LIBRARY_PATH=/w", "NODE_HARMLESS=1"};
  Output pattern = changed({"--pass-env", "NODE_*", "--pass-env", "GIT_*", "--pass-env", "L*", "--pass-env", "P*"},
                           {"env", "-0"}, environment_with(loading));
  EXPECT_EQ(names(pattern.out), (std::set<std::string>{"HOME", "LANG", "PATH", "SHELL", "TERM", "TMPDIR", "USER"}));
  Output exact = changed({"--pass-env", "NODE_OPTIONS"}, {"env", "-0"}, environment_with(loading));
  EXPECT_THAT(names(exact.out), ::testing::Contains("NODE_OPTIONS"));
  EXPECT_THAT(exact.err, HasSubstr("note: NODE_OPTIONS makes programs inside load or run something"));
  EXPECT_THAT(scratch.report().at("notes").dump(), HasSubstr("NODE_OPTIONS"));
}

TEST_P(ExecEnvironment, APathWithADotRunsNothingFromTheWorkspace) {
  scratch.write("repository/true", "#!/bin/sh\necho hijacked\n", 0755);
  Words environment = scratch.environment();
  for (std::string& entry : environment)
    if (entry.starts_with("PATH=")) entry = "PATH=.::" + path("repository") + ":/usr/bin:/bin";
  EXPECT_EQ(changed({}, {"true"}, environment).out, "");
  EXPECT_EQ(changed({"--env", "PATH=.:/usr/bin"}, {"true"}, environment).out, "");
  EXPECT_EQ(changed({}, {"./true"}, environment).out, "hijacked\n") << "named, it may run";
}

// B016: home and temporary directory agree, and a socket's path fits.
TEST_P(ExecEnvironment, B016TheHomeIsThereToWorkIn) {
  Output output = shell(R"sh(
      set -e
      for d in .kiro .local/share/kiro-cli .config .cache; do mkdir -p "$HOME/$d"; echo x > "$HOME/$d/f"; done
      echo x > "$TMPDIR/f"
      test "$(stat -c '%a %u' "$HOME")" = "700 $(id -u)"
      getent passwd "$(id -u)" | cut -d: -f6
      python3 -c '
import os, socket
socket.socket(socket.AF_UNIX).bind(os.environ["HOME"] + "/.cache/socket")
print("bound")')sh");
  EXPECT_EQ(output.out, "/home/agent\nbound\n") << output.err;
}

// B019: a secret that is passed is in the environment of the program alone: no argument, no file that others can read.
TEST_P(ExecEnvironment, B019ASecretIsPassedToTheProgramOnly) {
  const std::string canary = "canary-" + std::to_string(::getpid()) + "-4711";
  Spawn spawn = scratch.spawn(reported({"--pass-env", "KIRO_API_KEY"}, {"sh", "-c", ": > up; read line"}));
  spawn.environment = environment_with({"KIRO_API_KEY=" + canary});
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd reader(ends[0]);
  Fd writer(ends[1]);
  spawn.keep[0] = reader.get();
  Result<Process> process = oncelatch::start(spawn);
  ASSERT_TRUE(process);
  ASSERT_TRUE(eventually([&] { return scratch.exists("repository/up"); }));
  const std::vector<ProcessLine> tree = process_tree(process->pid());
  EXPECT_GE(tree.size(), 4U);
  for (const ProcessLine& one : tree) EXPECT_THAT(one.command, Not(HasSubstr(canary)));
  int staying = 0;  // the outer half and the first process inside: neither has the plan any more
  for (const ProcessLine& one : tree) {
    if (::geteuid() != 0 || one.command.find("oncelatch-exec") == std::string::npos) continue;
    std::ifstream maps("/proc/" + std::to_string(one.pid) + "/maps");
    const std::string text(std::istreambuf_iterator<char>(maps), {});
    EXPECT_THAT(text, AllOf(HasSubstr("oncelatch-exec"), Not(HasSubstr("oncelatch-plan"))));
    ++staying;
  }
  EXPECT_EQ(staying, ::geteuid() == 0 ? 2 : 0);
  int files = 0;
  for (const char* place : {"state", "runtime", "repository"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path(place))) {
      if (!entry.is_regular_file()) continue;
      ++files;
      EXPECT_THAT(scratch.read(entry.path().string().substr(path("").size())), Not(HasSubstr(canary))) << entry.path();
    }
  EXPECT_GT(files, 0);
  writer.reset();
  ASSERT_TRUE(process->wait(std::chrono::seconds(20)));
  EXPECT_THAT(scratch.read("report.json"), AllOf(HasSubstr("KIRO_API_KEY"), Not(HasSubstr(canary))));
}

// B024: what a repository writes in .env is nobody's setting.
TEST_P(ExecEnvironment, B024DotEnvIsNotRead) {
  scratch.write("repository/.env",
                "KIRO_API_KEY=evil\nHTTPS_PROXY=http://127.0.0.1:9\nNODE_OPTIONS=--require x\nONCELATCH_PROFILE=none\n",
                0644);
  Output output = run({}, {"env", "-0"});
  EXPECT_EQ(names(output.out), (std::set<std::string>{"HOME", "LANG", "PATH", "SHELL", "TERM", "TMPDIR", "USER"}));
  EXPECT_EQ(scratch.report().value("profile", ""), "workstation");
}

// B142
TEST_P(ExecEnvironment, B142BareSurroundings) {
  const std::vector<Words> bare = {
      {}, {"HOME=/"}, {"HOME="}, {"HOME=/nonexistent"}, {"PATH="}, {"TERM=dumb", "LC_ALL=C"}};
  for (const Words& environment : bare) {
    Output output =
        changed({"--report", path("report.json")}, {"sh", "-c", "touch \"$HOME/x\" && echo $HOME $TERM"}, environment);
    EXPECT_EQ(output.out, "/home/agent dumb\n") << ::testing::PrintToString(environment) << output.err;
    EXPECT_EQ(output.err, "");
  }
}

// B142: nobody's uid: no entry in passwd. Its own directories are all it has.
TEST_P(ExecEnvironment, B142AUserNobodyKnows) {
  if (GetParam() == 0) return;  // about an ordinary user
  Output output = changed({}, {"sh", "-c", "id -u; id -un; git --version >/dev/null && echo git"}, {});
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_THAT(output.out, AllOf(HasSubstr(std::to_string(GetParam()) + "\n"), HasSubstr("git\n")));
}

// B012: whatever lies in the caller's TMPDIR, and under every umask, the home is new, private and the program's own.
TEST_P(ExecEnvironment, B012TheHomeUnderEveryUmaskAndTmpdir) {
  make_directory("hostile");
  for (int i = 0; i < 40; ++i) {
    const std::string name = "hostile/oncelatch-" + std::to_string(i);
    make_directory(name);
    std::filesystem::permissions(path(name), std::filesystem::perms(0777));
  }
  std::filesystem::create_symlink(path("home"), path("hostile/home"));
  std::filesystem::permissions(path("hostile"), std::filesystem::perms(0777));  // nor sticky
  std::filesystem::create_symlink(path("hostile"), path("linked"));
  for (const char* umask : {"000", "022", "077", "277"})
    for (const char* directory : {"hostile", "linked", "absent"}) {
      SCOPED_TRACE(std::string(umask) + " " + directory);
      const std::string script = "umask " + std::string(umask) + "; TMPDIR=" + path(directory) + " exec \"$@\"";
      Output output = scratch.oncelatch_behind(
          {"/bin/sh", "-c", script, "sh"},
          all({}, {"sh", "-c", "stat -c '%a %u' $HOME; id -u; echo $TMPDIR; touch $HOME/x $TMPDIR/y; echo done"}));
      std::istringstream lines(output.out);
      std::string mode;
      std::string owner;
      std::string user;
      std::string temporary;
      std::string done;
      lines >> mode >> owner >> user >> temporary >> done;
      EXPECT_EQ(mode, "700") << output.err;
      EXPECT_EQ(owner, user);
      EXPECT_EQ(temporary, "/tmp");
      EXPECT_EQ(done, "done");
    }
  for (const auto& entry : std::filesystem::directory_iterator(path("hostile")))
    if (entry.path().filename() != "home") {
      EXPECT_TRUE(std::filesystem::is_empty(entry.path())) << entry.path();
    }
  EXPECT_TRUE(std::filesystem::is_empty(path("home")));
  EXPECT_FALSE(scratch.exists("absent"));
}

// B014: in both tiers; only that without mounts of its own has a home on the host.
TEST_P(ExecEnvironment, B014NothingThatIsPlantedInTheHomeHoldsUpItsRemoval) {
  make_directory("victim");
  scratch.write("victim/kept", "kept");
  const std::string planting = R"sh(
      cd "$HOME" && ln -s "$0" link && mkdir closed open && touch closed/x "$(printf 'a\nb\033[31m')" && chmod 0 closed
      python3 -c '
import os
for i in range(5000):
    os.mkdir("d")
    os.chdir("d")'
      (while :; do mv open aside; ln -s "$0" open; rm open; mv aside open; done) >/dev/null 2>&1 &
      echo planted)sh";
  for (const bool lower : {false, true}) {
    Words options = lower ? kLowerTierLosses : Words{};
    Words front = lower ? kWithoutNamespaces : Words{"/usr/bin/env"};
    Output output = scratch.oncelatch_behind(front, all(options, {"sh", "-c", planting, path("victim")}));
    EXPECT_EQ(output.out, "planted\n") << output.err;
    EXPECT_EQ(output.err.find('\033'), std::string::npos);
    EXPECT_EQ(scratch.read("victim/kept"), "kept");
    EXPECT_THAT(scratch.session_directories(), IsEmpty()) << output.err;
    EXPECT_THAT(scratch.processes_left(), IsEmpty());
  }
}

// B015
TEST_P(ExecEnvironment, B015NoCredentialOfTheCallersHomeIsFound) {
  const Words places = {".kiro/agents", ".aws", ".config/gh", ".kube", ".docker", ".gnupg", ".local/share/kiro-cli"};
  for (const std::string& place : places) {
    make_directory("home/" + place);
    scratch.write("home/" + place + "/file", "canary-4711\n");
  }
  scratch.write("home/.netrc", "canary-4711\n");
  std::string home = path("home");
  Output output = shell(
      "grep -rsl canary-4711 / --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr | "
      "grep -v '^/proc'; cat " +
      home + "/.netrc " + home + "/.aws/file; ls -A " + home);
  EXPECT_EQ(output.out, "") << output.err;
}

// B025: what explain says is what the program then has; the report names every variable and shows no value.
TEST_P(ExecEnvironment, B025ExplainAndTheLaunchAgree) {
  const Words mine = environment_with({"KIRO_API_KEY=canary-4711", "CARGO_HOME=/nonexistent", "OTHER=canary-4712"});
  const Words options = {"--pass-env", "KIRO_API_KEY", "--pass-env", "CARGO_HOME"};
  Words explain = options;
  explain.emplace_back("--explain");
  Output told = changed(explain, {"env", "-0"}, mine);
  Output done = changed(options, {"env", "-0"}, mine);
  for (const std::string& name : names(done.out)) EXPECT_THAT(told.out, HasSubstr("\n  " + name)) << name;
  EXPECT_THAT(told.out, AllOf(HasSubstr("--pass-env KIRO_API_KEY"), HasSubstr("OTHER"), Not(HasSubstr("canary"))));
  Json environment = scratch.report().at("environment");
  EXPECT_THAT(environment.at("passed").dump(), AllOf(HasSubstr("KIRO_API_KEY"), HasSubstr("CARGO_HOME")));
  EXPECT_THAT(environment.at("dropped").dump(), HasSubstr("OTHER"));
  EXPECT_THAT(scratch.read("report.json"), Not(HasSubstr("canary")));
}

// B143: what says where credentials lie is passed by its exact name, and what it names is not shown with it.
TEST_P(ExecEnvironment, B143ALocatorOfCredentialsShowsNoCredential) {
  scratch.write("home/token", "canary-4711");
  scratch.write("repository/settings.json", "{\"a\":\"${env:JWT}\",\"b\":\"${JWT}\"}", 0644);
  const Words mine = environment_with({"AWS_WEB_IDENTITY_TOKEN_FILE=" + path("home/token"), "JWT=canary-4712",
                                       "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/get", "AWS_ROLE_ARN=arn:aws:iam::1:r"});
  const Words command = {"sh", "-c", "env | grep -c ^AWS_; cat \"${AWS_WEB_IDENTITY_TOKEN_FILE:-/nonexistent}\""};
  EXPECT_EQ(changed({}, command, mine).out, "0\n");
  const Words on = {"--pass-env", "AWS_WEB_IDENTITY_TOKEN_FILE", "--pass-env", "AWS_ROLE_ARN"};
  Output passed = changed(on, command, mine);
  EXPECT_EQ(passed.out, "2\n");
  EXPECT_THAT(passed.err, HasSubstr("note: AWS_WEB_IDENTITY_TOKEN_FILE names " + path("home/token") +
                                    ", which isn't visible inside: --read shows it"));
  Words granted = on;
  granted.insert(granted.end(), {"--read", path("home/token")});
  Output read = changed(granted, command, mine);
  EXPECT_EQ(read.out, "2\ncanary-4711");
  EXPECT_THAT(read.err, Not(HasSubstr("isn't visible")));
  EXPECT_EQ(scratch.read("repository/settings.json"), "{\"a\":\"${env:JWT}\",\"b\":\"${JWT}\"}");
}

// B144: by rule only, certificates are readable where they are named, and a proxy's password is in no output of ours.
TEST_P(ExecEnvironment, B144AProxyAndItsCertificates) {
  make_directory("certificates");
  scratch.write("certificates/ca.pem", "of the proxy\n");
  scratch.write("certificates/key.pem", "canary-4711\n");
  const std::string proxy = "http://user:pw-4711@proxy.test:3128";
  const Words mine =
      environment_with({"https_proxy=" + proxy, "HTTPS_PROXY=" + proxy, "NO_PROXY= a.test , b.test ",
                        "SSL_CERT_FILE=" + path("certificates/ca.pem"), "NODE_EXTRA_CA_CERTS=" + path("gone.pem")});
  const Words command = {"sh", "-c",
                         "echo $https_proxy $HTTPS_PROXY \"$NO_PROXY\"; cat \"$SSL_CERT_FILE\"; "
                         "cat \"${SSL_CERT_FILE%/*}\"/key.pem || ls \"${SSL_CERT_FILE%/*}\""};
  Output none = changed({}, {"env", "-0"}, mine);
  EXPECT_THAT(none.out, AllOf(Not(HasSubstr("proxy")), Not(HasSubstr("PROXY")), Not(HasSubstr("CERT"))));
  const Words options = {"--pass-env", "https_proxy", "--pass-env",    "HTTPS_PROXY", "--pass-env",
                         "NO_PROXY",   "--pass-env",  "SSL_CERT_FILE", "--pass-env",  "NODE_EXTRA_CA_CERTS"};
  Output output = changed(options, command, mine);
  EXPECT_EQ(output.out, proxy + " " + proxy + "  a.test , b.test \nof the proxy\nca.pem\n") << output.err;
  EXPECT_THAT(output.err, Not(HasSubstr("pw-4711")));
  EXPECT_THAT(scratch.read("report.json"), Not(HasSubstr("pw-4711")));
  Words explain = options;
  explain.emplace_back("--explain");
  Output told = changed(explain, command, mine);
  EXPECT_THAT(told.out, AllOf(HasSubstr("certificates that SSL_CERT_FILE names"), Not(HasSubstr("pw-4711"))));
  Output pattern = changed({"--pass-env", "SSL_*"}, {"sh", "-c", "cat \"$SSL_CERT_FILE\" 2>/dev/null"}, mine);
  EXPECT_EQ(pattern.out, "") << "shown only where it is named exactly";
}

// A link in the repository doesn't make it show what it likes: not by a variable, and not silently by an option.
TEST_P(ExecEnvironment, ALinkOfTheRepositoryShowsNothing) {
  scratch.write("home/key", "canary-4711\n");
  make_directory("repository/certificates");
  std::filesystem::create_symlink(path("home/key"), path("repository/certificates/ca.pem"));
  std::filesystem::create_symlink(path("home"), path("repository/data"));
  for (const std::string& value : {path("repository/certificates/ca.pem"), path("repository/data/key")}) {
    Output output = changed({"--pass-env", "SSL_CERT_FILE"}, {"sh", "-c", "cat \"$SSL_CERT_FILE\" " + path("home/key")},
                            environment_with({"SSL_CERT_FILE=" + value}));
    EXPECT_EQ(output.out, "") << value;
    EXPECT_THAT(output.err,
                HasSubstr("note: SSL_CERT_FILE names " + path("home/key") + ", which isn't visible inside"));
  }
  Output named = changed({"--read", "certificates/ca.pem"}, {"cat", path("home/key")}, environment_with({}));
  EXPECT_EQ(named.out, "canary-4711\n");
  EXPECT_THAT(named.err,
              HasSubstr("note: --read certificates/ca.pem leads through the workspace to " + path("home/key")));
  Output plain = changed({"--read", path("home/key")}, {"cat", path("home/key")}, environment_with({}));
  EXPECT_EQ(plain.out, "canary-4711\n");
  EXPECT_THAT(plain.err, Not(HasSubstr("leads through")));
}

// B145: killed at any moment, fifty times: the next one starts, and nothing stays.
TEST_P(ExecEnvironment, B145KilledAtAnyMomentTheNextOneStarts) {
  std::mt19937 random(4711);
  for (int round = 0; round < 50; ++round) {
    Result<Process> process = oncelatch::start(scratch.spawn(all({}, {"sh", "-c", "sleep 30; : " + path("")})));
    ASSERT_TRUE(process);
    ::usleep(static_cast<useconds_t>(random() % 6000));
    ASSERT_TRUE(process->signal(SIGKILL));
    ASSERT_TRUE(process->wait(std::chrono::seconds(10)));
    if (round % 10 == 9) {
      EXPECT_EQ(shell("echo started").out, "started\n");
    }
  }
  EXPECT_TRUE(eventually([&] { return scratch.processes_left().empty(); }));
  EXPECT_THAT(scratch.session_directories(), IsEmpty());
}
EXEC_USERS(ExecEnvironment);

}  // namespace
}  // namespace oncelatch::test
