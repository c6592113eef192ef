// What a recorded request is about: capability and subject for the policy, call text for the screen.
//
// A subject is whole only where the record itself proves it; anything shortened, of several lines in a V2 title, or
// told differently in two places is not. Ownership: writes into the caller's request. Threads: pure. Failure:
// capability unknown, subject not whole. Source: contracts/kiro-tui.md 2.4.
#pragma once

#include "base/json.h"
#include "elicitation/call_text.h"
#include "policy/request.h"

namespace oncelatch::elicitation {

// The title stands in `request` already.
[[nodiscard]] CallText read_subject(const Json& params, const Json& tool_call, policy::PermissionRequest* request);

}  // namespace oncelatch::elicitation
