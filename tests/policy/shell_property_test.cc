// Random and mutated command lines: nothing crashes, and an allow has a proof that is checked again from outside.
#include <nlohmann/json.hpp>
#include <random>

#include "policy/shell_grammar.h"
#include "policy/shell_search.h"
#include "policy/wrapper_tables.h"
#include "tests/policy/support.h"

namespace oncelatch::policy::testing {
namespace {

class Mutator {
 public:
  Mutator() : random_(4'711) {
    const auto cases =
        nlohmann::json::parse(read_whole_file(ONCELATCH_CASES_DIR "/policy-bypass-cases.json"), nullptr, false);
    for (const auto& test_case : cases) {
      const auto& input = test_case.at("input");
      if (!input.contains("command") || !input.at("command").is_string()) continue;
      std::string command = input.at("command");
      if (command.size() < 200) seeds_.push_back(std::move(command));
    }
    seeds_.insert(seeds_.end(), {"ok a b && ok c", "ok 'a' | ok \"b\"", "timeout 5 ok x; nice ok", "ok", "bad x"});
  }

  std::string next() {
    std::string text = seeds_[pick(seeds_.size())];
    for (std::size_t edits = pick(6); edits > 0; --edits) edit(text);
    return text;
  }

 private:
  std::size_t pick(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }

  void edit(std::string& text) {
    static const std::vector<std::string> kPieces{" ", "'", "\"", "\\", "$(", ")",  "`",  "&&",  "||",     ";",
                                                  "|", "&", "\n", "<",  ">",  "<<", "ok", "ok ", "bad ",   "${",
                                                  "}", "{", "=",  "*",  "#",  "~",  "\t", "$'",  "sh -c ", "X=1 "};
    const std::size_t at = pick(text.size() + 1);
    switch (pick(4)) {
      case 0:
        text.insert(at, kPieces[pick(kPieces.size())]);
        return;
      case 1:
        text.erase(at, 1 + pick(3));
        return;
      case 2:
        text.insert(at, seeds_[pick(seeds_.size())]);
        return;
      default:
        if (!text.empty()) text[pick(text.size())] = static_cast<char>(pick(256));
    }
  }

  std::mt19937 random_;
  std::vector<std::string> seeds_;
};

// The member is "ok …", alone or behind a transparent wrapper.
bool is_ok(const Argv& argv) {
  if (argv.front() == "ok") return true;
  const Wrapper* wrapper = find_wrapper(argv.front());
  return wrapper != nullptr && wrapper->transparent && std::find(argv.begin(), argv.end(), "ok") != argv.end();
}

TEST(ShellProperties, NothingIsAllowedUnlessEveryMemberIs) {
  Mutator mutator;
  const Rules rules = rules_of(yaml_of({"allow shell ok *"}));
  const Rules refusing = rules_of(yaml_of({"allow shell *", "allow shell ok *", "deny shell *"}));
  int allowed = 0;
  int strict = 0;
  constexpr int kRounds = 30'000;
  for (int round = 0; round < kRounds; ++round) {
    const std::string text = mutator.next();
    const ShellLine line = parse_shell(text);
    const Decision decision = decide_on(rules, Capability::shell, text);
    strict += line.opaque.empty() ? 1 : 0;
    if (decision.effect == Effect::allow) {
      ++allowed;
      ASSERT_EQ(line.opaque, "") << text;
      ASSERT_TRUE(std::all_of(line.members.begin(), line.members.end(), is_ok)) << text;
      ASSERT_TRUE(decision.floor.empty()) << text;
      ASSERT_EQ(decide_on(refusing, Capability::shell, text).effect, Effect::deny) << text;
    }
  }
  std::printf("  %d lines, %d strict, %d allowed\n", kRounds, strict, allowed);
  EXPECT_GT(allowed, 100);
  EXPECT_GT(strict, 1000);
}

TEST(ShellProperties, TheSearchSeesTheMembersOfAStrictLine) {
  Mutator mutator;
  for (int round = 0; round < 30'000; ++round) {
    const std::string text = mutator.next();
    const ShellLine line = parse_shell(text);
    if (!line.opaque.empty()) continue;
    std::vector<Argv> top;
    for (const FoundCommand& command : search_shell(text).commands) {
      if (command.top) top.push_back(command.argv);
    }
    ASSERT_EQ(top, line.members) << text;
    for (const Argv& member : line.members) {
      ASSERT_EQ(parse_shell(quote_command(member)).members, std::vector<Argv>{member}) << text;
    }
  }
}

TEST(ShellProperties, RandomBytesAreNeverAllowedByANarrowRule) {
  std::mt19937 random(99);
  const Rules rules = rules_of(yaml_of({"allow shell ok *"}));
  std::uniform_int_distribution<int> byte(0, 255);
  std::uniform_int_distribution<std::size_t> length(0, 300);
  for (int round = 0; round < 5'000; ++round) {
    std::string text(length(random), '\0');
    for (char& character : text) character = static_cast<char>(byte(random));
    ASSERT_NE(decide_on(rules, Capability::shell, text).effect, Effect::allow);
  }
}

TEST(ShellProperties, HostileSizesStayQuick) {
  const Rules rules = rules_of(yaml_of({"allow shell *", "deny shell rm *"}));
  const std::size_t most = 64 << 10;
  for (const std::string piece : {"$(", "`", "(", "{", "'", "\"", "\\", "<<a\n", "<<'a'\n", "a;", "nice ", "sh -c ",
                                  "${", "x=$(", "<(", "#\n", "\n", "&"}) {
    std::string text;
    while (text.size() + piece.size() <= most) text += piece;
    EXPECT_NE(decide_on(rules, Capability::shell, text).effect, Effect::allow) << piece;
  }
  EXPECT_NE(decide_on(rules, Capability::shell, std::string(1 << 20, 'a')).effect, Effect::allow);
}

}  // namespace
}  // namespace oncelatch::policy::testing
