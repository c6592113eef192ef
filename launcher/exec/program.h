// Which file a command is, and whether the sandbox shows it and the interpreter it needs.
//
//   CommandFile file = TRY(find_command("make", "/home/u/project", {"/usr/bin"}, visible));
//
// Ownership: values. Threads: any. Failure: Error of stage "command"; errno ENOENT: not found or not visible, EACCES:
// not executable. The message names the option that would show it. After fork: allocates. Part of the light program.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace oncelatch::launcher {

struct CommandFile {
  std::string path;  // as found, absolute; this name is used inside
  std::string real;  // without links
};

// `directories`: PATH inside. `working_directory`: for a name with a slash. `visible`: real paths the sandbox shows.
[[nodiscard]] Result<CommandFile> find_command(const std::string& name, const std::string& working_directory,
                                               const std::vector<std::string>& directories,
                                               const std::vector<std::string>& visible);

}  // namespace oncelatch::launcher
