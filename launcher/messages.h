// What we say ourselves: lines on stderr, pages on stdout. They hold names and text of the repository and the agent,
// already escaped for a terminal; where they don't go to one, a CI runner may read them, and what would be a command to
// it is marked (launcher/runner_commands.h).
//
//   tell("note: " + note);                       // "oncelatch: note: …\n"
//   if (!print_page(text)) return kExitLauncher;
//
// Ownership: none. Threads: any; each message is one write. Failure: print_page says whether everything was taken, and
// tells why not. After fork: allocates. Part of the light program.
#pragma once

#include <string>
#include <string_view>

namespace oncelatch::launcher {

void tell(std::string_view message);
[[nodiscard]] bool print_page(std::string_view text);

}  // namespace oncelatch::launcher
