// File paths as subjects and as patterns: lexical only, links are the launcher's to resolve.
//
//   PathSubject path = path_subject("src/../.env", facts);          // absolute "/work/x/.env", relative ".env"
//   path_matches("**/.env", path, PathReach::anywhere, Case::exact);
//
// In a pattern '*' stands for anything within one component, "**" as a whole component for any number of them. A
// pattern without a leading '/' is about the workspace. Ownership: values. Threads: no state. Failure: `unclear` names
// why the path can't be trusted to mean one file. After fork: allocates.
#pragma once

#include <string>
#include <string_view>

#include "policy/glob.h"
#include "policy/request.h"

namespace oncelatch::policy {

struct PathSubject {
  std::string absolute;  // normalised: no "." "..", no double or trailing slash
  std::string relative;  // to the workspace; "." for itself; empty outside of it
  std::string unclear;   // "path-escapes", "unclear-path"; empty: plain
};

[[nodiscard]] PathSubject path_subject(std::string_view path, const Facts& facts);

// Where a relative pattern holds: in the workspace (allow), or a leading "**/" anywhere (ask, deny).
enum class PathReach { workspace, anywhere };

[[nodiscard]] bool path_matches(std::string_view pattern, const PathSubject& path, PathReach reach, Case letters);

// Component globs over any slash-separated text (also "server/tool").
[[nodiscard]] bool components_match(std::string_view pattern, std::string_view text, Case letters);

}  // namespace oncelatch::policy
