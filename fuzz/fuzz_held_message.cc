// The reader of what the workspace guard's broker says: the one message that comes from inside while a session runs.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "sandbox/held_wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oncelatch::sandbox;
  static HeldMessage message;
  HeldAnswer answer;
  if (read_held_answer(data, size, answer) && answer.magic != kHeldMagic) std::abort();
  if (!read_held_message(data, size, message)) return 0;
  if (std::strlen(message.path) != message.path_size || message.path_size > kMostPath) std::abort();
  if (message.path_size != 0 && !clean_path(message.path, message.path_size)) std::abort();
  const bool has_path = message.kind == HeldKind::ask || message.kind == HeldKind::refused;
  if (has_path != (message.path_size != 0)) std::abort();
  if (kHeldUseNames[static_cast<unsigned>(message.use)] == nullptr) std::abort();
  return 0;
}
