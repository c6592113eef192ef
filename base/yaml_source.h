// The text of a YAML file with its lines, and libfyaml's parser over it with every diagnostic kept inside.
//
//   YamlSource source(text, "policy.yaml");
//   if (auto problem = source.check_bytes()) ...
//   source.place(offset) == "policy.yaml:3:7"
//
// Ownership: views of text and name, which outlive it. Threads: a value. Units: offsets in bytes, lines and columns
// from 1. Failure: none. After fork: allocates. Internal to base/.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct fy_diag;
struct fy_mark;
struct fy_parser;

namespace oncelatch {

class YamlSource {
 public:
  struct Position {
    std::size_t line;
    std::size_t column;
  };
  YamlSource(std::string_view text, std::string_view name);

  [[nodiscard]] Position position(std::size_t offset) const;
  [[nodiscard]] Failure failure(std::size_t offset, std::string what, std::string try_next = {}) const;
  [[nodiscard]] std::size_t offset(std::size_t line, std::size_t column) const {
    return starts_[line - 1] + column - 1;
  }
  // Of a mark, or `otherwise` without one. The library marks the text behind a quote, '&' or '*': `signed_before` steps
  // back.
  [[nodiscard]] std::size_t offset(const fy_mark* mark, std::size_t otherwise, bool signed_before) const;
  // Refuses bytes outside YAML's printable set.
  [[nodiscard]] Status check_bytes() const;

 private:
  std::string_view text_;
  std::string_view name_;
  std::vector<std::size_t> starts_;
};

// "name:line:column".
[[nodiscard]] std::string format_place(std::string_view name, std::size_t line, std::size_t column);

struct CloseDiagnostics {
  void operator()(fy_diag* diagnostics) const;
};
struct CloseParser {
  void operator()(fy_parser* parser) const;
};

// The parser reports into `diagnostics`, which prints nothing.
struct YamlEvents {
  std::unique_ptr<fy_diag, CloseDiagnostics> diagnostics;
  std::unique_ptr<fy_parser, CloseParser> parser;  // destroyed first
};
[[nodiscard]] YamlEvents open_events(std::string_view text);

// The first error the library found.
[[nodiscard]] Failure first_diagnostic(const YamlEvents& events, std::string_view name);

}  // namespace oncelatch
