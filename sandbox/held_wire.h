// Between the workspace guard's broker and the launcher: questions about held names, and their answers. One message of
// a SOCK_SEQPACKET pair each, made before the start; the program inside never has an end of it.
//
//   HeldMessage message;
//   if (!read_held_message(bytes, size, message)) drop();    // from inside: untrusted
//   HeldAnswer answer{.ticket = message.ticket, .verdict = HeldVerdict::allowed};
//   send(socket, &answer, sizeof answer, MSG_DONTWAIT | MSG_NOSIGNAL);
//
// Format (little endian): a HeldHeader, then the path without a NUL. Ownership: values. Threads: values. Failure:
// false. After fork: safe; freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sandbox/plan_wire.h"

namespace oncelatch::sandbox {

enum class HeldKind : std::uint8_t {
  ask,        // a call waits for the answer
  done,       // it was answered and done, with `error`
  withdrawn,  // it waits no more
  refused     // nobody is asked; told for the report
};
inline constexpr unsigned kHeldKinds = 4;

enum class HeldUse : std::uint8_t { create, write, move, link };
inline constexpr unsigned kHeldUses = 4;
inline constexpr const char* kHeldUseNames[] = {"create", "write", "move", "link"};

struct HeldHeader {
  std::uint32_t magic = 0;
  HeldKind kind = HeldKind::ask;
  HeldUse use = HeldUse::create;
  std::uint16_t path_size = 0;
  std::uint32_t ticket = 0;   // of ask, done and withdrawn: never used twice
  std::int32_t caller = 0;    // the thread, as it is numbered inside
  std::int32_t error = 0;     // errno, of done
  std::uint32_t refused = 0;  // so far, without being asked
};
static_assert(sizeof(HeldHeader) == 24);

inline constexpr std::uint32_t kHeldMagic = 0x31484C4F;  // "OLH1"
inline constexpr unsigned kMostHeldBytes = sizeof(HeldHeader) + kMostPath;
inline constexpr unsigned kMostQuestions = 64;  // at once; a call beyond is refused

struct HeldMessage : HeldHeader {
  char path[kMostPath + 1] = {};  // NUL-terminated; clean and absolute in ask and refused, else empty
};

enum class HeldVerdict : std::uint32_t { allowed = 1, refused = 2 };

struct HeldAnswer {
  std::uint32_t magic = kHeldMagic;
  std::uint32_t ticket = 0;
  HeldVerdict verdict = HeldVerdict::refused;
};

// True when it is well formed.
[[nodiscard]] bool read_held_message(const void* bytes, std::size_t size, HeldMessage& message);
[[nodiscard]] bool read_held_answer(const void* bytes, std::size_t size, HeldAnswer& answer);

}  // namespace oncelatch::sandbox
