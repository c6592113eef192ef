// What oncelatch-exec reads: first the Beginning, with which it makes its namespaces, then the plan, which the launcher
// writes meanwhile. The plan is one flat message, every length checked, nothing owned.
//
//   static WirePlan plan;                                   // about 80 KiB
//   if (!read_beginning(bytes, size, plan)) fail();
//   if (!read_plan(more, more_size, plan)) fail();          // texts point into `more`
//
// Format (little endian): magic, version, total size, then the fields in the order of read_plan(). A text is u32
// length, the bytes, one NUL. Targets are absolute, clean paths (no "//", ".", ".."), so a reader may drop the leading
// slash. Ownership: a WirePlan borrows the message. Threads: a value. Failure: false. After fork: safe; freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace oncelatch::sandbox {

struct Text {
  const char* data = nullptr;  // NUL-terminated inside the message
  std::uint32_t size = 0;
};

enum class EntryKind : std::uint8_t {
  directory,  // mkdir(target, mode)
  file,       // target with the bytes of `text` and `mode`
  link,       // symbolic link target -> text
  bind,       // the object of `source` (a descriptor) or of the path `text`
  temporary,  // a directory of the one tmpfs, with `mode`
  pin,        // a directory bound onto itself: can't be renamed
  protect,    // bound onto itself read-only
  hide,       // covered by an empty read-only object
  overlay,    // overlayfs at the target, of kOverlayLower and kOverlayLayers
};
inline constexpr unsigned kEntryKinds = 9;

// Where the two are bound while the view is built; nothing is left of them.
inline constexpr char kOverlayPlace[] = "/.overlay";
inline constexpr char kOverlayLower[] = "/.overlay/lower";
inline constexpr char kOverlayLayers[] = "/.overlay/layers";  // holds upper and work

// What Landlock grants beneath the entry's target.
constexpr bool is_cover(EntryKind kind) {
  return kind == EntryKind::pin || kind == EntryKind::protect || kind == EntryKind::hide;
}

enum class Rights : std::uint8_t { none, read, read_execute, read_write, read_write_execute };
inline constexpr unsigned kRightsKinds = 5;

inline constexpr std::uint8_t kReadOnly = 1;
inline constexpr std::uint8_t kNoExecute = 2;
inline constexpr std::uint8_t kIsDirectory = 4;
inline constexpr std::uint8_t kCreateTarget = 8;   // the target lies in a tmpfs of ours: make it first
inline constexpr std::uint8_t kDetached = 16;      // the source is a tree, taken with the launcher's rights
inline constexpr std::uint8_t kGuarded = 32;       // the host's, and writable: the broker works there on behalf
inline constexpr std::uint8_t kGitDirectory = 64;  // a guarded one whose names are those of a git directory
inline constexpr std::uint8_t kSharedOnly = 128;   // one whose main checkout's and other worktrees' own files stay

struct Entry {
  EntryKind kind = EntryKind::directory;
  Rights rights = Rights::none;
  std::uint8_t flags = 0;
  std::uint32_t mode = 0;
  std::int32_t source = 0;  // index among the source descriptors, -1: none
  Text target;
  Text text;
};

// `count` texts one after another, starting at `first`.
struct TextList {
  const unsigned char* first = nullptr;
  std::uint32_t count = 0;
};

inline constexpr std::uint32_t kPlanMagic = 0x31504C4F;  // "OLP1"
inline constexpr std::uint32_t kPlanVersion = 11;
inline constexpr std::uint32_t kMostEntries = 1024;
inline constexpr std::uint32_t kMostSources = 512;
inline constexpr std::uint32_t kMostPorts = 64;
inline constexpr std::uint64_t kMostSeconds = 1ULL << 40;
inline constexpr std::uint32_t kMostStrings = 65536;  // arguments, variables
inline constexpr std::uint32_t kMostPlanBytes = 4U << 20;
inline constexpr std::uint32_t kMostPath = 4095;

inline constexpr std::uint32_t kPlanHostNetwork = 1;
inline constexpr std::uint32_t kPlanTerminal = 2;  // one of the streams is the controlling terminal to be
inline constexpr std::uint32_t kPlanLoopback = 4;  // Landlock leaves TCP alone
inline constexpr std::uint32_t kPlanAllowPtrace = 8;
inline constexpr std::uint32_t kPlanLandlockTier = 16;  // no namespaces: Landlock and the filter on the host's own root
inline constexpr std::uint32_t kPlanJobControl = 32;    // it can be stopped at its terminal or by SIGTSTP
inline constexpr std::uint32_t kPlanGuard = 64;         // the program makes nothing in guarded trees by itself
inline constexpr std::uint32_t kPlanHeldAsked = 128;    // about held names, over the guard's channel
inline constexpr std::uint32_t kPlanHeldRefused = 256;  // they are refused, and told of there
inline constexpr std::uint32_t kPlanHoldBuilds = 512;   // what builds write is held as well
inline constexpr std::uint32_t kPlanNoWorktrees = 1024;  // none is added inside
inline constexpr std::uint32_t kPlanKnownFlags = 2047;

struct Beginning {
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t flags = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t shown_uid = 0;
  std::uint32_t shown_gid = 0;
  std::uint32_t unused = 0;
  std::uint64_t pid_max = 0;          // 0: this kernel has no limit per pid namespace
  std::uint64_t temporary_bytes = 0;  // of all temporary directories together
};

// All-zero defaults: it stands in .bss and costs only the pages that are used.
struct WirePlan : Beginning {
  std::uint32_t sources = 0;
  std::uint32_t by_path = 0;  // 1: the program is a script, run by its path; 0: by its descriptor
  std::int32_t landlock_abi = 0;
  std::uint64_t processes = 0;
  std::uint64_t file_size = 0;
  std::uint64_t open_files = 0;
  std::uint64_t seconds = 0;  // until everything is ended; 0: no limit
  std::uint64_t memory = 0;   // bytes of all processes, enforced by the first process inside; 0: not by it
  Text working_directory;
  Text program;            // path inside
  Text planted_directory;  // outside the view: "secret" (a file), "socket"
  Text git_directory;      // of which only own_reference may be moved; empty: no such rule
  Text own_reference;
  Text planted_abstract;  // abstract socket name, without the leading NUL
  std::uint32_t port_count = 0;
  std::uint16_t ports[kMostPorts] = {};
  TextList arguments;
  TextList environment;
  std::uint32_t entry_count = 0;
  Entry entries[kMostEntries] = {};
};

// True when it is well formed; `size` is that of a Beginning, no more and no less.
[[nodiscard]] bool read_beginning(const void* bytes, std::size_t size, Beginning& beginning);
// True when the whole message is well formed; otherwise `plan` is not to be used. Leaves its beginning alone.
[[nodiscard]] bool read_plan(const unsigned char* bytes, std::size_t size, WirePlan& plan);

constexpr bool is_writable(const Entry& entry) {
  return entry.rights == Rights::read_write || entry.rights == Rights::read_write_execute;
}
// Whether the program may make and write things there without the broker: not in a guarded tree, nor above or below
// one, since Landlock's rules add up.
[[nodiscard]] bool makes_by_itself(const WirePlan& plan, const Entry& entry);

// Text number `index + 1` after `here` (which starts at TextList::first); only for lists of a plan that was read.
[[nodiscard]] Text next_text(const unsigned char*& here);

// Absolute, at least one component, no empty, "." or ".." component, no NUL.
[[nodiscard]] bool clean_path(const char* path, std::size_t size);

}  // namespace oncelatch::sandbox
