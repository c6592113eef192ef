// The generated filters, every variant evaluated for every number of every architecture.
#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <set>

#include "sandbox/broker_calls.h"
#include "sandbox/filter_data.h"
#include "sandbox/filter_variant.h"
#include "sandbox/syscall_groups.h"
#include "tests/sandbox/bpf_interpreter.h"

#if defined(__x86_64__)

namespace oncelatch::sandbox {

namespace {

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kPermission = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t kNoCall = SECCOMP_RET_ERRNO | ENOSYS;
constexpr std::uint32_t kNoAttribute = SECCOMP_RET_ERRNO | EOPNOTSUPP;
constexpr std::uint32_t kBroker = SECCOMP_RET_USER_NOTIF;
constexpr std::uint32_t kKill = SECCOMP_RET_KILL_PROCESS;

struct Words {
  std::uint64_t word[6] = {};
};

template <class... Constants>
std::vector<std::uint64_t> words(Constants... constants) {
  return {static_cast<std::uint64_t>(constants)...};
}

// One variant at a time.
class Filter : public testing::TestWithParam<unsigned> {
 public:
  Filter() { variant = GetParam(); }
  static unsigned variant;
  static FilterVariant kind() { return filter_variant_of(variant); }
};
unsigned Filter::variant = 0;

std::uint32_t answer(std::uint32_t arch, long number, const Words& words = {}) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = arch;
  std::memcpy(data.args, words.word, sizeof data.args);
  return must_run_filter(kFilters[Filter::variant].instructions, kFilters[Filter::variant].length, data);
}
std::uint32_t native(long number, const Words& words = {}) {
  return answer(AUDIT_ARCH_X86_64, number, words);
}
std::uint32_t i386(long number, const Words& words = {}) {
  return answer(AUDIT_ARCH_I386, number, words);
}

// Refused whatever the arguments, by number: the whole list, so that a change of the tables shows.
const std::map<int, std::uint32_t> kNativeAlways = {
    {101, kPermission}, {103, kPermission}, {134, kPermission}, {136, kAllow},      {139, kPermission},
    {153, kPermission}, {154, kPermission}, {155, kPermission}, {156, kPermission}, {159, kPermission},
    {161, kPermission}, {163, kPermission}, {164, kPermission}, {165, kPermission}, {166, kPermission},
    {167, kPermission}, {168, kPermission}, {169, kPermission}, {170, kPermission}, {171, kPermission},
    {172, kPermission}, {173, kPermission}, {174, kPermission}, {175, kPermission}, {176, kPermission},
    {177, kPermission}, {178, kPermission}, {179, kPermission}, {180, kPermission}, {212, kPermission},
    {227, kPermission}, {246, kPermission}, {248, kPermission}, {249, kPermission}, {250, kPermission},
    {256, kPermission}, {272, kPermission}, {279, kPermission}, {298, kPermission}, {300, kPermission},
    {301, kPermission}, {303, kPermission}, {304, kPermission}, {305, kPermission}, {308, kPermission},
    {310, kPermission}, {311, kPermission}, {312, kPermission}, {313, kPermission}, {320, kPermission},
    {321, kPermission}, {323, kPermission}, {425, kNoCall},     {426, kNoCall},     {427, kNoCall},
    {428, kNoCall},     {429, kNoCall},     {430, kNoCall},     {431, kNoCall},     {432, kNoCall},
    {433, kNoCall},     {435, kNoCall},     {437, kNoCall},     {438, kPermission}, {440, kNoCall},
    {442, kNoCall},     {443, kPermission}, {447, kNoCall},     {448, kPermission}, {452, kNoCall},
    {457, kNoCall},     {458, kNoCall},
};

// The same in the Landlock tier alone: System V and POSIX queues, extended attributes.
const std::set<int> kNativeShared = {29, 30, 31, 64, 65, 66, 67, 68, 69, 70, 71, 220, 240, 241};
const std::set<int> kNativeAttributes = {188, 189, 190, 191, 192, 193, 194, 195, 196, 197, 198, 199};
const std::set<int> kI386Shared = {117, 277, 278, 393, 394, 395, 396, 397, 398, 399, 400, 401, 402, 420};
const std::set<int> kI386Attributes = {226, 227, 228, 229, 230, 231, 232, 233, 234, 235, 236, 237};

// Under the guard, whatever the arguments: bind, truncate, rename, mkdir, creat, link, symlink, mknod and their newer
// forms; umask, to be seen.
const std::set<int> kNativeMaking = {49, 76, 82, 83, 85, 86, 88, 95, 133, 258, 259, 264, 265, 266, 316};
const std::set<int> kI386Making = {8, 9, 14, 38, 39, 60, 83, 92, 193, 296, 297, 302, 303, 304, 353, 361};

TEST_P(Filter, EveryNativeNumber) {
  // With zero arguments; 41 and 53 then name AF_UNSPEC.
  std::map<int, std::uint32_t> expected = kNativeAlways;
  expected[41] = expected[53] = kPermission;
  if (kind().ptrace) expected[101] = kAllow;
  if (kind().landlock_tier) expected[50] = kPermission;  // listen
  for (int number : kNativeMaking) expected[number] = kind().guard ? kBroker : kAllow;
  for (int number : kNativeShared) expected[number] = kind().landlock_tier ? kNoCall : kAllow;
  for (int number : kNativeAttributes) expected[number] = kind().landlock_tier ? kNoAttribute : kAllow;
  for (int number = 0; number <= 600; ++number) {
    std::uint32_t wanted = number > 462 ? kNoCall : kAllow;
    if (auto found = expected.find(number); found != expected.end()) wanted = found->second;
    EXPECT_EQ(native(number), wanted) << number;
  }
}

TEST_P(Filter, EveryI386Number) {
  std::set<int> permission = {21,  22,  26,  51,  52,  61,  74,  79,  86,  87,  88,  103, 111, 113, 115, 121,
                              123, 124, 127, 128, 129, 130, 131, 134, 135, 149, 166, 167, 169, 217, 253, 264,
                              283, 286, 287, 288, 294, 310, 317, 336, 338, 339, 341, 342, 343, 346, 347, 348,
                              349, 350, 357, 374, 404, 405, 438, 443, 448, 359, 360, 25,  101, 110};
  std::set<int> no_call = {425, 426, 427, 428, 429, 430, 431, 432, 433, 435, 437, 440, 442, 447, 452, 457, 458};
  if (kind().ptrace) permission.erase(26);
  if (kind().landlock_tier) {
    no_call.insert(kI386Shared.begin(), kI386Shared.end());
    permission.insert(kI386Attributes.begin(), kI386Attributes.end());
    permission.insert(363);  // listen
  }
  for (int number = 0; number <= 600; ++number) {
    std::uint32_t got = i386(number);
    if (number > 462 || no_call.contains(number)) {
      EXPECT_EQ(got, kNoCall) << number;
    } else if (kind().guard && kI386Making.contains(number)) {
      EXPECT_EQ(got, kBroker) << number;
    } else if (permission.contains(number)) {
      EXPECT_NE(got, kAllow) << number;
    } else {
      EXPECT_EQ(got, kAllow) << number;
    }
  }
}

TEST_P(Filter, X32IsKilled) {
  for (long number = 0; number <= 600; ++number) EXPECT_EQ(native(0x40000000L | number), kKill) << number;
  EXPECT_EQ(native(0x7fffffff), kKill);
}

TEST_P(Filter, OtherArchitecturesAreKilled) {
  for (std::uint32_t arch : {0U, static_cast<unsigned>(AUDIT_ARCH_AARCH64), static_cast<unsigned>(AUDIT_ARCH_ARM),
                             static_cast<unsigned>(AUDIT_ARCH_RISCV64), 0xffffffffU})
    for (long number = 0; number <= 600; ++number) EXPECT_EQ(answer(arch, number), kKill) << arch << " " << number;
}

TEST_P(Filter, HighBitsOfArgumentsHideNothing) {
  for (int bit = 32; bit < 64; ++bit) {
    std::uint64_t high = std::uint64_t{1} << bit;
    for (std::uint64_t request : words(TIOCSTI, 0x541C, TIOCSETD, TIOCCONS)) {
      EXPECT_EQ(native(16, {{0, request}}), kPermission);
      EXPECT_EQ(native(16, {{0, request | high}}), kPermission) << request << " " << bit;
    }
    EXPECT_EQ(native(41, {{38 | high, 5, 0}}), kPermission);
    EXPECT_EQ(native(41, {{2, 1, 262 | high}}), kPermission);
    EXPECT_EQ(native(135, {{0x400000 | high}}), kPermission);
    EXPECT_EQ(native(157, {{PR_SET_MM | high}}), kPermission);
    EXPECT_EQ(native(90, {{0, 04755 | high}}), kPermission);
  }
  EXPECT_EQ(native(16, {{0, TCGETS}}), kAllow);
  EXPECT_EQ(native(16, {{0, FIONREAD}}), kAllow);
}

// A snapshot would show what is hidden.
TEST_P(Filter, NoControlOfTheFileSystem) {
  const std::uint32_t no_such = SECCOMP_RET_ERRNO | ENOTTY;
  for (std::uint64_t high : words(0, 0x100000000, 0x8000000000000000)) {
    for (std::uint64_t request :
         words(0x50009401, 0x5000940e, 0x5000940f, 0x50009417, 0x50009418, 0x5000943f, 0x4008941a,  // btrfs
               0x4020bc10, 0x4020bc11,                                                              // bcachefs
               0xc0506617, 0xc0406618, 0xc0406619)) {                                               // fscrypt
      EXPECT_EQ(native(16, {{3, request | high}}), no_such) << request;
      EXPECT_EQ(i386(54, {{3, request | high}}), no_such) << request;
    }
  }
  for (std::uint64_t request : words(FICLONE, FICLONERANGE, FIDEDUPERANGE, FS_IOC_GETFLAGS, FS_IOC_GETFSLABEL))
    EXPECT_EQ(native(16, {{3, request}}), kAllow) << request;
}

TEST_P(Filter, CloneByFlags) {
  for (std::uint64_t flag :
       words(CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP)) {
    EXPECT_EQ(native(56, {{flag | 17}}), kPermission) << flag;
    EXPECT_EQ(i386(120, {{flag | 17}}), kPermission) << flag;
    EXPECT_EQ(native(56, {{flag | CLONE_VM | CLONE_FILES}}), kPermission) << flag;
  }
  EXPECT_EQ(native(56, {{17}}), kAllow);
  EXPECT_EQ(
      native(56, {{CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS}}),
      kAllow);
}

TEST_P(Filter, SocketFamiliesAndProtocols) {
  for (std::uint64_t family = 0; family <= 300; ++family) {
    bool known = family == 1 || family == 2 || family == 10 || family == 16;
    bool opened = known && (family != 1 || !kind().landlock_tier);
    EXPECT_EQ(native(41, {{family, 1, 0}}), opened ? kAllow : kPermission) << family;
    EXPECT_EQ(native(53, {{family, 1, 0}}), known ? kAllow : kPermission) << family;
    EXPECT_EQ(i386(359, {{family, 1, 0}}), opened ? kAllow : kPermission) << family;
    EXPECT_EQ(i386(360, {{family, 1, 0}}), known ? kAllow : kPermission) << family;
  }
  for (std::uint64_t protocol = 0; protocol <= 300; ++protocol) {
    bool known = protocol == 0 || protocol == 6 || protocol == 17;
    EXPECT_EQ(native(41, {{2, 1, protocol}}), known ? kAllow : kPermission) << protocol;
    EXPECT_EQ(native(41, {{10, 1, protocol}}), known ? kAllow : kPermission) << protocol;
    EXPECT_EQ(native(41, {{16, 3, protocol}}), protocol == 0 ? kAllow : kPermission) << protocol;
    EXPECT_EQ(native(41, {{1, 1, protocol}}), kind().landlock_tier ? kPermission : kAllow) << protocol;
  }
  EXPECT_EQ(i386(102, {{1}}), kPermission);                                  // socketcall(SYS_SOCKET)
  EXPECT_EQ(i386(102, {{8}}), kPermission);                                  // socketcall(SYS_SOCKETPAIR)
  EXPECT_EQ(i386(102, {{3}}), kAllow);                                       // connect
  EXPECT_EQ(i386(102, {{4}}), kind().landlock_tier ? kPermission : kAllow);  // listen
}

// A datagram socket of a pair can be connected to a socket of the host.
TEST_P(Filter, SocketPairs) {
  for (std::uint64_t flags : words(0, 02000000 /* SOCK_CLOEXEC */, 04000 /* SOCK_NONBLOCK */, 1UL << 40)) {
    for (std::uint64_t type : words(SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET)) {
      bool fine = !kind().landlock_tier || type == SOCK_STREAM || type == SOCK_SEQPACKET;
      EXPECT_EQ(native(53, {{1, type | flags, 0}}), fine ? kAllow : kPermission) << type;
      EXPECT_EQ(i386(360, {{1, type | flags, 0}}), fine ? kAllow : kPermission) << type;
    }
  }
}

// The type alone chooses SCTP or DCCP when the protocol is 0.
TEST_P(Filter, SocketTypes) {
  bool datagrams = !kind().landlock_tier || kind().host_network;
  for (std::uint64_t flags : words(0, 02000000 /* SOCK_CLOEXEC */, 04000 /* SOCK_NONBLOCK */, 02004000)) {
    for (std::uint64_t type = 0; type < 16; ++type) {
      bool fine = type <= 1 || (type == 2 && datagrams);
      for (std::uint64_t family : words(2, 10)) {
        EXPECT_EQ(native(41, {{family, type | flags, 0}}), fine ? kAllow : kPermission) << family << " " << type;
        EXPECT_EQ(native(41, {{family, type | flags | 1UL << 40, 0}}), fine ? kAllow : kPermission) << type;
        EXPECT_EQ(i386(359, {{family, type | flags, 0}}), fine ? kAllow : kPermission) << family << " " << type;
      }
    }
  }
  EXPECT_EQ(native(41, {{2, 2, 17}}), datagrams ? kAllow : kPermission);
  EXPECT_EQ(native(41, {{2, 1, 6}}), kAllow);
}

// Without a pid namespace the user's other processes have numbers; pid 0 is the caller.
// The first process inside in every variant, others where no namespace hides them.
TEST_P(Filter, SettingsOfOtherProcesses) {
  std::uint32_t other = kind().landlock_tier ? kPermission : kAllow;
  for (long call : {302L, 203L, 144L, 142L, 314L}) {
    EXPECT_EQ(native(call, {{1}}), kPermission) << call;
    EXPECT_EQ(native(call, {{1 | std::uint64_t{1} << 32}}), kPermission) << call;
    EXPECT_EQ(native(call, {{1234}}), other) << call;
    EXPECT_EQ(native(call, {{0, 7}}), kAllow) << call;
  }
  for (long call : {141L, 251L}) {
    EXPECT_EQ(native(call, {{call == 141 ? 0UL : 1UL, 1}}), kPermission) << call;
    EXPECT_EQ(native(call, {{0, 1234}}), other) << call;
    EXPECT_EQ(native(call, {{call == 141 ? 2UL : 3UL, 0}}), kPermission) << call;
    EXPECT_EQ(native(call, {{call == 141 ? 0UL : 1UL, 0}}), kAllow) << call;
  }
}

TEST_P(Filter, PtraceOnlyWhereItWasGiven) {
  EXPECT_EQ(native(101), kind().ptrace ? kAllow : kPermission);
  for (long call : {310L, 311L, 312L, 438L}) EXPECT_EQ(native(call), kPermission) << call;
}

TEST_P(Filter, SendingDoesNotConnect) {
  constexpr std::uint64_t kFastOpen = 0x20000000;
  for (std::uint64_t flags : {kFastOpen, kFastOpen | 0x4000, kFastOpen | (std::uint64_t{1} << 32)}) {
    EXPECT_EQ(native(44, {{3, 0, 1, flags}}), kPermission);
    EXPECT_EQ(native(46, {{3, 0, flags}}), kPermission);
    EXPECT_EQ(native(307, {{3, 0, 1, flags}}), kPermission);
    EXPECT_EQ(i386(369, {{3, 0, 1, flags}}), kPermission);
    EXPECT_EQ(i386(370, {{3, 0, flags}}), kPermission);
    EXPECT_EQ(i386(345, {{3, 0, 1, flags}}), kPermission);
  }
  EXPECT_EQ(native(44, {{3, 0, 1, 0x4000}}), kAllow);
  EXPECT_EQ(native(46, {{3, 0, 0}}), kAllow);
  for (std::uint64_t call : words(11, 16, 20)) EXPECT_EQ(i386(102, {{call}}), kPermission);
}

TEST_P(Filter, SetIdBitsAndDevices) {
  for (std::uint64_t mode : words(04755, 02755, 06777)) {
    EXPECT_EQ(native(90, {{0, mode}}), kPermission);
    EXPECT_EQ(native(91, {{3, mode}}), kPermission);
    EXPECT_EQ(native(268, {{3, 0, mode}}), kPermission);
    EXPECT_EQ(native(85, {{0, mode}}), kPermission);
    EXPECT_EQ(native(2, {{0, 0101, mode}}), kPermission);
    EXPECT_EQ(native(257, {{3, 0, 0101, mode}}), kPermission);
    EXPECT_EQ(native(257, {{3, 0, 020200002, mode}}), kPermission);
    EXPECT_EQ(native(257, {{3, 0, 02, mode}}), kind().guard ? kBroker : kAllow)
        << "without O_CREAT the mode isn't used";
    EXPECT_EQ(i386(15, {{0, mode}}), kPermission);
    EXPECT_EQ(i386(5, {{0, 0101, mode}}), kPermission);
  }
  EXPECT_EQ(native(90, {{0, 01777}}), kAllow);
  EXPECT_EQ(native(133, {{0, S_IFBLK | 0600}}), kPermission);
  EXPECT_EQ(native(259, {{3, 0, S_IFCHR | 0600}}), kPermission);
  for (std::uint64_t type : words(S_IFIFO, S_IFREG, S_IFSOCK))
    EXPECT_EQ(native(133, {{0, type | 0600}}), kind().guard ? kBroker : kAllow);
}

// Opening goes to the broker by its flags, whatever stands above them, in both of the architecture's tables.
TEST_P(Filter, OpeningForWritingOrMaking) {
  const std::uint32_t to_broker = kind().guard ? kBroker : kAllow;
  for (std::uint64_t high : words(0, 0x100000000, 0x8000000000000000)) {
    for (std::uint64_t flags :
         words(O_WRONLY, O_RDWR, O_RDWR | O_WRONLY, O_CREAT, O_TRUNC, O_WRONLY | O_APPEND, O_TMPFILE | O_RDWR)) {
      EXPECT_EQ(native(2, {{0, flags | high, 0644}}), to_broker) << flags;
      EXPECT_EQ(native(257, {{3, 0, flags | high, 0644}}), to_broker) << flags;
      EXPECT_EQ(i386(5, {{0, flags | high, 0644}}), to_broker) << flags;
      EXPECT_EQ(i386(295, {{3, 0, flags | high, 0644}}), to_broker) << flags;
    }
    for (std::uint64_t flags : words(O_RDONLY, O_DIRECTORY | O_CLOEXEC, O_PATH | O_NOFOLLOW, O_NONBLOCK | O_NOCTTY)) {
      EXPECT_EQ(native(2, {{0, flags | high}}), kAllow) << flags;
      EXPECT_EQ(native(257, {{3, 0, flags | high}}), kAllow) << flags;
      EXPECT_EQ(i386(5, {{0, flags | high}}), kAllow) << flags;
      EXPECT_EQ(i386(295, {{3, 0, flags | high}}), kAllow) << flags;
    }
  }
  EXPECT_EQ(i386(102, {{2}}), kind().guard ? kPermission : kAllow) << "bind, with its address in memory";
}

// The filter and the broker know the same calls.
TEST_P(Filter, WhatGoesToTheBrokerIsKnownThere) {
  for (long number = 0; number <= 600; ++number) {
    const Words writing{{1, 1, 1, 0, 0, 0}};  // O_WRONLY wherever the flags are
    if (native(number, writing) == kBroker) {
      EXPECT_NE(brokered_call(AUDIT_ARCH_X86_64, static_cast<int>(number)), nullptr) << number;
    }
    if (i386(number, writing) == kBroker) {
      EXPECT_NE(brokered_call(AUDIT_ARCH_I386, static_cast<int>(number)), nullptr) << number;
    }
    const bool known = brokered_call(AUDIT_ARCH_X86_64, static_cast<int>(number)) != nullptr;
    EXPECT_EQ(native(number, writing) == kBroker, kind().guard && known) << number;
  }
}

TEST_P(Filter, Personality) {
  for (std::uint64_t value : {0x0UL, 0x8UL, 0xffffffffUL}) EXPECT_EQ(native(135, {{value}}), kAllow) << value;
  for (int bit = 4; bit < 32; ++bit) {
    EXPECT_EQ(native(135, {{std::uint64_t{1} << bit}}), kPermission) << bit;
    EXPECT_EQ(native(135, {{0xffffffffUL & ~(std::uint64_t{1} << bit)}}), kPermission) << bit;
    EXPECT_EQ(i386(136, {{std::uint64_t{1} << bit}}), kPermission) << bit;
  }
}

TEST_P(Filter, IsSmall) {
  EXPECT_LT(kFilters[variant].length, kind().guard ? 335 : 320);  // loading takes 0.11 us an instruction
  EXPECT_EQ(filter_variant(kind()), variant);
}

TEST_P(Filter, EveryGroupSaysWhatItIsFor) {
  std::set<std::string_view> names;
  for (const SyscallGroup& group : syscall_groups(kind())) {
    EXPECT_TRUE(names.insert(group.name).second) << group.name;
    EXPECT_FALSE(group.help.empty()) << group.name;
    EXPECT_FALSE(group.rules.empty()) << group.name;
  }
}

// What the first process may call where it guards a workspace, by number: the whole list.
TEST(BrokerFilter, AllowsWhatItNeedsAndNothingElse) {
  const std::set<int> allowed = {0,   1,   3,   9,   10,  11,  16,  49,  55,  56,  60,  61,  62,  72,  76,
                                 80,  81,  95,  138, 217, 228, 231, 234, 247, 257, 258, 259, 263, 265, 266,
                                 267, 271, 289, 292, 302, 310, 316, 332, 434, 436, 437, 438, 439};
  auto run = [](std::uint32_t arch, long number) {
    seccomp_data data{};
    data.nr = static_cast<int>(number);
    data.arch = arch;
    return must_run_filter(kBrokerFilter.instructions, kBrokerFilter.length, data);
  };
  for (int number = 0; number <= 600; ++number) {
    EXPECT_EQ(run(AUDIT_ARCH_X86_64, number), allowed.contains(number) ? kAllow : kPermission) << number;
    EXPECT_EQ(run(AUDIT_ARCH_I386, number), kPermission) << number;
    EXPECT_EQ(run(AUDIT_ARCH_X86_64, 0x40000000L | number), kKill) << number;
    EXPECT_EQ(run(AUDIT_ARCH_AARCH64, number), kKill) << number;
  }
  EXPECT_LT(kBrokerFilter.length, 120);
}

INSTANTIATE_TEST_SUITE_P(Variants, Filter, testing::Range(0U, kFilterVariants));

}  // namespace
}  // namespace oncelatch::sandbox

#endif
