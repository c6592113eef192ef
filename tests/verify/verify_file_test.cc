#include "verify/verify_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <type_traits>

#include "base/beneath.h"
#include "base/process.h"
#include "tests/base/temporary.h"
#include "verify/artifact_key.h"

namespace oncelatch::verify {
namespace {

using testing::HasSubstr;

static_assert(!std::is_default_constructible_v<ArtifactKey>);
static_assert(!std::is_copy_constructible_v<ArtifactKey>);
static_assert(!std::is_copy_constructible_v<VerifiedArtifact>);

constexpr std::string_view kScript = "#!/bin/sh\nexit 7\n";

class VerifyFile : public testing::Test {
 protected:
  void SetUp() override { write("tool", kScript, 0755); }
  void write(const std::string& name, std::string_view bytes, mode_t mode) {
    ASSERT_TRUE(write_file_atomic(temporary_.fd(), name, bytes, mode));
  }
  std::string path(const std::string& name) const { return temporary_.path(name); }
  Error refusal(const std::string& name, const std::optional<std::string>& digest = std::nullopt) const {
    Result<VerifiedArtifact> artifact = verify_file(path(name), digest);
    if (artifact) return Error{"not refused", {}, {}, {}, 0};
    EXPECT_EQ(artifact.error().stage, "verify");
    EXPECT_FALSE(artifact.error().try_next.empty());
    return artifact.error();
  }
  std::string digest(const std::string& name) const {
    Result<Fd> file = open_beneath(temporary_.fd(), name, O_RDONLY);
    return *sha256_of(file->get(), name);
  }
  // The lease keeps writers out; tests of what happens without one give it back.
  static void end_lease(const VerifiedArtifact& artifact) { ::fcntl(artifact.fd(), F_SETLEASE, F_UNLCK); }
  TemporaryDirectory temporary_;
};

TEST_F(VerifyFile, AcceptsAScriptOfOnesOwn) {
  Result<VerifiedArtifact> artifact = verify_file(path("tool"), std::nullopt);
  ASSERT_TRUE(artifact) << artifact.error().message();
  EXPECT_EQ(artifact->path(), path("tool"));
  EXPECT_EQ(artifact->sha256(), digest("tool"));
  EXPECT_TRUE(artifact->is_script());
  EXPECT_EQ(::fcntl(artifact->fd(), F_GETFD), FD_CLOEXEC);
  EXPECT_TRUE(still_unchanged(*artifact));
}

TEST_F(VerifyFile, AcceptsAProgramOfRootsAndRunsItByDescriptor) {
  Result<VerifiedArtifact> artifact = verify_file("/bin/true", std::nullopt);
  ASSERT_TRUE(artifact) << artifact.error().message();
  EXPECT_FALSE(artifact->is_script());
  Spawn spawn;
  spawn.argv = {"true"};
  spawn.executable_fd = artifact->fd();
  Result<Process> child = start(spawn);
  ASSERT_TRUE(child) << child.error().message();
  EXPECT_EQ(child->wait(std::chrono::seconds(10))->shell_code(), 0);
}

TEST_F(VerifyFile, DigestOfAnyCaseIsAccepted) {
  std::string lower = digest("tool");
  std::string upper = lower;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_NE(lower, upper);
  EXPECT_TRUE(verify_file(path("tool"), lower));
  Result<VerifiedArtifact> artifact = verify_file(path("tool"), upper);
  ASSERT_TRUE(artifact) << artifact.error().message();
  EXPECT_EQ(artifact->sha256(), lower);
}

TEST_F(VerifyFile, FollowsLinksOnceAndNamesTheTarget) {
  ASSERT_EQ(::symlinkat("tool", temporary_.fd(), "link"), 0);
  Result<VerifiedArtifact> artifact = verify_file(path("link"), std::nullopt);
  ASSERT_TRUE(artifact);
  EXPECT_EQ(artifact->path(), path("tool"));
}

TEST_F(VerifyFile, MissingFile) {
  Error error = refusal("nothing");
  EXPECT_EQ(error.errno_value, ENOENT);
  EXPECT_EQ(error.message(),
            "verify: " + path("nothing") + ": No such file or directory\n  try: give `--cli-path FILE`");
  ASSERT_EQ(::symlinkat("nowhere", temporary_.fd(), "dangling"), 0);
  EXPECT_EQ(refusal("dangling").errno_value, ENOENT);
  EXPECT_EQ(refusal("tool/x").errno_value, ENOTDIR);
  EXPECT_EQ(verify_file("", std::nullopt).error().errno_value, ENOENT);
  EXPECT_EQ(verify_file(path("tool") + std::string("\0x", 2), std::nullopt).error().errno_value, ENOENT);
}

TEST_F(VerifyFile, Directory) {
  ASSERT_TRUE(make_directory(temporary_.fd(), "sub", 0755));
  EXPECT_EQ(refusal("sub").errno_value, EISDIR);
  EXPECT_THAT(refusal("sub").message(), HasSubstr("Is a directory"));
}

TEST_F(VerifyFile, NotARegularFile) {
  ASSERT_EQ(::mkfifoat(temporary_.fd(), "fifo", 0755), 0);
  EXPECT_EQ(refusal("fifo").what, "not a regular file");
  EXPECT_EQ(verify_file("/dev/null", std::nullopt).error().what, "not a regular file");
}

TEST_F(VerifyFile, NotExecutable) {
  write("data", kScript, 0644);
  EXPECT_EQ(refusal("data").errno_value, EACCES);
  EXPECT_THAT(refusal("data").what, HasSubstr("not executable"));
}

TEST_F(VerifyFile, WritableByOthers) {
  write("group", kScript, 0775);
  write("world", kScript, 0757);
  EXPECT_EQ(refusal("group").what, "mode 0775: others can write it");
  EXPECT_EQ(refusal("world").what, "mode 0757: others can write it");
}

TEST_F(VerifyFile, ForeignOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::fchownat(temporary_.fd(), "tool", 12345, 12345, 0), 0);
  EXPECT_EQ(refusal("tool").what, "belongs to uid 12345, neither to you nor to root");
}

TEST_F(VerifyFile, MalformedDigest) {
  const std::string digits(63, 'a');
  std::vector<std::string> malformed = {"", "abc", digits};
  for (const char* ending : {"aa", "g", "\n", " "}) malformed.push_back(digits + ending);
  malformed.push_back("sha256:" + digits);
  for (const std::string& digest : malformed) {
    Error error = refusal("tool", digest);
    EXPECT_EQ(error.object, "expected SHA-256");
    EXPECT_THAT(error.what, HasSubstr("not 64 hexadecimal digits"));
    EXPECT_EQ(error.what.find('\n'), std::string::npos);
  }
}

TEST_F(VerifyFile, MismatchShowsBothAndSaysNothingWasStarted) {
  std::string expected(64, 'A');
  Error error = refusal("tool", expected);
  EXPECT_THAT(error.what, HasSubstr(digest("tool")));
  EXPECT_THAT(error.what, HasSubstr(std::string(64, 'a')));
  EXPECT_THAT(error.what, HasSubstr("nothing was started"));
  std::string almost = digest("tool");
  almost[63] = almost[63] == '0' ? '1' : '0';
  EXPECT_THAT(refusal("tool", almost).what, HasSubstr("expected"));
}

TEST_F(VerifyFile, HostileNamesAreEscaped) {
  Error error = refusal("\x1b]0;x\x07\u202e");
  EXPECT_EQ(error.message().find('\x1b'), std::string::npos);
  EXPECT_THAT(error.object, HasSubstr("\\x1b]0;x\\x07\\u{202e}"));
}

TEST_F(VerifyFile, AFileOpenForWritingIsRefused) {
  Fd writer(::open(path("tool").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(writer);
  EXPECT_EQ(refusal("tool").errno_value, ETXTBSY);
  writer.reset();
  EXPECT_TRUE(verify_file(path("tool"), std::nullopt));
}

TEST_F(VerifyFile, TheLeaseKeepsWritersOut) {
  Result<VerifiedArtifact> artifact = verify_file(path("tool"), std::nullopt);
  ASSERT_TRUE(artifact);
  if (::fcntl(artifact->fd(), F_GETLEASE) != F_RDLCK) GTEST_SKIP() << "no leases on this file system";
  EXPECT_LT(::open(path("tool").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC), 0);
  EXPECT_EQ(errno, EWOULDBLOCK);
  EXPECT_TRUE(still_unchanged(*artifact));
}

TEST_F(VerifyFile, InPlaceChangeIsDetected) {
  Result<VerifiedArtifact> artifact = verify_file(path("tool"), std::nullopt);
  ASSERT_TRUE(artifact);
  end_lease(*artifact);
  ::usleep(20'000);  // past the granularity of file times
  Fd writer(::open(path("tool").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(writer);
  ASSERT_TRUE(write_all(writer.get(), "#!/bin/sh\nexit 8\n", "tool"));  // same size
  Status unchanged = still_unchanged(*artifact);
  ASSERT_FALSE(unchanged);
  EXPECT_THAT(unchanged.error().what, HasSubstr("nothing was started"));
}

TEST_F(VerifyFile, ChangeOfRightsIsDetected) {
  Result<VerifiedArtifact> artifact = verify_file(path("tool"), std::nullopt);
  ASSERT_TRUE(artifact);
  ::usleep(20'000);
  ASSERT_EQ(::fchmodat(temporary_.fd(), "tool", 0777, 0), 0);
  EXPECT_FALSE(still_unchanged(*artifact));
}

TEST_F(VerifyFile, AReplacedScriptIsDetected) {
  Result<VerifiedArtifact> artifact = verify_file(path("tool"), std::nullopt);
  ASSERT_TRUE(artifact);
  ::usleep(20'000);
  write("tool", "#!/bin/sh\nexit 9\n", 0755);
  EXPECT_FALSE(still_unchanged(*artifact));
}

TEST_F(VerifyFile, ScriptsAreKnownByTheirFirstTwoBytes) {
  write("short", "#", 0755);
  write("spaced", " #!/bin/sh\n", 0755);
  EXPECT_FALSE(verify_file(path("short"), std::nullopt)->is_script());
  EXPECT_FALSE(verify_file(path("spaced"), std::nullopt)->is_script());
  EXPECT_TRUE(verify_file(path("tool"), std::nullopt)->is_script());
}

}  // namespace
}  // namespace oncelatch::verify
