#pragma once

#include <string>

#include "launcher/output_filter.h"

namespace oncelatch::launcher {

inline std::string filtered(const std::string& input) {
  OutputFilter filter;
  std::string out;
  filter.feed(input, out);
  return out;
}

// What comes back when the program is killed after `input`.
inline std::string restored(const std::string& input) {
  OutputFilter filter;
  std::string out;
  filter.feed(input, out);
  return filter.restore();
}

}  // namespace oncelatch::launcher
