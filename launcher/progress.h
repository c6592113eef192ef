// Progress lines on stderr for a run without a terminal: one line an event, and what a person can do about it.
//
//   print_progress(message);
//
// Ownership: none. Threads: one. Failure: none. Everything printed is escaped again.
#pragma once

#include <string>

#include "base/json.h"

namespace oncelatch::launcher {

void print_progress(const Json& event);

}  // namespace oncelatch::launcher
