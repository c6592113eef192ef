// Held names: the call waits in the kernel while somebody outside decides, and everything else goes on. An answer is
// about one name in one call: once it is there, the place is found and judged again from the start.
#include <asm/poll.h>
#include <linux/time_types.h>

#include "sandbox/broker_request.h"
#include "sandbox/limit_watch.h"

namespace oncelatch::sandbox {

namespace {

constexpr long kRestart = 512;  // ERESTARTSYS
constexpr int kMostAnswers = 2 * kMostQuestions;

}  // namespace

// held: the call waits.
Ruling Broker::settle(const Request& request, Ruling ruling, HeldUse use, const char* name) {
  if (ruling != Ruling::held) return ruling;
  const Question* asked = request.question;
  for (unsigned i = 0; asked != nullptr && i < asked->granted; ++i)
    if (std::strcmp(asked->names[i], name) == 0) return Ruling::allowed;
  if (asks_) return ask(request, use, name) ? Ruling::held : Ruling::refused;
  ++refused_;
  HeldHeader header;
  header.kind = HeldKind::refused;
  header.use = use;
  header.caller = request.caller.thread();
  if (!tell(header, name) && wait_for_room()) (void)tell(header, name);
  return Ruling::refused;
}

Ruling Broker::settle_both(const Request& request, const TwoNames& names) {
  if (!names.is_held()) return names.ruling();
  const Ruling first = settle(request, names.first_ruling, names.use, names.first);
  return first == Ruling::allowed ? settle(request, names.second_ruling, names.use, names.second) : first;
}

// False: refused. One name in most calls, in a rename or a link two; a place that became another isn't asked about.
bool Broker::ask(const Request& request, HeldUse use, const char* name) {
  const std::size_t size = std::strlen(name);
  if (size > kMostPath) return false;
  const bool has_two = request.call->deed == Deed::rename || request.call->deed == Deed::hard_link;
  if (request.question != nullptr && (!has_two || request.question->granted == 2)) return false;
  Question* question = question_for(request, use, name);
  if (question == nullptr) return false;
  if (request.question != nullptr && !tell(end_of(*question, HeldKind::done, 0), "")) return false;
  question->call = request.notification;
  question->waits = true;
  if (question->state != Question::State::free && request.question == nullptr) return true;  // it came again
  question->state = Question::State::open;
  question->use = use;
  question->ticket = ++last_ticket_;
  std::memcpy(question->names[question->granted], name, size + 1);
  HeldHeader header;
  header.use = use;
  header.ticket = question->ticket;
  header.caller = request.caller.thread();
  if (tell(header, name)) return true;
  if (request.question != nullptr) {
    question->state = Question::State::allowed;  // its first name was
    return false;
  }
  question->state = Question::State::free;
  --questions_open_;
  return false;
}

// Its own, that of the same call before a signal interrupted it, or a new one.
Broker::Question* Broker::question_for(const Request& request, HeldUse use, const char* name) {
  if (request.question != nullptr) return request.question;
  Question* unused = nullptr;
  for (Question& one : questions_) {
    if (one.state == Question::State::free) unused = unused == nullptr ? &one : unused;
    if (one.state == Question::State::free || one.state == Question::State::ended) continue;
    const bool same = !one.waits && one.call.pid == request.notification.pid &&
                      one.call.data.nr == request.notification.data.nr && one.use == use &&
                      std::strcmp(one.names[one.granted], name) == 0;
    if (same) return &one;
  }
  if (unused == nullptr) return nullptr;
  ++questions_open_;
  unused->granted = 0;
  return unused;
}

bool Broker::tell(const HeldHeader& header, const char* path) {
  const std::size_t size = std::strlen(path);
  if (channel_ < 0 || size > kMostPath) return false;
  unsigned char bytes[kMostHeldBytes];
  HeldHeader whole = header;
  whole.magic = kHeldMagic;
  whole.refused = refused_;
  whole.path_size = static_cast<std::uint16_t>(size);
  std::memcpy(bytes, &whole, sizeof whole);
  std::memcpy(bytes + sizeof whole, path, size);
  const auto total = static_cast<long>(sizeof whole + size);
  return sys::call(__NR_write, channel_, bytes, total) == total;  // never blocks
}

// Who reads the channel may be busy: the count of what was refused is to be right in the end.
bool Broker::wait_for_room() const {
  pollfd channel{channel_, POLLOUT, 0};
  __kernel_timespec most{0, kRoomPause * 1000000};
  return channel_ >= 0 && sys::call(__NR_ppoll, &channel, 1, &most, nullptr, 0) == 1;
}

void Broker::take_answers() {
  for (int i = 0; i < kMostAnswers; ++i) {
    unsigned char bytes[sizeof(HeldAnswer) + 1];
    const long got = sys::call(__NR_read, channel_, bytes, sizeof bytes);
    if (got == -EAGAIN || got == -EINTR) return;
    if (got <= 0) {  // nobody is there any more
      channel_ = -1;
      for (Question& one : questions_)
        if (one.state == Question::State::open) one.state = Question::State::refused;
      looked_ = 0;
      return;
    }
    HeldAnswer answer;
    if (!read_held_answer(bytes, static_cast<std::size_t>(got), answer)) continue;
    for (Question& one : questions_)
      if (one.state == Question::State::open && one.ticket == answer.ticket)
        one.state = answer.verdict == HeldVerdict::allowed ? Question::State::allowed : Question::State::refused;
    looked_ = 0;
  }
}

// Not at each call, so that those that ask nothing stay fast.
void Broker::look_at_questions() {
  if (questions_open_ == 0) return;
  const long now = milliseconds_now();
  if (looked_ != 0 && now - looked_ < kHeldPause) return;
  looked_ = now;
  for (Question& one : questions_)
    if (one.state != Question::State::free) look_at(one, now);
}

void Broker::look_at(Question& question, long now) {
  if (question.state == Question::State::ended) return say_end(question);
  if (!question.waits) {
    if (now - question.interrupted > kComeBack) end(question, HeldKind::withdrawn, 0);
    return;
  }
  if (!is_valid(question.call.id)) return end(question, HeldKind::withdrawn, 0);
  if (question.state != Question::State::open) return go_on(question);
  if (!callers_.find(static_cast<int>(question.call.pid)).has_signal()) return;
  // It runs its handler; where that says so, the kernel makes the call again.
  reply(question.call.id, Answer::error(-kRestart));
  question.waits = false;
  question.interrupted = now;
}

// Time has passed: what the caller means now is found again, and what the rules say of it.
void Broker::go_on(Question& question) {
  Answer answer = Answer::error(-EACCES);
  const seccomp_notif call = question.call;
  if (question.state == Question::State::allowed) {
    ++question.granted;
    const Request request{call.id,
                          callers_.find(static_cast<int>(call.pid)),
                          brokered_call(call.data.arch, call.data.nr),
                          call.data.args,
                          call,
                          &question};
    answer = act(request);
    if (question.state == Question::State::open) return;  // asked about a second name
  }
  const long error = answer.kind == Answer::Kind::result && answer.result < 0 ? -answer.result : 0;
  end(question, HeldKind::done, error);  // before the caller goes on, and may be the last to end
  if (answer.kind != Answer::Kind::later) reply(call.id, answer);
}

HeldHeader Broker::end_of(const Question& question, HeldKind kind, long error) {
  HeldHeader header;
  header.kind = kind;
  header.ticket = question.ticket;
  header.use = question.use;
  header.error = static_cast<std::int32_t>(error);
  return header;
}

void Broker::end(Question& question, HeldKind kind, long error) {
  question.last = end_of(question, kind, error);
  question.state = Question::State::ended;
  say_end(question);
}

// Until it is said the question counts: who reads the channel may be busy, and isn't to keep it open for ever.
void Broker::say_end(Question& question) {
  if (channel_ >= 0 && !tell(question.last, "")) return;
  question.state = Question::State::free;
  --questions_open_;
}

}  // namespace oncelatch::sandbox
