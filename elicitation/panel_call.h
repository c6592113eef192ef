// The call an approval panel asks about: above the header in V2, below it in V3.
//
// Ownership: writes into the caller's Panel. Threads: pure. Failure: our own words for what is missing; empty on
// success.
#pragma once

#include <string>
#include <vector>

#include "elicitation/screen.h"

namespace oncelatch::elicitation {

// V2. Fills tool, call and another_call. `menu` is the first menu row: nothing may stand between header and menu.
[[nodiscard]] std::string read_call_above(const std::vector<std::string>& rows, std::size_t header, std::size_t menu,
                                          Panel* panel);
// V3. Fills call from the rows between header and menu.
[[nodiscard]] std::string read_call_below(const std::vector<std::string>& rows, std::size_t header, std::size_t menu,
                                          Panel* panel);

}  // namespace oncelatch::elicitation
