// Descriptors: what the launcher sends, the status pipe, and nothing that was not handed over.
#include <asm/ioctls.h>
#include <linux/close_range.h>
#include <linux/fcntl.h>
#include <sys/socket.h>

#include <cstring>

#include "sandbox/enforce.h"

namespace oncelatch::sandbox {

namespace {
constexpr long kProtRead = 1;
constexpr long kMapShared = 1;
constexpr long kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

// One message of the plan's socket; 0: the launcher is gone.
long receive(iovec bytes, void* control, std::size_t control_size, msghdr& message) {
  message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = control_size;
  long got = 0;
  do {
    got = sys::call(__NR_recvmsg, kPlanDescriptor, &message, MSG_CMSG_CLOEXEC);
  } while (got == -EINTR);
  message.msg_iov = nullptr;
  return got;
}

// Descriptors of the next message, at most `most`: how many there were, or -errno.
long receive_descriptors(int* into, unsigned most) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMostInMessage * sizeof(int))];
  char word = 0;
  msghdr message;
  const long got = receive({&word, 1}, control, sizeof control, message);
  if (got <= 0) return got < 0 ? got : -EPIPE;
  if ((message.msg_flags & MSG_CTRUNC) != 0) return -EMFILE;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (word != kDescriptorsWord || (message.msg_flags & MSG_TRUNC) != 0 || header == nullptr ||
      header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
    return -EBADMSG;
  const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  if (count == 0 || count > most) return -EBADMSG;
  std::memcpy(into, CMSG_DATA(header), count * sizeof(int));
  return static_cast<long>(count);
}

Outcome map_plan(Context& context, int descriptor) {
  long seals = sys::call(__NR_fcntl, descriptor, F_GET_SEALS);
  if (seals < 0) return failed(seals, "F_GET_SEALS");
  if ((seals & kSeals) != kSeals) return failed(-EPERM, "the plan is not sealed");
  long size = sys::call(__NR_lseek, descriptor, 0, 2);
  if (size <= 0 || size > kMostPlanBytes) return failed(-EMSGSIZE, "size of the plan");
  long mapped = sys::call(__NR_mmap, nullptr, size, kProtRead, kMapShared, descriptor, 0);
  if (mapped < 0 && mapped > -4096) return failed(mapped, "mmap");
  context.message = reinterpret_cast<const unsigned char*>(mapped);
  context.message_size = static_cast<std::size_t>(size);
  if (!read_plan(context.message, context.message_size, *context.plan)) return failed(-EBADMSG, "format");
  return {};
}

}  // namespace

void set_text(StatusRecord& record, const char* text) {
  unsigned i = 0;
  for (; text[i] != 0 && i + 1 < sizeof record.text; ++i) record.text[i] = text[i];
  for (; i < sizeof record.text; ++i) record.text[i] = 0;
}

void report(StatusRecord::Kind kind, Stage stage, const Outcome& outcome) {
  StatusRecord record;
  record.kind = kind;
  record.stage = stage;
  record.error = outcome.error;
  set_text(record, outcome.object);
  (void)sys::call(__NR_write, kStatusDescriptor, &record, sizeof record);
}

void give_up(Stage stage, const Outcome& outcome) {
  report(StatusRecord::failed, stage, outcome);
  sys::exit(kExitFault);
}

int terminal_descriptor() {
  unsigned char settings[64];
  for (int fd = 0; fd < 3; ++fd)
    if (sys::call(__NR_ioctl, fd, TCGETS, settings) >= 0) return fd;
  return -1;
}

// Everything from 3 on is for this program alone; the program inside gets 0, 1 and 2.
Outcome close_unknown_descriptors(Context&) {
  if (long rc = sys::call(__NR_close_range, kFirstUnknown, ~0U, 0); rc < 0) return failed(rc, "close_range");
  long rc = sys::call(__NR_close_range, 3L, ~0U, CLOSE_RANGE_CLOEXEC);
  if (rc < 0) return failed(rc, "close_range");
  return {};
}

Outcome receive_beginning(Context& context) {
  unsigned char bytes[sizeof(Beginning) + 1];
  msghdr message;
  const long got = receive({bytes, sizeof bytes}, nullptr, 0, message);
  if (got < 0) return failed(got, "recvmsg");
  if (!read_beginning(bytes, static_cast<std::size_t>(got), *context.plan)) return failed(-EBADMSG, "beginning");
  return {};
}

// Where the launcher hasn't written it yet, this waits.
Outcome receive_plan(Context& context) {
  int first[kMostInMessage];
  long count = receive_descriptors(first, kMostInMessage);
  if (count < 0) return failed(count, "descriptors");
  if (count < 2) return failed(-EBADMSG, "descriptors");
  if (Outcome outcome = map_plan(context, first[0]); outcome.error != 0) return outcome;
  sys::close(first[0]);
  context.program = first[1];
  const std::uint32_t expected = context.plan->sources;
  auto held = static_cast<std::uint32_t>(count - 2);
  if (held > expected) return failed(-EBADMSG, "descriptors");
  std::memcpy(context.sources, first + 2, held * sizeof(int));
  for (; held < expected; held += static_cast<std::uint32_t>(count)) {
    count = receive_descriptors(context.sources + held, expected - held);
    if (count < 0) return failed(count, "descriptors");
  }
  return {};
}

// The message holds the environment, so credentials: this process keeps no copy. (The plan holds only pointers into
// it.)
void forget_message(Context& context) {
  (void)sys::call(__NR_munmap, context.message, context.message_size);
  context.message = nullptr;
  context.plan = nullptr;
}

}  // namespace oncelatch::sandbox
