// Writes the message that sandbox/plan_wire.h reads into sealed memory.
//
//   Fd message = TRY(plan_in_memory(write_plan(fields)));
//
// Ownership: the descriptor is the caller's. The text holds the environment, so it is wiped. Threads: any. Failure:
// Error. After fork: allocates.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/plan.h"
#include "sandbox/plan_wire.h"
#include "sandbox/view.h"

namespace oncelatch::sandbox {

struct PlanFields {
  std::uint32_t sources = 0;
  bool by_path = false;  // the program is a script
  std::int32_t landlock_abi = 0;
  std::uint64_t processes = 0;
  std::uint64_t file_size = 0;
  std::uint64_t open_files = 0;
  std::uint64_t seconds = 0;
  std::uint64_t memory = 0;
  std::string working_directory;
  std::string program;
  std::string planted_directory;
  std::string planted_abstract;
  OwnBranch own_branch;
  std::vector<std::uint16_t> ports;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::vector<ViewEntry> entries;
};

[[nodiscard]] std::string write_plan(const PlanFields& fields);
[[nodiscard]] Result<Fd> plan_in_memory(std::string message);

}  // namespace oncelatch::sandbox
