#include "policy/shell_grammar.h"

#include "policy/shell_lexer.h"
#include "tests/policy/support.h"

namespace oncelatch::policy {
namespace {

using ::testing::ElementsAre;

std::string reason(const std::string& text) {
  return parse_shell(text).opaque;
}

TEST(StrictGrammar, SimpleCommandsAndOperators) {
  const ShellLine line = parse_shell("ls -l  a/b.c && git log|wc -l||pwd;id");
  EXPECT_EQ(line.opaque, "");
  EXPECT_THAT(line.members,
              ElementsAre(Argv{"ls", "-l", "a/b.c"}, Argv{"git", "log"}, Argv{"wc", "-l"}, Argv{"pwd"}, Argv{"id"}));
}

TEST(StrictGrammar, QuotesAreRemovedAndJoined) {
  const ShellLine line = parse_shell(R"(rg -n "foo" -g'*.txt' a\ b \" '' "x;y" 'it'\''s')");
  ASSERT_EQ(line.opaque, "");
  EXPECT_THAT(line.members, ElementsAre(Argv{"rg", "-n", "foo", "-g*.txt", "a b", "\"", "", "x;y", "it's"}));
}

TEST(StrictGrammar, ATrailingSemicolonIsFine) {
  EXPECT_THAT(parse_shell("ls ; ").members, ElementsAre(Argv{"ls"}));
}

TEST(StrictGrammar, NonAsciiArgumentsAreFine) {
  EXPECT_THAT(parse_shell("grep -r größe 'src 中文'").members, ElementsAre(Argv{"grep", "-r", "größe", "src 中文"}));
}

struct OpaqueCase {
  std::string text;
  std::string reason;
};

TEST(StrictGrammar, EverythingElseIsOpaqueWithAName) {
  const std::vector<OpaqueCase> cases{
      {"", "empty"},
      {"   ", "empty"},
      {"ls $HOME", "expansion"},
      {"ls \"$HOME\"", "expansion"},
      {"ls $(id)", "expansion"},
      {"ls $'x'", "expansion"},
      {"ls `id`", "substitution"},
      {"ls \"`id`\"", "substitution"},
      {"ls > x", "redirection"},
      {"cat < x", "redirection"},
      {"cat <<EOF", "redirection"},
      {"ls 2>&1", "redirection"},
      {"ls &", "background"},
      {"ls & id", "background"},
      {"ls |& id", "background"},
      {"ls &> x", "background"},
      {"(ls)", "group"},
      {"f() ls", "group"},
      {"echo done)", "group"},
      {"ls *", "glob"},
      {"ls a?", "glob"},
      {"ls [ab]", "glob"},
      {"[ -f x ]", "glob"},
      {"echo {a,b}", "brace"},
      {"{ ls; }", "brace"},
      {"ls ~", "tilde"},
      {"ls a~", "tilde"},
      {"ls # x", "comment"},
      {"ls a#b", "comment"},
      {"! ls", "history"},
      {"echo \"a!b\"", "history"},
      {"echo \"a\\b\"", "escape"},
      {"ls \\", "escape"},
      {"echo 'a", "unterminated-quote"},
      {"echo \"a", "unterminated-quote"},
      {"ls &&", "incomplete"},
      {"ls ||", "incomplete"},
      {"ls |", "incomplete"},
      {"; ls", "incomplete"},
      {"ls ;; id", "incomplete"},
      {"ls && && id", "incomplete"},
      {"X=1 ls", "assignment"},
      {"X=1", "assignment"},
      {"'X'=1 ls", "assignment"},
      {"=ls", "character"},
      {"ls ^a", "character"},
      {"if ls", "reserved-word"},
      {"'while' ls", "reserved-word"},
      {"time ls", "reserved-word"},
      {"ls; coproc id", "reserved-word"},
      {"'' x", "program-name"},
      {"'a b' x", "program-name"},
      {"l\xd1\x95", "program-name"},
      {"ls\nid", "control-character"},
      {"ls\tx", "control-character"},
      {"ls\r", "control-character"},
      {"echo 'a\nb'", "control-character"},
      {std::string("ls\0x", 4), "control-character"},
      {"echo \x1b[2K", "control-character"},
      {"echo \x7f", "control-character"},
      {"ls\xc2\xa0x", "hidden-character"},
      {"ls \xe2\x80\xae", "hidden-character"},
      {"ls '\xe2\x80\x8b'", "hidden-character"},
      {"ls \xe2\xa0\x80", "hidden-character"},
      {"ls \xe3\x85\xa4", "hidden-character"},
      {"ls \xff", "invalid-utf8"},
      {"ls \xc0\xaf", "invalid-utf8"},
      {std::string(65'537, 'a'), "too-long"},
  };
  for (const OpaqueCase& one : cases) {
    EXPECT_EQ(reason(one.text), one.reason) << one.text.substr(0, 60);
    EXPECT_TRUE(parse_shell(one.text).members.empty());
  }
}

TEST(StrictGrammar, TheNumberOfMembersIsBounded) {
  std::string most = "a";
  for (std::size_t count = 1; count < kMostMembers; ++count) most += ";a";
  EXPECT_EQ(parse_shell(most).members.size(), kMostMembers);
  EXPECT_EQ(reason(most + ";a"), "too-many-members");
}

TEST(StrictGrammar, SixtyFourKibibytesAreFine) {
  EXPECT_EQ(reason(std::string(65'536, 'a')), "");
}

TEST(StrictGrammar, EverySpecialCharacterIsRefusedUnquotedAndFineQuoted) {
  for (const char character : std::string("$`<>()*?[]{}~#!&")) {
    EXPECT_NE(reason(std::string("x a") + character + "a"), "") << character;
    EXPECT_EQ(reason(std::string("x 'a") + character + "a'"), "") << character;
    EXPECT_EQ(reason(std::string("x a\\") + character + "a"), "") << character;
  }
}

TEST(Quoting, ReadsBackAsTheSameWords) {
  for (const Argv& argv :
       {Argv{"a", ""}, Argv{"a", "it's"}, Argv{"a", "*", "$x", "\\", "a b", "中"}, Argv{"a", "=x", "-", "^"}}) {
    const ShellLine line = parse_shell(quote_command(argv));
    EXPECT_EQ(line.opaque, "") << quote_command(argv);
    EXPECT_THAT(line.members, ElementsAre(argv));
  }
}

TEST(PatternLexer, AStarIsWildUnlessQuoted) {
  const ShellTokens lexed = lex_shell(R"(find * '*.o' a\*b x*y)", Stars::wildcard);
  ASSERT_EQ(lexed.opaque, "");
  std::vector<std::string> words;
  for (const ShellToken& token : lexed.tokens) words.push_back(token.text);
  EXPECT_THAT(words, ElementsAre("find", "*", "\\*.o", "a\\*b", "x*y"));
}

}  // namespace
}  // namespace oncelatch::policy
