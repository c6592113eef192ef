// `git worktree add` inside: it works where it's harmless, and what says where repository and worktree are is only ever
// what is right.
#include <sys/stat.h>

#include "tests/launcher/exec_support.h"

namespace oncelatch::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ExecWorktreeAdd : public Exec {
 protected:
  void SetUp() override {
    Exec::SetUp();
    ASSERT_EQ(host("git init -q -b main . && git config user.name t && git config user.email t@e && mkdir part && "
                   "echo a > a && echo b > part/b && git add . && git commit -qm first && git worktree add -q -b fix "
                   "../fix 2>&1"),
              "");
  }
  [[nodiscard]] std::string host(const std::string& script) const { return scratch.on_host(script); }
  [[nodiscard]] Output at(const std::string& place, const std::string& script, const Words& options = {}) {
    Words words = {"--workspace", path(place)};
    words.insert(words.end(), options.begin(), options.end());
    return changed(words, {"sh", "-c", script}, scratch.environment(), path(place));
  }
};

constexpr const char* kWork = R"sh(set -e
git worktree add -q -b topic .trees/topic; cd .trees/topic
echo t > t; git add t; git commit -qm topic; git status --short; git log --format=%s | head -n 1
cd ../..; git worktree add -q --detach .trees/other; git worktree list --porcelain | grep -c ^worktree
git worktree lock .trees/other; git worktree unlock .trees/other; git worktree remove .trees/other; ls .trees)sh";

TEST_P(ExecWorktreeAdd, GitAddsOneInTheWorkspace) {
  for (const char* place : {"repository", "fix", "repository/part"}) {
    const Output output = at(place, kWork, {"--report", path("report.json")});
    EXPECT_EQ(output.out, "topic\n4\ntopic\n") << place << output.err;
    EXPECT_EQ(output.status.shell_code(), 0) << output.err;
    const std::string tree = path(place) + "/.trees/topic";
    EXPECT_THAT(host("git worktree list"), HasSubstr(tree)) << place;
    EXPECT_EQ(host("git -C " + tree + " log -1 --format=%s; git -C " + tree + " status --short; git -C " + tree +
                   " rev-parse --path-format=absolute --git-common-dir"),
              "topic\n" + path("repository/.git") + "\n");
    EXPECT_EQ(host("cat .git/worktrees/topic/commondir .git/worktrees/topic/gitdir"), "../..\n" + tree + "/.git\n");
    EXPECT_THAT(host("git fsck 2>&1; git worktree prune -v"), Not(HasSubstr("error")));
    EXPECT_EQ(host("git -C ../" + std::string(place) + " status --short ."), "?? .trees/\n") << place;
    // Told, and as what it is.
    EXPECT_THAT(scratch.read("report.json"), HasSubstr("a linked worktree of this repository"));
    EXPECT_THAT(scratch.read("report.json"), Not(HasSubstr("\"guard\":\"refused\""))) << scratch.read("report.json");
    ASSERT_EQ(host("git worktree remove --force " + tree + " && git branch -q -D topic && rm -rf " + path(place) +
                   "/.trees 2>&1"),
              "");
  }
}

// By calls, as git makes them but with other texts, places and orders.
constexpr const char* kHostile = R"py(
import os, sys
git = os.path.realpath(sys.argv[1]); top = os.getcwd()
own = git + "/worktrees/evil"
def write(path, text, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
    fd = os.open(path, flags, 0o666); os.write(fd, text.encode()); return fd
def attempt(what, path, text, **more):
    try: fd = write(path, text, **more)
    except OSError: return None
    said = open(path).read() if os.path.exists(path) else "nothing"
    print(what, said.replace(git, "GIT").replace(top, "TOP").strip())
    return fd
def fresh():
    os.system(f"rm -rf '{own}' '{top}/w' '{top}/full' '{top}/link'")
    os.makedirs(own); os.mkdir(top + "/w")
fresh()
# The pointer without an address, and with another one's.
attempt("alone", top + "/w/.git", "gitdir: " + top + "/evil\n")
for text in (top + "/other/.git\n", top + "/w/.git", top + "/w/.git\n\n", "../../../w/.git\n", top + "/w/../w/.git\n", "\n", ""):
    fd = write(own + "/gitdir", text)
    attempt("wrong", top + "/w/.git", "gitdir: " + own + "\n")
    if os.path.exists(own + "/gitdir"): print("address is there")
# Not empty, a link, in a git directory, where names have a meaning, moved away meanwhile.
os.mkdir(top + "/full"); write(top + "/full/x", "x")
os.symlink("full", top + "/link")
os.makedirs(top + "/.idea", exist_ok=True); os.makedirs(git + "/objects/in", exist_ok=True)
for place in ("full", "link", ".idea", "part", "."):
    write(own + "/gitdir", top + "/" + place + "/.git\n")
    attempt("place " + place, top + "/" + place + "/.git", "gitdir: x\n")
write(own + "/gitdir", git + "/objects/in/.git\n"); attempt("in git", git + "/objects/in/.git", "gitdir: x\n")
for flags in (os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT | os.O_EXCL, os.O_RDWR | os.O_CREAT | os.O_TRUNC):
    write(own + "/gitdir", top + "/w/.git\n"); attempt("other flags", top + "/w/.git", "x", flags=flags)
# The right way: what is there is ours, whatever is written, before and after.
fresh()
kept = write(own + "/gitdir", top + "/w/.git\n")
pointer = attempt("right", top + "/w/.git", "gitdir: " + top + "/evil\n")
os.pwrite(kept, b"/evil/.git\n" * 9, 0); os.pwrite(pointer, b"gitdir: /evil\n" * 9, 0)
shared = attempt("shared", own + "/commondir", "../../../evil\n")
for fd in (kept, pointer, shared):
    for name in (top + f"/named{fd}", own + "/config.worktree"):
        try: os.link(f"/proc/self/fd/{fd}", name, follow_symlinks=True); print("NAMED")
        except OSError: pass
for name in (own + "/commondir", own + "/gitdir", top + "/w/.git"):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
        try: os.write(os.open(name, flags), b"evil"); print("WRITTEN", name)
        except OSError: pass
print(open(top + "/w/.git").read().replace(git, "GIT").strip(), open(own + "/gitdir").read().replace(top, "TOP").strip(),
      open(own + "/commondir").read().strip())
# Not to be moved between the two steps.
os.system(f"rm -rf '{own}' '{top}/w'"); os.makedirs(own); os.mkdir(top + "/w")
write(own + "/gitdir", top + "/w/.git\n")
try: os.rename(own, own + "2"); print("MOVED")
except OSError: pass
attempt("again", top + "/w/.git", "gitdir: x\n")
)py";

TEST_P(ExecWorktreeAdd, WhatItSaysIsOurs) {
  scratch.write("hostile.py", kHostile, 0644);
  for (const char* place : {"repository", "fix"}) {
    const Output output =
        at(place, "python3 '" + path("hostile.py") + "' \"$(git rev-parse --git-common-dir)\" 2>errors; cat errors",
           {"--read", path("hostile.py")});
    EXPECT_EQ(output.out,
              "right gitdir: GIT/worktrees/evil\nshared ../..\ngitdir: GIT/worktrees/evil TOP/w/.git ../..\n"
              "again gitdir: GIT/worktrees/evil\n")
        << place << output.err;
    (void)host("rm -rf .git/worktrees/evil* .git/objects/in; cd ../" + std::string(place) + " && git clean -qfdx");
  }
}

// Two threads: one changes what was written while the other links.
constexpr const char* kRace = R"py(
import os, threading
top = os.getcwd(); git = top + "/.git"; made = 0
def write(path, text):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666); os.write(fd, text.encode()); return fd
for i in range(300):
    own = f"{git}/worktrees/r{i}"; tree = f"{top}/r{i}"; os.mkdir(own); os.mkdir(tree)
    fd = write(own + "/gitdir", tree + "/.git\n")
    done = threading.Event()
    def flip():
        while not done.is_set():
            for text in ("/evil/.git\n", tree + "/.git\n"):
                os.pwrite(fd, text.encode(), 0); os.ftruncate(fd, len(text))
    one = threading.Thread(target=flip); one.start()
    for attempt in range(20):
        try: os.close(write(tree + "/.git", "gitdir: /evil\n")); made += 1; break
        except OSError: pass
    done.set(); one.join(); os.close(fd)
    if os.path.exists(tree + "/.git"):
        if open(tree + "/.git").read() != f"gitdir: {own}\n" or open(own + "/gitdir").read() != tree + "/.git\n": print("WRONG")
    elif os.path.exists(own + "/commondir"): print("HALF")
print("made" if made > 0 else "none")
)py";

TEST_P(ExecWorktreeAdd, NoRaceChangesWhatItSays) {
  scratch.write("race.py", kRace, 0644);
  const Output output = at("repository", "python3 '" + path("race.py") + "'", {"--read", path("race.py")});
  EXPECT_EQ(output.out, "made\n") << output.err;
}

TEST_P(ExecWorktreeAdd, NotWhereOtherBranchesAreKept) {
  const std::string before = host("find .git/worktrees; git worktree list");
  const Output output = at("repository", "git worktree add -q -b topic .trees/topic", {"--git", "own-branch"});
  EXPECT_NE(output.status.shell_code(), 0);
  EXPECT_EQ(host("find .git/worktrees; git worktree list"), before) << output.err;
  EXPECT_EQ(host("ls .trees/topic 2>/dev/null; git branch --list topic"), "");
}

TEST_P(ExecWorktreeAdd, TheHostRunsNothingThere) {
  scratch.write("evil", "#!/bin/sh\ntouch " + path("home/MARK") + "\n", 0755);
  const Output output =
      at("repository",
         "exec 2>/dev/null; git worktree add -q -b topic w; own=.git/worktrees/topic; evil='" + path("evil") + R"sh('
for name in config config.worktree hooks/post-checkout hooks/pre-commit info/attributes commondir gitdir; do
  mkdir -p $own/$(dirname $name); printf '#!/bin/sh\n%s\n' "$evil" > x; chmod +x x; cp x $own/$name; mv x $own/$name
  mkdir -p w/$(dirname $name); cp x w/.git/$name
done
printf '[core]\nfsmonitor=%s\n' "$evil" > w/config; cp w/config $own/config.worktree; mv w/.git w/old; cp w/config w/.git
git -C w config --worktree core.fsmonitor "$evil"; git config core.hooksPath "$evil"; echo tried)sh");
  EXPECT_EQ(output.out, "tried\n");
  (void)host(
      "for d in . w ../fix; do (cd $d; git status; git checkout -q -b new$RANDOM; git commit -q --allow-empty -m x; "
      "git gc -q); done");
  EXPECT_FALSE(scratch.exists("home/MARK"));
}
// By calls, as git makes them.
constexpr const char* kAdd = R"py(
import os, subprocess, sys
git = os.path.realpath(sys.argv[1]); top = os.getcwd(); evil = "[core]\nbare = false\nfsmonitor = touch " + sys.argv[2] + "; false\n"
def write(path, text):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666); os.write(fd, text.encode()); return fd
def tries(deed, *words):
    try: deed(*words); return True
    except OSError: return False
def begin(name, tree):
    own = git + "/worktrees/" + name; os.makedirs(own, exist_ok=True); os.makedirs(top + "/" + tree, exist_ok=True)
    os.close(write(own + "/gitdir", top + "/" + tree + "/.git\n")); return own
def link(name, tree):
    os.close(write(top + "/" + tree + "/.git", "x")); os.close(write(git + "/worktrees/" + name + "/commondir", "x"))
def add(name, tree): begin(name, tree); link(name, tree)
)py";

// With commondir removed: whatever is there before or comes later, in whatever order, git doesn't take it for a
// repository with settings of its own.
TEST_P(ExecWorktreeAdd, NothingBecomesARepositoryOfItsOwn) {
  const std::string script = kAdd + std::string(R"py(
import itertools
known = subprocess.check_output(["git", "rev-parse", "HEAD"], text=True).strip()
def piece(own, name):
    if name == "config": os.close(write(own + "/config", evil)); os.close(write(own + "/config.worktree", evil))
    if name == "HEAD": os.close(write(own + "/HEAD", known + "\n"))
    if name in ("objects", "refs"): os.makedirs(own + "/" + name)
    if name == "moved":
        os.makedirs(top + "/x/y", exist_ok=True); os.rename(top + "/x", own + "/objects")
    if name == "commondir": os.unlink(own + "/commondir")
for i, order in enumerate(itertools.permutations(("config", "HEAD", "objects", "refs", "commondir"))):
    own = begin(f"a{i}", f"a{i}"); tries(link, f"a{i}", f"a{i}")
    for name in order: tries(piece, own, name)
    tries(piece, own, "moved")
for i, order in enumerate(itertools.permutations(("config", "HEAD", "objects", "refs"))):
    for early in range(5):
        name = f"b{i}.{early}"; own = git + "/worktrees/" + name; os.makedirs(own)
        for one in order[:early]: tries(piece, own, one)
        tries(add, name, name); tries(piece, own, "commondir")
        for one in order[early:]: tries(piece, own, one)
# What git outside could be led to write as its place: an object's name.
for i, early in enumerate((True, False)):
    own = git + f"/worktrees/c{i}"; os.makedirs(own)
    def prepare():
        for name in ("/objects", "/refs"): tries(os.makedirs, own + "/" + known + name)
        tries(lambda: os.close(write(own + "/" + known + "/config", evil)))
    if early: prepare()
    tries(add, f"c{i}", f"c{i}"); tries(piece, own, "HEAD"); tries(piece, own, "commondir"); prepare()
    subprocess.run(["git", "symbolic-ref", f"refs/heads/c{i}", f"worktrees/c{i}/commondir"])
print(len(os.listdir(git + "/worktrees")) > 100)
)py");
  scratch.write("own.py", script, 0644);
  for (const char* place : {"repository", "fix"}) {
    const Output output =
        at(place,
           "python3 '" + path("own.py") + "' \"$(git rev-parse --git-common-dir)\" '" + path("home/MARK") + "' 2>&1",
           {"--read", path("own.py")});
    EXPECT_EQ(output.out, "True\n") << place;
    EXPECT_THAT(
        host("for i in 0 1; do git update-ref refs/heads/c$i HEAD; done; cd '" + path(place) +
             "'; for d in */; do test -e $d.git && git -C $d status 2>&1; done | sort | uniq -c | sort -n | tail -n 3"),
        HasSubstr("fatal"));
    EXPECT_FALSE(scratch.exists("home/MARK")) << place;
    EXPECT_EQ(host("find .git/worktrees -name objects -o -name 'config*' | head -n 3"), "") << place;
    (void)host("rm -rf .git/worktrees/[abc]* .git/refs/heads/c*; cd '" + path(place) + "' && rm -rf [bc]* a?*");
  }
}

// What settings name in each work tree is kept by its place in this one; another would have one of its own.
TEST_P(ExecWorktreeAdd, NotWhereSettingsNameWhatItWouldBring) {
  ASSERT_EQ(host("mkdir -p tools/hooks && git config -f ../more core.attributesFile ./tools/attributes && touch "
                 "tools/attributes && chmod 644 ../more && echo x > tools/hooks/pre-commit && git add tools && git "
                 "commit -qm tools && git -C ../fix "
                 "merge -q main 2>&1"),
            "");
  const std::vector<std::pair<std::string, bool>> settings = {
      {"core.hooksPath tools/hooks", false},
      {"core.hooksPath ../hooks/../../repository/tools/hooks", false},
      {"include.path ../../more", false},
      {"core.hooksPath .husky/_", true},
      {"core.hooksPath " + path("repository/tools/hooks"), true},
  };
  for (const auto& [setting, added] : settings) {
    ASSERT_EQ(host("git config " + setting), "");
    for (const char* place : {"repository", "fix"}) {
      const Output output = at(place, "git worktree add -q --detach w && echo added");
      EXPECT_EQ(output.out, added ? "added\n" : "") << place << ' ' << setting << output.err;
      EXPECT_EQ(output.err.find("git worktree add is refused inside") == std::string::npos, added) << output.err;
      (void)host("git worktree remove --force ../" + std::string(place) + "/w");
    }
    ASSERT_EQ(host("git config --unset-all " + setting.substr(0, setting.find(' '))), "");
  }
}

// Where texts of lines could be read in two ways, or lists leave it out.
TEST_P(ExecWorktreeAdd, NamesAreOnesThatAllReadTheSame) {
  const std::string script = kAdd + std::string(R"py(
for name, tree in (("n\r", "t1"), ("n\n", "t2"), ("a\nb", "t3"), (".n", "t4"), ("n\x7f", "t5"), ("n", "t\n6"), ("n2", "t\r"),
                   ("n" * 250, "t" * 250), ("n 3", "t 8"), ("n" * 256, "t9")):
    if tries(add, name, tree): print("added", name[:9], open(top + "/" + tree + "/.git").read() == "gitdir: " + git + "/worktrees/" + name + "\n")
)py");
  scratch.write("names.py", script, 0644);
  const Output output = at("repository", "python3 '" + path("names.py") + "' .git x", {"--read", path("names.py")});
  EXPECT_EQ(output.out, "added nnnnnnnnn True\nadded n 3 True\n") << output.err;
}

// Four are under way at once. What came to nothing keeps no other from being made, and no descriptor.
TEST_P(ExecWorktreeAdd, SeveralAtOnceAndWhatCameToNothing) {
  const std::string script = kAdd + std::string(R"py(
for n in range(5): begin(f"p{n}", f"p{n}")
print([n for n in reversed(range(5)) if tries(link, f"p{n}", f"p{n}")])
for n in range(100):
    begin("left", "left"); os.unlink(top + "/left/.git") if tries(add, f"q{n}", "left") else print("refused", n)
begin("gone", "kept"); os.rmdir(git + "/worktrees/gone"); print(tries(link, "gone", "kept"), tries(add, "gone", "kept"))
jobs = [subprocess.Popen(["git", "worktree", "add", "-q", "--detach", f"g{n}"]) for n in range(3)]
print([job.wait() for job in jobs])
)py");
  scratch.write("several.py", script, 0644);
  const Spawn exec = scratch.spawn(all({"--workspace", path("repository"), "--read", path("several.py")},
                                       {"python3", path("several.py"), ".git", "x"}));
  Spawn few = exec;
  few.path = "/bin/sh";
  few.argv = {"sh", "-c", "ulimit -n 128; exec " + shell_words(exec)};
  Result<Output> output = run_bounded(std::move(few), std::size_t{1} << 20, std::chrono::seconds(60));
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "[4, 3, 2, 1]\nFalse True\n[0, 0, 0]\n") << output->err;
}
EXEC_USERS(ExecWorktreeAdd);

}  // namespace
}  // namespace oncelatch::test
