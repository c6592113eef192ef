// The new root as a list of entries, in an order in which they can be made: parents first, missing directories added.
//
//   View view;
//   view.directory("/etc", 0755, Rights::read);
//   view.bind_path("/usr", "/usr", {.read_only = true, .directory = true}, Rights::read_execute);
//   std::vector<ViewEntry> entries = TRY(view.finish());
//
// A later entry for the same target replaces the earlier one. Ownership: a value. Threads: one. Failure: Error naming
// the target. After fork: allocates.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/plan_wire.h"

namespace oncelatch::sandbox {

struct ViewEntry {
  EntryKind kind = EntryKind::directory;
  Rights rights = Rights::none;
  std::uint8_t flags = 0;
  std::uint32_t mode = 0;
  std::int32_t source = -1;
  std::string target;
  std::string text;
  bool map_owner = false;  // the object's owner becomes the plan's `uid`
};

struct BindOptions {
  bool read_only = false;
  bool executable = true;
  bool directory = false;
  bool map_owner = false;
  bool guarded = false;
  bool git_directory = false;
  bool shared_only = false;
};

class View {
 public:
  void directory(const std::string& target, std::uint32_t mode, Rights rights);
  void file(const std::string& target, std::string content, std::uint32_t mode = 0644);
  void link(const std::string& target, const std::string& to);
  void temporary(const std::string& target, std::uint32_t mode, Rights rights);
  void bind_path(const std::string& source, const std::string& target, BindOptions options, Rights rights);
  void bind_source(std::int32_t source, const std::string& target, BindOptions options, Rights rights);
  // Of what is bound at kOverlayLower and kOverlayLayers.
  void overlay(const std::string& target, Rights rights, bool map_owner);
  // Pins, protections and hidings come after everything else, in the order given.
  void cover(EntryKind kind, std::int32_t source, const std::string& target, bool directory);

  // Whether the target is an entry already.
  [[nodiscard]] bool names(const std::string& target) const { return entries_.count(target) != 0; }

  [[nodiscard]] Result<std::vector<ViewEntry>> finish();

 private:
  [[nodiscard]] const ViewEntry* holder(const std::string& target) const;
  [[nodiscard]] Status add_parents(const std::string& target);
  [[nodiscard]] bool in_our_tmpfs(const std::string& target) const;

  std::map<std::string, ViewEntry> entries_;  // a prefix sorts before what it holds
  std::vector<ViewEntry> covers_;
};

// "/a/b" for "/a/b/c"; empty for "/a".
[[nodiscard]] std::string parent_path(const std::string& path);
// True for a path equal to `directory` or below it.
[[nodiscard]] bool lies_within(const std::string& path, const std::string& directory);

}  // namespace oncelatch::sandbox
