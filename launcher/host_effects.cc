#include "launcher/host_effects.h"

#include <algorithm>
#include <string_view>

#include "base/untrusted.h"
#include "sandbox/guarded_names.h"

namespace oncelatch::launcher {

namespace {

constexpr EffectKind kKinds[] = {
    {"git", "git follows it, or runs what it names"},
    {"hooks", "a hook manager runs it when git is used"},
    {"agent", "an agent takes it for settings or instructions"},
    {"editor", "an editor runs it, or follows it"},
    {"shell", "a shell or its helper runs it"},
    {"ci", "continuous integration runs it, or it says who reviews"},
    {"build", "a build runs it"},
    {"package", "a package manager or an interpreter runs it"},
    {"link", "a symbolic link that leads out of the workspace"},
    {"special", "a file with set-id bits, a pipe or a socket"},
    {"program", "a program named like one of the host"},
};

bool is_of_kind(const HostEffect& effect, const std::string& kind) {
  return kind == "any" || kind == effect.kind || kind == effect.guard;
}

unsigned gravity(const HostEffect& effect) {
  return effect.guard == "refused" ? 0 : effect.guard == "held" ? 1 : 2;
}

}  // namespace

std::span<const EffectKind> effect_kind_table() {
  return kKinds;
}

std::string effect_kinds() {
  std::string all;
  for (const EffectKind& kind : kKinds) all += (all.empty() ? "" : ", ") + std::string(kind.name);
  return all;
}

bool is_effect_kind(const std::string& kind) {
  auto of_guard = [&](const char* one) { return kind == one; };
  auto of_table = [&](const EffectKind& one) { return kind == one.name; };
  return kind == "any" || std::any_of(std::begin(kKinds), std::end(kKinds), of_table) ||
         std::any_of(std::begin(sandbox::kGuardNames), std::end(sandbox::kGuardNames), of_guard);
}

bool has_findings(const AfterRunReport& seen, const std::vector<std::string>& kinds) {
  auto found = [&](const std::string& kind) {
    auto of_kind = [&](const HostEffect& effect) { return is_of_kind(effect, kind); };
    return std::any_of(seen.effects.begin(), seen.effects.end(), of_kind);
  };
  return !kinds.empty() && (!seen.complete || std::any_of(kinds.begin(), kinds.end(), found));
}

std::vector<std::string> effect_lines(const AfterRunReport& seen) {
  constexpr std::size_t kMostTold = 20;
  std::vector<std::string> lines;
  if (!seen.complete)
    lines.emplace_back(
        "after the run: not all that may be written could be looked at: nothing says that the rest is clean");
  if (seen.effects.empty()) return lines;
  std::vector<const HostEffect*> order;
  for (const HostEffect& effect : seen.effects) order.push_back(&effect);
  std::sort(order.begin(), order.end(), [](const HostEffect* a, const HostEffect* b) {
    return gravity(*a) != gravity(*b) ? gravity(*a) < gravity(*b) : a->path < b->path;
  });
  lines.push_back("after the run: " + std::to_string(order.size()) +
                  (order.size() == 1 ? " change takes" : " changes take") + " effect outside later");
  for (std::size_t i = 0; i < std::min(order.size(), kMostTold); ++i) {
    const HostEffect& one = *order[i];
    lines.push_back("  " + one.kind + ": " + escape_for_display(one.path, 400) + " (" + one.change +
                    "): " + one.reason + (one.line.empty() ? "" : ": " + one.line) +
                    (one.quarantined.empty() ? "" : "; moved to " + escape_for_display(one.quarantined, 400)));
  }
  if (order.size() > kMostTold)
    lines.push_back("  and " + std::to_string(order.size() - kMostTold) + " more: --report F lists all");
  return lines;
}

}  // namespace oncelatch::launcher
