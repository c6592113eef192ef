// The loader of policy files: nothing crashes, an error names a place, and a file that loads never allows by default.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "policy/rules.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oncelatch;
  using namespace oncelatch::policy;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Rules> rules = Rules::parse(text, "policy.yaml");
  if (!rules) {
    require(!rules.error().what.empty() && rules.error().object.rfind("policy.yaml", 0) == 0);
    return 0;
  }
  require(rules->text() == text && rules->default_effect() != Effect::allow);
  for (const Rule& rule : rules->all()) require(!rule.id.empty() && !rule.match.empty() && !rule.capabilities.empty());
  PermissionRequest request;
  request.subject = Untrusted("ls -l; git push 'a b'");
  request.capability = Capability::shell;
  require(decide(*rules, request, Facts{"/work", "/work"}).effect != Effect::allow);  // the subject isn't whole
  return 0;
}
