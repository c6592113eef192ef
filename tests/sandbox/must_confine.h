// Skips a test where this machine can't confine; with ONCELATCH_MUST_CONFINE=1 (CI) that is a failure instead.
//
//   TEST(X, Y) { REQUIRE_CONFINEMENT(); ... }
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "sandbox/host_facts.h"

namespace oncelatch::sandbox {

inline bool must_confine() {
  const char* value = std::getenv("ONCELATCH_MUST_CONFINE");
  return value != nullptr && std::string(value) == "1";
}

// Empty where the full tier can be had.
inline const std::string& confinement_missing() {
  static const std::string missing = probe_host().missing();
  return missing;
}

}  // namespace oncelatch::sandbox

#define SKIP_OR_FAIL(why)                                      \
  do {                                                         \
    if (::oncelatch::sandbox::must_confine()) FAIL() << (why); \
    GTEST_SKIP() << (why);                                     \
  } while (false)

#define REQUIRE_CONFINEMENT()                                    \
  do {                                                           \
    if (!::oncelatch::sandbox::confinement_missing().empty())    \
      SKIP_OR_FAIL(::oncelatch::sandbox::confinement_missing()); \
  } while (false)
