// Names that a program on the host would run or follow later, as data: what an agent leaves under one of them takes
// effect outside the sandbox, when git, a shell, an editor, a build or another agent works there.
//
//   const GuardedName* row = guarded_name("src/.GIT/hooks/pre-commit");   // relative to the workspace
//   row->guard == Guard::refused; row->kind == "git"; row->reason == "git runs it";
//
// Spellings that some file system takes for the same name count as the name: other case, code points that HFS+ ignores
// or folds, NTFS streams, short names, trailing dots and blanks. Ownership: constants. Threads: any. Failure: none; a
// path that isn't UTF-8 is compared byte by byte. After fork: safe; freestanding.
#pragma once

#include <cstdint>

namespace oncelatch::sandbox {

enum class Guard : std::uint8_t {
  reported,        // told after the run
  held_if_strict,  // held under a strict profile, else reported: what every build writes
  held,            // a person's or the policy's decision, where one can be had
  refused,         // never made by the agent
};
inline constexpr const char* kGuardNames[] = {"reported", "reported", "held", "refused"};

struct GuardedName {
  const char* pattern;  // components; "*": any characters of one; "**": at least one component, whatever it is
  Guard guard;
  const char* kind;    // for reports and --fail-on: git, hooks, agent, editor, shell, ci, build, package
  const char* reason;  // what takes it up, as in "NAME: REASON"
};

// The row that says most about it, or null: the path's last components match the pattern, at any depth. Cleaned and
// relative, at most 4095 bytes.
[[nodiscard]] const GuardedName* guarded_name(const char* path);
// The row that says most about what would lie below it, or null: "src/.vscode".
[[nodiscard]] const GuardedName* guarded_name_below(const char* path);
// In a directory of installed packages (node_modules) all is code that the host's interpreter runs, whatever its name;
// in a git directory names are those of branches.
[[nodiscard]] bool is_never_held(const char* path);
// Below a directory that is called as a git directory is.
[[nodiscard]] bool lies_in_git_directory(const char* path);
// Whether git would follow or run it, at a path relative to a git directory: "hooks/pre-commit"; with `below` also
// whether it would something that lies below it: "hooks".
[[nodiscard]] bool is_refused_in_git_directory(const char* path, bool below);
// Of the component that begins here: ".git" in one of its spellings.
[[nodiscard]] bool is_git_directory_name(const char* component);

// What makes a directory a repository (gitrepository-layout(5)), by the name of one component.
enum class RepositoryPart : std::uint8_t { none, head, objects, refs, common_directory };
[[nodiscard]] RepositoryPart repository_part(const char* component);

// The whole list, for help and documents.
[[nodiscard]] const GuardedName* guarded_names(unsigned& count);

}  // namespace oncelatch::sandbox
