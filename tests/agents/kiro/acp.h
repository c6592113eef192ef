// `kiro-cli acp`: the agent side of ACP over standard input and output.
//
//   return run_acp(scenario);   // 0 at the end of input, 99 when `max_wait_ms` passed without a message
//
// Blocking, single-threaded. Writes no recorder, as the real one does not.
#pragma once

#include "scenario.h"

namespace kiro {

int run_acp(const Scenario& scenario);

}  // namespace kiro
