#include "sandbox/narrow_apply.h"

#include <asm/errno.h>
#include <asm/stat.h>
#include <linux/audit.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#include <cstddef>
#include <cstring>

#include "sandbox/filter_data.h"
#include "sandbox/ruleset.h"

namespace oncelatch::sandbox {

namespace {

using namespace landlock;

constexpr std::uint64_t kFileOnly = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDev | kResolveUnix;
constexpr std::uint64_t kUse = kReadFile | kWriteFile | kTruncate | kIoctlDev;
constexpr std::uint64_t kKeep = kReadFile | kReadDir | kWriteFile | kTruncate | kMakeReg | kRemoveFile;

constexpr std::uint64_t kWork = kKeep | kMakeDir | kMakeSym | kRemoveDir | kRefer;

constexpr NarrowWord kWords[] = {
    {"read", kReadFile | kReadDir, "contents and names"},
    {"run", kReadFile | kExecute, "to be started"},
    {"use", kUse | kReadDir, "devices and terminals"},
    {"connect", kResolveUnix, "unix sockets; without this word nothing is connected to"},
    {"serve", kKeep | kMakeSock, "a directory to make sockets in"},
    {"replace", kReadDir | kWriteFile | kMakeReg | kRemoveFile, "a directory whose files are replaced, never read"},
    {"keep", kKeep, "a directory of own files"},
    {"clear", kKeep | kMakeSock | kRemoveDir | kResolveUnix, "a directory that is removed at the end"},
    {"work", kWork, "a directory of files, directories and links"},
    {"tidy", kReadFile | kReadDir | kMakeReg | kRemoveFile, "a directory whose files are renamed, never written"},
    {"empty", kRemoveDir, "empty directories are removed"},
};

#if defined(__x86_64__)
constexpr unsigned kNative = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kNative = AUDIT_ARCH_AARCH64;
#endif
constexpr unsigned kUnix = 1;        // AF_UNIX
constexpr unsigned kTypeBits = 0xf;  // the rest are flags
constexpr unsigned kStream = 1;      // SOCK_STREAM

constexpr unsigned short kLoad = BPF_LD | BPF_W | BPF_ABS;
constexpr unsigned short kIs = BPF_JMP | BPF_JEQ | BPF_K;
constexpr unsigned short kAnswer = BPF_RET | BPF_K;
constexpr unsigned kAllow = SECCOMP_RET_ALLOW;

// Before the sandbox's filter, which begins with its own load. A jump counts the lines it leaves out.
constexpr sock_filter kBefore[] = {
    {kLoad, 0, 0, offsetof(seccomp_data, arch)},
    {kIs, 1, 0, kNative},
    {kAnswer, 0, 0, SECCOMP_RET_KILL_PROCESS},
    {kLoad, 0, 0, offsetof(seccomp_data, nr)},
    {kIs, 0, 1, __NR_execveat},  // programs are named: a descriptor needs no name that Landlock knows
    {kAnswer, 0, 0, SECCOMP_RET_ERRNO | EPERM},
    {kIs, 0, 1, __NR_memfd_create},  // nor does Landlock know what lies in memory only
    {kAnswer, 0, 0, SECCOMP_RET_ERRNO | EPERM},
    {kIs, 1, 0, __NR_socket},
    {kIs, 0, 3, __NR_socketpair},
    {kLoad, 0, 0, offsetof(seccomp_data, args)},  // low half: both architectures are little-endian
    {kIs, 1, 0, kUnix},
    {kAnswer, 0, 0, SECCOMP_RET_ERRNO | EAFNOSUPPORT},
};
// Who connects to nothing: Landlock knows sockets by path from ABI 9 on only. A datagram needs no connection, so no
// socket for those is made. The answer is what tmux -D takes for "no server runs here yet".
constexpr sock_filter kConnectsToNothing[] = {
    {kLoad, 0, 0, offsetof(seccomp_data, nr)},
    {kIs, 5, 0, __NR_connect},
    {kIs, 1, 0, __NR_socket},
    {kIs, 0, 4, __NR_socketpair},
    {kLoad, 0, 0, offsetof(seccomp_data, args) + sizeof(std::uint64_t)},
    {BPF_ALU | BPF_AND | BPF_K, 0, 0, kTypeBits},
    {kIs, 1, 0, kStream},
    {kAnswer, 0, 0, SECCOMP_RET_ERRNO | ECONNREFUSED},
};
// The supervisor opens beneath directories by openat2(2), which the sandbox's filter refuses as opaque.
constexpr sock_filter kOwnCalls[] = {
    {kLoad, 0, 0, offsetof(seccomp_data, arch)},
    {kIs, 0, 3, kNative},
    {kLoad, 0, 0, offsetof(seccomp_data, nr)},
    {kIs, 0, 1, __NR_openat2},
    {kAnswer, 0, 0, kAllow},
};

struct FilterPart {
  const sock_filter* lines;
  unsigned count;
};
// The filter of what works beside the sandbox.
FilterPart base_filter() {
  const FilterProgram& program = kFilters[filter_variant({})];
  return {program.instructions, program.length};
}

class Filter {
 public:
  void add(const FilterPart& part) {
    if (part.count > kMost - count_) overflowed_ = true;
    for (unsigned i = 0; !overflowed_ && i < part.count; ++i) lines_[count_++] = part.lines[i];
  }
  long load() {
    if (overflowed_) return -E2BIG;
    struct {
      unsigned short length;
      const sock_filter* lines;
    } program{static_cast<unsigned short>(count_), lines_};
    return sys::call(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
  }

 private:
  static constexpr unsigned kMost = BPF_MAXINSNS;
  sock_filter lines_[kMost] = {};
  unsigned count_ = 0;
  bool overflowed_ = false;
};

template <unsigned Count>
FilterPart part(const sock_filter (&lines)[Count]) {
  return {lines, Count};
}

bool connects(const NarrowRequest& request) {
  for (unsigned i = 0; i < request.count; ++i)
    if (std::strcmp(request.grants[i].word, "connect") == 0) return true;
  return false;
}

long load_filter(const NarrowRequest& request) {
  Filter filter;
  if (request.whom == NarrowFor::caller) filter.add(part(kOwnCalls));
  filter.add(part(kBefore));
  if (!connects(request)) filter.add(part(kConnectsToNothing));
  filter.add(base_filter());
  return filter.load();
}

long allow(const Ruleset& ruleset, int abi, const NarrowGrant& grant) {
  const NarrowWord* word = find_narrow_word(grant.word);
  if (word == nullptr) return -EINVAL;
  long object = sys::call(__NR_openat, AT_FDCWD, grant.path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (object < 0) return object;
  struct stat info {};
  long rc = sys::call(__NR_fstat, object, &info);
  std::uint64_t rights = word->rights & known_file_rights(abi);
  constexpr unsigned kType = 0170000;
  if ((info.st_mode & kType) == 0120000) rc = -ELOOP;
  if ((info.st_mode & kType) != 0040000) rights &= kFileOnly;
  if (rc >= 0 && rights != 0) rc = ruleset.allow(static_cast<int>(object), rights);
  sys::close(static_cast<int>(object));
  return rc;
}

NarrowFault enter_domain(const NarrowRequest& request) {
  const long abi = sys::call(__NR_landlock_create_ruleset, nullptr, 0, kCreateRulesetVersion);
  if (abi < 0) return {static_cast<int>(-abi), "landlock", "this kernel"};
  const std::uint64_t scopes = request.whom == NarrowFor::caller ? kScopeAbstractUnix : ~0ULL;
  Ruleset ruleset;
  if (long rc = ruleset.create(static_cast<int>(abi), ~0ULL, scopes); rc < 0)
    return {static_cast<int>(-rc), "landlock", "create_ruleset"};
  for (unsigned i = 0; i < request.count; ++i)
    if (long rc = allow(ruleset, static_cast<int>(abi), request.grants[i]); rc < 0)
      return {static_cast<int>(-rc), "landlock", request.grants[i].path};
  if (long rc = ruleset.enter(); rc < 0) return {static_cast<int>(-rc), "landlock", "restrict_self"};
  return {};
}

}  // namespace

const NarrowWord* find_narrow_word(const char* word) {
  for (const NarrowWord& one : kWords)
    if (std::strcmp(one.word, word) == 0) return &one;
  return nullptr;
}

NarrowFault apply_narrowing(const NarrowRequest& request) {
  if (long rc = sys::call(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); rc < 0)
    return {static_cast<int>(-rc), "privileges", "PR_SET_NO_NEW_PRIVS"};
  if (NarrowFault fault = enter_domain(request); fault.error != 0) return fault;
  if (long rc = load_filter(request); rc < 0) return {static_cast<int>(-rc), "filter", "seccomp"};
  return {};
}

}  // namespace oncelatch::sandbox
