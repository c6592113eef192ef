// Which words of a command a wildcard of an allowing rule may not stand for, since they run another program or write a
// file.
//
//   WildcardGuard guard = wildcard_guard({"find", ".", "-delete"});  // spelled[2] == 7: "find * -delete" names it,
//   "find *" not
//
// Ownership: values. Threads: no state. Failure: none. After fork: allocates. The tables are in program_tables.h.
#pragma once

#include "policy/glob.h"
#include "policy/shell_grammar.h"

namespace oncelatch::policy {

[[nodiscard]] WildcardGuard wildcard_guard(const Argv& argv);

}  // namespace oncelatch::policy
