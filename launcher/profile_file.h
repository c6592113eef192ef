// A profile of the caller's own: YAML that becomes options of `oncelatch exec` on top of a built-in profile.
//
//   extends: ci
//   network: ports
//   ports: [443]
//   read: [~/reference]
//   limits: {memory: 2G}
//
//   ProfileFile profile = TRY(parse_profile(text, "build.yaml", "/home/u"));
//   // profile.base == "ci"; profile.options == {"--net", "ports:443", "--read", "/home/u/reference", …}
//
// Ownership: values. Threads: any. Failure: Error of stage "profile" or "yaml" with FILE:LINE:COLUMN, exit code 122;
// nothing is taken of a file with a mistake. Units: bounds in profile_file.cc. After fork: allocates. docs/PROFILES.md
// has the keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oncelatch::launcher {

struct ProfileFile {
  std::string base = "workstation";
  std::vector<std::string> options;  // of `oncelatch exec`, each followed by its value
};

// `home`: what ~ stands for.
[[nodiscard]] Result<ProfileFile> parse_profile(std::string_view text, std::string_view origin,
                                                const std::string& home);

// "NAME" or "FILE.yaml" to the file's path.
[[nodiscard]] Result<std::string> find_profile_file(const std::string& named,
                                                    const std::vector<std::string>& environment);

// `exec` and `why` with a profile of the caller's own: reads it and becomes oncelatch again, with options in its place.
// Returns only the exit code of a failure.
[[nodiscard]] int become_oncelatch(int argc, const char* const* argv, const std::vector<std::string>& environment);

}  // namespace oncelatch::launcher
