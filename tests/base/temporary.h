// A directory for one test, removed with everything in it at the end. `in_memory` asks for a tmpfs (often mounted
// noexec), for tests that make thousands of entries.
//
//   TemporaryDirectory temporary;
//   ::mkdirat(temporary.fd(), "x", 0700);
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/beneath.h"

namespace oncelatch {

class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(bool in_memory = false) {
    if (in_memory && ::access("/dev/shm", W_OK | X_OK) == 0) parent_ = "/dev/shm/";
    std::string pattern = parent_ + "oncelatch-XXXXXX";
    path_ = ::mkdtemp(pattern.data()) == nullptr ? "" : pattern;
    Result<Fd> opened = open_directory(path_);
    EXPECT_TRUE(opened) << path_;
    if (opened) fd_ = std::move(*opened);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    Result<Fd> parent = open_directory(parent_);
    if (!parent) return;
    EXPECT_TRUE(remove_tree(parent->get(), path_.substr(path_.rfind('/') + 1)));
  }

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string parent_ = testing::TempDir();
  std::string path_;
  Fd fd_;
};

}  // namespace oncelatch
