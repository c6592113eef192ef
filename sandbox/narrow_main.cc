// oncelatch-narrow RULE... -- PROGRAM ARGUMENT...: becomes PROGRAM with little more than the rules give. A rule is
// WORD=PATH (sandbox/narrow_apply.cc has the words). Whatever fails: one line on standard error and exit code 125.
#include <cstring>

#include "sandbox/enforce.h"
#include "sandbox/narrow_apply.h"
#include "sandbox/small_text.h"

namespace oncelatch::sandbox {

namespace {

constexpr unsigned kMostGrants = 64;

[[noreturn]] void refuse(const char* stage, const char* object, int error) {
  SmallText line;
  line.text("oncelatch-narrow: ").text(stage).text(": ").text(object).text(": error ");
  line.number(static_cast<unsigned>(error)).text("\n");
  (void)sys::call(__NR_write, 2, line.c_str(), std::strlen(line.c_str()));
  sys::exit(kExitFault);
}

// "read=/usr/lib" becomes "read" and "/usr/lib".
NarrowGrant parse(char* rule) {
  char* equal = std::strchr(rule, '=');
  if (equal == nullptr || equal[1] != '/') refuse("rule", rule, EINVAL);
  *equal = 0;
  if (find_narrow_word(rule) == nullptr) refuse("rule", rule, EINVAL);
  return {rule, equal + 1};
}

// Every set empty where that is this process's to do; without CAP_SETPCAP the bounding set stays, and no-new-privileges
// keeps what it would offer out of reach.
void drop_all_capabilities() {
  static Context unused;
  Outcome outcome = limit_capabilities_on_host(unused);
  if (outcome.error == 0) outcome = drop_capabilities(unused);
  if (outcome.error != 0) refuse("capabilities", outcome.object, outcome.error);
}

}  // namespace

[[noreturn]] void become(int count, char** words, char** environment) {
  static NarrowGrant grants[kMostGrants];
  unsigned used = 0;
  int at = 1;
  for (; at < count && std::strcmp(words[at], "--") != 0; ++at) {
    if (used == kMostGrants) refuse("rules", "too many", E2BIG);
    grants[used++] = parse(words[at]);
  }
  if (at + 1 >= count || words[at + 1][0] != '/') refuse("program", "no absolute path after --", EINVAL);
  char** program = words + at + 1;
  drop_all_capabilities();
  NarrowFault fault = apply_narrowing({grants, used, NarrowFor::program});
  if (fault.error != 0) refuse(fault.stage, fault.object, fault.error);
  long rc = sys::call(__NR_execve, program[0], program, environment);
  refuse("program", program[0], static_cast<int>(-rc));
}

}  // namespace oncelatch::sandbox

int main(int count, char** words, char** environment) {
  oncelatch::sandbox::become(count, words, environment);
}
