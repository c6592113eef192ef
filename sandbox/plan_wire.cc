// Freestanding: part of oncelatch-exec and of the room.
#include "sandbox/plan_wire.h"

#include <cstring>

namespace oncelatch::sandbox {

namespace {

struct Cursor {
  const unsigned char* here;
  const unsigned char* end;
  bool good = true;

  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end - here); }
  void fail() {
    good = false;
    here = end;
  }
  template <class T>
  void number(T& value) {
    if (left() < sizeof(T)) return fail();
    std::memcpy(&value, here, sizeof(T));
    here += sizeof(T);
  }
};

// Length, bytes without NUL (unless `binary`), NUL.
void read_text(Cursor& in, Text& text, bool binary) {
  std::uint32_t size = 0;
  in.number(size);
  if (in.left() <= size || in.here[size] != 0) return in.fail();
  if (!binary && std::memchr(in.here, 0, size) != nullptr) return in.fail();
  text = {reinterpret_cast<const char*>(in.here), size};
  in.here += size + 1;
}

void read_path(Cursor& in, Text& path, bool may_be_empty) {
  read_text(in, path, false);
  if (!in.good) return;  // then `path` is whatever it was
  bool fine = (may_be_empty && path.size == 0) || (path.size <= kMostPath && clean_path(path.data, path.size));
  if (!fine) in.fail();
}

void read_list(Cursor& in, TextList& list) {
  in.number(list.count);
  if (list.count > kMostStrings) return in.fail();
  list.first = in.here;
  Text text;
  for (std::uint32_t i = 0; i < list.count && in.good; ++i) read_text(in, text, false);
}

template <class Enum>
void read_enum(Cursor& in, Enum& value, unsigned kinds) {
  std::uint8_t byte = 0;
  in.number(byte);
  if (byte >= kinds) return in.fail();
  value = static_cast<Enum>(byte);
}

bool fits(const Entry& entry, std::uint32_t sources) {
  if ((entry.flags & kGitDirectory) != 0 && (entry.flags & kGuarded) == 0) return false;
  if ((entry.flags & kSharedOnly) != 0 && (entry.flags & kGitDirectory) == 0) return false;
  if ((entry.mode & ~07777U) != 0) return false;
  bool by_source = entry.source >= 0 && static_cast<std::uint32_t>(entry.source) < sources;
  switch (entry.kind) {
    case EntryKind::directory:
    case EntryKind::file:
    case EntryKind::temporary:
    case EntryKind::overlay:
      return entry.source == -1;
    case EntryKind::link:
      return entry.source == -1 && entry.text.size > 0 && entry.text.size <= kMostPath;
    case EntryKind::bind:
      return by_source || (entry.source == -1 && clean_path(entry.text.data, entry.text.size));
    case EntryKind::pin:
    case EntryKind::protect:
    case EntryKind::hide:
      return by_source;
  }
  return false;
}

void read_entry(Cursor& in, Entry& entry, std::uint32_t sources) {
  read_enum(in, entry.kind, kEntryKinds);
  read_enum(in, entry.rights, kRightsKinds);
  in.number(entry.flags);
  in.number(entry.mode);
  in.number(entry.source);
  read_path(in, entry.target, false);
  read_text(in, entry.text, entry.kind == EntryKind::file);
  if (in.good && entry.kind != EntryKind::file && entry.text.size > kMostPath) in.fail();
  if (in.good && !fits(entry, sources)) in.fail();
}

void read_entries(Cursor& in, WirePlan& plan) {
  in.number(plan.entry_count);
  if (plan.entry_count > kMostEntries) return in.fail();
  for (std::uint32_t i = 0; i < plan.entry_count && in.good; ++i) read_entry(in, plan.entries[i], plan.sources);
}

void read_ports(Cursor& in, WirePlan& plan) {
  in.number(plan.port_count);
  if (plan.port_count > kMostPorts) return in.fail();
  for (std::uint32_t i = 0; i < plan.port_count; ++i) in.number(plan.ports[i]);
}

void read_head(Cursor& in, std::size_t size) {
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t total = 0;
  in.number(magic);
  in.number(version);
  in.number(total);
  if (magic != kPlanMagic || version != kPlanVersion || total != size) in.fail();
}

void read_numbers(Cursor& in, WirePlan& plan) {
  in.number(plan.sources);
  in.number(plan.by_path);
  in.number(plan.landlock_abi);
  in.number(plan.processes);
  in.number(plan.file_size);
  in.number(plan.open_files);
  in.number(plan.seconds);
  in.number(plan.memory);
  if (plan.sources > kMostSources || plan.seconds > kMostSeconds || plan.by_path > 1) in.fail();
}

}  // namespace

bool clean_path(const char* path, std::size_t size) {
  if (size < 2 || path[0] != '/' || path[size - 1] == '/') return false;
  std::size_t start = 1;
  for (std::size_t i = 1; i <= size; ++i) {
    if (i < size && path[i] == 0) return false;
    if (i < size && path[i] != '/') continue;
    std::size_t length = i - start;
    if (length == 0 || (length == 1 && path[start] == '.')) return false;
    if (length == 2 && path[start] == '.' && path[start + 1] == '.') return false;
    start = i + 1;
  }
  return true;
}

Text next_text(const unsigned char*& here) {
  std::uint32_t size = 0;
  std::memcpy(&size, here, sizeof size);
  Text text{reinterpret_cast<const char*>(here + sizeof size), size};
  here += sizeof size + size + 1;
  return text;
}

namespace {

bool holds(const Text& directory, const Text& path) {
  return path.size >= directory.size && std::memcmp(path.data, directory.data, directory.size) == 0 &&
         (path.size == directory.size || path.data[directory.size] == '/');
}

}  // namespace

bool makes_by_itself(const WirePlan& plan, const Entry& entry) {
  if (!is_writable(entry)) return false;
  for (std::uint32_t i = 0; i < plan.entry_count; ++i) {
    const Entry& other = plan.entries[i];
    if ((other.flags & kGuarded) != 0 && (holds(other.target, entry.target) || holds(entry.target, other.target)))
      return false;
  }
  return true;
}

bool read_beginning(const void* bytes, std::size_t size, Beginning& beginning) {
  if (size != sizeof beginning) return false;
  std::memcpy(&beginning, bytes, sizeof beginning);
  return beginning.magic == kPlanMagic && beginning.version == kPlanVersion &&
         (beginning.flags & ~kPlanKnownFlags) == 0;
}

bool read_plan(const unsigned char* bytes, std::size_t size, WirePlan& plan) {
  if (size > kMostPlanBytes) return false;
  Cursor in{bytes, bytes + size};
  read_head(in, size);
  read_numbers(in, plan);
  Text& working_directory = plan.working_directory;
  read_text(in, working_directory, false);
  bool root_only = in.good && working_directory.size == 1 && working_directory.data[0] == '/';
  if (in.good && !root_only && !clean_path(working_directory.data, working_directory.size)) in.fail();
  read_path(in, plan.program, true);
  read_path(in, plan.planted_directory, false);
  read_text(in, plan.planted_abstract, false);
  read_path(in, plan.git_directory, true);
  read_text(in, plan.own_reference, false);
  if (in.good && plan.planted_abstract.size > 100) in.fail();
  if (in.good && (plan.git_directory.size == 0) != (plan.own_reference.size == 0)) in.fail();
  if (in.good && plan.planted_directory.size > 90) in.fail();
  read_ports(in, plan);
  read_list(in, plan.arguments);
  read_list(in, plan.environment);
  read_entries(in, plan);
  if (plan.arguments.count == 0) in.fail();
  return in.good && in.here == in.end;
}

}  // namespace oncelatch::sandbox
