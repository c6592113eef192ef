// What every test of unpacking needs: a place with things around it that must not change, and archives put there.
//
//   class UnpackZip : public UnpackTest {};
//   TEST_F(UnpackZip, X) { EXPECT_NE(unpacked(bytes, ArchiveFormat::zip), ""); }
//
// Ownership: removes its place. Threads: one. Failure: gtest assertions.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/beneath.h"
#include "tests/support/archive_writer.h"
#include "verify/unpack.h"

namespace oncelatch::verify {

namespace fs = std::filesystem;

using Build = std::function<void(test::TarWriter&)>;

class UnpackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "oncelatch-unpack-XXXXXX";
    root = ::mkdtemp(name.data());
    std::ofstream(root + "/SECRET") << "secret";
    std::ofstream(root + "/victim") << "victim";
    fs::create_directories(root + "/OUT");
  }
  void TearDown() override {
    const Fd above = *open_directory(fs::path(root).parent_path());
    (void)remove_tree(above.get(), fs::path(root).filename());
  }
  // Kinds, modes, links, sizes, times and contents of all but what is unpacked.
  [[nodiscard]] std::string outside() const {
    std::ostringstream all;
    for (auto at = fs::recursive_directory_iterator(root); at != fs::recursive_directory_iterator(); ++at) {
      if (at->path() == root + "/staging") at.disable_recursion_pending();
      if (at->path().filename() == "staging" || at->path().filename() == "archive") continue;
      struct stat found {};
      EXPECT_EQ(::lstat(at->path().c_str(), &found), 0);
      all << at->path() << ' ' << found.st_mode << ' ' << found.st_nlink << ' ' << found.st_size << ' ' << found.st_uid
          << ' ' << found.st_mtim.tv_nsec << '\n';
    }
    return all.str();
  }
  [[nodiscard]] std::string unpacked(const std::string& bytes, ArchiveFormat format, UnpackLimits limits = {}) {
    (void)remove_tree(open_directory(root)->get(), "staging");
    fs::create_directory(root + "/staging");
    std::ofstream(root + "/archive", std::ios::binary) << bytes;
    const Fd archive(::open((root + "/archive").c_str(), O_RDONLY));
    const Fd directory = *open_directory(root + "/staging");
    const std::string before = outside();
    const Status done = unpack(archive.get(), format, directory.get(), limits);
    EXPECT_EQ(outside(), before);
    for (const char* name : {"/tmp/ABS", "/tmp/esc"}) EXPECT_FALSE(fs::exists(name));
    for (const auto& one : fs::recursive_directory_iterator(root + "/staging"))
      EXPECT_TRUE(one.is_regular_file() || one.is_directory()) << one.path();
    return done ? "" : done.error().message();
  }
  // In each of the three compressions, since the walk is the same.
  void expect_refused(const char* id, const Build& build, const std::string& words = "verify: the archive") {
    test::TarWriter tar;
    build(tar);
    const std::string bytes = tar.end();
    EXPECT_THAT(unpacked(test::packed_xz(bytes), ArchiveFormat::tar_xz),
                ::testing::AllOf(::testing::HasSubstr(words), ::testing::Not(::testing::HasSubstr("\x1b"))))
        << id;
    EXPECT_NE(unpacked(test::packed_gzip(bytes), ArchiveFormat::tar_gz), "") << id;
    EXPECT_NE(unpacked(test::packed_zstd(bytes), ArchiveFormat::tar_zst), "") << id;
  }
  [[nodiscard]] std::string tar_xz(const Build& build) {
    test::TarWriter tar;
    build(tar);
    return unpacked(test::packed_xz(tar.end()), ArchiveFormat::tar_xz);
  }
  [[nodiscard]] std::vector<std::string> listed() const {
    std::vector<std::string> all;
    for (const auto& one : fs::recursive_directory_iterator(root + "/staging")) {
      struct stat found {};
      EXPECT_EQ(::lstat(one.path().c_str(), &found), 0);
      EXPECT_EQ(found.st_uid, ::geteuid());
      all.push_back(fs::relative(one.path(), root + "/staging").string() + " " + std::to_string(found.st_mode & 07777));
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  std::string root;
};

}  // namespace oncelatch::verify
