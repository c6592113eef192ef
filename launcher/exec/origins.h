// Which rule shows, hides or sets something: an option, a profile file, a toolchain, a list that is built in.
//
//   Origins origins(options, plan, environment);
//   origins.of_bind(0);            // "--read", "toolchain rust", "read, of lab.yaml"
//
// Ownership: borrows what it is made of. Threads: one. Failure: none. After fork: allocates. Part of the light program.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "launcher/exec/plan.h"

namespace oncelatch::launcher {

class Origins {
 public:
  Origins(const ExecOptions& options, const ExecPlan& plan, const std::vector<std::string>& environment);

  [[nodiscard]] std::string of_bind(std::size_t index) const;
  [[nodiscard]] std::string of_cover(const sandbox::Cover& cover) const;
  [[nodiscard]] std::string of_variable(const std::string& name) const;

 private:
  [[nodiscard]] std::string option(const char* name, bool of_file) const;
  const ExecOptions& options_;
  const ExecPlan& plan_;
  std::vector<std::pair<std::string, std::string>> directories_;  // shown for a toolchain: path, name
  std::vector<std::pair<std::string, std::string>> variables_;    // of a toolchain: variable, name
};

}  // namespace oncelatch::launcher
