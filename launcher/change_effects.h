// What of a set of changes would take effect on the host once promoted: the report of a run under an overlay.
//
//   AfterRunReport seen = effects_of(set);
//
// Ownership: values. Threads: one. Failure: a set that can't be looked at is a report that isn't complete. After fork:
// not used. Part of the light program.
#pragma once

#include "launcher/change_set.h"
#include "launcher/host_effects.h"

namespace oncelatch::launcher {

[[nodiscard]] AfterRunReport effects_of(const ChangeSet& set);

}  // namespace oncelatch::launcher
