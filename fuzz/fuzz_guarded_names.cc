// The comparison of names that take effect on the host: bytes that an agent gave to a file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sandbox/guarded_names.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oncelatch::sandbox;
  std::string path(reinterpret_cast<const char*>(data), size);
  if (size > 4095 || path.find('\0') != std::string::npos) return 0;
  const GuardedName* row = guarded_name(path.c_str());
  // At any depth, and whatever Windows drops from the end of a name, the verdict is the same or graver.
  const GuardedName* deeper = guarded_name(("some/where/" + path).c_str());
  const GuardedName* longer = guarded_name((path + ". .").c_str());
  if (row != nullptr && (deeper == nullptr || deeper->guard < row->guard)) std::abort();
  const bool ends_in_name = !path.empty() && path.back() != '/';
  if (row != nullptr && ends_in_name && (longer == nullptr || longer->guard < row->guard)) std::abort();
  return 0;
}
