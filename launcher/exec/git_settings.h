// Paths that a repository's settings name, where git takes hooks, more settings or attributes from.
//
//   for (const NamedPath& one : paths_in_settings(text)) …   // {"tools/hooks", NamedPath::From::work_tree}
//
// Ownership: values. Threads: any. Failure: none; a line that git wouldn't take is left out, and so is what lies in the
// home ("~/…"). Bounds: the text's own. After fork: allocates. Part of the light program. Source: git-config(1),
// "Syntax", "Includes", core.hooksPath, core.attributesFile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oncelatch::launcher {

struct NamedPath {
  enum class From { work_tree, settings };  // what a relative one is relative to
  std::string path;
  From from;
  const char* key;     // for messages
  bool more_settings;  // whose paths count as well
};

[[nodiscard]] std::vector<NamedPath> paths_in_settings(std::string_view text);

}  // namespace oncelatch::launcher
