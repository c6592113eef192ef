#include "launcher/aftermath.h"

#include <utility>

#include "base/untrusted.h"
#include "launcher/git_state.h"

namespace oncelatch::launcher {

Status Aftermath::watch(const std::vector<WatchedRoot>& roots) {
  watched_.emplace(TRY(AfterRun::begin(roots)));
  for (const WatchedRoot& root : roots) roots_.push_back(root.path);
  return {};
}

// What the quarantine takes is what the walk found; the rest is put right by itself.
Status Aftermath::look() {
  if (watched_) seen_ = watched_->end();
  if (quarantine && watched_) {
    quarantine->take(*watched_, seen_);
    lines_ = quarantine->lines();
  }
  for (const std::string& place : git_directories)
    for (HostEffect& effect : check_git_state(place)) seen_.effects.push_back(std::move(effect));
  return mend();
}

Status Aftermath::mend() {
  if (!own_reference) return {};
  std::optional<HostEffect> effect = TRY(own_reference->mend());
  if (!effect) return {};
  lines_.push_back("own branch: " + escape_for_display(effect->path, 400) + " " + effect->reason +
                   "\n  try: git fsck --lost-found, for commits that were made meanwhile");
  seen_.effects.push_back(std::move(*effect));
  return {};
}

std::vector<std::string> Aftermath::lines() const {
  std::vector<std::string> all;
  if (watched_ || !seen_.effects.empty()) all = effect_lines(seen_);
  all.insert(all.end(), lines_.begin(), lines_.end());
  return all;
}

std::vector<std::string> Aftermath::written() const {
  std::vector<std::string> places;
  if (own_reference) places.push_back(own_reference->place());
  if (!quarantine) return places;
  places.push_back(quarantine->path());
  places.insert(places.end(), roots_.begin(), roots_.end());
  return places;
}

}  // namespace oncelatch::launcher
