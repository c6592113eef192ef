// Files of a git directory whose content git on the host, or a shell's prompt, takes for right: what would make them
// read, write or run something elsewhere is found once nothing runs inside any more, moved aside, and told.
//
//   for (HostEffect& effect : check_git_state("/home/u/project/.git")) tell(effect);
//   if (const char* why = judge_git_file("index", bytes, 20); why != nullptr) …   // one of them, by its path there
//
// The index (names that leave the work tree), references that aren't below refs/, counters of a rebase, a strategy that
// is a program, paths of recorded resolutions; of the repository, its linked worktrees and its submodules. Repositories
// deeper in the work tree aren't looked for. Ownership: values. Threads: any. Failure: none; what can't be read or
// moved is told as such. Units: bytes. After fork: allocates. Part of the light program. Source: gitformat-index(5),
// gitrepository-layout(5).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/host_effects.h"

namespace oncelatch::launcher {

// Null: fine, or none of these files. `path` is relative to the git directory, or below its worktrees/ or modules/;
// `hash_size` that of the repository's object names.
[[nodiscard]] const char* judge_git_file(std::string_view path, std::string_view bytes, std::size_t hash_size);
// Whether its content counts.
[[nodiscard]] bool is_judged_git_file(std::string_view path);

// Of a repository's object names in binary, as its settings say.
[[nodiscard]] std::size_t object_name_size(const std::string& git_directory);

[[nodiscard]] std::vector<HostEffect> check_git_state(const std::string& git_directory);

}  // namespace oncelatch::launcher
