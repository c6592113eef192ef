// Where this process could make a control group of its own: read from the kernel's two lists, nothing is tried yet.
//
//   CgroupPlaces places = find_places(read("/proc/self/cgroup"), read("/proc/self/mountinfo"));
//   for (const std::string& parent : places.unified) ...
//
// Ownership: a value. Threads: any. Failure: what isn't there is empty. After fork: allocates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oncelatch::sandbox {

struct CgroupPlaces {
  std::vector<std::string> unified;  // v2: our own group, then the one above it
  std::string memory;                // v1: our own group of the controller, empty: none
  std::string processes;
};

[[nodiscard]] CgroupPlaces find_places(std::string_view own_groups, std::string_view mounts);

}  // namespace oncelatch::sandbox
