#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "tests/base/temporary.h"

namespace oncelatch {
namespace {

class RemoveTree : public testing::Test {
 protected:
  int root() const { return temporary_.fd(); }
  void make(const std::string& path, mode_t mode = 0700) {
    ASSERT_EQ(::mkdirat(root(), path.c_str(), mode), 0) << path;
  }
  void touch(const std::string& path) { ASSERT_TRUE(write_file_atomic(root(), path, "x", 0600)) << path; }
  bool exists(const std::string& path) const {
    struct stat status {};
    return ::fstatat(root(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  }
  TemporaryDirectory temporary_{true};
};

TEST_F(RemoveTree, RemovesFilesAndDirectories) {
  make("t");
  make("t/a");
  touch("t/a/file");
  touch("t/file");
  ASSERT_EQ(::mkfifoat(root(), "t/fifo", 0600), 0);
  ASSERT_TRUE(remove_tree(root(), "t"));
  EXPECT_FALSE(exists("t"));
}

TEST_F(RemoveTree, MissingTreeIsSuccess) {
  EXPECT_TRUE(remove_tree(root(), "missing"));
  EXPECT_TRUE(remove_tree(root(), "missing/deeper"));
}

TEST_F(RemoveTree, RefusesNamesThatLeadElsewhere) {
  for (const char* name : {"", ".", "..", "../x", "/tmp/x", "a/.."}) {
    make("a");
    EXPECT_FALSE(remove_tree(root(), name)) << name;
    EXPECT_TRUE(exists("a"));
    ASSERT_EQ(::unlinkat(root(), "a", AT_REMOVEDIR), 0);
  }
}

TEST_F(RemoveTree, ATreeInASubdirectory) {
  make("a");
  make("a/b");
  touch("a/b/c");
  ASSERT_TRUE(remove_tree(root(), "a/b"));
  EXPECT_TRUE(exists("a"));
  EXPECT_FALSE(exists("a/b"));
}

TEST_F(RemoveTree, LinksAreRemovedAndNotFollowed) {
  make("outside");
  touch("outside/precious");
  make("t");
  ASSERT_EQ(::symlinkat("../outside", root(), "t/link"), 0);
  ASSERT_EQ(::symlinkat("outside", root(), "top"), 0);
  ASSERT_EQ(::symlinkat("nowhere", root(), "t/dangling"), 0);
  ASSERT_EQ(::linkat(root(), "outside/precious", root(), "t/hard", 0), 0);
  ASSERT_TRUE(remove_tree(root(), "t"));
  ASSERT_TRUE(remove_tree(root(), "top"));
  EXPECT_FALSE(exists("top"));
  EXPECT_TRUE(exists("outside/precious"));
}

TEST_F(RemoveTree, FiveThousandLevelsWithFewDescriptors) {
  make("t");
  Fd at(::openat(root(), "t", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < 5000; ++level) {
    ASSERT_EQ(::mkdirat(at.get(), "d", 0700), 0) << level;
    Fd next(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(next) << level;
    at = std::move(next);
  }
  at.reset();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few{32, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  Status removed = remove_tree(root(), "t");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(removed) << removed.error().message();
  EXPECT_FALSE(exists("t"));
}

TEST_F(RemoveTree, WideTreesWithManySubdirectories) {
  make("t");
  for (int i = 0; i < 3000; ++i) {
    make("t/d" + std::to_string(i));
    ASSERT_TRUE(Fd(::openat(root(), ("t/f" + std::to_string(i)).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)));
  }
  ASSERT_TRUE(remove_tree(root(), "t"));
  EXPECT_FALSE(exists("t"));
}

TEST_F(RemoveTree, DirectoriesWithoutAnyRights) {
  make("t");
  make("t/closed");
  make("t/closed/inner");
  touch("t/closed/inner/file");
  make("t/readonly");
  touch("t/readonly/file");
  auto remove = [&] {
    EXPECT_EQ(::fchmodat(root(), "t/closed/inner", 0000, 0), 0);
    EXPECT_EQ(::fchmodat(root(), "t/closed", 0000, 0), 0);
    EXPECT_EQ(::fchmodat(root(), "t/readonly", 0500, 0), 0);
    EXPECT_EQ(::fchmodat(root(), "t", 0000, 0), 0);
    Status removed = remove_tree(root(), "t");
    EXPECT_TRUE(removed) << removed.error().message();
  };
  if (::geteuid() != 0) return remove();
  // Root may read everything: be somebody else, in a thread of its own, for the effective id alone.
  ASSERT_EQ(::fchown(root(), 12345, 12345), 0);
  for (const char* path : {"t", "t/closed", "t/closed/inner", "t/readonly"})
    ASSERT_EQ(::fchownat(root(), path, 12345, 12345, 0), 0);
  ASSERT_EQ(::seteuid(12345), 0);
  remove();
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_FALSE(exists("t"));
}

TEST_F(RemoveTree, MountPointsInsideAreNotCrossed) {
  make("outside");
  touch("outside/precious");
  make("t");
  make("t/mount");
  make("t/other");
  touch("t/other/file");
  if (::mount(temporary_.path("outside").c_str(), temporary_.path("t/mount").c_str(), nullptr, MS_BIND, nullptr) != 0) {
    GTEST_SKIP() << "no right to mount here";
  }
  Status removed = remove_tree(root(), "t");
  Status top = remove_tree(root(), "t/mount");
  EXPECT_EQ(::umount(temporary_.path("t/mount").c_str()), 0);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().errno_value, EXDEV);
  EXPECT_FALSE(top);
  EXPECT_TRUE(exists("outside/precious"));
  EXPECT_FALSE(exists("t/other")) << "the rest goes all the same";
}

// Another thread swaps a directory with a link to the outside all the time.
TEST_F(RemoveTree, SwappedNamesNeverLeadOutside) {
  make("outside");
  touch("outside/precious");
  for (int round = 0; round < 50; ++round) {
    make("t");
    make("t/victim");
    touch("t/victim/file");
    ASSERT_EQ(::symlinkat("../outside", root(), "t/link"), 0);
    std::atomic<bool> stop{false};
    std::thread swapper([&] {
      while (!stop) ::syscall(SYS_renameat2, root(), "t/victim", root(), "t/link", 2 /* RENAME_EXCHANGE */);
    });
    Status removed = remove_tree(root(), "t");
    stop = true;
    swapper.join();
    EXPECT_TRUE(exists("outside/precious")) << round;
    EXPECT_TRUE(remove_tree(root(), "t"));
    ASSERT_FALSE(exists("t"));
  }
}

// A directory moved out of the tree while the walk stands in it: ".." is somewhere else then.
TEST_F(RemoveTree, MovedDirectoriesNeverLeadOutside) {
  make("outside");
  touch("outside/precious");
  for (int round = 0; round < 50; ++round) {
    make("t");
    make("t/a");
    make("t/a/b");
    for (int i = 0; i < 20; ++i) make("t/a/b/" + std::to_string(i));
    std::thread mover([&] { ::renameat(root(), "t/a/b", root(), "outside/b"); });
    [[maybe_unused]] Status removed = remove_tree(root(), "t");
    mover.join();
    EXPECT_TRUE(exists("outside/precious")) << round;
    EXPECT_TRUE(remove_tree(root(), "outside/b"));
    EXPECT_TRUE(remove_tree(root(), "t"));
  }
}

}  // namespace
}  // namespace oncelatch
