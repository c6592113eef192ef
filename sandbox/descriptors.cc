// Descriptors: the plan's message, the status pipe, and nothing that was not handed over.
#include <asm/ioctls.h>
#include <linux/close_range.h>
#include <linux/fcntl.h>

#include "sandbox/enforce.h"

namespace oncelatch::sandbox {

namespace {
constexpr long kProtRead = 1;
constexpr long kMapShared = 1;
constexpr long kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
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
  long rc = sys::call(__NR_close_range, 3L, ~0U, CLOSE_RANGE_CLOEXEC);
  if (rc < 0) return failed(rc, "close_range");
  return {};
}

Outcome read_message(Context& context) {
  long seals = sys::call(__NR_fcntl, kPlanDescriptor, F_GET_SEALS);
  if (seals < 0) return failed(seals, "F_GET_SEALS");
  if ((seals & kSeals) != kSeals) return failed(-EPERM, "the plan is not sealed");
  long size = sys::call(__NR_lseek, kPlanDescriptor, 0, 2);
  if (size <= 0 || size > kMostPlanBytes) return failed(-EMSGSIZE, "size of the plan");
  long mapped = sys::call(__NR_mmap, nullptr, size, kProtRead, kMapShared, kPlanDescriptor, 0);
  if (mapped < 0 && mapped > -4096) return failed(mapped, "mmap");
  context.message = reinterpret_cast<const unsigned char*>(mapped);
  context.message_size = static_cast<std::size_t>(size);
  sys::close(kPlanDescriptor);
  if (!read_plan(context.message, context.message_size, *context.plan)) return failed(-EBADMSG, "format");
  unsigned first_unknown = static_cast<unsigned>(kFirstSource) + context.plan->sources;
  (void)sys::call(__NR_close_range, first_unknown, ~0U, 0);
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
