// The names of request.h, decision.h and recorder.h, each enumeration against one table in its own order.
#include <algorithm>
#include <array>
#include <cstddef>

#include "policy/decision.h"
#include "policy/recorder.h"
#include "policy/request.h"

namespace oncelatch::policy {
namespace {

constexpr std::array<std::string_view, 3> kEffects{"allow", "ask", "deny"};
constexpr std::array<std::string_view, 7> kCapabilities{"shell", "fs_read",  "fs_write", "web_fetch",
                                                        "mcp",   "subagent", "unknown"};
constexpr std::array<std::string_view, 5> kOptionKinds{"allow_once", "allow_always", "reject_once", "reject_always",
                                                       "other"};
constexpr std::array<std::string_view, 4> kDeciders{"policy", "person", "unattended", "nobody"};
constexpr std::array<std::string_view, 2> kVerdicts{"accept", "decline"};
constexpr std::array<std::string_view, 6> kOutcomes{"confirmed", "contradicted", "elsewhere",
                                                    "cancelled", "failed",       "superseded"};

template <std::size_t N, class Value>
std::string_view name_in(const std::array<std::string_view, N>& names, Value value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : std::string_view("invalid");
}

}  // namespace

std::string_view effect_name(Effect effect) {
  return name_in(kEffects, effect);
}
std::string_view capability_name(Capability capability) {
  return name_in(kCapabilities, capability);
}
std::string_view option_kind_name(OptionKind kind) {
  return name_in(kOptionKinds, kind);
}
std::string_view decider_name(Decider decider) {
  return name_in(kDeciders, decider);
}
std::string_view verdict_name(Verdict verdict) {
  return name_in(kVerdicts, verdict);
}
std::string_view outcome_name(Outcome outcome) {
  return name_in(kOutcomes, outcome);
}

OptionKind option_kind(std::string_view name) {
  const auto found = std::find(kOptionKinds.begin(), kOptionKinds.end(), name);
  if (found == kOptionKinds.end()) return OptionKind::other;
  return static_cast<OptionKind>(found - kOptionKinds.begin());
}

}  // namespace oncelatch::policy
