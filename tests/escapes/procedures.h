// Cases that need more than one run of the probe: races, terminals, ends of processes, start-ups.
//
//   Case one{.id = "E072", .procedure = inject_input};
//
// Ownership: none. Threads: one. Failure: Observed::trouble. After fork: not used.
#pragma once

#include "tests/escapes/stage.h"

namespace oncelatch::escapes {

// start_up.cc
[[nodiscard]] Observed swap_component(Stage& stage);            // E002
[[nodiscard]] Observed start_on_pipes_for_files(Stage& stage);  // E024
[[nodiscard]] Observed hostile_name(Stage& stage);              // E077
[[nodiscard]] Observed broken_policy(Stage& stage);             // E090
[[nodiscard]] Observed empty_lists(Stage& stage);               // E092
[[nodiscard]] Observed provoke_retry(Stage& stage);             // E094
[[nodiscard]] Observed preload(Stage& stage);                   // E123
[[nodiscard]] Observed shell_start_up(Stage& stage);            // E124
[[nodiscard]] Observed relative_path(Stage& stage);             // E129
[[nodiscard]] Observed commands_of_the_runner(Stage& stage);    // E135
[[nodiscard]] Observed in_a_container(Stage& stage);            // E136

// on_terminal.cc
[[nodiscard]] Observed inject_input(Stage& stage);     // E072
[[nodiscard]] Observed print_sequences(Stage& stage);  // E075, E080
[[nodiscard]] Observed leave_modes(Stage& stage);      // E079
[[nodiscard]] Observed job_control(Stage& stage);

// work.cc
[[nodiscard]] Observed install_packages(Stage& stage);

// to_the_end.cc
[[nodiscard]] Observed kill_the_launcher(Stage& stage);  // E053
[[nodiscard]] Observed flood(Stage& stage);              // E078
[[nodiscard]] Observed take_memory(Stage& stage);        // E131
[[nodiscard]] Observed outlive(Stage& stage);            // E134

}  // namespace oncelatch::escapes
