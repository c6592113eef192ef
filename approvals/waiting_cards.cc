#include "approvals/waiting_cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace oncelatch::approvals {
namespace {

constexpr std::size_t most_closed = 256;  // answered or withdrawn ids that are remembered

Card notice_of(const Card& card, std::size_t bytes) {
  Card notice;
  notice.local_id = card.local_id;
  notice.agent = card.agent.substr(0, 64);
  notice.capability = card.capability;
  notice.since = card.since;
  notice.title = fmt::format("(too large to show whole here: {} bytes; answer it in the terminal)", bytes);
  return notice;
}

}  // namespace

WaitingCards::Shown WaitingCards::shown_card(const Card& card) {
  Shown shown{card.local_id, dump_json(card.json()), card.digest(), {}, {}};
  const Card notice = notice_of(card, shown.json.size());
  shown.notice_json = dump_json(notice.json());
  shown.notice_digest = notice.digest();
  if (shown.json.size() <= longest_card) return shown;
  shown.json.clear();
  shown.digest.clear();
  return shown;
}

std::vector<WaitingCards::Shown>::iterator WaitingCards::find(const std::string& local_id) {
  return std::find_if(waiting_.begin(), waiting_.end(), [&](const Shown& one) { return one.local_id == local_id; });
}

const WaitingCards::Closed* WaitingCards::find_closed(const std::string& local_id) const {
  const auto found =
      std::find_if(closed_.rbegin(), closed_.rend(), [&](const Closed& one) { return one.local_id == local_id; });
  return found == closed_.rend() ? nullptr : &*found;
}

void WaitingCards::close(std::vector<Shown>::iterator card, const std::string& why) {
  closed_.push_back(Closed{card->local_id, why});
  if (closed_.size() > most_closed) closed_.pop_front();
  waiting_.erase(card);
}

void WaitingCards::offer(const Card& card) {
  if (find_closed(card.local_id) != nullptr) return;
  Shown shown = shown_card(card);
  const auto before = find(card.local_id);
  if (before != waiting_.end())
    *before = std::move(shown);
  else
    waiting_.push_back(std::move(shown));
}

void WaitingCards::withdraw(const std::string& local_id, const std::string& why) {
  const auto card = find(local_id);
  if (card != waiting_.end()) close(card, why);
}

std::string WaitingCards::list_reply(const std::string& session) const {
  std::string cards;
  for (const Shown& one : waiting_) {
    const bool whole = !one.json.empty() && cards.size() + one.json.size() < longest_reply / 4 * 3;
    const std::string& json = whole ? one.json : one.notice_json;
    if (cards.size() + json.size() > longest_reply - 256) break;
    if (!cards.empty()) cards += ',';
    cards += json;
  }
  return fmt::format("{{\"ok\":true,\"session\":\"{}\",\"waiting\":[{}]}}\n", session, cards);
}

std::string WaitingCards::answer_reply(const Request& request, std::optional<Answer>* answer) {
  const auto card = find(request.local_id);
  if (card == waiting_.end()) {
    const Closed* before = find_closed(request.local_id);
    return error_line(fmt::format("{} isn't waiting{}", request.local_id, before == nullptr ? "" : ": " + before->why),
                      "list what waits: oncelatch approvals list");
  }
  if (card->notice_digest == request.shown_sha256)
    return error_line("the request was too large to be shown whole here", "answer it in the terminal");
  if (card->digest != request.shown_sha256)
    return error_line("the request changed since it was shown", "look at it again: oncelatch approvals list");
  *answer = Answer{request.local_id, request.verdict, request.shown_sha256};
  close(card, "it was answered already");
  return queued_line();
}

}  // namespace oncelatch::approvals
