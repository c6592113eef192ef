// The readers of the plan and of its beginning: bytes that the exec path takes from memory and from a socket.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "sandbox/plan_wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oncelatch::sandbox;
  static const std::unique_ptr<WirePlan> plan = std::make_unique<WirePlan>();
  if (read_beginning(data, size, *plan) && (plan->flags & ~kPlanKnownFlags) != 0) std::abort();
  if (!read_plan(data, size, *plan)) return 0;
  // What was accepted can be walked, and every path is clean.
  for (const TextList& list : {plan->arguments, plan->environment}) {
    const unsigned char* here = list.first;
    for (std::uint32_t i = 0; i < list.count; ++i) {
      Text text = next_text(here);
      if (text.data[text.size] != 0) std::abort();
    }
  }
  for (std::uint32_t i = 0; i < plan->entry_count; ++i) {
    const Entry& entry = plan->entries[i];
    if (!clean_path(entry.target.data, entry.target.size) || entry.target.data[entry.target.size] != 0) std::abort();
    if (entry.source >= 0 && static_cast<std::uint32_t>(entry.source) >= plan->sources) std::abort();
  }
  return 0;
}
