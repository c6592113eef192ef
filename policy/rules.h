// The permission policy: rules in Kiro's own YAML shape, checked strictly at load, and the pure decision over them.
//
//   version: 1
//   rules:
//     - id: read-only-git
//       capability: shell
//       match: ["git status *", "git diff *"]
//       exclude: ["git diff --output *"]
//       effect: allow
//       reason: "Looking changes nothing."
//       tests: {match: ["git status -s"], not_match: ["git push"]}
//   default: ask
//
//   Rules rules = TRY(Rules::parse(text, "policy.yaml"));
//   Decision decision = decide(rules, request, facts);
//
// Ownership: Rules own their text. Threads: const use from any. Failure: unknown or duplicate key, bad pattern, failing
// test, unknown effect: the whole file is refused with line and column. decide() can't fail. Pure: no clock, no files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/decision.h"
#include "policy/request.h"

namespace oncelatch::policy {

struct TokenPattern {
  // '*' inside a word is a glob, '\' before it makes it literal; a word that is exactly "*" is one or more words, in
  // the last place zero or more.
  std::vector<std::string> words;
  std::string text;  // as written; what paths, URLs and names are matched with
};

struct Rule {
  std::string id;
  std::vector<Capability> capabilities;  // `all` lists every one
  std::vector<TokenPattern> match;
  std::vector<TokenPattern> exclude;
  Effect effect = Effect::ask;
  std::string reason;
};

class Rules {
 public:
  // No rules at all: everything is `ask`.
  Rules() = default;
  [[nodiscard]] static Result<Rules> parse(std::string_view text, std::string_view origin);

  [[nodiscard]] const std::vector<Rule>& all() const { return rules_; }
  [[nodiscard]] Effect default_effect() const { return default_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& sha256() const { return sha256_; }  // of text()

 private:
  std::vector<Rule> rules_;
  Effect default_ = Effect::ask;
  std::string text_;
  std::string sha256_;
};

[[nodiscard]] Decision decide(const Rules& rules, const PermissionRequest& request, const Facts& facts);

}  // namespace oncelatch::policy
