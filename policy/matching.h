// Does a rule match a subject? One place for every capability, in two readings: for allowing (narrow) and for asking or
// denying (wide).
//
//   if (rule_matches_name(rule, "github/get_issue", Reading::narrow)) ...
//
// Ownership: views for the call. Threads: no state. Failure: none. After fork: allocates.
#pragma once

#include <string_view>

#include "policy/glob.h"
#include "policy/path_pattern.h"
#include "policy/rules.h"
#include "policy/shell_grammar.h"
#include "policy/url_pattern.h"

namespace oncelatch::policy {

[[nodiscard]] bool covers(const Rule& rule, Capability capability);
// `capability: all`, whose only pattern is "*".
[[nodiscard]] bool is_for_all(const Rule& rule);

// Asking or denying: the program also by its last component.
[[nodiscard]] bool command_touched(const Rule& rule, const Argv& argv);
// Allowing: the rule's exclude names the command, in the wide reading.
[[nodiscard]] bool command_excluded(const Rule& rule, const Argv& argv);
// By the rule's match alone.
enum class Allowing { no, but_for_a_risk, yes };
[[nodiscard]] Allowing command_allowed(const Rule& rule, const Argv& argv, const WildcardGuard& guard);

[[nodiscard]] bool path_touched(const Rule& rule, const PathSubject& path, Case letters);
[[nodiscard]] bool path_allowed(const Rule& rule, const PathSubject& path);

[[nodiscard]] bool url_touched(const Rule& rule, const UrlSubject& url);
[[nodiscard]] bool url_allowed(const Rule& rule, const UrlSubject& url);

// "server/tool" and the names of sub-agents: both readings are the same.
[[nodiscard]] bool name_matches(const Rule& rule, std::string_view name, Capability capability);

}  // namespace oncelatch::policy
