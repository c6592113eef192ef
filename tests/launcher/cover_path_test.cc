// Which covers a path needs that leads through links. The attempts are in tests/sandbox/covers_test.cc and
// exec_test.cc.
#include "launcher/exec/cover_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/launcher/scratch.h"

namespace oncelatch::launcher {
namespace {

using sandbox::Cover;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class CoverPath : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ + "/real/hooks");
    fs::create_directories(scratch_.path("beside/hooks"));
    fs::create_directories(scratch_.path("other"));
  }
  void link(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, root_ + "/" + name);
  }
  // "protect real/hooks", "protect? absent" where it need not exist, "link via".
  [[nodiscard]] std::vector<std::string> covers(const std::string& relative,
                                                const std::vector<std::string>& more = {}) {
    std::vector<std::string> shown = {root_};
    shown.insert(shown.end(), more.begin(), more.end());
    std::vector<std::string> words;
    for (const Cover& cover : cover_path(root_, relative, Cover::Kind::protect, shown)) {
      std::string path = cover.path.starts_with(root_) ? cover.path.substr(root_.size() + 1) : cover.path;
      words.push_back((cover.kind == Cover::Kind::link ? "link" : "protect") + std::string(cover.required ? "" : "?") +
                      " " + path);
    }
    return words;
  }

  test::Scratch scratch_;
  std::string root_ = scratch_.path("repository");
};

TEST_F(CoverPath, WithoutLinksItIsTheObject) {
  EXPECT_THAT(covers("real/hooks"), ElementsAre("protect real/hooks"));
  EXPECT_THAT(covers("real/absent"), ElementsAre("protect? real/absent"));
  EXPECT_THAT(covers("absent/hooks"), ElementsAre("protect? absent/hooks"));
}

// B033
TEST_F(CoverPath, B033EachLinkIsKeptAndTheTargetCovered) {
  link("real", "via");
  link("via", "again");
  link("../real/hooks", "real/up");
  link(root_ + "/real/hooks", "absolute");
  EXPECT_THAT(covers("via/hooks"), ElementsAre("link via", "protect real/hooks"));
  EXPECT_THAT(covers("again/hooks"), ElementsAre("link again", "link via", "protect real/hooks"));
  EXPECT_THAT(covers("via/up"), ElementsAre("link via", "link real/up", "protect real/hooks"));
  EXPECT_THAT(covers("absolute"), ElementsAre("link absolute", "protect real/hooks"));
}

TEST_F(CoverPath, WhatLeadsOutOfTheViewEndsThere) {
  link("../beside/hooks", "hooks");
  link("../beside", "beside");
  link("/etc", "etc");
  EXPECT_THAT(covers("hooks"), ElementsAre("link hooks"));
  EXPECT_THAT(covers("beside/hooks"), ElementsAre("link beside"));
  EXPECT_THAT(covers("etc/passwd"), ElementsAre("link etc"));
  EXPECT_THAT(covers("beside/hooks", {scratch_.path("beside")}),
              ElementsAre("link beside", "protect " + scratch_.path("beside/hooks")))
      << "it is shown writable, too";
  EXPECT_THAT(covers("hooks", {scratch_.path("beside/hooks")}), ElementsAre("link hooks"))
      << "a mount of its own can't be covered";
}

TEST_F(CoverPath, BrokenAndCircularOnesAreKept) {
  link("nowhere", "broken");
  link("missing/../x", "odd");
  link("b", "a");
  link("a", "b");
  EXPECT_THAT(covers("broken"), ElementsAre("link broken", "protect? nowhere"));
  EXPECT_THAT(covers("odd"), ElementsAre("link odd"));
  std::vector<std::string> circle = covers("a/x");
  EXPECT_EQ(circle.size(), 41U) << "the kernel follows 40";
  EXPECT_EQ(std::set<std::string>(circle.begin(), circle.end()), (std::set<std::string>{"link a", "link b"}));
}

TEST_F(CoverPath, AtTheRootNothingIsCovered) {
  link(".", "self");
  EXPECT_THAT(covers("self"), ElementsAre("link self"));
  EXPECT_THAT(covers(""), IsEmpty());
}

}  // namespace
}  // namespace oncelatch::launcher
