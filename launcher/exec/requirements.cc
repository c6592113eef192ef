#include "launcher/exec/requirements.h"

#include <algorithm>

namespace oncelatch::launcher {

std::vector<sandbox::Requirement> requirements_of(const ExecOptions& options) {
  std::vector<sandbox::Requirement> all = sandbox::default_requirements();
  for (const auto& [name, layers] : options.required) {
    auto known = std::find_if(all.begin(), all.end(),
                              [&wanted = name](const sandbox::Requirement& one) { return one.name == wanted; });
    if (known == all.end()) {
      all.push_back({name, layers});
    } else {
      known->layers = std::max(known->layers, layers);
    }
  }
  return all;
}

}  // namespace oncelatch::launcher
