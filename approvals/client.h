// The other end of the broker's socket: list what waits in every running session of this user, answer one.
//
//   for (const Waiting& one : TRY(list_waiting(sessions_root))) fmt::print("{}\n", one.id);
//   TRY(answer(sessions_root, "k3f9-p2", policy::Verdict::accept));
//
// Ownership: opens and closes its own connections. Threads: any. Failure: unknown id, several sessions, a broker that
// doesn't answer within 5 s: an Error with what to do. Everything printed from a card was escaped by the broker and is
// escaped again.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "policy/recorder.h"

namespace oncelatch::approvals {

struct Waiting {
  std::string id;       // "<session short id>-<local id>"
  std::string session;  // session id
  Json card;            // as the broker sent it, bounded and checked
};

// `sessions_root` is the directory that holds one 0700 directory a session, each with "approvals.sock".
[[nodiscard]] Result<std::vector<Waiting>> list_waiting(const std::string& sessions_root);
// Fetches the card, answers with the digest of exactly what was fetched.
[[nodiscard]] Status answer(const std::string& sessions_root, const std::string& id, policy::Verdict verdict);
// Several lines for a person: title, whole subject, members, reasons, working directory, id and the two commands.
[[nodiscard]] std::string describe(const Waiting& waiting);

}  // namespace oncelatch::approvals
