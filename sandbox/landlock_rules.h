// What Landlock grants: a table for the view's entries, and the objects that every view has. The exec path applies it
// (sandbox/landlock.cc), `oncelatch why` answers from it (sandbox/view_answer.h).
//
//   std::uint64_t rights = landlock::kRightsTable[static_cast<unsigned>(entry.rights)];
//
// Ownership, threads, failure: constants. After fork: safe; freestanding.
#pragma once

#include "sandbox/landlock_abi.h"
#include "sandbox/plan_wire.h"

namespace oncelatch::sandbox::landlock {

inline constexpr std::uint64_t kFileOnly = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDev;
inline constexpr std::uint64_t kRead = kReadFile | kReadDir;
// The creation guard will take MAKE_* and REFER away from the workspace and perform them on behalf. Device nodes never.
inline constexpr std::uint64_t kWrite = kWriteFile | kTruncate | kRemoveDir | kRemoveFile | kMakeDir | kMakeReg |
                                        kMakeSock | kMakeFifo | kMakeSym | kRefer | kResolveUnix;
inline constexpr std::uint64_t kUseDevice = kReadFile | kWriteFile | kTruncate | kReadDir;
inline constexpr std::uint64_t kUseDeviceFile = kUseDevice & kFileOnly;
inline constexpr std::uint64_t kUseTerminal = kReadFile | kWriteFile | kTruncate | kIoctlDev;

inline constexpr std::uint64_t kRightsTable[] = {
    0,                          // none
    kRead,                      // read
    kRead | kExecute,           // read_execute
    kRead | kWrite,             // read_write
    kRead | kWrite | kExecute,  // read_write_execute
};
static_assert(sizeof kRightsTable / sizeof kRightsTable[0] == kRightsKinds);

struct FixedRule {
  const char* path;
  std::uint64_t rights;
  bool required;
  const char* why;
};

inline constexpr FixedRule kFixedRules[] = {
    {"/", kReadDir, true, "names of the view"},
    {"/proc", kRead, true, "its own processes; nothing there is written"},
    {"/dev", kUseDevice, true, "null, zero, random and the like"},
    {"/dev/pts", kUseDevice | kIoctlDev, true, "its own pseudo-terminals"},
    {"/dev/tty", kUseTerminal, true, "its controlling terminal"},
    {"/dev/console", kUseTerminal, false, "the inner terminal by name"},
    {"/dev/shm", kRead | kWrite, true, "shared memory"},
};

}  // namespace oncelatch::sandbox::landlock
