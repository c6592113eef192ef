#include "base/beneath.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tests/base/temporary.h"

namespace oncelatch {
namespace {

class Beneath : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make_directory(root(), "sub", 0700));
    ASSERT_TRUE(write_file_atomic(root(), "sub/file", "inside", 0600));
    ASSERT_EQ(::symlinkat("sub/file", root(), "link"), 0);
    ASSERT_EQ(::symlinkat("sub", root(), "dirlink"), 0);
    ASSERT_EQ(::symlinkat("/etc/passwd", root(), "outside"), 0);
  }
  int root() const { return temporary_.fd(); }
  int open_error(const std::string& path) const {
    Result<Fd> opened = open_beneath(root(), path, O_RDONLY);
    return opened ? 0 : opened.error().errno_value;
  }
  mode_t mode_of(const std::string& path) const {
    struct stat status {};
    EXPECT_EQ(::fstatat(root(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW), 0);
    return status.st_mode & 07777;
  }
  TemporaryDirectory temporary_;
};

TEST_F(Beneath, OpensWhatIsInside) {
  EXPECT_EQ(open_error("sub/file"), 0);
  EXPECT_EQ(open_error("sub/../sub/file"), 0);
  EXPECT_EQ(open_error("."), 0);
}

TEST_F(Beneath, RefusesWaysOut) {
  EXPECT_EQ(open_error(".."), EXDEV);
  EXPECT_EQ(open_error("sub/../../x"), EXDEV);
  EXPECT_EQ(open_error("/etc/passwd"), EXDEV);
  EXPECT_EQ(open_error("link"), ELOOP);
  EXPECT_EQ(open_error("dirlink/file"), ELOOP);
  EXPECT_EQ(open_error("outside"), ELOOP);
  EXPECT_EQ(open_error(""), ENOENT);
  EXPECT_EQ(open_error(std::string("sub\0/x", 6)), EINVAL);
}

TEST_F(Beneath, RefusesMagicLinks) {
  Result<Fd> proc = open_directory("/proc/self");
  ASSERT_TRUE(proc);
  Result<Fd> opened = open_beneath(proc->get(), "root", O_RDONLY);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().errno_value, ELOOP);
}

TEST_F(Beneath, DescriptorsAreCloseOnExec) {
  Result<Fd> opened = open_beneath(root(), "sub/file", O_RDONLY);
  ASSERT_TRUE(opened);
  EXPECT_EQ(::fcntl(opened->get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(Beneath, ModesAreExactUnderEveryUmask) {
  for (mode_t mask : {0000U, 0022U, 0077U, 0777U}) {
    mode_t before = ::umask(mask);
    Result<Fd> made = make_directory(root(), "private", 0750);
    Status written = write_file_atomic(root(), "written", "x", 0644);
    Result<Fd> created = open_beneath(root(), "created", O_WRONLY | O_CREAT | O_EXCL, 0640);
    ::umask(before);
    ASSERT_TRUE(made) << made.error().message();
    ASSERT_TRUE(written) << written.error().message();
    ASSERT_TRUE(created) << created.error().message();
    EXPECT_EQ(mode_of("private"), 0750U);
    EXPECT_EQ(mode_of("written"), 0644U);
    EXPECT_EQ(mode_of("created"), 0640U);
    ASSERT_EQ(::unlinkat(root(), "private", AT_REMOVEDIR), 0);
    ASSERT_EQ(::unlinkat(root(), "created", 0), 0);
  }
}

TEST_F(Beneath, MakeDirectoryWantsOneNewName) {
  EXPECT_EQ(make_directory(root(), "sub", 0700).error().errno_value, EEXIST);
  EXPECT_EQ(make_directory(root(), "link", 0700).error().errno_value, EEXIST);
  for (const char* name : {"", ".", "..", "a/b", "/a"}) {
    Result<Fd> made = make_directory(root(), name, 0700);
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().errno_value, EINVAL) << name;
  }
}

TEST_F(Beneath, UniqueDirectoriesDiffer) {
  std::string first;
  std::string second;
  ASSERT_TRUE(make_unique_directory(root(), "home-", 0700, &first));
  ASSERT_TRUE(make_unique_directory(root(), "home-", 0700, &second));
  EXPECT_NE(first, second);
  EXPECT_EQ(first.size(), 5U + 16U);
  EXPECT_EQ(mode_of(first), 0700U);
  EXPECT_FALSE(make_unique_directory(root(), "missing/home-", 0700, &first));
}

TEST_F(Beneath, PrivateDirectoryMeansOwnerOnly) {
  Result<Fd> open_to_group = make_directory(root(), "group", 0750);
  Result<Fd> own = make_directory(root(), "own", 0700);
  ASSERT_TRUE(open_to_group && own);
  EXPECT_TRUE(check_private_directory(own->get(), "own"));
  EXPECT_FALSE(check_private_directory(open_to_group->get(), "group"));
  Result<Fd> file = open_beneath(root(), "sub/file", O_RDONLY);
  ASSERT_TRUE(file);
  EXPECT_EQ(check_private_directory(file->get(), "file").error().errno_value, ENOTDIR);
  if (::geteuid() == 0) {
    ASSERT_EQ(::fchown(own->get(), 12345, 12345), 0);
  } else {
    own = open_directory("/");
    ASSERT_TRUE(own);
  }
  EXPECT_FALSE(check_private_directory(own->get(), "foreign"));
}

TEST_F(Beneath, ReadsWholeFilesUpToTheBound) {
  EXPECT_EQ(*read_file(root(), "sub/file", 6), "inside");
  EXPECT_EQ(read_file(root(), "sub/file", 5).error().errno_value, EFBIG);
  EXPECT_EQ(read_file(root(), "sub", 5).error().errno_value, EISDIR);
  EXPECT_EQ(read_file(root(), "link", 6).error().errno_value, ELOOP);
  EXPECT_EQ(read_file(root(), "missing", 6).error().errno_value, ENOENT);
  std::string big(200'000, 'x');
  ASSERT_TRUE(write_file_atomic(root(), "big", big, 0600));
  EXPECT_EQ(*read_file(root(), "big", big.size()), big);
}

TEST_F(Beneath, ReadingAFifoNeitherBlocksNorSucceeds) {
  ASSERT_EQ(::mkfifoat(root(), "fifo", 0600), 0);
  EXPECT_FALSE(read_file(root(), "fifo", 10));
}

TEST_F(Beneath, AtomicWriteReplacesAndLeavesNothingBehind) {
  ASSERT_TRUE(write_file_atomic(root(), "sub/file", "second", 0600));
  EXPECT_EQ(*read_file(root(), "sub/file", 100), "second");
  EXPECT_FALSE(write_file_atomic(root(), "sub", "x", 0600));  // a directory stands there
  EXPECT_FALSE(write_file_atomic(root(), "dirlink/file", "x", 0600));
  for (const char* path : {"", ".", "sub/..", "sub/", "/tmp/x", "../x"})
    EXPECT_FALSE(write_file_atomic(root(), path, "x", 0600)) << path;
  ASSERT_EQ(::unlinkat(root(), "link", 0), 0);
  ASSERT_EQ(::unlinkat(root(), "dirlink", 0), 0);
  ASSERT_EQ(::unlinkat(root(), "outside", 0), 0);
  ASSERT_TRUE(remove_tree(root(), "sub"));
  ASSERT_EQ(::rmdir(temporary_.path().c_str()), 0) << "a temporary file stayed";
  ASSERT_EQ(::mkdir(temporary_.path().c_str(), 0700), 0);
}

TEST_F(Beneath, AtomicWriteReplacesALinkAndNotItsTarget) {
  ASSERT_TRUE(write_file_atomic(root(), "link", "new", 0600));
  EXPECT_EQ(*read_file(root(), "link", 100), "new");
  EXPECT_EQ(*read_file(root(), "sub/file", 100), "inside");
}

TEST_F(Beneath, WriteReportsErrors) {
  Result<Fd> file = open_beneath(root(), "sub/file", O_RDONLY);
  ASSERT_TRUE(file);
  EXPECT_EQ(write_all(file->get(), "x", "file").error().errno_value, EBADF);
  EXPECT_FALSE(open_directory(temporary_.path("sub/file")));
  EXPECT_FALSE(open_directory(""));
}

}  // namespace
}  // namespace oncelatch
