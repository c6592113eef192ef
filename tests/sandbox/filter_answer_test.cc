// The answers of `oncelatch why` about system calls: the groups and the loaded program agree on every call there is.
#include "sandbox/filter_answer.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cerrno>

#include "sandbox/filter_machine.h"
#include "sandbox/syscall_groups.h"
#include "sandbox/syscall_names.h"

namespace oncelatch::sandbox {
namespace {

TEST(FilterAnswer, NumbersAreTheKernels) {
  EXPECT_EQ(call_number("ptrace"), static_cast<std::uint32_t>(SYS_ptrace));
  EXPECT_EQ(call_number("openat2"), static_cast<std::uint32_t>(SYS_openat2));
  EXPECT_EQ(call_number("mseal"), kNewestKnownSyscall);
  EXPECT_FALSE(call_number("nonsense"));
  EXPECT_FALSE(call_number(""));
}

TEST(FilterAnswer, GroupsAndProgramAgreeOnEveryCall) {
  unsigned refused = 0;
  for (unsigned index = 0; index < kFilterVariants; ++index)
    for (const char* name : kSyscallNames) {
      if (*name == 0) continue;
      std::optional<CallAnswer> answer = ask_filter(name, filter_variant_of(index));
      ASSERT_TRUE(answer) << name;
      EXPECT_FALSE(answer->contradicts()) << name << " in variant " << index;
      refused += answer->always_refused() ? 1U : 0U;
    }
  EXPECT_GT(refused, 50U * kFilterVariants);
}

TEST(FilterAnswer, VariantsDiffer) {
  std::optional<CallAnswer> without = ask_filter("ptrace", {});
  std::optional<CallAnswer> with = ask_filter("ptrace", {.ptrace = true});
  ASSERT_TRUE(without && with);
  EXPECT_TRUE(without->always_refused());
  EXPECT_EQ(without->plain_error, EPERM);
  EXPECT_TRUE(with->rules.empty());
  EXPECT_EQ(with->plain_error, 0);
}

TEST(FilterMachine, RefusesWhatSeccompDoes) {
  const seccomp_data data{};
  const sock_filter outside[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(seccomp_data)),
                                 BPF_STMT(BPF_RET | BPF_K, 0)};
  EXPECT_FALSE(run_filter(outside, 2, data));
  const sock_filter unaligned[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), BPF_STMT(BPF_RET | BPF_K, 0)};
  EXPECT_FALSE(run_filter(unaligned, 2, data));
  const sock_filter far[] = {BPF_JUMP(BPF_JMP | BPF_JA, 9, 0, 0), BPF_STMT(BPF_RET | BPF_K, 0)};
  EXPECT_FALSE(run_filter(far, 2, data));
  const sock_filter endless[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};
  EXPECT_FALSE(run_filter(endless, 1, data));
  const sock_filter fine[] = {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 1, 0), BPF_STMT(BPF_RET | BPF_K, 7),
                              BPF_STMT(BPF_RET | BPF_K, 8)};
  EXPECT_EQ(run_filter(fine, 3, data), 7U);
}

}  // namespace
}  // namespace oncelatch::sandbox
