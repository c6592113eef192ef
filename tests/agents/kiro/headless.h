// `kiro-cli chat --no-interactive TEXT`: prints an answer, refuses tools, ends.
//
//   return run_headless(scenario, options);   // 0; 1 with "headless": "fail"
//
// Without TEXT the prompt is read from standard input. With --trust-all-tools the calls are done.
#pragma once

#include "launch_options.h"
#include "scenario.h"

namespace kiro {

int run_headless(const Scenario& scenario, const LaunchOptions& options);

}  // namespace kiro
