// What an agent asks for, in ACP's nouns, and what the launcher knows about it.
//
//   PermissionRequest request;
//   request.capability = Capability::shell;
//   request.command = "git status";
//   Decision decision = policy::decide(rules, request, facts);
//
// Ownership: values. Threads: values. Failure: none. After fork: allocates.
// Source: ACP session/request_permission; contracts/kiro-tui.md 2.2 and 2.4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/untrusted.h"

namespace oncelatch::policy {

// Kiro v3's names. `unknown` is what no rule but `all` can match.
enum class Capability { shell, fs_read, fs_write, web_fetch, mcp, subagent, unknown };
[[nodiscard]] std::string_view capability_name(Capability capability);

// ACP PermissionOptionKind.
enum class OptionKind { allow_once, allow_always, reject_once, reject_always, other };
[[nodiscard]] std::string_view option_kind_name(OptionKind kind);
[[nodiscard]] OptionKind option_kind(std::string_view name);

struct PermissionOption {
  Untrusted id;  // optionId
  Untrusted name;
  OptionKind kind = OptionKind::other;
};

struct PermissionRequest {
  Untrusted session_id;
  Untrusted tool_call_id;
  Untrusted title;  // stripped of surrounding white space, never shortened
  std::vector<PermissionOption> options;
  Capability capability = Capability::unknown;
  // The whole command (shell), path (fs_*), URL (web_fetch) or "server/tool" (mcp); empty when it isn't known whole.
  Untrusted subject;
  bool subject_is_whole = false;  // false: never allowed, whatever the rules say
};

// Facts gathered by the launcher; decide() looks nothing up itself.
struct Facts {
  std::string workspace;          // absolute real path
  std::string working_directory;  // absolute; the workspace unless known better
};

}  // namespace oncelatch::policy
