// The book of versions: the same bytes for the same book, and nothing else is taken for one.
#include "verify/tree_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oncelatch::verify {
namespace {

using ::testing::HasSubstr;

const std::string kA(64, 'a');
const std::string kB(64, 'b');

RecordBook example() {
  RecordBook book{.agent = "kiro", .current = "2.10.0", .records = {}};
  TreeRecord record{.version = "2.10.0",
                    .source = "https://host/x.tar.xz",
                    .archive_sha256 = kA,
                    .manifest_sha256 = kB,
                    .first_seen = 1'800'000'000,
                    .entries = {}};
  record.entries = {{.path = "kirocli", .directory = true, .mode = 0555, .size = 0, .sha256 = {}},
                    {.path = "kirocli/README", .mode = 0444, .size = 7, .sha256 = kB},
                    {.path = "kirocli/bin", .directory = true, .mode = 0555, .size = 0, .sha256 = {}},
                    {.path = "kirocli/bin/kiro-cli", .mode = 0555, .size = 123, .sha256 = kA}};
  book.put(record);
  record.version = "2.9.0";
  record.entries.clear();
  book.put(record);
  return book;
}

TEST(TreeRecord, TheSameBytesForTheSameBook) {
  const std::string text = print_book(example());
  const Result<RecordBook> read = parse_book(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(print_book(*read), text);
  EXPECT_EQ(read->highest(), "2.10.0");
  EXPECT_EQ(read->installed("2.9.0"), nullptr);
  ASSERT_NE(read->find("2.9.0"), nullptr);
  EXPECT_EQ(read->installed("2.10.0")->entries, example().records.front().entries);
}

TEST(TreeRecord, NothingElseIsABook) {
  const std::string good = print_book(example());
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"\"format\":1", "\"format\":2"},
      {"\"agent\":\"kiro\"", "\"agent\":\"../kiro\""},
      {"\"agent\":\"kiro\"", "\"agent\":\"kiro\",\"more\":1"},
      {"\"current\":\"2.10.0\"", "\"current\":\"2.9.0\""},
      {"\"current\":\"2.10.0\"", "\"current\":\"9.9.9\""},
      {"\"current\":\"2.10.0\"", "\"current\":\"..\""},
      {"\"version\":\"2.9.0\"", "\"version\":\"2.10.0\""},
      {"\"version\":\"2.9.0\"", "\"version\":\"../../x\""},
      {"\"path\":\"kirocli/README\"", "\"path\":\"kirocli/../README\""},
      {"\"path\":\"kirocli/README\"", "\"path\":\"/README\""},
      {"\"path\":\"kirocli/README\"", "\"path\":\"other/README\""},
      {"\"path\":\"kirocli/README\"", "\"path\":\"kirocli/bin\""},
      {"\"path\":\"kirocli/README\"", "\"path\":\"kirocli/a b\""},
      {"\"path\":\"kirocli/bin/kiro-cli\"", "\"path\":\"kirocli/README/x\""},
      {"\"mode\":\"0444\"", "\"mode\":\"4555\""},
      {"\"mode\":\"0444\"", "\"mode\":\"0666\""},
      {"\"size\":7", "\"size\":-7"},
      {"\"size\":7", "\"size\":\"7\""},
      {"\"size\":7", "\"size\":7.0"},
      {"\"sha256\":\"" + kB, "\"sha256\":\"" + kB.substr(1)},
      {"\"sha256\":\"" + kB, "\"sha256\":\"" + kB.substr(1) + "B"},
      {"\"archive_sha256\":\"" + kA, "\"archive_sha256\":\""},
      {"\"first_seen\":1800000000", "\"first_seen\":null"},
  };
  for (const auto& [from, to] : changes) {
    std::string text = good;
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    const Result<RecordBook> read = parse_book(text);
    ASSERT_FALSE(read) << to;
    EXPECT_THAT(read.error().object, HasSubstr("artifacts.lock")) << to;
  }
  for (const std::string& text : {std::string(), std::string("{}"), std::string("[]"), good + good, good.substr(1)})
    EXPECT_FALSE(parse_book(text));
}

TEST(TreeRecord, PathsAreBelowAndBounded) {
  for (const char* path : {"a", "a/b", "a/b/c/d/e/f/g/h", "kiro-cli_1.2+x", ".hidden", "..."})
    EXPECT_TRUE(is_entry_path(path)) << path;
  for (const std::string& path :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"), std::string("."), std::string(".."),
        std::string("a/../b"), std::string("a/./b"), std::string("a b"), std::string("a\n"), std::string("a\\b"),
        std::string("\xc3\xa9"), std::string("C:x"), std::string("a/b/c/d/e/f/g/h/i"), std::string(129, 'a'),
        std::string("a\0b", 3)})
    EXPECT_FALSE(is_entry_path(path)) << path;
}

}  // namespace
}  // namespace oncelatch::verify
