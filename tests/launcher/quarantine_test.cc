// Where nothing keeps the agent from making what the host would run, and that loss was accepted: after the run it lies
// somewhere else, and what was there before is back.
#include <fcntl.h>

#include "base/beneath.h"
#include "tests/launcher/exec_support.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class QuarantineExec : public Exec {
 protected:
  [[nodiscard]] Output unguarded(const std::string& script, Words options = {}) const {
    options.insert(options.end(), kLowerTierLosses.begin(), kLowerTierLosses.end());
    return scratch.oncelatch_behind(kWithoutNamespaces, reported(options, {"sh", "-c", script}));
  }
  [[nodiscard]] Json effect(const std::string& name) const {
    const Json report = scratch.report();
    for (const Json& one : report.at("host_effects"))
      if (one.at("path") == path("repository/" + name)) return one;
    return Json::object();
  }
  void make_repository() const {
    ASSERT_EQ(scratch.on_host("git init -q -b main . && git config user.name t && git config user.email t@e && "
                              "echo a > a && git add -A && git commit -qm one && printf '#!/bin/sh\\n' > "
                              ".git/hooks/pre-push && chmod 755 .git/hooks/pre-push"),
              "");
  }
};

TEST_P(QuarantineExec, WhatItLeftIsMovedAwayAndWhatWasThereIsBack) {
  make_repository();
  const std::string mark = "touch " + path("home/MARK");
  scratch.write("evil", "#!/bin/sh\n" + mark + "\n", 0755);
  scratch.write("repository/.envrc", "use flake\n", 0640);
  scratch.write("repository/.bashrc", std::string(100'000, '#'), 0644);
  const std::string evil = path("evil");
  Output output =
      unguarded("echo '" + mark + "' | tee .envrc .bashrc .exrc .git/hooks/pre-commit .git/hooks/pre-push; " +
                "chmod +x .git/hooks/pre-commit; git config core.fsmonitor " + evil +
                "; mkdir -p n/.git/hooks dark; echo x > n/.git/hooks/x; chmod 0 n/.git; echo x > dark/f; "
                "chmod 0 dark; echo all: > Makefile; echo hi > AGENTS.md; echo plain > plain");
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_EQ(scratch.read("repository/.envrc"), "use flake\n");
  EXPECT_EQ(scratch.on_host("stat -c %a .envrc .git/hooks/pre-push; stat -c %u .envrc"),
            "640\n755\n" + std::to_string(GetParam()) + "\n");
  EXPECT_EQ(scratch.on_host("git config core.fsmonitor; cat .git/hooks/pre-push"), "#!/bin/sh\n");
  for (const char* gone : {".bashrc", ".exrc", ".git/hooks/pre-commit", "n/.git"})
    EXPECT_FALSE(scratch.exists("repository/" + std::string(gone))) << gone;
  EXPECT_EQ(scratch.read("repository/Makefile") + scratch.read("repository/AGENTS.md"), "all:\nhi\n");
  EXPECT_THAT(output.err, AllOf(HasSubstr("too long to be kept"), HasSubstr("what was there before is back"),
                                HasSubstr("what was moved lies in " + path("state/oncelatch/quarantine/")),
                                HasSubstr("try:"), HasSubstr("accepted loss creation_guard")));
  const std::string kept = effect(".envrc").value("quarantined", "");
  ASSERT_TRUE(kept.starts_with(path("state/oncelatch/quarantine/"))) << scratch.report().dump();
  EXPECT_EQ(scratch.read(kept.substr(path("").size())), mark + "\n") << "nothing is lost";
  EXPECT_TRUE(scratch.exists(effect("n/.git").value("quarantined", "").substr(path("").size()) + "/hooks/x"));
  EXPECT_FALSE(effect("Makefile").contains("quarantined"));
  EXPECT_EQ(scratch.on_host("stat -c %a $(dirname " + kept + ")"), "700\n");
  (void)scratch.on_host(
      "git status; git add a; git commit -qm x --allow-empty; . ./.envrc; HOME=$PWD bash -ic true </dev/null");
  EXPECT_FALSE(scratch.exists("home/MARK"));
}

// A mode isn't worth a repository; what is written anew as it was is the same; a closed directory keeps nothing in.
TEST_P(QuarantineExec, OnlyWhatChangedIsMoved) {
  make_repository();
  Output output = unguarded(
      "chmod 700 .git .git/hooks/pre-push; cp .git/config c; mv c .git/config; git config user.name u; git config "
      "user.name t; mkdir shut; echo evil > shut/.envrc; chmod 500 shut; git commit -qm two --allow-empty");
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_EQ(scratch.on_host("git log --format=%s; stat -c %a .git .git/hooks/pre-push shut; ls -A shut"),
            "two\none\n755\n755\n500\n");
  EXPECT_THAT(output.err, HasSubstr("its mode from before is back"));
  EXPECT_TRUE(effect("shut/.envrc").contains("quarantined"));
  EXPECT_FALSE(effect(".git").contains("quarantined"));
}

// What the host had where nobody could look before isn't taken for the run's.
TEST_P(QuarantineExec, WhatWasntSeenBeforeStays) {
  if (GetParam() == 0) return;  // root looks everywhere
  ASSERT_EQ(scratch.on_host("mkdir -p closed/deep && git init -q closed/deep && chmod 0 closed"), "");
  Output output = unguarded("chmod 700 closed; echo x > .envrc");
  EXPECT_TRUE(scratch.exists("repository/closed/deep/.git/HEAD"));
  EXPECT_FALSE(scratch.exists("repository/.envrc"));
  EXPECT_THAT(output.err, HasSubstr("closed/deep/.git: couldn't be moved away"));
}

// It takes what lies under the name, and follows nothing.
TEST_P(QuarantineExec, LinksAreMovedNotFollowed) {
  make_directory("outside");
  scratch.write("outside/tasks.json", "mine\n", 0644);
  make_directory("repository/.husky");
  scratch.write("repository/.husky/pre-commit", "mine\n", 0644);
  ASSERT_EQ(scratch.on_host("ln -s plain .vimrc; ln -s outside real"), "");
  Output output = unguarded(
      "ln -s ../outside .vscode; rm -r .husky; ln -s ../outside .husky; ln -sf /etc/passwd .envrc; "
      "ln -sfn ../evil .vimrc; mkdir deep; ln -s ../../outside deep/.idea");
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_EQ(scratch.read("outside/tasks.json"), "mine\n");
  EXPECT_EQ(scratch.on_host("find . -type l -printf '%p %l\\n' | sort"), "./.vimrc plain\n./real outside\n");
}

TEST_P(QuarantineExec, ToAnotherFileSystemItIsCopied) {
  std::string place = "/dev/shm/oncelatch-quarantine-XXXXXX";
  ASSERT_NE(::mkdtemp(place.data()), nullptr);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(place.c_str(), GetParam(), GetParam()), 0);
  }
  Words options = kLowerTierLosses;
  Spawn spawn = scratch.spawn(reported(
      options,
      {"sh", "-c",
       "mkdir -p n/.git/hooks; echo x > n/.git/hooks/x; ln -s /etc n/.git/l; mkfifo n/.git/p; chmod 0 n/.git/hooks; "
       "echo evil > .envrc"}));
  for (std::string& variable : spawn.environment)
    if (variable.starts_with("XDG_STATE_HOME=")) variable = "XDG_STATE_HOME=" + place;
  spawn.argv[0] = spawn.path;
  spawn.argv.insert(spawn.argv.begin(), kWithoutNamespaces.begin(), kWithoutNamespaces.end());
  spawn.path = kWithoutNamespaces[0];
  Result<Output> output = run_bounded(std::move(spawn), 65536, std::chrono::seconds(30));
  ASSERT_TRUE(output);
  EXPECT_EQ(output->status.shell_code(), 0) << output->err;
  EXPECT_EQ(scratch.on_host("find . -mindepth 1 | sort"), "./n\n") << output->err;
  EXPECT_EQ(scratch.on_host("cd " + place + "/oncelatch/quarantine/* && find . -printf '%P %y %l\\n' | sort; cat 1"),
            " d \n1 f \n2 d \n2/hooks d \n2/hooks/x f \n2/l l /etc\nevil\n");
  Result<Fd> parent = open_directory("/dev/shm");
  ASSERT_TRUE(parent);
  EXPECT_TRUE(remove_tree(parent->get(), place.substr(place.rfind('/') + 1)));
}

// With namespaces, the loss accepted where an outer tool has the listener.
TEST_P(QuarantineExec, AlsoWhereOnlyTheListenerIsMissing) {
  Output output =
      scratch.oncelatch_behind({kWithoutNamespaces[0], "listener"},
                               all({"--accept-loss", "creation_guard"}, {"sh", "-c", "echo x > .envrc; echo y > y"}));
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_FALSE(scratch.exists("repository/.envrc"));
  EXPECT_TRUE(scratch.exists("repository/y"));
  EXPECT_THAT(output.err, HasSubstr("quarantine: "));
}

TEST_P(QuarantineExec, NothingIsSaidWhereNothingWasLeft) {
  Output output = unguarded("echo x > plain");
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_THAT(output.err, Not(HasSubstr("quarantine")));
  EXPECT_EQ(scratch.on_host("ls -A " + path("state/oncelatch/quarantine")), "");
}
EXEC_USERS(QuarantineExec);

}  // namespace
}  // namespace oncelatch::test
