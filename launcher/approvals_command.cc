#include <fmt/core.h>

#include "approvals/client.h"
#include "launcher/commands.h"
#include "launcher/errors.h"
#include "launcher/session_directory.h"

namespace oncelatch::launcher {

int approvals_list(bool json, const std::vector<std::string>& environment) {
  Result<SessionRoot> root = SessionRoot::open(environment);
  if (!root) return report_error(root.error());
  Result<std::vector<approvals::Waiting>> waiting = approvals::list_waiting(root->path());
  if (!waiting) return report_error(waiting.error());
  if (json) {
    Json all = Json::array();
    for (const approvals::Waiting& one : *waiting)
      all.push_back({{"id", one.id}, {"session", one.session}, {"card", one.card}});
    fmt::print("{}\n", dump_json(all));
    return 0;
  }
  if (waiting->empty()) fmt::print("nothing waits\n");
  for (const approvals::Waiting& one : *waiting) fmt::print("{}\n", approvals::describe(one));
  return 0;
}

int approvals_answer(const std::string& id, bool accept, const std::vector<std::string>& environment) {
  Result<SessionRoot> root = SessionRoot::open(environment);
  if (!root) return report_error(root.error());
  Status answered = approvals::answer(root->path(), id, accept ? policy::Verdict::accept : policy::Verdict::decline);
  if (!answered) return report_error(answered.error());
  fmt::print("{}: {}, one time; the agent's own prompt is being answered\n", id, accept ? "accepted" : "declined");
  return 0;
}

}  // namespace oncelatch::launcher
