// Freestanding: part of oncelatch-exec and of the room.
#include "sandbox/held_wire.h"

#include <cstring>

namespace oncelatch::sandbox {

bool read_held_message(const void* bytes, std::size_t size, HeldMessage& message) {
  if (size < sizeof(HeldHeader) || size > kMostHeldBytes) return false;
  std::uint8_t kind = 0;
  std::uint8_t use = 0;
  const auto* at = static_cast<const unsigned char*>(bytes);
  std::memcpy(&kind, at + offsetof(HeldHeader, kind), 1);
  std::memcpy(&use, at + offsetof(HeldHeader, use), 1);
  if (kind >= kHeldKinds || use >= kHeldUses) return false;
  std::memcpy(static_cast<HeldHeader*>(&message), at, sizeof(HeldHeader));
  if (message.magic != kHeldMagic || message.path_size != size - sizeof(HeldHeader)) return false;
  std::memcpy(message.path, at + sizeof(HeldHeader), message.path_size);
  message.path[message.path_size] = 0;
  const bool has_path = message.kind == HeldKind::ask || message.kind == HeldKind::refused;
  return has_path ? clean_path(message.path, message.path_size) : message.path_size == 0;
}

bool read_held_answer(const void* bytes, std::size_t size, HeldAnswer& answer) {
  if (size != sizeof answer) return false;
  std::uint32_t verdict = 0;
  std::memcpy(&verdict, static_cast<const unsigned char*>(bytes) + offsetof(HeldAnswer, verdict), sizeof verdict);
  if (verdict != 1 && verdict != 2) return false;
  std::memcpy(&answer, bytes, sizeof answer);
  return answer.magic == kHeldMagic;
}

}  // namespace oncelatch::sandbox
