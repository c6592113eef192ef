// Covers for a path of the host that may lead through symbolic links: each link on the way is kept as it is, and what
// it leads to is covered where the sandbox shows it.
//
//   for (Cover& cover : cover_path(workspace, ".git/hooks", Cover::Kind::protect, {workspace}))
//     plan.covers.push_back(std::move(cover));
//
// A repository may hold such links, and a hostile one may: a link is followed as the host would follow it later, 40 at
// most, and covers end where it leads out of what is shown. Ownership: values. Threads: any. Failure: none; what can't
// be looked at becomes a required cover, which the sandbox refuses with its errno. After fork: allocates. Part of the
// light program.
#pragma once

#include <string>
#include <vector>

#include "sandbox/plan.h"

namespace oncelatch::launcher {

// `relative` below `root`, a real path. `shown` holds the real paths that the sandbox shows writable at their own
// place.
[[nodiscard]] std::vector<sandbox::Cover> cover_path(const std::string& root, const std::string& relative,
                                                     sandbox::Cover::Kind kind, const std::vector<std::string>& shown);

// A protection that isn't needed where the broker guards by names; behind a link other names count, and it is.
[[nodiscard]] std::vector<sandbox::Cover> cover_where_unguarded(const std::string& root, const std::string& relative,
                                                                const std::vector<std::string>& shown);

}  // namespace oncelatch::launcher
