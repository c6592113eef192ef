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

namespace oncelatch::sandbox {

// All-zero defaults: it stands in .bss and costs only the pages that are used.
class Broker {
 public:
  // Takes over which trees it works in.
  Outcome prepare(const WirePlan& plan);
  Outcome listen(int listener);
  void move_to(int listener) { listener_ = listener; }
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
  };
  static constexpr long kLookPause = 2;  // milliseconds
  struct Request;
  struct Opening;
  struct WaitingOpen {
    std::uint64_t id = 0;
    int thread = 0;
    int pipe = 0;  // O_PATH
    unsigned flags = 0;
  };

  // One call that waits. False: nobody can call any more.
  bool serve();
  // Opens that wait for the other end of a pipe.
  void look_again();
  void take_umask(const Request& request);
  Answer act(const Request& request);
  Answer open(const Request& request, unsigned flags, unsigned mode);
  bool open_step(Opening& opening, Answer& answer);
  bool open_new(Opening& opening, Answer& answer);
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
  Callers callers_;
  int listener_ = 0;
  WaitingOpen waiting_opens_[kMostWaiting];
  unsigned waiting_ = 0;
  long umask_ = 0;  // ours now, once it is known
  bool umask_known_ = false;
};

}  // namespace oncelatch::sandbox
