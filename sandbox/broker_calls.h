// The calls that the filter hands to the broker: which is meant by a number of an architecture, and where its arguments
// stand.
//
//   const BrokeredCall* call = brokered_call(data.arch, data.nr);
//   if (call == nullptr) refuse();
//
// Ownership: constants. Threads: any. Failure: null. After fork: safe; freestanding. Source: syscalls(2) and the
// architectures' tables.
#pragma once

#include <cstdint>

namespace oncelatch::sandbox {

enum class Deed : std::uint8_t {
  open,
  create,
  truncate,
  truncate_pair,  // the length in two arguments, the low half first
  directory,
  node,
  symbolic_link,
  hard_link,
  rename,
  bind,
  umask  // only seen: the kernel does it
};

// Indexes of arguments; -1: there is none (a directory: the caller's own; flags and modes: 0).
struct BrokeredCall {
  Deed deed;
  std::int8_t directory;
  std::int8_t path;
  std::int8_t other_directory;  // of a second path
  std::int8_t other_path;
  std::int8_t flags;
  std::int8_t mode;  // of a truncation: the length; of a bind: the address's size
};

[[nodiscard]] const BrokeredCall* brokered_call(std::uint32_t architecture, int number);

}  // namespace oncelatch::sandbox
