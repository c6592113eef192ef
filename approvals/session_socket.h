// The listening socket's file in the session directory.
//
//   Fd listener = TRY(bind_session_socket(directory_fd, "approvals.sock"));
//
// Ownership: the result owns the descriptor; the caller removes the file. Threads: no state. Failure: Error with errno;
// a file this call made is removed again. After fork: allocates.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch::approvals {

// Non-blocking, close-on-exec, mode 0600 from its first moment, bound through the descriptor (sun_path is short),
// listening.
[[nodiscard]] Result<Fd> bind_session_socket(int directory, const std::string& name);
// SO_PEERCRED: the other end runs as this process's effective uid.
[[nodiscard]] bool same_user(int socket);

}  // namespace oncelatch::approvals
