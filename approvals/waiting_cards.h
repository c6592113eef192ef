// The cards that wait, and the replies about them. Each is answered at most once.
//
//   WaitingCards cards;
//   cards.offer(card);
//   std::optional<Answer> answer;
//   std::string reply = cards.answer_reply(request, &answer);   // answer is set when the reply says "queued"
//
// Ownership: owns its text. Threads: a value. Failure: refusals are error lines. Units: bytes. After fork: allocates.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "approvals/broker.h"
#include "approvals/message.h"

namespace oncelatch::approvals {

class WaitingCards {
 public:
  // Replaces a waiting card of the same id; an id that was answered or withdrawn is ignored.
  void offer(const Card& card);
  void withdraw(const std::string& local_id, const std::string& why);
  [[nodiscard]] std::string list_reply(const std::string& session) const;
  [[nodiscard]] std::string answer_reply(const Request& request, std::optional<Answer>* answer);

 private:
  // A card that is too large, or doesn't fit into a reply with the others, is listed as a notice, which can't be
  // answered.
  struct Shown {
    std::string local_id;
    std::string json;  // empty: too large
    std::string digest;
    std::string notice_json;
    std::string notice_digest;
  };
  struct Closed {
    std::string local_id;
    std::string why;
  };

  static Shown shown_card(const Card& card);
  std::vector<Shown>::iterator find(const std::string& local_id);
  [[nodiscard]] const Closed* find_closed(const std::string& local_id) const;
  void close(std::vector<Shown>::iterator card, const std::string& why);

  std::vector<Shown> waiting_;
  std::deque<Closed> closed_;
};

}  // namespace oncelatch::approvals
