// What attempts left in the workspace, by which a guard of the workspace is judged, and all that differs for a launcher
// with an overlay: there an attempt may say that it got through, the workspace stays as it is all the same, and of what
// is then promoted nothing may get through.
//
//   Line line = try_alone(stage, {.word = "write={workspace}/.envrc", .left = ".envrc"});
//   std::string before = state_of_tree(scene.workspace());
//
// Ownership: none. Threads: one. Failure: the line's verdict says what couldn't be done. After fork: not used.
#pragma once

#include <string>

#include "tests/escapes/stage.h"

namespace oncelatch::escapes {

// In a workspace and launches of its own. Its verdict is OK where what it names as left isn't as before.
[[nodiscard]] Line try_alone(const Stage& stage, const Attempt& attempt);

// Kind, mode and content of every file below, as text. It doesn't go into other file systems.
[[nodiscard]] std::string state_of_tree(const std::string& directory);

// What a program made in the workspace: there, or kept apart by an overlay.
[[nodiscard]] bool made_in_workspace(const Stage& stage, const std::string& name);
// Its size; 0 where there is none.
[[nodiscard]] std::size_t size_in_workspace(const Stage& stage, const std::string& name);

}  // namespace oncelatch::escapes
