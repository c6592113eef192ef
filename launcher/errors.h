// How an Error ends the program: the text on stderr and the exit code of oncelatch(1).
//
//   if (!config) return report_error(config.error());
//
// Ownership, threads, failure: functions without state; printing can't fail the caller.
#pragma once

#include "base/result.h"

namespace oncelatch::launcher {

[[nodiscard]] int exit_code_for(const Error& error);
// Name of the class for --report: configuration-refused, guarantee-unavailable, not-found, not-executable,
// launcher-fault.
[[nodiscard]] const char* exit_reason_for(const Error& error);
// Prints "oncelatch: stage: object: what" and "  try: …" to stderr; returns the exit code.
int report_error(const Error& error);

}  // namespace oncelatch::launcher
