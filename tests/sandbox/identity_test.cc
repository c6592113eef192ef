// A real root's sandbox runs under a kernel user of its own, shown as the workspace's owner, and its files stay the
// owner's.
#include "sandbox/identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

constexpr uid_t kOther = 1000;
constexpr unsigned long kFirstOfOurs = 0x78000000;

std::vector<uid_t> owners() {
  if (::geteuid() != 0) return {};  // what follows is about root
  return {0, kOther};
}

class Mapped : public testing::TestWithParam<uid_t> {
 protected:
  void SetUp() override { REQUIRE_CONFINEMENT(); }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Mapped);
INSTANTIATE_TEST_SUITE_P(Owners, Mapped, testing::ValuesIn(owners()), testing::PrintToStringParamName());

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct stat status(const std::string& path) {
  struct stat found {};
  EXPECT_EQ(::lstat(path.c_str(), &found), 0) << path;
  return found;
}

void write_as(const std::string& path, const std::string& text, uid_t uid, gid_t gid, mode_t mode) {
  std::ofstream(path) << text;
  EXPECT_EQ(::chmod(path.c_str(), mode), 0);
  EXPECT_EQ(::chown(path.c_str(), uid, gid), 0);
}

Seen shell(const Lab& lab, const std::string& script, const std::vector<std::string>& options = {}) {
  return lab.run({"/bin/sh", "-c", script}, options);
}

Seen outside_as(uid_t uid, const std::vector<std::string>& words) {
  Spawn spawn;
  spawn.path = "/usr/bin/setpriv";
  std::string id = std::to_string(uid);
  spawn.argv = {"setpriv", "--reuid", id, "--regid", id, "--clear-groups", "--"};
  spawn.argv.insert(spawn.argv.end(), words.begin(), words.end());
  spawn.environment = {"PATH=/usr/bin:/bin", "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"};
  return run_program(spawn);
}

// Words of the line "Uid:" of a process whose arguments hold `mark`, as the host sees it.
std::vector<unsigned long> uids_of(const std::string& mark) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (content(entry.path() / "cmdline").rfind("/bin/sleep", 0) != 0) continue;
    if (content(entry.path() / "cmdline").find(mark) == std::string::npos) continue;
    std::istringstream lines(content(entry.path() / "status"));
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("Uid:", 0) != 0) continue;
      std::istringstream numbers(line.substr(4));
      return {std::istream_iterator<unsigned long>(numbers), {}};
    }
  }
  return {};
}

TEST_P(Mapped, OwnerInsideNobodyOutside) {
  Lab lab(Launch::root_mapped, GetParam());
  std::string id = std::to_string(GetParam());
  Seen seen = shell(lab, "id -u; id -g; id -G; stat -c %u:%g .");
  EXPECT_EQ(seen.out, id + "\n" + id + "\n" + id + "\n" + id + ":" + id + "\n") << seen.err;
  EXPECT_EQ(seen.err, "") << "no loss";

  std::string mark = "30." + std::to_string(::getpid());
  Result<Process> running = start(lab.spawn({}, {"/bin/sleep", mark}));
  ASSERT_TRUE(running);
  std::vector<unsigned long> uids;
  for (int i = 0; i < 500 && uids.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    uids = uids_of(mark);
  }
  ASSERT_EQ(uids.size(), 4U);
  for (unsigned long uid : uids) EXPECT_GE(uid, kFirstOfOurs);
}

TEST_P(Mapped, EachSandboxHasAUserOfItsOwn) {
  Lab lab(Launch::root_mapped, GetParam());
  const char* script = "cat /proc/self/uid_map /proc/self/gid_map";
  EXPECT_NE(shell(lab, script).out, shell(lab, script).out);
}

TEST_P(Mapped, TheOwnersFilesAreUsableAndStayTheOwners) {
  Lab lab(Launch::root_mapped, GetParam());
  lab.write("private", "secret\n", 0600);
  lab.make_directory("closed");
  ASSERT_EQ(::chmod((lab.workspace() + "/closed").c_str(), 0700), 0);
  Seen seen = shell(lab,
                    "set -e; cat private; echo more >> private; chmod 640 private; mkdir d; echo n > d/new; "
                    "ln d/new closed/hard; ln -s new d/link; mv d/new closed/moved; touch gone; rm gone; umask; "
                    "cp private copy; touch -d 2001-01-01 copy; truncate -s 3 copy; stat -c %u private copy d d/* "
                    "closed/* | sort -u");
  EXPECT_EQ(seen.out, "secret\n0022\n" + std::to_string(GetParam()) + "\n") << seen.err;
  for (const char* name : {"private", "copy", "d", "d/link", "closed/hard", "closed/moved", "closed"}) {
    EXPECT_EQ(status(lab.workspace() + "/" + name).st_uid, GetParam()) << name;
    EXPECT_EQ(status(lab.workspace() + "/" + name).st_gid, GetParam()) << name;
  }
  EXPECT_EQ(content(lab.workspace() + "/private"), "secret\nmore\n");
}

TEST_P(Mapped, HomeAndBindsHaveOwnersOfTheirOwn) {
  Lab lab(Launch::root_mapped, GetParam());
  std::string home = lab.outside() + "/home";
  ASSERT_EQ(::mkdir(home.c_str(), 0700), 0);
  write_as(home + "/settings", "set\n", 0, 0, 0600);
  write_as(lab.outside() + "/record", "", 0, 0, 0600);
  write_as(lab.outside() + "/token", "token\n", 0, 0, 0400);
  Seen seen =
      shell(lab, "cat ~/settings /data/token; echo line >> /data/record; mkdir ~/d; echo x > ~/d/new; stat -c %u ~",
            {"--home", home, "--bind", lab.outside() + "/record:/data/record:rw", "--bind",
             lab.outside() + "/token:/data/token:ro"});
  EXPECT_EQ(seen.out, "set\ntoken\n" + std::to_string(GetParam()) + "\n") << seen.err;
  EXPECT_EQ(content(lab.outside() + "/record"), "line\n");
  EXPECT_EQ(status(home + "/d/new").st_uid, 0U);
  EXPECT_EQ(status(lab.outside() + "/record").st_uid, 0U);
}

// What belongs to somebody else in the same tree is decided by its mode, as for any other user.
TEST_P(Mapped, OthersFilesStayTheirs) {
  Lab lab(Launch::root_mapped, GetParam());
  const std::string& ws = lab.workspace();
  const uid_t stranger = GetParam() == 0 ? 4711 : 0;
  write_as(ws + "/theirs", "x", stranger, stranger, 0600);
  write_as(ws + "/shown", "x", stranger, stranger, 0644);
  write_as(ws + "/grouped", "x", GetParam(), 4242, 0600);
  std::map<std::string, std::string> expected = {
      {"read=" + ws + "/theirs", "EACCES"},    {"append=" + ws + "/theirs", "EACCES"},
      {"truncate=" + ws + "/shown", "EACCES"}, {"read=" + ws + "/shown", "OK"},
      {"read=" + ws + "/grouped", "OK"},       {"append=" + ws + "/grouped", "OK"},
      {"write=" + ws + "/mine", "OK"},
  };
  std::vector<std::string> words;
  for (const auto& [word, verdict] : expected) words.push_back(word);
  auto seen = lab.attempts(words);
  for (const auto& [word, verdict] : expected) EXPECT_EQ(seen[word], verdict) << word;
  EXPECT_EQ(status(ws + "/theirs").st_uid, stranger);
  EXPECT_EQ(status(ws + "/grouped").st_gid, 4242U);
}

// uid 0 inside has nothing of the host's root: not by the view, and where the view shows it, not by the mode.
TEST_P(Mapped, NothingOfRootsIsOpened) {
  Lab lab(Launch::root_mapped, GetParam());
  write_as(lab.outside() + "/roots", "x", 0, 0, 0600);
  ASSERT_EQ(::chown(lab.outside().c_str(), kOther, kOther), 0);
  ASSERT_EQ(status("/etc/shadow").st_mode & 0007U, 0U);
  std::map<std::string, std::string> expected = {
      {"read=/etc/shadow", "ENOENT"},
      {"read=/host/shadow", "EACCES"},
      {"read=/host/passwd", "OK"},
      {"append=/host/passwd", "EACCES"},
      {"read=/more/roots", "EACCES"},
      {"append=/more/roots", "EACCES"},
      {"write=/more/new", "OK"},
      {"append=/proc/sys/kernel/core_pattern", "EACCES"},
      {"append=/proc/sys/fs/binfmt_misc/register", "ENOENT"},
      {"list=/sys/fs/cgroup", "ENOENT"},
      {"list=/root", "ENOENT"},
      {"chmod-suid=" + lab.workspace() + "/file", "EPERM"},
      {"umount=/usr", "EPERM"},
  };
  lab.write("file", "x");
  std::vector<std::string> words;
  for (const auto& [word, verdict] : expected) words.push_back(word);
  auto seen = lab.attempts(words, {"--bind", "/etc:/host:ro", "--bind", lab.outside() + ":/more:rw"});
  for (const auto& [word, verdict] : expected) EXPECT_EQ(seen[word], verdict) << word;
}

// kernel.pid_max can't go below 301: here it is RLIMIT_NPROC that binds, also what calls itself uid 0.
TEST_P(Mapped, TheProcessLimitBinds) {
  Lab lab(Launch::root_mapped, GetParam());
  EXPECT_EQ(lab.attempts({"fork-many=100"}, {"--processes", "40"})["fork-many=100"], "EAGAIN");
  EXPECT_EQ(lab.attempts({"fork-many=20"}, {"--processes", "40"})["fork-many=20"], "OK");
}

// Bytes, time of change and inode: git replaces the file where it has anything to note.
std::string index_of(const Lab& lab) {
  std::string path = lab.workspace() + "/.git/index";
  struct stat found = status(path);
  return std::to_string(found.st_ino) + " " + std::to_string(found.st_mtim.tv_sec) + "." +
         std::to_string(found.st_mtim.tv_nsec) + content(path);
}

TEST_P(Mapped, GitReadsNothingAgainOnEitherSide) {
  if (::access("/usr/bin/git", X_OK) != 0 || ::access("/usr/bin/setpriv", X_OK) != 0)
    SKIP_OR_FAIL("no git, no setpriv");
  Lab lab(Launch::root_mapped, GetParam());
  auto outside = [&](const std::vector<std::string>& words) {
    std::vector<std::string> git = {"git", "-C", lab.workspace(), "-c", "user.name=n", "-c", "user.email=a@b"};
    git.insert(git.end(), words.begin(), words.end());
    Seen seen = outside_as(GetParam(), git);
    EXPECT_EQ(seen.code, 0) << seen.err;
    EXPECT_EQ(seen.err, "") << words[0];
  };
  auto inside = [&](const std::string& script) {
    Seen seen = shell(lab, script);
    EXPECT_EQ(seen.code, 0) << seen.err;
    EXPECT_EQ(seen.err, "") << script;
  };
  lab.write("one", "1\n");
  outside_as(GetParam(), {"touch", "-d", "2001-01-01", lab.workspace() + "/one"});
  outside({"init", "-q"});
  outside({"add", "one"});
  outside({"commit", "-q", "-m", "one"});
  outside({"status"});
  std::string before = index_of(lab);
  inside("git status");
  EXPECT_EQ(index_of(lab), before) << "after a look from inside";

  inside(
      "echo 2 > two; touch -d 2001-01-01 two; git add two; git -c user.name=n -c user.email=a@b commit -q -m two; "
      "git status");
  before = index_of(lab);
  outside({"status"});
  EXPECT_EQ(index_of(lab), before) << "after a look from outside";

  outside_as(GetParam(), {"touch", "-d", "2002-01-01", lab.workspace() + "/one"});
  inside("git status");
  EXPECT_NE(index_of(lab), before) << "what changed is noted, so the comparison can fail";
}

Seen run_under(const Lab& lab, const std::vector<std::string>& wrapper, const std::vector<std::string>& options = {}) {
  std::vector<std::string> words =
      lab.command(options, {"/bin/sh", "-c", "id -u; echo x > new && echo written; cat /proc/self/uid_map"});
  Spawn spawn;
  spawn.path = wrapper[0];
  spawn.argv = wrapper;
  spawn.argv.push_back(tool("sandbox_runner"));
  spawn.argv.insert(spawn.argv.end(), words.begin() + 1, words.end());
  return run_program(spawn);
}

// Of "         0      61234          1".
std::string kernel_user(const Seen& seen) {
  std::istringstream words(seen.out.substr(std::min(seen.out.size(), seen.out.rfind("written") + 8)));
  std::string shown;
  std::string kernel;
  words >> shown >> kernel;
  return kernel;
}

void expect_fallback(const Lab& lab, const Seen& seen, const std::string& reason) {
  std::string id = std::to_string(lab.uid());
  EXPECT_EQ(seen.code, 0) << seen.err;
  EXPECT_TRUE(seen.out.starts_with(id + "\nwritten\n")) << seen.out << seen.err;
  EXPECT_EQ(kernel_user(seen), id);
  bool root = lab.uid() == 0;
  EXPECT_EQ(seen.err.find("files of the host's root that are in view stay root's") != std::string::npos, root)
      << seen.err;
  EXPECT_EQ(seen.err.find(reason) != std::string::npos, root) << seen.err;
}

TEST_P(Mapped, WithoutTheRightItIsTheOwnerOrNamedLoss) {
  if (::access("/usr/bin/setpriv", X_OK) != 0) SKIP_OR_FAIL("no setpriv");
  Lab lab(Launch::root_mapped, GetParam());
  Seen seen = run_under(lab, {"/usr/bin/setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"});
  expect_fallback(lab, seen, "can't be mounted with mapped owners");
}

TEST(MappedNot, WithoutSetuidRootStaysRootWithTheLossNamed) {
  REQUIRE_CONFINEMENT();
  if (::geteuid() != 0) GTEST_SKIP() << "this is about root";
  Lab lab(Launch::root_mapped, 0);
  for (const char* without : {"-setuid", "-setuid,-setgid"}) {
    Seen seen = run_under(lab, {"/usr/bin/setpriv", "--bounding-set", without, "--inh-caps", without});
    expect_fallback(lab, seen, "another user can't be taken");
  }
}

TEST(MappedNot, AnothersWorkspaceThatCantBeReachedIsNamed) {
  REQUIRE_CONFINEMENT();
  if (::geteuid() != 0) GTEST_SKIP() << "this is about root";
  Lab lab(Launch::root_mapped, kOther);
  Seen seen = run_under(lab, {"/usr/bin/setpriv", "--bounding-set", "-setuid", "--inh-caps", "-setuid"});
  EXPECT_NE(seen.err.find("the workspace belongs to user 1000"), std::string::npos) << seen.err;
  EXPECT_FALSE(std::filesystem::exists(lab.workspace() + "/new"));
}

// overlayfs has no mapped mounts: found before the start, not by a failing one.
TEST_P(Mapped, AFilesystemThatCantIsFoundOut) {
  Lab lab(Launch::root_mapped, GetParam());
  std::string id = std::to_string(GetParam());
  std::string mount =
      "set -e; mount -t tmpfs tmpfs " + lab.outside() + "; cd " + lab.outside() + "; mkdir l u w; chown " + id + ":" +
      id + " u; mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w " + lab.workspace() + "; cd /; exec \"$@\"";
  Seen seen = run_under(lab, {"/usr/bin/unshare", "--mount", "/bin/sh", "-c", mount, "sh"});
  expect_fallback(lab, seen, "Invalid argument");
}

// Chosen before such a mount was known: what must be writable is refused, what is read goes by its mode.
TEST_P(Mapped, AMountThatCantBeMappedIsNeverSilentlyWritten) {
  Lab lab(Launch::root_mapped, GetParam());
  std::string mount = "set -e; mount -t tmpfs tmpfs " + lab.outside() + "; cd " + lab.outside() +
                      "; mkdir l u w m; "
                      "mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w m; cd /; exec \"$@\"";
  const std::vector<std::string> wrapper = {"/usr/bin/unshare", "--mount", "/bin/sh", "-c", mount, "sh"};
  Seen seen = run_under(lab, wrapper, {"--by-workspace-only", "--bind", lab.outside() + "/m:/data:rw"});
  EXPECT_EQ(seen.code, kRefused);
  EXPECT_EQ(seen.out, "");
  EXPECT_NE(seen.err.find("refused EINVAL sandbox: sources: /data"), std::string::npos) << seen.err;
  seen = run_under(lab, wrapper, {"--by-workspace-only", "--bind", lab.outside() + "/m:/data:ro"});
  EXPECT_EQ(seen.code, 0) << seen.err;
  EXPECT_NE(kernel_user(seen), "0");
}

TEST(Identity, AnybodyElseStaysWhoTheyAre) {
  REQUIRE_CONFINEMENT();
  Lab lab(Launch::user);
  Seen seen = lab.run({"/bin/sh", "-c", "id -u; cat /proc/self/uid_map"}, {"--as-root-mapped"});
  std::istringstream words(seen.out);
  std::string id = std::to_string(lab.uid());
  EXPECT_EQ((std::vector<std::string>{std::istream_iterator<std::string>(words), {}}),
            (std::vector<std::string>{id, id, id, "1"}))
      << seen.err;
  EXPECT_EQ(seen.err, "");
}

TEST_P(Mapped, ATierWithoutMountsHasNoMappedOwners) {
  Lab lab(Launch::root_mapped, GetParam());
  Identity mapped = choose_identity(lab.workspace(), {lab.outside()});
  EXPECT_TRUE(mapped.idmapped) << mapped.loss;
  EXPECT_EQ(mapped.shown_uid, GetParam());
  Identity plain = choose_identity(lab.workspace(), {}, IdentityChoice::on_host);
  EXPECT_FALSE(plain.idmapped);
  EXPECT_EQ(plain.uid, GetParam());
  EXPECT_EQ(plain.shown_uid, plain.uid);
  EXPECT_EQ(plain.loss.empty(), GetParam() != 0) << plain.loss;
}

TEST(Identity, AMissingWorkspaceIsNoReasonToGuess) {
  Identity identity = choose_identity("/nonexistent/workspace");
  EXPECT_FALSE(identity.idmapped);
  EXPECT_EQ(identity.uid, ::geteuid());
  EXPECT_EQ(identity.loss.empty(), ::geteuid() != 0);
}

}  // namespace
}  // namespace oncelatch::sandbox
