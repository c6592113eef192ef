// The workspace guard's broker: makes, opens for writing and renames on behalf of the processes inside, where the
// kernel lets them do neither, and refuses names that the host would follow or run later. It is the first process
// inside: the same root, mounts and user, a Landlock domain that still has the rights, and no way to outlive it.
//
//   Broker broker;
//   if (Outcome outcome = broker.prepare(plan); outcome.error != 0) …   // while the plan is there
//   if (Outcome outcome = broker.listen(listener); outcome.error != 0) …
//   broker.work();   // in a thread of its own, until nobody can call any more
//
// Ownership: the listener. Threads: one, with umask and working directory shared by nobody who uses them. Failure:
// Outcome of listen(); each call gets its own errno. After fork: safe; freestanding. Source: seccomp_unotify(2).
#pragma once

#include <linux/seccomp.h>

#include "sandbox/broker_calls.h"
#include "sandbox/broker_place.h"
#include "sandbox/guard_rules.h"
#include "sandbox/hard_links.h"
#include "sandbox/held_wire.h"
#include "sandbox/new_worktree.h"

namespace oncelatch::sandbox {

// All-zero defaults: it stands in .bss and costs only the pages that are used.
class Broker {
 public:
  // Takes over which trees it works in.
  Outcome prepare(const WirePlan& plan);
  Outcome listen(int listener);
  void move_to(int listener) { listener_ = listener; }
  // Where held names are asked about (sandbox/held_wire.h), or only told of where all of them are refused.
  void tell_to(int channel) { channel_ = channel; }
  // Answers calls as they come.
  void work();

 private:
  // What the caller gets: a result, or one of the others.
  struct Answer {
    enum class Kind : std::uint8_t { result, descriptor, kernel, later } kind = Kind::result;
    long result = 0;     // 0 or -errno; of a descriptor: its number here, closed after it was handed over
    unsigned flags = 0;  // of the new descriptor: O_CLOEXEC
    static Answer error(long negative) { return {Kind::result, negative, 0}; }
    static Answer by_kernel() { return {Kind::kernel, 0, 0}; }
    static Answer later() { return {Kind::later, 0, 0}; }
  };
  // Of a call whose name isn't allowed now.
  static Answer refusal(Ruling ruling) { return ruling == Ruling::held ? Answer::later() : Answer::error(-EACCES); }
  static constexpr long kLookPause = 2;    // milliseconds between two looks at pipes,
  static constexpr long kHeldPause = 50;   // at who waits for an answer
  static constexpr long kRoomPause = 100;  // at most, for room in the channel
  static constexpr long kComeBack = 1000;  // for a call that a signal interrupted, to be made again
  struct Request;
  struct Opening;
  struct TwoNames;
  // A call that waits for an answer about a held name, and what was allowed of it already: a rename can have two.
  struct Question {
    // ended: nobody waits any more, and the channel had no room to say so.
    enum class State : std::uint8_t { free, open, allowed, refused, ended } state = State::free;
    HeldHeader last = {};  // what is to be told of an ended one
    HeldUse use = HeldUse::create;
    bool waits = false;  // the call is there; else a signal interrupted it
    std::uint32_t ticket = 0;
    unsigned granted = 0;  // of the names
    long interrupted = 0;
    seccomp_notif call = {};
    char names[2][kMostPathBytes] = {};
  };
  struct WaitingOpen {
    std::uint64_t id = 0;
    int thread = 0;
    int pipe = 0;  // O_PATH
    unsigned flags = 0;
  };

  // One call that waits. False: nobody can call any more.
  bool serve();
  [[nodiscard]] bool is_waiting() const { return waiting_ != 0 || questions_open_ != 0; }
  // What waits is looked at until somebody calls.
  void wait_for_call();
  // Opens that wait for the other end of a pipe.
  void look_again();
  // Held names: asked about, told of, answered (sandbox/broker_held.cc).
  Ruling settle(const Request& request, Ruling ruling, HeldUse use, const char* name);
  Ruling settle_both(const Request& request, const TwoNames& names);
  bool ask(const Request& request, HeldUse use, const char* name);
  Question* question_for(const Request& request, HeldUse use, const char* name);
  void take_answers();
  void look_at_questions();
  void look_at(Question& question, long now);
  void go_on(Question& question);
  static HeldHeader end_of(const Question& question, HeldKind kind, long error);
  void end(Question& question, HeldKind kind, long error);
  void say_end(Question& question);
  bool tell(const HeldHeader& header, const char* path);
  [[nodiscard]] bool wait_for_room() const;
  void take_umask(const Request& request);
  Answer act(const Request& request);
  Answer open(const Request& request, unsigned flags, unsigned mode);
  bool open_step(Opening& opening, Answer& answer);
  bool open_new(Opening& opening, Answer& answer);
  bool open_for_worktree(const Opening& opening, bool is_new, Answer& answer);
  bool open_existing(Opening& opening, Answer& answer);
  Answer open_object(Opening& opening, const Descriptor& object, const FileStatus& found);
  Answer open_file(Opening& opening, const Descriptor& object, const FileStatus& found);
  Answer open_pipe(const Request& request, const Descriptor& object, unsigned flags);
  Answer open_temporary(const Request& request, const char* path, unsigned flags, unsigned mode);
  Answer truncate(const Request& request, std::int64_t length);
  Answer make(const Request& request, Making making);
  Answer make_hard_link(const Request& request);
  Answer rename(const Request& request);
  Answer bind(const Request& request);
  void reply(std::uint64_t id, const Answer& answer);
  [[nodiscard]] bool has_callers() const;
  [[nodiscard]] bool is_valid(std::uint64_t id) const;
  [[nodiscard]] bool is_steady(const Descriptor& base, const char* path) const;

  static constexpr unsigned kMostWaiting = 32;
  GuardRules rules_;
  HardLinks links_;
  NewWorktrees new_worktrees_;
  Callers callers_;
  int listener_ = 0;
  int channel_ = -1;
  bool asks_ = false;
  bool adds_no_worktree_ = false;
  unsigned questions_open_ = 0;
  std::uint32_t last_ticket_ = 0;
  std::uint32_t refused_ = 0;  // names, without being asked
  long looked_ = 0;            // at the questions
  WaitingOpen waiting_opens_[kMostWaiting];
  unsigned waiting_ = 0;
  long umask_ = 0;  // ours now, once it is known
  bool umask_known_ = false;
  Question questions_[kMostQuestions];  // most of all this, and seldom touched
};

}  // namespace oncelatch::sandbox
