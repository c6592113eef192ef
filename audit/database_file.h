// Checks of the database's file before SQLite opens it.
//
//   std::string real = TRY(prepare_for_writing("oncelatch/audit.db"));
//
// Ownership: none kept. Threads: no state. Failure: Error that says which check failed. The file isn't opened unless it
// is created here (see connection.h on locks). After fork: allocates.
#pragma once

#include <string>

#include "base/result.h"

namespace oncelatch::audit {

// Makes missing directories (0700) and the file (0600, synced), checks owner, mode, kind and links of the file, its
// directory and its -wal and -shm; returns the path with the directory's real name.
[[nodiscard]] Result<std::string> prepare_for_writing(const std::string& path);
// A regular file, no link; owner and mode are the reader's business.
[[nodiscard]] Result<std::string> prepare_for_reading(const std::string& path);

}  // namespace oncelatch::audit
