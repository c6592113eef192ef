// What a run left that takes effect outside the sandbox later, as values: kinds, what counts as a finding, how it is
// told. Who finds them is launcher/after_run.h.
//
//   for (const std::string& line : effect_lines(seen)) tell(line);
//   if (has_findings(seen, options.fail_on)) code = kExitFindings;
//
// Ownership: values. Threads: any. Failure: none. After fork: allocates. Part of the light program.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace oncelatch::launcher {

struct HostEffect {
  std::string path;              // absolute, as it is: escape before showing
  std::string guard;             // "refused", "held", "reported"
  std::string kind;              // of the name's row, or "link", "special", "program"
  std::string reason;            // what takes it up
  std::string change;            // "new", "changed"
  std::string line;              // the first that matters of those that weren't there before, escaped; empty: none
  std::size_t line_number = 0;   // from 1; 0: no line, or the target of a link
  std::string quarantined = {};  // where it was moved to; empty: it's still there
};

struct AfterRunReport {
  std::vector<HostEffect> effects;
  bool complete = true;  // everything was looked at, before and after
};

// Every kind of an effect, in the order of sandbox/guarded_names.cc, then those that a name doesn't tell.
struct EffectKind {
  const char* name;
  const char* description;
};
[[nodiscard]] std::span<const EffectKind> effect_kind_table();
// "git, hooks, …", for messages.
[[nodiscard]] std::string effect_kinds();

// Whether `kind` is one of an effect's, of a guard's, or "any".
[[nodiscard]] bool is_effect_kind(const std::string& kind);
// Of --fail-on: something of a kind that was named, or not everything could be looked at. Nothing named: no finding.
[[nodiscard]] bool has_findings(const AfterRunReport& seen, const std::vector<std::string>& kinds);

// For a terminal, the gravest first, at most 20 of them; none where there is nothing to tell.
[[nodiscard]] std::vector<std::string> effect_lines(const AfterRunReport& seen);

}  // namespace oncelatch::launcher
