#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "base/beneath.h"
#include "tests/base/temporary.h"
#include "verify/verify_file.h"

namespace oncelatch::verify {
namespace {

std::string digest_of(const TemporaryDirectory& temporary, const std::string& bytes) {
  EXPECT_TRUE(write_file_atomic(temporary.fd(), "file", bytes, 0600));
  Result<Fd> file = open_beneath(temporary.fd(), "file", O_RDONLY);
  EXPECT_TRUE(file);
  Result<std::string> digest = sha256_of(file->get(), "file");
  return digest ? *digest : digest.error().message();
}

TEST(Sha256, KnownAnswers) {
  TemporaryDirectory temporary;
  EXPECT_EQ(digest_of(temporary, ""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest_of(temporary, "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest_of(temporary, std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, IgnoresAndKeepsTheOffset) {
  TemporaryDirectory temporary;
  ASSERT_TRUE(write_file_atomic(temporary.fd(), "file", "abc", 0600));
  Result<Fd> file = open_beneath(temporary.fd(), "file", O_RDONLY);
  ASSERT_TRUE(file);
  ASSERT_EQ(::lseek(file->get(), 2, SEEK_SET), 2);
  EXPECT_EQ(sha256_of(file->get(), "file")->substr(0, 8), "ba7816bf");
  EXPECT_EQ(::lseek(file->get(), 0, SEEK_CUR), 2);
}

TEST(Sha256, ReportsReadErrors) {
  Result<std::string> digest = sha256_of(-1, "x\x1b[2J");
  ASSERT_FALSE(digest);
  EXPECT_EQ(digest.error().errno_value, EBADF);
  EXPECT_EQ(digest.error().object, "x\\x1b[2J");
}

}  // namespace
}  // namespace oncelatch::verify
