// A run under an overlay, and what its changes may become: the workspace stays as it is until somebody promotes them.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "tests/launcher/exec_support.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Changes : public Exec {
 protected:
  [[nodiscard]] Output overlaid(const std::string& script, Words options = {}) const {
    options.insert(options.end(), {"--workspace-mode", "overlay"});
    return shell(script, options);
  }
  [[nodiscard]] Output changes(Words words) const {
    words.insert(words.begin(), "changes");
    return scratch.oncelatch(words);
  }
  // Everything of the workspace that could tell a difference.
  [[nodiscard]] std::string state_of_workspace() const {
    return scratch.on_host(
        "find . -printf '%p %y %m %U %G %s %T@ %C@ %i %l\\n' | sort; find . -type f -exec cat {} + | sha256sum");
  }
  void make_repository() const {
    ASSERT_EQ(scratch.on_host("git init -q -b main . && git config user.name t && git config user.email t@e && "
                              "echo a > a && mkdir -p d/e && echo f > d/e/f && git add -A && git commit -qm one"),
              "");
  }
  [[nodiscard]] std::string only_set() const {
    const std::vector<Json> all = json_lines(changes({"list", "--json"}).out);
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? "" : all[0].at("id").get<std::string>();
  }
  [[nodiscard]] std::string upper() const { return "state/oncelatch/changes/" + only_set() + "/layers/upper"; }
};

TEST_P(Changes, NothingOfTheWorkspaceChanges) {
  make_repository();
  const std::string before = state_of_workspace();
  Output output = overlaid(
      "echo x >> a; rm -rf d; mkdir d; ln -s / d/root; chmod 0 d; mkfifo p; touch -d 2001-01-01 a; chmod 4755 a; "
      "printf '#!/bin/sh\\n' > .git/hooks/pre-commit; git config core.fsmonitor ./p; echo x > .envrc; mv a b; "
      "mkdir -p bare; cp -r .git/HEAD .git/objects .git/refs bare; rm -rf .git/objects .git/refs; "
      "cat b; echo done");
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_EQ(output.out, "a\nx\ndone\n");
  EXPECT_EQ(state_of_workspace(), before);
  EXPECT_THAT(output.err, HasSubstr("oncelatch changes diff"));
}

TEST_P(Changes, NothingIsKeptWhereNothingChanged) {
  EXPECT_EQ(overlaid("ls; cat /etc/hostname; true").status.shell_code(), 0);
  EXPECT_EQ(changes({"list", "--json"}).out, "");
}

TEST_P(Changes, TheReportTellsWhatHoldsTheGuard) {
  Output output = overlaid("echo 'exec evil' > .envrc; echo all: > Makefile", {"--fail-on", "refused"});
  EXPECT_EQ(output.status.shell_code(), 123) << output.err;
  const Json report = scratch.report();
  EXPECT_EQ(report.at("workspace_mode"), "overlay");
  EXPECT_EQ(report.at("changes"), only_set());
  std::vector<std::string> told;
  for (const Json& effect : report.at("host_effects"))
    told.push_back(effect.at("path").get<std::string>().substr(path("repository/").size()) + " " +
                   effect.value("line", ""));
  EXPECT_THAT(told, ::testing::UnorderedElementsAre(".envrc exec evil", "Makefile all:"));
  bool held = false;
  for (const Json& one : report.at("guarantees"))
    if (one.at("name") == "creation_guard") held = one.dump().find("overlay") != std::string::npos;
  EXPECT_TRUE(held) << report.at("guarantees").dump();
}

TEST_P(Changes, GitWorksAndACommitIsPromoted) {
  make_repository();
  Output output = overlaid(
      "echo b > b; echo more >> a; rm d/e/f; git add -A && git commit -qm two && git switch -q -c other && "
      "echo c > c && git add c && git commit -qm three && git switch -q main && echo open >> a && git status --short");
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_EQ(output.out, " M a\n");
  Output applied = changes({"apply"});
  EXPECT_EQ(applied.status.shell_code(), 0) << applied.err;
  EXPECT_EQ(scratch.on_host(
                "git log --format=%s other; git status --short; git fsck --strict 2>&1 | grep -v dangling; cat a"),
            "three\ntwo\none\n M a\na\nmore\nopen\n");
  EXPECT_FALSE(scratch.exists("repository/d/e/f"));
  EXPECT_EQ(changes({"list", "--json"}).out, "") << "nothing is left, so it's gone";
}

// E031 and others: by the same rules as in a guarded workspace.
TEST_P(Changes, WhatTheGuardRefusesIsNotPromoted) {
  make_repository();
  const std::string mark = "touch " + path("home/MARK");
  scratch.write("evil", "#!/bin/sh\n" + mark + "\n", 0755);
  Output output = overlaid(
      "mkdir -p .git/info sub .vscode e n; echo '* filter=x' > .git/info/attributes; git init -q sub/in; echo '" +
      mark +
      "' > .envrc; echo '{}' > .vscode/tasks.json; cp -r .git/HEAD .git/objects .git/refs e; "
      "printf '[core]\\nbare=false\\nworktree=.\\nfsmonitor=" +
      path("evil") +
      "\\n' > e/config; "
      "mkdir -p .git/modules/m/hooks; echo x > .git/modules/m/hooks/pre-commit; ln -s .git/hooks .husky; "
      "echo plain > n/plain");
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  Output applied = changes({"apply"});
  EXPECT_EQ(applied.status.shell_code(), 1) << applied.err;
  for (const char* name :
       {".git/info/attributes: refused", "sub/in/.git: refused", ".envrc: refused", ".vscode/tasks.json: refused",
        ".git/modules/m/hooks/pre-commit: refused", ".husky: refused", "would take its directory for a repository"})
    EXPECT_THAT(applied.err, HasSubstr(name));
  EXPECT_EQ(scratch.read("repository/n/plain"), "plain\n");
  for (const char* name : {".git/info/attributes", "sub/in/.git", ".envrc", ".vscode/tasks.json", ".husky",
                           ".git/modules/m/hooks/pre-commit"})
    EXPECT_FALSE(scratch.exists("repository/" + std::string(name))) << name;
  EXPECT_THAT(scratch.on_host("git status; cd e && git status"), Not(IsEmpty()));
  EXPECT_FALSE(scratch.exists("home/MARK"));
  EXPECT_TRUE(scratch.exists(upper() + "/.envrc")) << "nothing is lost";
  EXPECT_THAT(changes({"list"}).out, HasSubstr("refused"));
}

// What git needs of a repository outside of the workspace is read: a commit would be the host's at once.
TEST_P(Changes, ARepositoryOutsideIsRead) {
  make_repository();
  ASSERT_EQ(scratch.on_host("git worktree add -q -b side ../side && git -C ../side log --format=%s"), "one\n");
  const std::string before = scratch.on_host("git -C ../side status --short; git rev-parse --all");
  for (const char* place : {"side", "repository/d"}) {
    Output output = overlaid(
        "echo x > new; git log --format=%s | head -n 1; git add new 2>/dev/null; git commit -qm "
        "inside 2>/dev/null; cat new",
        {"--workspace", path(place)});
    EXPECT_EQ(output.status.shell_code(), 0) << output.err;
    EXPECT_EQ(output.out, "one\nx\n");
    EXPECT_THAT(output.err, HasSubstr("can't commit"));
  }
  EXPECT_EQ(scratch.on_host("git -C ../side status --short; git rev-parse --all"), before);
  Output taken = scratch.oncelatch_behind(
      {kWithoutNamespaces[0], "listener"},
      all({"--workspace-mode", "overlay", "--workspace", path("side")}, {"git", "log", "--format=%s"}));
  EXPECT_EQ(taken.status.shell_code(), 0) << taken.err;
  EXPECT_EQ(taken.out, "one\n");
}

// What else may be written is the host's, and guarded.
TEST_P(Changes, WhatElseMayBeWrittenIsGuarded) {
  make_directory("beside");
  Output output = overlaid("echo x > .envrc; cd " + path("beside") + "; echo y > y; echo z > .envrc; mkdir .git; ls -A",
                           {"--write", path("beside")});
  EXPECT_EQ(output.out, "y\n") << output.err;
  EXPECT_EQ(scratch.read("beside/y"), "y\n");
  Output taken = scratch.oncelatch_behind({kWithoutNamespaces[0], "listener"},
                                          all({"--workspace-mode", "overlay", "--write", path("beside")}, {"true"}));
  EXPECT_EQ(taken.status.shell_code(), 121) << taken.err;
}

// Plan and attempt agree about it.
TEST_P(Changes, WhyAnswersForIt) {
  make_repository();
  for (const char* allowed : {"create:.envrc", "write:a", "create:d/new"}) {
    Output output = scratch.oncelatch({"why", "--workspace-mode", "overlay", allowed});
    EXPECT_EQ(output.status.shell_code(), 0) << allowed << output.out << output.err;
    EXPECT_THAT(output.out, HasSubstr("under an overlay"));
  }
  for (const char* refused : {"write:.git/config", "create:.git/hooks/x", "create:/.overlay/lower/x"})
    EXPECT_EQ(scratch.oncelatch({"why", "--workspace-mode", "overlay", refused}).status.shell_code(), 1) << refused;
  EXPECT_EQ(changes({"list", "--json"}).out, "");
}

// A name that is new inside, of a file that was there: no conflict, also when it is promoted in parts.
TEST_P(Changes, WhatWasMovedInsideIsPromoted) {
  make_repository();
  ASSERT_EQ(scratch.on_host("mkdir h; echo one > one; echo two > two; echo gone > h/gone; echo part > part"), "");
  Output output = overlaid(
      "git mv a b; ln one one-more; mv two d/two; mv d/e/f d/g; echo x >> h/gone; echo new > a; mv part parted; git "
      "commit "
      "-qam moved");
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  ASSERT_EQ(scratch.on_host("rm h/gone"), "");
  EXPECT_EQ(changes({"apply", only_set(), "part"}).status.shell_code(), 0);
  const Output applied = changes({"apply"});
  EXPECT_NE(applied.status.shell_code(), 0);
  EXPECT_THAT(applied.out + applied.err, AllOf(HasSubstr("gone"), Not(HasSubstr("one-more")), Not(HasSubstr(" b:"))));
  EXPECT_EQ(scratch.on_host("cat b one one-more d/two d/g a parted; ls two d/e/f h/gone part 2>/dev/null; git log -1 "
                            "--format=%s; git status --short | grep -v '^[?]'"),
            "a\none\none\ntwo\nf\nnew\npart\nmoved\n");
}

TEST_P(Changes, AClosedLayerIsLookedAt) {
  EXPECT_EQ(overlaid("echo x > x; chmod 0 .").status.shell_code(), 0);
  EXPECT_THAT(changes({"diff"}).out, HasSubstr("+x"));
  EXPECT_EQ(changes({"apply"}).status.shell_code(), 0);
  EXPECT_EQ(scratch.read("repository/x"), "x\n");
}

// The host replaces each file, as editors do, while the same file is promoted: whoever is first, the host's stays.
TEST_P(Changes, NoVersionOfTheHostsIsLostInARace) {
  ASSERT_EQ(scratch.on_host("for i in $(seq 300); do echo before > f$i; done"), "");
  ASSERT_EQ(overlaid("for i in $(seq 300); do echo inside > f$i; done").status.shell_code(), 0);
  Process applying = scratch.start({"changes", "apply"});
  EXPECT_EQ(scratch.on_host("for i in $(seq 300); do echo host > t; mv t f$((301 - i)); done"), "");
  ASSERT_TRUE(applying.wait(std::chrono::seconds(60)));
  EXPECT_EQ(scratch.on_host("cat f* | sort | uniq -c; ls -A | grep -c oncelatch"), "    300 host\n0\n");
}

TEST_P(Changes, WhatTheHostChangedMeanwhileIsKept) {
  for (const char* name : {"both", "removed", "gone", "mine", "tree/kept"}) {
    make_directory("repository/tree");
    scratch.write("repository/" + std::string(name), "before\n", 0644);
  }
  Output output =
      overlaid("for f in both removed mine; do echo agent > $f; done; rm gone; rm -r tree; echo new > made");
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  (void)scratch.on_host(
      "echo host > both; rm removed; echo host > gone; echo host > made; echo more > tree/more; "
      "touch -d 2001-01-01 both");
  EXPECT_THAT(changes({"diff"}).out, HasSubstr("conflict"));
  Output applied = changes({"apply"});
  EXPECT_EQ(applied.status.shell_code(), 1);
  for (const char* name : {"both: was changed", "gone: was changed", "made: was changed", "tree: something is left"})
    EXPECT_THAT(applied.err, HasSubstr(name));
  for (const char* name : {"both", "gone", "made"})
    EXPECT_EQ(scratch.read("repository/" + std::string(name)), "host\n") << name;
  EXPECT_FALSE(scratch.exists("repository/removed"));
  EXPECT_EQ(scratch.read("repository/mine"), "agent\n");
  EXPECT_EQ(scratch.read("repository/tree/more"), "more\n");
  EXPECT_EQ(scratch.read(upper() + "/both"), "agent\n") << "nothing is lost";
  // What was promoted is no change of the agent's any more, whatever becomes of it.
  (void)scratch.on_host("echo later > mine");
  EXPECT_THAT(changes({"diff"}).out, Not(HasSubstr("mine")));
}

TEST_P(Changes, DirectoriesAreReplacedAndRemovedAsAWhole) {
  make_repository();
  ASSERT_EQ(
      scratch.on_host("mkdir -p t/u/v w; echo 1 > t/u/v/x; echo 2 > t/y; echo 3 > w/z; echo 4 > file; ln -s file l"),
      "");
  Output output = overlaid(
      "rm -r t && mkdir t && echo new > t/n; rm -r w && echo now-a-file > w; rm file && mkdir file && echo in > "
      "file/in; "
      "rm l; mkdir l; rm -r d && mkdir -p d/e");
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_THAT(changes({"diff"}).out, AllOf(HasSubstr("removed file t/u/v/x"), HasSubstr("removed directory w"),
                                           HasSubstr("added file w"), HasSubstr("removed file d/e/f")));
  Output applied = changes({"apply"});
  EXPECT_EQ(applied.status.shell_code(), 0) << applied.err;
  EXPECT_EQ(scratch.on_host("find t w file l d -printf '%p %y\\n' | sort"),
            "d d\nd/e d\nfile d\nfile/in f\nl d\nt d\nt/n f\nw f\n");
}

TEST_P(Changes, PathsAreTakenOneByOne) {
  EXPECT_EQ(
      overlaid("mkdir -p one/two three; echo 1 > one/two/a; echo 2 > one/b; echo 3 > three/c").status.shell_code(), 0);
  EXPECT_EQ(changes({"apply", "one/two"}).status.shell_code(), 0);
  EXPECT_EQ(scratch.on_host("find one three 2>/dev/null | sort"), "one\none/two\none/two/a\n");
  Output wrong = changes({"apply", "nowhere"});
  EXPECT_EQ(wrong.status.shell_code(), 122);
  EXPECT_THAT(wrong.err, HasSubstr("nothing differs there"));
  const std::string id = only_set();
  EXPECT_EQ(changes({"apply", id, path("repository/three/"), "one/b"}).status.shell_code(), 0);
  EXPECT_EQ(scratch.read("repository/three/c"), "3\n");
  EXPECT_EQ(changes({"list", "--json"}).out, "");
}

TEST_P(Changes, ModesAndKindsAreThoseThatDoNoHarm) {
  scratch.write("repository/kept", "x\n", 0640);
  Output output = overlaid(
      "echo x > s; chmod 755 s; mkdir t; chmod 1777 t; chmod 750 kept; mkfifo p; ln s hard; "
      "truncate -s 100M big; echo end >> big; echo unreadable > u; chmod 0 u; mkdir dark; echo in > dark/in; chmod 0 "
      "dark");
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  ASSERT_EQ(
      scratch.on_host(GetParam() == 0 ? "chmod 6755 " + path(upper()) + "/s" : "chmod 4755 " + path(upper()) + "/s"),
      "");
  EXPECT_THAT(changes({"diff"}).out, HasSubstr("too long for a digest"));
  Output applied = changes({"apply"});
  EXPECT_EQ(applied.status.shell_code(), 1);
  EXPECT_THAT(applied.err, HasSubstr("p: a pipe, socket or device isn't promoted"));
  EXPECT_EQ(scratch.on_host("stat -c '%n %a %h' s hard t kept dark/in u"),
            "s 755 1\nhard 755 1\nt 777 2\nkept 750 1\ndark/in 644 1\nu 400 1\n");
  EXPECT_EQ(scratch.on_host("stat -c %s big; tail -c 4 big; test $(stat -c %b big) -lt 1000 && echo sparse"),
            "104857604\nend\nsparse\n");
  EXPECT_FALSE(scratch.exists("repository/p"));
  EXPECT_EQ(scratch.on_host("find . ! -user " + std::to_string(GetParam())), "") << "files belong to the owner";
}

// The workspace is reached through no link, whoever makes one meanwhile.
TEST_P(Changes, NothingIsPromotedThroughALink) {
  make_directory("repository/d");
  make_directory("outside");
  EXPECT_EQ(overlaid("echo x > d/file; mkdir new; echo y > new/file").status.shell_code(), 0);
  ASSERT_EQ(scratch.on_host("rmdir d; ln -s ../outside d; ln -s ../outside new"), "");
  EXPECT_EQ(changes({"apply"}).status.shell_code(), 1);
  EXPECT_FALSE(scratch.exists("outside/file"));
  EXPECT_EQ(scratch.on_host("readlink d new"), "../outside\n../outside\n");
}

// The set is the agent's own: nothing in it leads elsewhere, nothing keeps it from going.
TEST_P(Changes, AHostileSetIsLookedAtAndDropped) {
  scratch.write("secret", "kept\n", 0644);
  make_directory("repository/sub");
  Output output =
      overlaid("i=0; while [ $i -lt 5000 ]; do mkdir d && cd d || break; i=$((i+1)); done 2>/dev/null; cd " +
               path("repository") +
               "; mkdir -p dark/er; touch dark/er/x; chmod 0 dark/er dark; printf x > \"$(printf 'a\\nb\\033[2J')\"; "
               "printf x > \"$(printf '\\377')\"; printf x > -rf; ln -s " +
               path("secret") + " l; ln -s " + path("") + " sub/out; mkfifo p; truncate -s 7E huge; echo done");
  EXPECT_THAT(output.out, HasSubstr("done"));
  const std::string place = path(upper());
  Output diff = changes({"diff"});
  EXPECT_EQ(diff.status.shell_code(), 0) << diff.err;
  EXPECT_THAT(diff.out, AllOf(HasSubstr("a\\nb\\x1b[2J"), HasSubstr("its path is too long"), Not(HasSubstr("kept"))));
  EXPECT_EQ(diff.out.find('\x1b'), std::string::npos);
  EXPECT_THAT(changes({"list"}).out, HasSubstr("added"));
  // Swapped for a link after the run, by whoever could.
  ASSERT_EQ(scratch.on_host("rm -rf " + place + "/sub; ln -s " + path("home") + " " + place + "/sub"), "");
  scratch.write("home/mine", "kept\n", 0644);
  EXPECT_THAT(changes({"diff", "sub"}).out, Not(HasSubstr("mine")));
  EXPECT_EQ(changes({"drop"}).status.shell_code(), 0);
  EXPECT_EQ(changes({"list", "--json"}).out, "");
  EXPECT_EQ(scratch.on_host("ls -A " + path("state/oncelatch/changes")), "");
  EXPECT_EQ(scratch.read("home/mine") + scratch.read("secret"), "kept\nkept\n");
}

TEST_P(Changes, DifferencesAreShownEscapedAndBounded) {
  scratch.write("repository/text", "one\ntwo\nthree\n", 0644);
  EXPECT_EQ(overlaid("printf 'one\\n2 \\033]0;x\\007\\nthree\\n' > text; head -c 3000000 /dev/zero > zeros; "
                     "yes | head -c 3000000 > long; ln -s text link")
                .status.shell_code(),
            0);
  Output diff = changes({"diff"});
  EXPECT_THAT(diff.out, AllOf(HasSubstr("@@ -1,3 +1,3 @@\n one\n-two\n+2 \\x1b]0;x\\x07\n three\n"),
                              HasSubstr("3000000 bytes, sha256 "), HasSubstr("+link to text")));
  EXPECT_LT(diff.out.size(), 20'000U);
  ASSERT_EQ(scratch.on_host("cd " + path(upper()) + " && touch \"$(printf '\\377')\""), "");
  Result<Json> json = parse_json(changes({"diff", "--json"}).out, {}, "diff");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("changes").size(), 5U);
  EXPECT_EQ(json->at("workspace"), path("repository"));
}

TEST_P(Changes, ASetIsLockedWhileItsRunGoesOn) {
  Process running =
      scratch.start(all({"--workspace-mode", "overlay"}, {"sh", "-c", "echo x > made; echo up; exec sleep 60"}));
  ASSERT_TRUE(eventually([&] { return scratch.read("stdout.txt").find("up") != std::string::npos; }));
  const std::string id = only_set();
  EXPECT_THAT(changes({"list"}).out, HasSubstr("in use"));
  for (const char* verb : {"diff", "apply", "drop"}) {
    Output output = changes({verb, id});
    EXPECT_EQ(output.status.shell_code(), 122) << verb;
    EXPECT_THAT(output.err, HasSubstr("a run or another command works on it")) << verb;
  }
  ASSERT_EQ(::kill(running.pid(), SIGKILL), 0) << "a launcher that is killed loses nothing";
  (void)running.wait(std::chrono::seconds(10));
  ASSERT_TRUE(eventually([&] { return changes({"apply", id}).status.shell_code() == 0; }));
  EXPECT_EQ(scratch.read("repository/made"), "x\n");
}

// An outer tool has the only listener: the guard can't be had, and the message names what can.
TEST_P(Changes, WhereTheListenerIsTakenTheOverlayHoldsTheGuard) {
  const Words front = {std::string(ONCELATCH_BINARY_DIR) + "/tests/probes/deny_syscall", "listener"};
  Output refused = scratch.oncelatch_behind(front, all({}, {"touch", "made"}));
  EXPECT_EQ(refused.status.shell_code(), 121) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("try:"), HasSubstr("--workspace-mode overlay"),
                                 HasSubstr("--accept-loss creation_guard")));
  Output kept = scratch.oncelatch_behind(front, all({"--workspace-mode", "overlay"}, {"touch", "made"}));
  EXPECT_EQ(kept.status.shell_code(), 0) << kept.err;
  EXPECT_FALSE(scratch.exists("repository/made"));
  EXPECT_EQ(changes({"apply"}).status.shell_code(), 0);
  EXPECT_TRUE(scratch.exists("repository/made"));
}

// Where owners can't be mapped, as on an overlay of a container's: the identity that is left, or a clear refusal.
TEST_P(Changes, AWorkspaceThatLiesOnAnOverlayItself) {
  if (::geteuid() != 0) return;  // mounting needs root
  for (const char* name : {"lower", "upper", "work", "on"}) make_directory(name);
  const std::string on = path("on");
  const std::string layers = "lowerdir=" + path("lower") + ",upperdir=" + path("upper") + ",workdir=" + path("work");
  ASSERT_EQ(::mount("overlay", on.c_str(), "overlay", 0, layers.c_str()), 0) << std::strerror(errno);
  make_directory("on/workspace");
  scratch.write("on/workspace/a", "before\n", 0644);
  const Words options = {"--workspace", on + "/workspace", "--workspace-mode", "overlay"};
  Output output = shell("echo after > a && echo new > b; cat a", options);
  EXPECT_EQ(output.out, "after\n") << output.err;
  EXPECT_EQ(scratch.read("on/workspace/a"), "before\n");
  EXPECT_EQ(changes({"apply", only_set()}).status.shell_code(), 0);
  EXPECT_EQ(scratch.read("on/workspace/a") + scratch.read("on/workspace/b"), "after\nnew\n");
  Words environment = scratch.environment();
  for (std::string& variable : environment)
    if (variable.starts_with("XDG_STATE_HOME=")) variable = "XDG_STATE_HOME=" + on;
  Output nested = changed({"--workspace-mode", "overlay"}, {"true"}, environment);
  EXPECT_EQ(nested.status.shell_code(), 125);
  EXPECT_THAT(nested.err, AllOf(HasSubstr("overlay"), HasSubstr("XDG_STATE_HOME")));
  EXPECT_EQ(::umount2(on.c_str(), MNT_DETACH), 0);
}

// The kernel keeps what a mount hides from whoever isn't root.
TEST_P(Changes, AFileSystemThatIsMountedBelowTheWorkspace) {
  if (::geteuid() != 0) return;  // mounting needs root
  make_directory("repository/sub dir/cache");
  make_directory("repository2");
  const std::string point = path("repository/sub dir/cache");
  ASSERT_EQ(::mount("tmpfs", point.c_str(), "tmpfs", 0, nullptr), 0) << std::strerror(errno);
  scratch.write("repository/sub dir/cache/seen", "x", 0644);
  const std::string script = "ls 'sub dir/cache'; echo x > 'sub dir/made'";
  Output output = overlaid(script);
  if (GetParam() == 0) {
    EXPECT_EQ(output.status.shell_code(), 0) << output.err;
    EXPECT_EQ(output.out, "") << "it's an empty directory";
    EXPECT_FALSE(scratch.exists("repository/sub dir/made"));
    EXPECT_EQ(changes({"apply"}).status.shell_code(), 0);
    EXPECT_TRUE(scratch.exists("repository/sub dir/made"));
  } else {
    EXPECT_EQ(output.status.shell_code(), 121) << output.err;
    EXPECT_THAT(output.err, AllOf(HasSubstr(point), HasSubstr("a file system is mounted there"), HasSubstr("try:")));
    EXPECT_EQ(changes({"list", "--json"}).out, "") << "nothing is left of the attempt";
  }
  EXPECT_EQ(shell("cat 'sub dir/cache/seen'").out, "x") << "the guard works on it";
  EXPECT_EQ(overlaid("echo beside", {"--workspace", path("repository2")}).out, "beside\n")
      << "a name that only begins so";
  EXPECT_EQ(::umount2(point.c_str(), MNT_DETACH), 0);
}

TEST_P(Changes, WhatCannotBeKeptApartIsRefused) {
  Spawn spawn = scratch.spawn(all({"--workspace-mode", "overlay"}, {"true"}));
  for (std::string& variable : spawn.environment)
    if (variable.starts_with("XDG_STATE_HOME=")) variable = "XDG_STATE_HOME=" + path("repository");
  Result<Output> inside = run_bounded(std::move(spawn), 65536, std::chrono::seconds(30));
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->status.shell_code(), 122);
  EXPECT_THAT(inside->err, HasSubstr("lies in the workspace"));
  Words losses = kLowerTierLosses;
  losses.insert(losses.end(), {"--workspace-mode", "overlay"});
  Output lower = scratch.oncelatch_behind(kWithoutNamespaces, all(losses, {"true"}));
  EXPECT_EQ(lower.status.shell_code(), 121) << lower.err;
  EXPECT_THAT(lower.err, AnyOf(HasSubstr("an overlay needs namespaces"), HasSubstr("write_scope")));
  EXPECT_EQ(scratch.oncelatch(all({"--workspace-mode", "both"}, {"true"})).status.shell_code(), 122);
  EXPECT_EQ(
      scratch.oncelatch(all({"--workspace-mode", "overlay", "--git", "own-branch"}, {"true"})).status.shell_code(),
      122);
}

TEST_P(Changes, WhyAnswersForTheOverlay) {
  make_repository();
  const std::string before = state_of_workspace();
  Output output = scratch.oncelatch({"why", "--workspace-mode", "overlay", "create:.envrc"});
  EXPECT_EQ(output.status.shell_code(), 0) << output.out << output.err;
  EXPECT_EQ(state_of_workspace(), before);
  EXPECT_EQ(changes({"list", "--json"}).out, "");
}

TEST_P(Changes, WhichSetIsMeant) {
  Output none = changes({"diff"});
  EXPECT_THAT(none.err, AllOf(HasSubstr("no changes are kept apart"), HasSubstr("try:")));
  EXPECT_EQ(overlaid("echo 1 > a").status.shell_code(), 0);
  EXPECT_EQ(overlaid("echo 2 > a").status.shell_code(), 0);
  Output two = changes({"apply"});
  EXPECT_EQ(two.status.shell_code(), 122);
  EXPECT_THAT(two.err, HasSubstr("there are 2 sets of changes"));
  EXPECT_FALSE(scratch.exists("repository/a"));
  EXPECT_THAT(changes({"drop", "../../x"}).err, HasSubstr("there are 2 sets"));
}
EXEC_USERS(Changes);

}  // namespace
}  // namespace oncelatch::test
