#include "launcher/exec/refused_names.h"

#include <algorithm>

#include "base/result.h"
#include "base/untrusted.h"
#include "launcher/messages.h"
#include "sandbox/guarded_names.h"
#include "sandbox/held_channel.h"

namespace oncelatch::launcher {

namespace {

constexpr std::size_t kMostNames = 20;
constexpr int kMostAtOnce = 256;

const char* doing(const std::string& use) {
  return use == "create" ? "making" : use == "write" ? "writing" : use == "move" ? "moving" : "linking";
}

std::string reason_of(const std::string& path) {
  const sandbox::GuardedName* row = sandbox::guarded_name(path.c_str());
  if (row == nullptr) row = sandbox::guarded_name_below(path.c_str());
  return row == nullptr ? "what takes effect outside lies in it" : row->reason;
}

}  // namespace

void RefusedNames::take(Fd& channel) {
  sandbox::HeldMessage message;
  for (int i = 0; i < kMostAtOnce && sandbox::receive_held(channel, message); ++i) {
    if (message.kind != sandbox::HeldKind::refused) continue;
    count_ = std::max<std::uint64_t>(count_, message.refused);
    auto same = [&](const Name& one) { return one.path == message.path; };
    if (std::any_of(names_.begin(), names_.end(), same)) continue;
    all_ = names_.size() < kMostNames;
    if (all_) names_.push_back({message.path, sandbox::kHeldUseNames[static_cast<unsigned>(message.use)]});
  }
}

void RefusedNames::tell_all(const std::string& workspace) const {
  for (const Name& one : names_) {
    const bool inside = one.path.rfind(workspace + "/", 0) == 0;
    const std::string shown = inside ? one.path.substr(workspace.size() + 1) : one.path;
    tell("workspace guard: " + escape_for_display(shown, 400) + ": " + doing(one.use) +
         " was refused: " + reason_of(one.path.substr(1)));
  }
  if (!all_) tell("workspace guard: other names: refused as well");
  if (!names_.empty()) tell("  try: --held report lets them be written; --report or --fail-on then tells of them");
}

}  // namespace oncelatch::launcher
