// What the private tmux server is told before it shows anything, as data: no shell, no clipboard, no passthrough, no
// mouse, no key but "detach".
//
// Ownership: returns values. Threads: pure. Failure: none. Source: tmux(1); contracts/bridge-and-env.md 4.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "elicitation/tmux_server.h"

namespace oncelatch::elicitation {

// tmux's own argument list, ";" between commands: options and key tables, then the session "main" with its one pane.
[[nodiscard]] std::vector<std::string> first_commands(const TmuxSetup& setup);

// Text for the status line as it is: formats and strftime(3) are expanded there.
[[nodiscard]] std::string escaped_status(std::string_view text);

}  // namespace oncelatch::elicitation
