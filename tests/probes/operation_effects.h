// What an operation led to, without anything that differs from run to run: of a new descriptor, and of a whole tree.
//
//   std::string line = described(fd, paths, dice);   // "regular 644 names 1 size 3 flags WRONLY write 3 read EBADF"
//   std::string lines = listed("/tmp", paths);
//
// Ownership: borrows. Threads: one. Failure: names of errors in the text.
#pragma once

#include <string>

#include "tests/probes/operation_paths.h"

namespace oncelatch::probes {

[[nodiscard]] std::string error_name(int number);
[[nodiscard]] std::string outcome(long result);  // the number, or errno's name
[[nodiscard]] std::string open_flags(int flags);
[[nodiscard]] std::string octal(unsigned mode);
// Also writes, reads and cuts off a little. Never waits.
[[nodiscard]] std::string described(int fd, const Paths& paths, Dice& dice);
[[nodiscard]] bool is_empty(const char* directory);
// Makes it readable, once its bits were looked at.
[[nodiscard]] std::string listed(int directory, const std::string& name, int root, const Paths& paths);

}  // namespace oncelatch::probes
