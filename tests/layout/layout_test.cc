// The rules of docs/ARCHITECTURE.md, held against this very tree.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/layout/rules.h"

namespace oncelatch::layout {
namespace {

const std::filesystem::path kRoot = ONCELATCH_SOURCE_DIR;

std::string document() {
  std::ifstream stream(kRoot / "docs" / "ARCHITECTURE.md");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

class Layout : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    table_ = new ArrowTable(read_arrow_table(document()));
    tree_ = new SourceTree(read_source_tree(kRoot));
  }
  static void TearDownTestSuite() {
    delete table_;
    delete tree_;
  }
  static void expect_none(const Findings& findings) {
    for (const std::string& finding : findings) ADD_FAILURE() << finding;
  }

  static ArrowTable* table_;
  static SourceTree* tree_;
};

ArrowTable* Layout::table_ = nullptr;
SourceTree* Layout::tree_ = nullptr;

TEST_F(Layout, TableCanBeRead) {
  expect_none(table_->faults);
  EXPECT_TRUE(table_->is_room("base"));
  EXPECT_TRUE(table_->is_room("launcher"));
}

TEST_F(Layout, TreeWasRead) {
  EXPECT_GT(tree_->files.size(), 50U);
}

TEST_F(Layout, EveryFolderHasARow) {
  expect_none(check_folders(*table_, *tree_));
}

TEST_F(Layout, EveryIncludeFollowsAnArrow) {
  expect_none(check_includes(*table_, *tree_));
}

TEST_F(Layout, MatcherAndStandInShareNoWords) {
  expect_none(check_shared_words(*tree_));
}

TEST_F(Layout, EveryLinkFollowsAnArrow) {
  expect_none(check_links(*table_, *tree_));
}

TEST_F(Layout, NoFileIsTooLong) {
  expect_none(check_lengths(*tree_));
}

TEST_F(Layout, HeadersTellWhatTheyPromise) {
  expect_none(check_headers(*table_, *tree_));
}

TEST_F(Layout, NoMarkOfUnfinishedWork) {
  expect_none(check_unfinished(*tree_));
}

}  // namespace
}  // namespace oncelatch::layout
