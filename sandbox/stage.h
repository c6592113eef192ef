// Words between oncelatch-exec and enter(): the stages of confinement and the records of the status pipe.
//
//   StatusRecord record{.kind = StatusRecord::failed, .stage = Stage::landlock, .error = ENOSYS};
//   write(kStatusDescriptor, &record, sizeof record);   // at most PIPE_BUF, so whole or not at all
//
// Ownership: plain data. Threads: a value. Failure: none. After fork: safe; freestanding.
#pragma once

#include <cstdint>

namespace oncelatch::sandbox {

// Descriptor numbers oncelatch-exec is started with. 0, 1, 2 are the program's streams.
inline constexpr int kPlanDescriptor = 3;      // SOCK_SEQPACKET, read end: see below
inline constexpr int kStatusDescriptor = 4;    // pipe, write end
inline constexpr int kLifelineDescriptor = 5;  // pipe, read end; hang-up ends everything
inline constexpr int kLimitDescriptor = 6;     // pipe, write end: the first process inside tells how it ended
inline constexpr int kMemoryDescriptor = 7;    // eventfd: readable once the control group ran out of memory
inline constexpr int kGuardDescriptor = 8;     // SOCK_SEQPACKET: held names (sandbox/held_wire.h), where they are held
inline constexpr int kFirstUnknown = 9;        // from here on none

// Over the plan's socket: a Beginning (sandbox/plan_wire.h), then messages of this byte with descriptors: the sealed
// memfd of the plan, the verified file, the plan's sources (trees or O_PATH descriptors) in their order; and once what
// the self-test must not reach is there, the other byte.
inline constexpr char kDescriptorsWord = 'd';
inline constexpr char kPlantedWord = 'p';
inline constexpr unsigned kMostInMessage = 250;  // SCM_MAX_FD is 253

// How a session ended. The first process inside writes one as a byte, since an exit code doesn't tell: 137 and 153 can
// be a program's own.
enum class Ending : char {
  unknown = 0,
  exited = 'e',
  refused_processes = 'r',  // by itself and not with 0, where no more processes could be made
  signal = 's',
  memory = 'm',
  processes = 'p',
  file_size = 'f',
  time = 't'  // the first process's own deadline
};
inline constexpr char kStoppedWord = 'z';       // before that, at most so many times: the program was stopped
inline constexpr int kMostStoppedWords = 4096;  // less than the pipe holds: nobody may read them

constexpr bool is_limit(Ending ending) {
  return ending == Ending::memory || ending == Ending::processes || ending == Ending::file_size;
}
// As reports have it.
constexpr const char* ending_name(Ending ending) {
  switch (ending) {
    case Ending::signal:
      return "signal";
    case Ending::memory:
      return "memory";
    case Ending::processes:
      return "processes";
    case Ending::file_size:
      return "file size";
    case Ending::time:
      return "time limit";
    case Ending::unknown:
    case Ending::exited:
    case Ending::refused_processes:
      break;
  }
  return "exited";
}

enum class Stage : std::uint8_t {
  descriptors,
  plan,
  identity,
  namespaces,
  identity_maps,
  non_dumpable,
  root,
  skeleton,
  devices,
  proc,
  overlay,
  covers,
  host_name,
  loopback,
  namespace_limits,
  seal_proc,
  pivot,
  limits,
  capabilities,
  no_new_privileges,
  landlock,
  guard,
  seccomp,
  first_process,
  session,
  working_directory,
  self_test,
  exec,
};

inline constexpr const char* kStageNames[] = {
    "descriptors",       "plan",      "identity",  "namespaces",    "identity-maps",
    "non-dumpable",      "root",      "skeleton",  "devices",       "proc",
    "overlay",           "covers",    "host-name", "loopback",      "namespace-limits",
    "seal-proc",         "pivot",     "limits",    "capabilities",  "no-new-privileges",
    "landlock",          "guard",     "seccomp",   "first-process", "session",
    "working-directory", "self-test", "exec",
};
inline constexpr unsigned kStages = sizeof kStageNames / sizeof kStageNames[0];
static_assert(kStages == static_cast<unsigned>(Stage::exec) + 1);

struct StatusRecord {
  enum Kind : std::uint8_t { failed = 1, probe = 2, ready = 3 };
  Kind kind = failed;
  Stage stage = Stage::descriptors;
  std::uint8_t refused = 0;  // probe: the attempt failed, as it must
  std::uint8_t unused = 0;
  std::int32_t error = 0;  // errno
  char text[120] = {};     // object, or the probe's name
};
static_assert(sizeof(StatusRecord) == 128);

}  // namespace oncelatch::sandbox
