// The layout rules against made-up trees: each rule must be able to fail.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/layout/rules.h"

namespace oncelatch::layout {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

constexpr const char* kDocument = R"(text
<!-- arrows: begin -->
| folder | level | may include |
|---|---|---|
| `base` | 0 | no other room |
| `policy` | 1 | `base` |
| `redact` | 1 | `base` |
| `audit` | 2 | `policy` (types), `redact`, `base` |
| `tests` | beside | every room |
| `docs` | beside | nothing |
<!-- arrows: end -->
)";

constexpr const char* kComment = "// What it is.\n// Ownership: x. Threads: x. Failure: x.\n";

// A tree in a directory of its own, removed at the end.
class MadeUpTree {
 public:
  MadeUpTree() {
    std::string pattern = (fs::temp_directory_path() / "layout-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    root_ = pattern;
    for (const char* folder : {"base", "policy", "redact", "audit", "tests", "docs"})
      fs::create_directory(root_ / folder);
  }
  MadeUpTree(const MadeUpTree&) = delete;
  MadeUpTree& operator=(const MadeUpTree&) = delete;
  ~MadeUpTree() { fs::remove_all(root_); }

  MadeUpTree& add(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    return *this;
  }
  [[nodiscard]] SourceTree read() const { return read_source_tree(root_); }

 private:
  fs::path root_;
};

ArrowTable table() {
  return read_arrow_table(kDocument);
}

TEST(ArrowTableTest, ReadsRoomsAndFoldersBesideThem) {
  const ArrowTable read = table();
  EXPECT_THAT(read.faults, IsEmpty());
  EXPECT_TRUE(read.is_room("audit"));
  EXPECT_FALSE(read.is_room("tests"));
  EXPECT_TRUE(read.allows("audit", "redact"));
  EXPECT_TRUE(read.allows("audit", "audit"));
  EXPECT_TRUE(read.allows("tests", "audit"));
  EXPECT_FALSE(read.allows("docs", "base"));
  EXPECT_FALSE(read.allows("policy", "redact"));
  EXPECT_FALSE(read.allows("base", "policy"));
}

TEST(ArrowTableTest, RefusesBadTables) {
  const auto faults_of = [](const std::string& rows) {
    return read_arrow_table("<!-- arrows: begin -->\n" + rows + "<!-- arrows: end -->\n").faults;
  };
  EXPECT_THAT(read_arrow_table("no table").faults, ::testing::Not(IsEmpty()));
  EXPECT_THAT(read_arrow_table("<!-- arrows: begin -->\n| `a` | 0 | |\n").faults, ElementsAre(HasSubstr("marks")));
  EXPECT_THAT(faults_of(""), ElementsAre(HasSubstr("no rows")));
  EXPECT_THAT(faults_of("| `a` | 0 | nothing |\n| `a` | 1 | nothing |\n"), ElementsAre(HasSubstr("two rows: a")));
  EXPECT_THAT(faults_of("| `a` | 0 | `b` |\n| `b` | 1 | nothing |\n"), ElementsAre(HasSubstr("lead down: a -> b")));
  EXPECT_THAT(faults_of("| `a` | 1 | `b` |\n| `b` | 1 | nothing |\n"), ElementsAre(HasSubstr("lead down: a -> b")));
  EXPECT_THAT(faults_of("| `a` | 1 | `b` |\n"), ElementsAre(HasSubstr("no room: a -> b")));
  EXPECT_THAT(faults_of("| `a` | 1 | `t` |\n| `t` | beside | every room |\n"),
              ElementsAre(HasSubstr("no room: a -> t")));
  EXPECT_THAT(faults_of("| `a` | first | nothing |\n| `b` | 0 | nothing |\n"),
              ElementsAre(HasSubstr("without a level")));
}

TEST(RulesTest, GoodTreePasses) {
  MadeUpTree tree;
  tree.add("base/fd.h", std::string(kComment) + "#include <string>\n")
      .add("policy/rules.h", std::string(kComment) + "#include \"base/fd.h\"\n#include \"policy/x.h\"\n")
      .add("policy/x.h", kComment)
      .add("audit/CMakeLists.txt", "add_room(audit LINKS room::redact room_base) # room::launcher\n")
      .add("tests/a.cc", "#include \"audit/log.h\"\n");
  const SourceTree read = tree.read();
  EXPECT_EQ(read.files.size(), 5U);
  EXPECT_THAT(check_folders(table(), read), IsEmpty());
  EXPECT_THAT(check_includes(table(), read), IsEmpty());
  EXPECT_THAT(check_links(table(), read), IsEmpty());
  EXPECT_THAT(check_headers(table(), read), IsEmpty());
  EXPECT_THAT(check_lengths(read), IsEmpty());
  EXPECT_THAT(check_unfinished(read), IsEmpty());
}

TEST(RulesTest, ForbiddenArrowIsFound) {
  MadeUpTree tree;
  tree.add("policy/rules.cc", "#include \"base/fd.h\"\n#include \"redact/redactor.h\"\n");
  EXPECT_THAT(check_includes(table(), tree.read()),
              ElementsAre("policy/rules.cc:2: arrow not in the table: policy -> redact"));
}

TEST(RulesTest, ForbiddenArrowIsFoundInEverySpelling) {
  MadeUpTree tree;
  tree.add("base/a.cc", "  #  include <policy/rules.h>\n")
      .add("base/b.h", "#include \"../policy/rules.h\"\n")
      .add("base/c/deep.cc", "#include \"audit/log.h\"\n")
      .add("base/d.c", "#include \"tests/helper.h\"\n");
  EXPECT_THAT(check_includes(table(), tree.read()),
              ElementsAre(HasSubstr("base/a.cc:1: arrow not in the table: base -> policy"),
                          HasSubstr("base/b.h:1: include that climbs"), HasSubstr("base -> audit"),
                          HasSubstr("base -> tests")));
}

TEST(RulesTest, FolderBesideTheRoomsMayOnlyIncludeWhatItsRowSays) {
  MadeUpTree tree;
  tree.add("docs/example.cc", "#include \"base/fd.h\"\n");
  EXPECT_THAT(check_includes(table(), tree.read()), ElementsAre(HasSubstr("docs -> base")));
}

TEST(RulesTest, ForbiddenLinkIsFound) {
  MadeUpTree tree;
  tree.add("policy/CMakeLists.txt", "add_room(policy\n  SOURCES a.cc\n  LINKS room::base room::audit)\n")
      .add("base/CMakeLists.txt", "target_link_libraries(room_base PUBLIC room_redact)\n");
  EXPECT_THAT(check_links(table(), tree.read()),
              ElementsAre(HasSubstr("base/CMakeLists.txt:1: link not in the table: base -> redact"),
                          HasSubstr("policy -> audit")));
}

TEST(RulesTest, UnknownAndMissingFoldersAreFound) {
  MadeUpTree tree;
  tree.add("web/a.cc", "\n");
  EXPECT_THAT(check_folders(table(), tree.read()), ElementsAre("web: folder without a row in the table"));
  const ArrowTable more = read_arrow_table("<!-- arrows: begin -->\n| `acp` | 0 | nothing |\n<!-- arrows: end -->\n");
  EXPECT_THAT(check_folders(more, MadeUpTree().read()), ::testing::Contains("acp: row of the table without a folder"));
}

TEST(RulesTest, LongFileIsFound) {
  const auto lines = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "int x;\n";
    return text;
  };
  MadeUpTree tree;
  tree.add("base/fits.cc", lines(500)).add("base/long.cc", lines(501));
  EXPECT_THAT(check_lengths(tree.read()), ElementsAre(HasSubstr("base/long.cc: 501 lines")));
}

TEST(RulesTest, HeaderWithoutItsPromisesIsFound) {
  MadeUpTree tree;
  tree.add("base/bare.h", "#pragma once\n" + std::string(kComment))
      .add("base/open.h", "// Ownership and threads: values.\n#pragma once\n// Failure: too late.\n")
      .add("tests/helper.h", "#pragma once\n");
  EXPECT_THAT(check_headers(table(), tree.read()),
              ElementsAre(HasSubstr("base/bare.h:1: header whose opening comment doesn't tell: ownership"),
                          HasSubstr("threads"), HasSubstr("failure"),
                          HasSubstr("base/open.h:1: header whose opening comment "
                                    "doesn't tell: failure")));
}

TEST(RulesTest, MarkOfUnfinishedWorkIsFound) {
  MadeUpTree tree;
  tree.add("base/a.cc",
           "// TO"
           "DO later\nchar name[] = \"XXXXXX\";\n")
      .add("scripts/run",
           "# FIX"
           "ME\n");
  EXPECT_THAT(check_unfinished(tree.read()),
              ElementsAre("base/a.cc:1: mark of unfinished work", "scripts/run:1: mark of unfinished work"));
}

TEST(RulesTest, BuildTreesAndInputsAreNotRead) {
  MadeUpTree tree;
  tree.add("build/gen.cc", "x\n").add("build-gcc/gen.cc", "x\n").add(".git/a.h", "x\n").add("tests/cases/a.cc", "x\n");
  EXPECT_THAT(tree.read().files, IsEmpty());
  EXPECT_FALSE(tree.read().folders.contains("build"));
}

TEST(RulesTest, SharedWordsAreFound) {
  SourceTree tree;
  tree.files = {{"elicitation/a.cc", "elicitation", {"f(\"Yes, please\"); g(\"optionId\");"}},
                {"tests/agents/kiro/b.cc", "tests", {"h(\"optionId\", \"Yes, please\");"}}};
  EXPECT_EQ(check_shared_words(tree).size(), 1U);
  tree.files[1].lines = {"h(\"optionId\", words::yes);"};
  EXPECT_TRUE(check_shared_words(tree).empty());
}

}  // namespace
}  // namespace oncelatch::layout
