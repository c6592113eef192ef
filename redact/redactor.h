// Takes credentials out of text and JSON before they are written anywhere (the rule at the persistence boundary).
//
//   Redactor redactor = Redactor::from_environment({"KIRO_API_KEY=abcdefg8", "LANG=C"});
//   std::string line = redactor.text("Bearer abcdefg8");   // "Bearer [redacted Kiro credential]"
//   Json copy = redactor.value(configuration);
//   if (redactor.contains_secret(finished_bytes)) ...        // don't write them
//
// Ownership: move-only; the secrets and every form made of them live in Secret memory. Threads: const calls from many
// threads are fine. Failure: none; what can't be decided within the bounds becomes the marker whole (contains_secret:
// true). Units: bytes; "short" counts UTF-16 units. After fork: the child must not touch it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/secret.h"
#include "redact/literal_set.h"

namespace oncelatch::redact {

inline constexpr std::string_view kMarker = "[redacted Kiro credential]";

class Redactor {
 public:
  // Takes the values of credential variables; `environment` is "NAME=value" each.
  [[nodiscard]] static Redactor from_environment(const std::vector<std::string>& environment,
                                                 std::string marker = std::string(kMarker));
  // Empty and equal values count once or not at all. A marker that itself holds a long secret is replaced by "[***]".
  explicit Redactor(std::vector<Secret> secrets, std::string marker = std::string(kMarker));

  // One string. Percent, form and base64 forms inside longer text, and what only shows after decoding, make the whole
  // string the marker; a plain occurrence of a secret of 8 units or more is replaced in place.
  [[nodiscard]] std::string text(std::string_view input) const;
  // Copy with every string scrubbed; entries with a credential's name or a secret in their key are left out.
  [[nodiscard]] Json value(const Json& input) const;
  // Last gate over finished bytes, whatever wrote them: any form, escapes decoded. Secrets under 4 units don't count
  // here (they stand in every file), nor does the marker's own text.
  [[nodiscard]] bool contains_secret(std::string_view bytes) const;

  [[nodiscard]] const std::string& marker() const { return marker_; }

 private:
  struct Owner {
    std::size_t units;                  // UTF-16 length of the raw value
    std::vector<std::size_t> literals;  // the rule's own forms, longest first
  };
  struct Hits {
    std::vector<bool> direct;
    std::vector<bool> equivalent;
    bool bounded = true;  // false: too long to decode
  };

  [[nodiscard]] Hits find(std::string_view text) const;
  [[nodiscard]] std::string replaced(std::string text, const Owner& owner) const;
  [[nodiscard]] std::string leaf_rule(std::string_view input) const;
  [[nodiscard]] Json scrub(const Json& input, std::size_t depth) const;
  [[nodiscard]] bool holds(std::string_view text, std::size_t least_units) const;
  [[nodiscard]] bool window_holds(std::string_view window, std::size_t least_units) const;
  [[nodiscard]] bool literal_hit(std::string_view text, std::size_t least_units) const;
  [[nodiscard]] bool inside_marker(std::string_view text, std::size_t at, std::size_t size) const;

  std::string marker_;
  std::vector<Owner> owners_;
  LiteralSet literals_;
};

// Names compare without regard to case (Unicode upper-casing, as the reference does).
[[nodiscard]] bool is_credential_name(std::string_view name);

}  // namespace oncelatch::redact
