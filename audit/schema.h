// The database's tables, and the proof that nothing else is in it.
//
//   TRY(create_schema(connection));   // writer: an empty database gets the tables
//   TRY(check_schema(connection));    // both: exactly these tables, no view, trigger or further index
//
// Ownership: none. Threads: the connection's. Failure: Error naming the difference. After fork: allocates.
#pragma once

#include "audit/connection.h"
#include "base/result.h"

namespace oncelatch::audit {

[[nodiscard]] Status create_schema(Connection& connection);
[[nodiscard]] Status check_schema(Connection& connection);

}  // namespace oncelatch::audit
