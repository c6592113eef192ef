// Strict YAML: block and flow mappings, sequences and scalars of YAML 1.2. Duplicate keys, anchors, aliases, tags,
// merge keys, block scalars (libfyaml 0.7 can read past them), second documents, non-string keys, tabs where YAML
// forbids them and invalid UTF-8 are errors with line and column.
//
//   YamlNode root = TRY(parse_yaml(text, "policy.yaml"));
//   const YamlNode* rules = root.find("rules");
//
// Ownership: nodes own their text. Threads: a value. Failure: Error with object "policy.yaml:3:7". After fork:
// allocates. The parser is libfyaml's event stream; no resolver runs, every scalar stays text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace oncelatch {

struct YamlBounds {
  std::size_t bytes = std::size_t{1} << 20;
  std::size_t depth = 32;
  std::size_t nodes = 50'000;
};

struct YamlEntry;

struct YamlNode {
  enum class Kind { scalar, sequence, mapping };
  Kind kind = Kind::scalar;
  std::string scalar;              // kind scalar
  bool quoted = false;             // the scalar was quoted: never null or boolean
  std::size_t line = 0;            // 1-based
  std::size_t column = 0;          // 1-based, in bytes
  std::vector<YamlNode> items;     // kind sequence
  std::vector<YamlEntry> entries;  // kind mapping; keys are scalars, in file order

  [[nodiscard]] const YamlNode* find(std::string_view key) const;
  [[nodiscard]] bool is_null() const {
    return kind == Kind::scalar && !quoted && (scalar.empty() || scalar == "~" || scalar == "null");
  }
};

// A key and its value. (A std::pair here can't be completed by clang.)
struct YamlEntry {
  YamlNode first;
  YamlNode second;
};

[[nodiscard]] Result<YamlNode> parse_yaml(std::string_view text, std::string_view origin,
                                          const YamlBounds& bounds = {});

// "origin:line:column", for errors about a node.
[[nodiscard]] std::string yaml_place(std::string_view origin, const YamlNode& node);

// Nearest of `known` to a mistyped word (edit distance at most 2), or empty; for "did you mean".
[[nodiscard]] std::string nearest_word(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace oncelatch
