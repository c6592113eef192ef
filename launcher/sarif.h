// What a run left that takes effect on the host later, as SARIF 2.1.0 (OASIS), for viewers and code scanning.
//
//   std::string text = sarif_text({.workspace = plan.workspace, .seen = &seen, .exit_code = 0, .error = {}});
//   TRY(file.write(text));
//
// A rule is a kind of effect, a result one effect: "error" for what is refused, "warning" for held, "note" for
// reported. What lies in the workspace is located relative to %SRCROOT%, percent-encoded byte by byte. Names and lines
// are the workspace's own: escaped for display, and they can't be taken for SARIF's placeholders or links. Ownership:
// borrows what it points to. Threads: one. Failure: none. After fork: allocates. Part of the light program.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "launcher/host_effects.h"

namespace oncelatch::launcher {

struct SarifRun {
  std::string workspace;                 // absolute; empty where it wasn't known yet
  const AfterRunReport* seen = nullptr;  // nullptr: nobody looked
  int exit_code = 0;
  std::string error;  // why nothing was started, or what was lost; empty: nothing
};

// Nothing was started.
[[nodiscard]] inline SarifRun sarif_of_refusal(const Error& error, int code) {
  return {.workspace = {}, .seen = nullptr, .exit_code = code, .error = error.message()};
}

[[nodiscard]] std::string sarif_text(const SarifRun& run);

// RFC 3986: unreserved characters and "/" as they are, every other byte as %XX.
[[nodiscard]] std::string percent_encoded(std::string_view path);

}  // namespace oncelatch::launcher
