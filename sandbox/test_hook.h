// What a test build changes: one layer is left out, so that a test sees whether the self-test finds it and the other
// layer still refuses (tests/sandbox/weaken.cc). In every other build these are constants, and nothing of it is there.
//
//   if (replaced_by_test(context, step, outcome)) continue;
//
// Ownership: borrows the Context. Threads: one. Failure: none. After fork: safe; freestanding.
#pragma once

#include "sandbox/enforce.h"

namespace oncelatch::sandbox {

#ifdef ONCELATCH_TEST_WEAKENED
bool replaced_by_test(Context& context, const Step& step, Outcome& outcome);
std::uint64_t without_namespaces_by_test(const Context& context);  // clone flags to leave out
bool leaves_all_to_kernel_by_test();                               // the broker, whatever it is asked
bool goes_on_by_test(const Context& context);                      // although the self-test found something
#else
constexpr bool replaced_by_test(const Context&, const Step&, const Outcome&) {
  return false;
}
constexpr std::uint64_t without_namespaces_by_test(const Context&) {
  return 0;
}
constexpr bool leaves_all_to_kernel_by_test() {
  return false;
}
constexpr bool goes_on_by_test(const Context&) {
  return false;
}
#endif

}  // namespace oncelatch::sandbox
