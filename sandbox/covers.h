// What is hidden or protected below the mounts of a view: found under every name the view has for it, its ancestors
// pinned, so that no rename inside leads around it.
//
//   Covers covers(sources, mounts);
//   for (const Cover& cover : plan.covers) TRY(covers.add(cover));
//   TRY(covers.write(view));
//
// A hard link and a second mount of the host under another name can't be seen from a path; they stay open. Ownership:
// borrows the sources and puts descriptors into them. Threads: one. Failure: Error naming the path. After fork:
// allocates.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/plan.h"
#include "sandbox/sources.h"
#include "sandbox/view.h"

namespace oncelatch::sandbox {

// Target inside -> what is mounted there; index -1: an empty directory of ours.
using Mounts = std::map<std::string, Source>;

class Covers {
 public:
  Covers(Sources& sources, const Mounts& mounts) : sources_(sources), mounts_(mounts) {}

  [[nodiscard]] Status add(const Cover& cover);
  [[nodiscard]] Status write(View& view);

 private:
  struct Planned {
    EntryKind kind = EntryKind::protect;
    Source object;
  };

  [[nodiscard]] Mounts::const_iterator holder(const std::string& path) const;
  [[nodiscard]] Result<std::optional<Source>> open(const std::string& path);
  [[nodiscard]] Status add_spelling(const Mounts::value_type& mount, const Cover& cover, const Source& object);
  [[nodiscard]] Status check_nothing_mounted(const std::string& hidden) const;
  [[nodiscard]] Status pin_parents(View& view, const std::string& path);

  Sources& sources_;
  const Mounts& mounts_;
  std::map<std::string, Planned> planned_;  // by path inside; what holds another one comes first
  std::set<std::string> mounted_;
};

}  // namespace oncelatch::sandbox
