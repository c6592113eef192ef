// Toolchains that live in the caller's home, shown read-only at their own paths, credentials left out.
//
//   ToolchainView view = TRY(find_toolchains(Toolchains::automatic, {}, "/home/u", "/home/u/.cargo/bin:/usr/bin"));
//
// Ownership: values. Threads: any. Failure: Error of stage "command line" for a name that isn't known or isn't there.
// After fork: allocates. Part of the light program.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/exec/options.h"

namespace oncelatch::launcher {

// What the system has of PATH, in its order.
inline constexpr std::string_view kSystemPath[] = {"/usr/local/bin",  "/usr/bin",  "/bin",
                                                   "/usr/local/sbin", "/usr/sbin", "/sbin"};

struct ToolchainView {
  std::vector<std::string> directories;  // real paths, to be shown read-only
  std::vector<std::string> path;         // directories for PATH, in order
  std::vector<std::string> variables;    // "NAME=value"
  std::vector<std::string> names;        // what was found
};

// `home`: real path of the caller's home; `caller_path`: their PATH, of which entries inside the shown directories (and
// below /opt) are kept.
[[nodiscard]] Result<ToolchainView> find_toolchains(Toolchains which, const std::vector<std::string>& names,
                                                    const std::string& home, const std::string& home_inside,
                                                    const std::string& caller_path);

}  // namespace oncelatch::launcher
