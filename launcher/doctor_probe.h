// The doctor's own sandbox: a real one, of a scratch workspace, that does nothing but its self-test.
//
//   DoctorProbe probe = run_doctor_probe(facts);
//   if (!probe.error.empty()) …                 // it couldn't be made, or something that must fail succeeded
//
// Ownership: a value; what was started has ended, what was made is removed. Threads: one. Failure: in the value. After
// fork: no.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/enter.h"
#include "sandbox/host_facts.h"
#include "sandbox/identity.h"

namespace oncelatch::launcher {

struct DoctorProbe {
  std::string error;  // empty: it was made, and every attempt failed as it must
  std::string try_next;
  sandbox::Identity identity;
  std::string limits;  // what counts memory and processes
  std::vector<sandbox::SelfTestResult> self_test;
};

[[nodiscard]] DoctorProbe run_doctor_probe(const sandbox::HostFacts& facts);

// What the failure of one attempt of the self-test shows: "mount namespace or landlock"; empty: not known.
[[nodiscard]] std::string_view proved_by(std::string_view probe, sandbox::Tier tier);

}  // namespace oncelatch::launcher
