// Where a report may go: what is refused before anything starts, and what a report leaves as it was.
#include "launcher/report_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/launcher/scratch.h"

namespace oncelatch::launcher {
namespace {

using ::testing::HasSubstr;

class ReportFilePlaces : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return scratch.path(name); }
  void expect_refused(const std::string& place, const std::string& why) const {
    Result<ReportFile> file = ReportFile::open(place);
    ASSERT_FALSE(file) << place;
    EXPECT_EQ(file.error().stage, "report");
    EXPECT_THAT(file.error().message(), HasSubstr(why)) << place;
    EXPECT_THAT(file.error().message(), HasSubstr("try:")) << place;
  }
  test::Scratch scratch;
};

TEST_F(ReportFilePlaces, ReplacesAFileAsAWhole) {
  scratch.write("report.json", "old and longer", 0644);
  Result<ReportFile> file = ReportFile::open(path("report.json"));
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(scratch.read("report.json"), "old and longer") << "nothing before it is written";
  ASSERT_TRUE(file->write("new\n"));
  EXPECT_EQ(scratch.read("report.json"), "new\n");
  struct stat info {};
  ASSERT_EQ(::stat(path("report.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
}

TEST_F(ReportFilePlaces, RefusesWhatItWouldReplaceOrCantWrite) {
  ASSERT_EQ(::mkdir(path("directory").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("elsewhere", path("link").c_str()), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  expect_refused(path("directory"), "is a directory");
  expect_refused(path("directory/"), "is a directory");
  expect_refused(path("link"), "symbolic link");
  expect_refused(path("socket"), "no file");
  expect_refused(path("fifo"), "start its reader first");
  expect_refused(path("no/such"), "No such file");
  expect_refused("/proc/report", "");
  expect_refused("/dev/fd/987", "Bad file descriptor");
  struct stat info {};
  ASSERT_EQ(::lstat(path("link").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
}

// Found out before the command runs, not when its report is to take the place.
TEST_F(ReportFilePlaces, AnotherUsersFileInAStickyDirectory) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs two users";
  test::Scratch user(test::kOrdinaryUser);
  const std::string place = user.path("common");
  ASSERT_EQ(::mkdir(place.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(place.c_str(), 01777), 0);
  Fd file(::open((place + "/report.json").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  Output refused = user.oncelatch({"exec", "--report", place + "/report.json", "--", "echo", "RAN"});
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("another user's"));
  Output other = user.oncelatch({"exec", "--report", place + "/other.json", "--", "echo", "RAN"});
  EXPECT_EQ(other.out, "RAN\n") << other.err;
}

TEST_F(ReportFilePlaces, WritesToStreams) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  Fd reader(::open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  Result<ReportFile> fifo = ReportFile::open(path("fifo"));
  ASSERT_TRUE(fifo) << fifo.error().message();
  EXPECT_EQ(fifo->place(), "");
  ASSERT_TRUE(fifo->write("one\n"));
  char text[16] = {};
  EXPECT_EQ(::read(reader.get(), text, sizeof text), 4);
  struct stat info {};
  ASSERT_EQ(::lstat(path("fifo").c_str(), &info), 0);
  EXPECT_TRUE(S_ISFIFO(info.st_mode));

  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd out(ends[0]);
  Fd in(ends[1]);
  Result<ReportFile> stream = ReportFile::open("/dev/fd/" + std::to_string(in.get()));
  ASSERT_TRUE(stream) << stream.error().message();
  ASSERT_TRUE(stream->write("two\n"));
  EXPECT_EQ(::read(out.get(), text, sizeof text), 4);

  Result<ReportFile> null = ReportFile::open("/dev/null");
  ASSERT_TRUE(null) << null.error().message();
  EXPECT_TRUE(null->write("three\n"));
  ASSERT_EQ(::stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3));
}

// It was opened before what could lead it elsewhere.
TEST_F(ReportFilePlaces, ADirectoryThatIsReplacedLaterIsNotFollowed) {
  ASSERT_EQ(::mkdir(path("there").c_str(), 0700), 0);
  ASSERT_EQ(::mkdir(path("elsewhere").c_str(), 0700), 0);
  Result<ReportFile> file = ReportFile::open(path("there/report.json"));
  ASSERT_TRUE(file);
  ASSERT_EQ(::rename(path("there").c_str(), path("moved").c_str()), 0);
  ASSERT_EQ(::symlink("elsewhere", path("there").c_str()), 0);
  ASSERT_TRUE(file->write("x"));
  EXPECT_TRUE(scratch.exists("moved/report.json"));
  EXPECT_FALSE(scratch.exists("elsewhere/report.json"));
}

}  // namespace
}  // namespace oncelatch::launcher
