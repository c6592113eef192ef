#include "sandbox/broker_calls.h"

#include <asm/unistd.h>
#include <linux/audit.h>

namespace oncelatch::sandbox {

namespace {

struct Row {
  int number;
  BrokeredCall call;
};

constexpr BrokeredCall kOpen{Deed::open, -1, 0, -1, -1, 1, 2};
constexpr BrokeredCall kOpenAt{Deed::open, 0, 1, -1, -1, 2, 3};
constexpr BrokeredCall kCreate{Deed::create, -1, 0, -1, -1, -1, 1};
constexpr BrokeredCall kTruncate{Deed::truncate, -1, 0, -1, -1, -1, 1};
#if defined(__x86_64__)
constexpr BrokeredCall kTruncatePair{Deed::truncate_pair, -1, 0, -1, -1, -1, 1};
#else
constexpr BrokeredCall kTruncatePair{Deed::truncate_pair, -1, 0, -1, -1, -1, 2};  // pairs begin at an even argument
#endif
constexpr BrokeredCall kDirectory{Deed::directory, -1, 0, -1, -1, -1, 1};
constexpr BrokeredCall kDirectoryAt{Deed::directory, 0, 1, -1, -1, -1, 2};
constexpr BrokeredCall kNode{Deed::node, -1, 0, -1, -1, -1, 1};
constexpr BrokeredCall kNodeAt{Deed::node, 0, 1, -1, -1, -1, 2};
constexpr BrokeredCall kSymbolicLink{Deed::symbolic_link, -1, 1, -1, 0, -1, -1};
constexpr BrokeredCall kSymbolicLinkAt{Deed::symbolic_link, 1, 2, -1, 0, -1, -1};
constexpr BrokeredCall kHardLink{Deed::hard_link, -1, 0, -1, 1, -1, -1};
constexpr BrokeredCall kHardLinkAt{Deed::hard_link, 0, 1, 2, 3, 4, -1};
constexpr BrokeredCall kRename{Deed::rename, -1, 0, -1, 1, -1, -1};
constexpr BrokeredCall kRenameAt{Deed::rename, 0, 1, 2, 3, -1, -1};
constexpr BrokeredCall kRenameAt2{Deed::rename, 0, 1, 2, 3, 4, -1};
constexpr BrokeredCall kUmask{Deed::umask, -1, -1, -1, -1, -1, 0};
constexpr BrokeredCall kBind{Deed::bind, 0, 1, -1, -1, -1, 2};

constexpr Row kNative[] = {
#ifdef __NR_open
    {__NR_open, kOpen},
    {__NR_creat, kCreate},
    {__NR_mkdir, kDirectory},
    {__NR_mknod, kNode},
    {__NR_symlink, kSymbolicLink},
    {__NR_link, kHardLink},
    {__NR_rename, kRename},
#endif
#ifdef __NR_renameat
    {__NR_renameat, kRenameAt},
#endif
    {__NR_openat, kOpenAt},
    {__NR_truncate, kTruncate},
    {__NR_mkdirat, kDirectoryAt},
    {__NR_mknodat, kNodeAt},
    {__NR_symlinkat, kSymbolicLinkAt},
    {__NR_linkat, kHardLinkAt},
    {__NR_renameat2, kRenameAt2},
    {__NR_bind, kBind},
    {__NR_umask, kUmask},
};

#if defined(__x86_64__)
constexpr std::uint32_t kNativeArchitecture = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kSecondArchitecture = AUDIT_ARCH_I386;
constexpr Row kSecond[] = {
    {60, kUmask},           {5, kOpen},          {8, kCreate},        {9, kHardLink},   {14, kNode},
    {38, kRename},          {39, kDirectory},    {83, kSymbolicLink}, {92, kTruncate},  {193, kTruncatePair},
    {295, kOpenAt},         {296, kDirectoryAt}, {297, kNodeAt},      {302, kRenameAt}, {303, kHardLinkAt},
    {304, kSymbolicLinkAt}, {353, kRenameAt2},   {361, kBind},
};
#elif defined(__aarch64__)
constexpr std::uint32_t kNativeArchitecture = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kSecondArchitecture = AUDIT_ARCH_ARM;
constexpr Row kSecond[] = {
    {60, kUmask},
    {5, kOpen},
    {8, kCreate},
    {9, kHardLink},
    {14, kNode},
    {38, kRename},
    {39, kDirectory},
    {83, kSymbolicLink},
    {92, kTruncate},
    {193, kTruncatePair},
    {282, kBind},
    {322, kOpenAt},
    {323, kDirectoryAt},
    {324, kNodeAt},
    {329, kRenameAt},
    {330, kHardLinkAt},
    {331, kSymbolicLinkAt},
    {382, kRenameAt2},
};
#endif

template <unsigned Count>
const BrokeredCall* find(const Row (&rows)[Count], int number) {
  for (const Row& row : rows)
    if (row.number == number) return &row.call;
  return nullptr;
}

}  // namespace

const BrokeredCall* brokered_call(std::uint32_t architecture, int number) {
  if (architecture == kNativeArchitecture) return find(kNative, number);
  if (architecture == kSecondArchitecture) return find(kSecond, number);
  return nullptr;
}

}  // namespace oncelatch::sandbox
