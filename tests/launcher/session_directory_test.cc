#include "launcher/session_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/launcher/scratch.h"

namespace oncelatch::launcher {
namespace {

using test::Scratch;

TEST(SessionDirectory, IsPrivateUnderEveryUmaskAndRemoved) {
  Scratch scratch;
  for (mode_t mask : {mode_t{0}, mode_t{0077}, mode_t{0777}}) {
    mode_t before = ::umask(mask);
    Result<SessionRoot> root = SessionRoot::open(scratch.environment());
    ASSERT_TRUE(root) << root.error().message();
    Result<SessionDirectory> session = root->create();
    ::umask(before);
    ASSERT_TRUE(session) << session.error().message();
    struct stat info {};
    ASSERT_EQ(::stat(session->path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0700U);
    EXPECT_TRUE(session->remove());
    EXPECT_NE(::stat(session->path().c_str(), &info), 0);
  }
}

TEST(SessionDirectory, LivingOnesAreListedAndNeverSwept) {
  Scratch scratch;
  SessionRoot root = std::move(*SessionRoot::open(scratch.environment()));
  SessionDirectory session = std::move(*root.create());
  // The lock is of the open file, so the same process counts as another holder only through another descriptor.
  EXPECT_EQ(root.living(), std::vector<std::string>{session.id()});
  EXPECT_TRUE(root.sweep().empty());
  EXPECT_TRUE(session.remove());
  EXPECT_TRUE(root.living().empty());
}

TEST(SessionDirectory, WhatAKilledProcessLeftIsSwept) {
  Scratch scratch;
  pid_t child = ::fork();
  if (child == 0) {
    Result<SessionRoot> root = SessionRoot::open(scratch.environment());
    Result<SessionDirectory> session = root->create();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  SessionRoot root = std::move(*SessionRoot::open(scratch.environment()));
  EXPECT_EQ(scratch.session_directories().size(), 1U);
  EXPECT_EQ(root.sweep().size(), 1U);
  EXPECT_TRUE(scratch.session_directories().empty());
}

TEST(SessionDirectory, APlantedDirectoryOrLinkIsRefused) {
  Scratch scratch;
  ::mkdir(scratch.path("runtime/oncelatch").c_str(), 0700);
  ::chmod(scratch.path("runtime/oncelatch").c_str(), 0777);
  Result<SessionRoot> open_to_others = SessionRoot::open(scratch.environment());
  ASSERT_FALSE(open_to_others);
  EXPECT_NE(open_to_others.error().message().find("try:"), std::string::npos);
  ::rmdir(scratch.path("runtime/oncelatch").c_str());
  ASSERT_EQ(::symlink("/tmp", scratch.path("runtime/oncelatch").c_str()), 0);
  EXPECT_FALSE(SessionRoot::open(scratch.environment()));
}

TEST(SessionDirectory, ARuntimeDirectoryOpenToOthersIsNotUsed) {
  Scratch scratch;
  ::chmod(scratch.path("runtime").c_str(), 0755);
  Result<SessionRoot> root = SessionRoot::open(scratch.environment());
  ASSERT_TRUE(root);
  EXPECT_EQ(root->path(), "/tmp/oncelatch-" + std::to_string(::getuid()));
}

}  // namespace
}  // namespace oncelatch::launcher
