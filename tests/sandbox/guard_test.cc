// The workspace guard: what the host would run or follow later can't be made, opened for writing or renamed, by any
// call, spelling, link or race; everything else works as without it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/beneath.h"
#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class Guard : public testing::TestWithParam<Launch> {
 protected:
  void SetUp() override { REQUIRE_CONFINEMENT(); }
  [[nodiscard]] Seen shell(const std::string& script, const Words& options = {}) const {
    return lab.run({"/bin/sh", "-c", script}, options);
  }
  [[nodiscard]] Seen python(const std::string& script) const {
    return lab.run({"/usr/bin/python3", "-u", "-c", script});
  }
  // What a sandbox without the guard prints, in a workspace of its own.
  [[nodiscard]] static Seen unguarded_python(const std::string& script) {
    const Lab other(GetParam());
    return other.run({"/usr/bin/python3", "-u", "-c", script}, {"--no-guard", "--accept-loss", "creation_guard"});
  }
  [[nodiscard]] bool exists(const std::string& name) const {
    return fs::symlink_status(lab.workspace() + "/" + name).type() != fs::file_type::not_found;
  }
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream file(lab.workspace() + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // A program of the build, to be run inside.
  void add_program(const std::string& name) const {
    fs::copy_file(tool(name), lab.workspace() + "/" + name);
    fs::permissions(lab.workspace() + "/" + name, fs::perms(0755));
  }
  Lab lab{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Launches, Guard, testing::ValuesIn(possible_launches()), launch_name);

// E029 to E032, E034, E041, E042: whatever makes it, whatever it is.
TEST_P(Guard, NothingOfTheKindIsMade) {
  const Seen seen = shell(R"sh(
mkdir -p deep/er .vscode .github
for name in .git .envrc deep/er/.git deep/.envrc .vscode/tasks.json .mcp.json .devcontainer.json deep/.bashrc; do
  echo x > $name && echo MADE $name by open
  mkdir $name && echo MADE $name by mkdir
  ln -s deep $name && echo MADE $name by symlink
  mkfifo $name && echo MADE $name by mknod
  echo x > source; ln source $name && echo MADE $name by link
  mv source $name && echo MADE $name by rename
  mkdir dir; mv -T dir $name && echo MADE $name by rename of a directory
  rmdir dir
done 2>errors
grep -c denied errors
echo ok > .vscode/notes; echo ok > deep/er/file; ls -A deep/er)sh");
  EXPECT_EQ(seen.code, 0) << seen.err;
  EXPECT_EQ(seen.out.find("MADE"), std::string::npos) << seen.out;
  EXPECT_NE(seen.out.find("\nfile\n"), std::string::npos) << seen.out;
  for (const char* name : {".git", ".envrc", "deep/er/.git", "deep/.envrc", ".vscode/tasks.json", ".mcp.json"})
    EXPECT_FALSE(exists(name)) << name;
}

// E020, E022
TEST_P(Guard, NoSpellingLeadsPast) {
  const std::string ws = lab.workspace();
  lab.make_directory("sub");
  std::string script = "import os\n";
  for (const std::string& path :
       {std::string(".GIT"), std::string(".Envrc"), std::string(".git."), std::string(".git "), std::string("git~1"),
        std::string(".gi\\u200ct"), ws + "/../" + ws.substr(ws.rfind('/') + 1) + "/.git", ws + "//.git",
        std::string("./sub/../.git"), std::string("/proc/self/cwd/.git"), std::string("/proc/self/root") + ws + "/.git",
        std::string("/proc/thread-self/cwd/.git"), std::string("/dev/fd/../cwd/.git")})
    script += "try:\n  os.close(os.open('" + path + "', os.O_CREAT|os.O_WRONLY)); print('MADE " + path +
              "')\nexcept OSError as e: print(e.errno)\n";
  const Seen seen = python(script);
  EXPECT_EQ(seen.code, 0) << seen.err;
  EXPECT_EQ(seen.out.find("MADE"), std::string::npos) << seen.out;
  EXPECT_EQ(std::count(seen.out.begin(), seen.out.end(), '\n'), 13) << seen.out;
}

// Links lead to their targets, and the targets' names count: E001, dangling ones too.
// Landlock's rules are about a directory, whatever its names in the view.
TEST_P(Guard, AnotherPlaceThatShowsTheWorkspaceIsGuarded) {
  lab.make_directory("part");
  const std::string& workspace = lab.workspace();
  const Seen seen = shell(R"sh(
for root in /whole /part . part; do
  echo x > $root/.envrc && echo MADE $root/.envrc
  mkdir $root/.git && echo MADE $root/.git
  echo ok > $root/file || echo NO $root/file
done 2>/dev/null
mv /part/file /part/other && cat /whole/part/other)sh",
                          {"--bind", workspace + ":/whole:rw", "--bind", workspace + "/part:/part:rw"});
  EXPECT_EQ(seen.out, "ok\n") << seen.err;
  EXPECT_FALSE(exists(".envrc") || exists(".git") || exists("part/.envrc") || exists("part/.git"));
}

TEST_P(Guard, LinksAreFollowedBeforeTheNameIsLookedAt) {
  lab.write(".envrc", "old\n");
  const Seen seen = shell(R"sh(
ln -s .envrc there; echo x > there; echo x >> there
ln -s .mcp.json nowhere; echo x > nowhere
ln -s . here; echo x > here/.bashrc; echo x > here/here/.zshrc
ln -s deep .husky; ln -s deep .vscode; ln -s . .github
ln .envrc other && echo LINKED; mv .envrc other && echo MOVED
echo fine > file; ln -s file link; echo more >> link; cat file)sh");
  EXPECT_EQ(seen.out, "fine\nmore\n") << seen.err;
  EXPECT_EQ(content(".envrc"), "old\n");
  for (const char* name : {".mcp.json", ".bashrc", ".zshrc", ".husky", ".vscode", "other"})
    EXPECT_FALSE(exists(name)) << name;
  EXPECT_TRUE(exists(".github")) << "held names alone lie below it";
}

// A directory with a prepared file gets no name under which the file would count.
TEST_P(Guard, PreparedDirectoriesAreNotMovedThere) {
  const Seen seen = shell(R"sh(
mkdir -p a/hooks v; echo x > a/hooks/pre-commit; echo x > v/tasks.json
mv a .git; mv v .vscode; mv a .husky; mkdir .husky && mv a .husky/sub && echo MOVED; mv -T v .vscode
python3 - <<'P'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
os.mkdir("x")
print(libc.renameat2(-100, b"x", -100, b"a", 2), ctypes.get_errno())
os.mkdir(".vscode")
print(libc.renameat2(-100, b".vscode", -100, b"v", 2), ctypes.get_errno())
P
ls -A a v)sh");
  EXPECT_NE(seen.out.find("0 0\n-1 13\n"), std::string::npos) << seen.out << seen.err;
  EXPECT_EQ(seen.out.find("MOVED"), std::string::npos) << seen.out;
  EXPECT_FALSE(exists(".git"));
  EXPECT_FALSE(exists(".vscode/tasks.json"));
}

// E034, E037: what is there already, wherever it is, and no scan has told of it.
TEST_P(Guard, ExistingOnesAreNotWritten) {
  for (const char* directory : {"a", "a/b", "a/b/.git", "a/b/.git/hooks", "a/b/.git/modules", "a/b/.git/modules/m"})
    lab.make_directory(directory);
  for (const char* name : {"a/b/.git/config", "a/b/.git/hooks/post-checkout", "a/b/.git/modules/m/config", "a/.envrc"})
    lab.write(name, "old\n");
  const Seen seen = shell(R"sh(
for f in a/b/.git/config a/b/.git/hooks/post-checkout a/b/.git/modules/m/config a/.envrc; do
  echo x >> $f; true > $f; truncate -s 0 $f; ln $f l && echo LINKED; mv $f m && echo MOVED
  echo n > new; mv new $f && echo REPLACED
  exec 3<$f && echo x > /proc/self/fd/3; exec 3<&-
  cat $f
done; echo x > a/b/.git/HEAD; echo x > a/b/.git/index; cat a/b/.git/HEAD)sh");
  EXPECT_EQ(seen.out, "old\nold\nold\nold\nx\n") << seen.err;
}

// A repository that appears without a directory named .git.
TEST_P(Guard, ABareRepositoryIsNotCompleted) {
  const Seen seen = shell(R"sh(
mkdir b b/refs; echo ref: refs/heads/main > b/HEAD && echo head; mkdir b/objects || echo kept
mkdir c c/objects c/refs; mv b/HEAD c/HEAD || echo kept; ln -s x c/HEAD || echo kept; echo x > c/head || echo folded
mkdir d; echo x > d/commondir; echo x > d/HEAD || echo kept
mkdir e; echo x > e/HEAD; mkdir e/objects; ln -s ../c/refs e/refs || echo kept)sh");
  EXPECT_EQ(seen.out, "head\nkept\nkept\nkept\nfolded\nkept\nkept\n") << seen.err;
}

// git takes a HEAD that is a link to nowhere, and who holds a directory open can make it unreachable by its name.
TEST_P(Guard, NorWhereItIsHardToSee) {
  const Seen seen = python(R"py(
import os
def attempt(what):
    try: what(); print("made")
    except OSError as e: print(e.errno)
os.makedirs("l/objects"); os.symlink("refs/heads/main", "l/HEAD"); attempt(lambda: os.mkdir("l/refs"))
os.makedirs("c/d/objects"); os.close(os.open("c/d/HEAD", os.O_CREAT)); fd = os.open("c/d", os.O_PATH)
os.chmod("c", 0); attempt(lambda: os.mkdir("refs", dir_fd=fd)); attempt(lambda: os.mkdir("plain", dir_fd=fd))
os.chmod("c", 0o755)
)py");
  EXPECT_EQ(seen.out, "13\n13\nmade\n") << seen.err;
}

// One that is there: its own settings and hooks count, wherever it lies.
TEST_P(Guard, AnExistingBareRepositoryIsGuarded) {
  for (const char* directory : {"x.git", "x.git/objects", "x.git/refs", "x.git/hooks"}) lab.make_directory(directory);
  lab.write("x.git/HEAD", "ref: refs/heads/main\n");
  lab.write("x.git/config", "old\n");
  const Seen seen = shell(
      "cd x.git; echo x >> config; echo x > hooks/update; echo x > config.worktree; cat config; "
      "echo x > refs/y && echo x > HEAD && echo fine; mkdir ../hooks && echo x > ../hooks/z && "
      "echo x > ../config && echo free");
  EXPECT_EQ(seen.out, "old\nfine\nfree\n") << seen.err;
  EXPECT_FALSE(exists("x.git/hooks/update"));
}

// V15: another name of the file may be one outside.
TEST_P(Guard, FilesWithForeignNamesAreNotWritten) {
  std::ofstream(lab.outside() + "/kept") << "kept\n";
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown((lab.outside() + "/kept").c_str(), lab.uid(), lab.uid()), 0);
  }
  fs::create_hard_link(lab.outside() + "/kept", lab.workspace() + "/inside");
  const Seen seen = shell(
      "echo x >> inside; true > inside; truncate -s 0 inside; ln inside more && echo x >> more; "
      "cat inside; echo a > own; ln own second; echo b >> second; cat own; rm second; echo c >> own; "
      "cp inside copy && mv copy inside && echo d >> inside && cat inside");
  EXPECT_EQ(seen.out, "kept\na\nb\nkept\nd\n") << seen.err;
  std::ifstream kept(lab.outside() + "/kept");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "kept\n");
}

// The argument is the caller's memory, and changes after it was looked at.
TEST_P(Guard, NoRaceMakesAGuardedName) {
  add_program("guard_probe");
  const Seen seen = lab.run({lab.workspace() + "/guard_probe", "flip", "./a/../a.text", "./a/../.envrc", "50"});
  lab.make_directory("a");
  const Seen race = lab.run({lab.workspace() + "/guard_probe", "flip", "./a/../a.text", "./a/../.envrc", "3400"});
  EXPECT_EQ(race.out, "guarded 0 safe 1\n") << race.err;
  EXPECT_EQ(seen.out, "guarded 0 safe 0\n") << "no such directory";
}

// Performed, interrupted and started again would be an EEXIST that nobody made.
TEST_P(Guard, SignalsInterruptNothing) {
  add_program("guard_probe");
  const Seen seen = lab.run({lab.workspace() + "/guard_probe", "interrupted", "8000"});
  EXPECT_EQ(seen.out, "errors 0\n") << seen.err;
}

#if defined(__x86_64__)
TEST_P(Guard, ThirtyTwoBitCallsAreTheSame) {
  add_program("guard_probe");
  const Seen seen = lab.run({lab.workspace() + "/guard_probe", "i386", ".envrc"});
  EXPECT_EQ(seen.out, "open -13\ncreat -13\nmkdir -13\nsymlink -13\nlink -13\nrename -13\n") << seen.err;
  const Seen free = lab.run({lab.workspace() + "/guard_probe", "i386", "plain"});
  EXPECT_EQ(free.out.substr(0, 7), "open 3\n") << free.out;
}
#endif

// Without the broker's decision nothing is made: it answers every call with "let the kernel do it".
TEST_P(Guard, TheKernelAloneLetsNothingBeMade) {
  lab.write("file", "old\n");
  Spawn spawn = lab.spawn({"--env", "ONCELATCH_WEAKEN=broker", "--env", "ONCELATCH_GO_ON=1"}, {"/bin/sh", "-c", R"sh(
echo x > new && echo MADE; mkdir d && echo MADE; ln -s a s && echo MADE; ln file l && echo MADE; mv file f && echo MADE
mkfifo p && echo MADE; echo x >> file && echo MADE; true > file; truncate -s 0 file
echo x > /tmp/private && echo x > /dev/null && echo x > /dev/shm/x && echo $HOME/x > $HOME/y && echo works
cat file)sh"});
  spawn.path = ONCELATCH_WEAKENED_RUNNER;
  const Seen seen = run_program(spawn);
  EXPECT_EQ(seen.out, "works\nold\n") << seen.err;
}

// E011: a directory that the host replaces has the same names.
TEST_P(Guard, WhatTheHostReplacesStaysGuarded) {
  lab.make_repository();
  Spawn spawn = lab.spawn({}, {"/bin/sh", "-c",
                               "echo ready > ready; while [ ! -e go ]; do sleep 0.02; done; "
                               "echo x >> .git/config && echo WRITTEN; echo x > .git/hooks/pre-commit && echo WRITTEN; "
                               "echo x > .vscode/tasks.json && echo WRITTEN; echo done"});
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd out(ends[0]);
  spawn.keep[1] = ends[1];
  Result<Process> running = start(spawn);
  ::close(ends[1]);
  ASSERT_TRUE(running);
  for (int i = 0; i < 500 && !exists("ready"); ++i) ::usleep(10'000);
  ASSERT_TRUE(exists("ready"));
  for (const char* name : {"config", "hooks"}) {
    const std::string path = lab.workspace() + "/.git/" + name;
    fs::copy(path, path + ".new", fs::copy_options::recursive);
    fs::remove_all(path);
    fs::rename(path + ".new", path);
  }
  lab.make_directory(".vscode");
  lab.write("go", "");
  Result<std::string> told = read_whole(out.get(), "stdout", 1 << 20);
  ASSERT_TRUE(told);
  EXPECT_EQ(*told, "done\n");
  EXPECT_FALSE(exists(".git/hooks/pre-commit"));
  EXPECT_FALSE(exists(".vscode/tasks.json"));
}

// As it is without the guard, where other programs look.
TEST_P(Guard, OrdinaryFilesAreAsEver) {
  const std::string script = R"py(
import ctypes, os, socket, stat, threading
os.umask(0o027)
os.close(os.open("a", os.O_CREAT | os.O_WRONLY, 0o666)); os.mkdir("d", 0o777)
print(oct(os.stat("a").st_mode), oct(os.stat("d").st_mode))
fd = os.open("d", os.O_RDONLY); os.close(os.open("inner", os.O_CREAT | os.O_RDWR, dir_fd=fd)); print(os.listdir("d"))
t = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600); os.write(t, b"tmp"); ctypes.CDLL(None).linkat(-100, f"/proc/self/fd/{t}".encode(), -100, b"named", 0x400)
print(open("named").read(), os.stat("named").st_nlink)
os.mkfifo("p")
reader = threading.Thread(target=lambda: print(open("p").read())); reader.start()
with open("p", "w") as w: w.write("through")
reader.join()
try: os.open("p", os.O_WRONLY | os.O_NONBLOCK)
except OSError as e: print(e.errno)
s = socket.socket(socket.AF_UNIX); s.bind("sock"); s.listen(); print(s.getsockname(), stat.S_ISSOCK(os.stat("sock").st_mode))
c = socket.socket(socket.AF_UNIX); c.connect("sock"); print("connected")
for flags in (os.O_CREAT | os.O_EXCL, os.O_CREAT | os.O_DIRECTORY, os.O_WRONLY | os.O_NOFOLLOW):
    os.path.islink("l") or os.symlink("a", "l")
    try: os.close(os.open("l", flags)); print("opened")
    except OSError as e: print(e.errno)
try: w = open("/dev/fd/1", "w"); w.write("by number\n"); w.close()
except OSError as e: print(e.errno)  # another user's pipe
f = open("a", "ab"); f.write(b"1"); g = open(f"/proc/self/fd/{f.fileno()}", "r+b"); g.truncate(0); g.write(b"22"); g.close()
print(os.stat("a").st_size, len(os.listdir("/proc/self/fd")) < 12)
open("/dev/null", "w").write("x")
try: open("/proc/self/oom_score_adj", "w").write("500")
except OSError as e: print(e.errno)
)py";
  const Seen seen = python(script);
  EXPECT_NE(seen.out.find("\nthrough\n6\nsock True\nconnected\n"), std::string::npos) << seen.out << seen.err;
  EXPECT_EQ(seen.out, unguarded_python(script).out);
  EXPECT_EQ(seen.code, 0) << seen.err;
}

// A file that can't be read, a path that ends where memory ends, one that is too long, and none.
TEST_P(Guard, BadArgumentsGetTheKernelsErrors) {
  const std::string script = R"py(
import ctypes, errno, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
def name(rc): return errno.errorcode[ctypes.get_errno()] if rc < 0 else "OK"
libc.mmap.restype = ctypes.c_void_p
page = libc.mmap(None, 8192, 3, 0x22, -1, 0); libc.munmap(ctypes.c_void_p(page + 4096), 4096)
ctypes.memmove(page + 4096 - 6, b"edge1\0", 6)
print(name(libc.open(ctypes.c_void_p(page + 4096 - 6), 0o101, 0o644)), os.path.exists("edge1"))
ctypes.memmove(page + 4096 - 6, b"edge22", 6)
print(name(libc.open(ctypes.c_void_p(page + 4096 - 6), 0o101, 0o644)))
print(name(libc.open(None, 0o101, 0o644)), name(libc.mkdir(ctypes.c_void_p(1), 0o755)))
print(name(libc.mkdir(b"x" * 256, 0o755)), name(libc.mkdir(b"x/" * 2100, 0o755)), name(libc.mkdir(b"", 0o755)))
print(name(libc.openat(99, b"x", 0o101, 0o644)), name(libc.mkdirat(-5, b"x", 0o755)), name(libc.openat(99, b"/", 0o101, 0o644)))
os.close(os.open("f", os.O_CREAT))
fd = os.open("f", os.O_RDONLY)
print(name(libc.openat(fd, b"x", 0o101, 0o644)), name(libc.mkdir(b"f/x", 0o755)), name(libc.mkdir(b"no/x", 0o755)))
os.symlink("loop", "loop"); print(name(libc.open(b"loop", 0o101, 0o644)), name(libc.mkdir(b"loop/x", 0o755)), name(libc.mkdir(b"loop", 0o755)))
print(name(libc.rename(b"no", b"x")), name(libc.rename(b"f", b"no/x")), name(libc.link(b"no", b"x")), name(libc.truncate(b"f", ctypes.c_long(-1))), name(libc.truncate(b".", ctypes.c_long(0))))
)py";
  const Seen seen = python(script);
  EXPECT_EQ(seen.out.substr(0, 29), "OK True\nEFAULT\nEFAULT EFAULT\n") << seen.err;
  EXPECT_EQ(seen.out, unguarded_python(script).out);
  EXPECT_EQ(seen.code, 0) << seen.err;
}

TEST_P(Guard, GitWorks) {
  lab.make_repository();
  const Seen seen = shell(R"sh(set -e
echo 1 > f; git add f; git commit -qm one; git branch side; git switch -q side; echo 2 > g; git add g; git commit -qm two
git switch -q main; echo 3 > h; git add h; git commit -qm three; git merge -q -m merged side; git log --oneline | wc -l
echo x >> f; git stash -q; git stash pop -q; git checkout -q f
git switch -qc topic HEAD~1; echo 4 > i; git add i; git commit -qm four; git rebase -q main; git log --oneline | wc -l
git gc -q; git tag t; git fsck; git status --short; git reset -q --hard HEAD~1; git reflog | wc -l)sh");
  EXPECT_EQ(seen.code, 0) << seen.err;
  EXPECT_EQ(seen.out.substr(0, 4), "4\n5\n") << seen.out << seen.err;
}

}  // namespace
}  // namespace oncelatch::sandbox
