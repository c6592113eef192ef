// The strict grammar and the search: what is accepted reads back as the same words, both readings agree, nothing
// crashes, and a narrow rule never allows a program that it doesn't name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "policy/rules.h"
#include "policy/shell_grammar.h"
#include "policy/shell_search.h"

namespace {

using namespace oncelatch;
using namespace oncelatch::policy;

void require(bool holds) {
  if (!holds) std::abort();
}

const Rules& narrow_rules() {
  static const Rules rules = [] {
    Result<Rules> parsed = Rules::parse("rules: [{capability: shell, match: ['ok *'], effect: allow}]\n", "fuzz");
    require(parsed.has_value());
    return *parsed;
  }();
  return rules;
}

void check_strict(std::string_view text, const ShellLine& line) {
  for (const Argv& member : line.members) {
    const ShellLine again = parse_shell(quote_command(member));
    require(again.opaque.empty() && again.members.size() == 1 && again.members.front() == member);
  }
  const FoundCommands found = search_shell(text);
  if (found.cut) return;
  std::size_t index = 0;
  for (const FoundCommand& command : found.commands) {
    if (!command.top) continue;
    require(index < line.members.size() && command.argv == line.members[index]);
    ++index;
  }
  require(index == line.members.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ShellLine line = parse_shell(text);
  if (line.opaque.empty()) check_strict(text, line);
  PermissionRequest request;
  request.capability = Capability::shell;
  request.subject = Untrusted(std::string(text));
  request.subject_is_whole = true;
  const Decision decision = decide(narrow_rules(), request, Facts{"/work", "/work"});
  if (decision.effect == Effect::allow) {
    require(line.opaque.empty() && !line.members.empty() && decision.floor.empty());
    for (const Argv& member : line.members) {
      bool named = false;
      for (const std::string& word : member) named = named || word == "ok";
      require(named);
    }
  }
  return 0;
}
