// The launcher's end of the guard's channel: what is asked about held names, and the answers.
//
//   HeldMessage message;
//   while (receive_held(confined.held, message))
//     if (message.kind == HeldKind::ask) answer_held(confined.held, message.ticket, HeldVerdict::refused);
//
// Never blocks. What comes is bounded and checked; a malformed message is dropped, so its call waits until everything
// ends. Ownership: borrows the descriptor; closes it at the channel's end. Threads: one. Failure: false. After fork:
// not used.
#pragma once

#include "base/fd.h"
#include "sandbox/held_wire.h"

namespace oncelatch::sandbox {

// The next one. False: nothing is there now.
[[nodiscard]] bool receive_held(Fd& channel, HeldMessage& message);
// False: nobody waits there any more.
bool answer_held(const Fd& channel, std::uint32_t ticket, HeldVerdict verdict);

}  // namespace oncelatch::sandbox
