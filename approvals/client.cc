#include "approvals/client.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "approvals/conversation.h"
#include "approvals/message.h"
#include "base/beneath.h"

namespace oncelatch::approvals {
namespace {

constexpr const char* list_hint = "list what waits: oncelatch approvals list";

struct Running {
  Conversation conversation;
  ListReply list;
};

// nullopt: no session runs there. The name of the directory must be the session's own.
Result<std::optional<Running>> ask_session(int root, const std::string& name) {
  std::optional<Conversation> conversation = TRY(Conversation::open(root, name));
  if (!conversation) return std::optional<Running>();
  const std::string line = TRY(conversation->exchange(list_line()));
  ListReply list = TRY(parse_list_reply(line));
  if (list.session != name)
    return fail("approvals", name, "the session there names itself differently", "end that session");
  return std::optional<Running>(Running{std::move(*conversation), std::move(list)});
}

// The running sessions among `names`.
Result<std::vector<Running>> ask_sessions(int root, const std::vector<std::string>& names) {
  std::vector<Running> running;
  for (const std::string& name : names) {
    std::optional<Running> one = TRY(ask_session(root, name));
    if (one) running.push_back(std::move(*one));
  }
  return running;
}

struct Target {
  std::string session;  // whole id, or its last four characters
  std::string local_id;
  bool whole = false;
};

Result<Target> parse_id(const std::string& id) {
  Target target;
  const std::size_t slash = id.find('/');
  const std::size_t cut = slash != std::string::npos ? slash : id.rfind('-');
  if (cut != std::string::npos) target = Target{id.substr(0, cut), id.substr(cut + 1), slash != std::string::npos};
  if (valid_session_id(target.session) && valid_local_id(target.local_id) &&
      (target.whole || target.session.size() <= 4))
    return target;
  return fail("approvals", escape_again(id.substr(0, 100)), "isn't an id like k3f9-p2 or 20261130-153000-k3f9/p2",
              list_hint);
}

Result<Running> find_session(int root, const Target& target, const std::string& id) {
  std::vector<std::string> names;
  if (target.whole) {
    names.push_back(target.session);
  } else {
    for (std::string& name : TRY(session_names(root)))
      if (short_session(name) == target.session) names.push_back(std::move(name));
  }
  std::vector<Running> running = TRY(ask_sessions(root, names));
  if (running.empty()) return fail("approvals", id, "no running session has this id", list_hint);
  if (running.size() > 1)
    return fail("approvals", id, "several running sessions end with the same four characters",
                fmt::format("use the full form: {}/{}", running.front().list.session, target.local_id));
  return std::move(running.front());
}

Result<std::string> digest_of(const ListReply& list, const Target& target, const std::string& id) {
  for (const Json& card : list.cards)
    if (*json_string(card, "local_id") == target.local_id) return card_digest(card);
  return fail("approvals", id, "nothing with this id is waiting; it may have been answered", list_hint);
}

std::string text(const Json& card, const char* key) {
  const std::string* found = json_string(card, key);
  return found == nullptr ? "-" : escape_again(*found);
}

std::string lines(const Json& card, const char* key, const char* label) {
  std::string all;
  const Json* items = json_array(card, key);
  if (items == nullptr) return all;
  for (const Json& item : *items) {
    if (item.is_string()) all += fmt::format("  {:<9} {}\n", label, escape_again(*item.get_ptr<const std::string*>()));
  }
  return all;
}

}  // namespace

Result<std::vector<Waiting>> list_waiting(const std::string& sessions_root) {
  const Fd root = TRY(open_directory(sessions_root));
  const std::vector<std::string> names = TRY(session_names(root.get()));
  const std::vector<Running> running = TRY(ask_sessions(root.get(), names));
  std::map<std::string, int> sharing;
  for (const Running& one : running) ++sharing[short_session(one.list.session)];
  std::vector<Waiting> waiting;
  for (const Running& one : running) {
    const std::string& session = one.list.session;
    const std::string prefix = sharing[short_session(session)] > 1 ? session + "/" : short_session(session) + "-";
    for (const Json& card : one.list.cards)
      waiting.push_back(Waiting{prefix + *json_string(card, "local_id"), session, card});
  }
  return waiting;
}

Status answer(const std::string& sessions_root, const std::string& id, policy::Verdict verdict) {
  const Target target = TRY(parse_id(id));
  const Fd root = TRY(open_directory(sessions_root));
  Running running = TRY(find_session(root.get(), target, id));
  const std::string digest = TRY(digest_of(running.list, target, id));
  const Request request{Request::Op::answer, target.local_id, verdict, digest};
  const std::string line = TRY(running.conversation.exchange(answer_line(request)));
  return parse_answer_reply(line);
}

std::string describe(const Waiting& waiting) {
  const Json& card = waiting.card;
  const std::string id = escape_again(waiting.id);
  std::string all = fmt::format("{}  {} asks: {}, since {}\n", id, text(card, "agent"), text(card, "capability"),
                                text(card, "since"));
  all += fmt::format("  {:<9} {}\n", "title", text(card, "title"));
  all += fmt::format("  {:<9} {}\n", "subject", text(card, "subject"));
  all += lines(card, "members", "runs");
  all += lines(card, "reasons", "policy");
  all += fmt::format("  {:<9} {}\n", "directory", text(card, "working_directory"));
  all += fmt::format("  {:<9} oncelatch approvals accept {}\n", "accept", id);
  all += fmt::format("  {:<9} oncelatch approvals decline {}\n", "decline", id);
  return all;
}

}  // namespace oncelatch::approvals
