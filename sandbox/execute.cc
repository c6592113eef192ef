// execveat(2): the verified file itself. The path inside is used only where it leads to the very same inode.
#include <linux/fcntl.h>

#include "sandbox/enforce.h"
#include "sandbox/mount_tools.h"

namespace oncelatch::sandbox {

namespace {

const char** vector_of(const TextList& list) {
  constexpr long kReadWrite = 3;
  constexpr long kPrivateAnonymous = 0x22;
  long bytes = static_cast<long>((list.count + 1) * sizeof(char*));
  long mapped = sys::call(__NR_mmap, nullptr, bytes, kReadWrite, kPrivateAnonymous, -1, 0);
  if (mapped < 0 && mapped > -4096) return nullptr;
  auto** vector = reinterpret_cast<const char**>(mapped);
  const unsigned char* here = list.first;
  for (std::uint32_t i = 0; i < list.count; ++i) vector[i] = next_text(here).data;
  return vector;
}

// Descriptor to run: that of the path inside, so that /proc/self/exe names something that exists, or the one handed
// over.
int program_descriptor(const Context& context) {
  const Text& path = context.plan->program;
  if (path.size == 0) return context.program;
  long named = sys::call(__NR_openat, AT_FDCWD, path.data, O_PATH | O_CLOEXEC);
  if (named < 0) return context.program;
  if (same_object(context.program, static_cast<int>(named))) return static_cast<int>(named);
  sys::close(static_cast<int>(named));
  return context.program;
}

}  // namespace

Outcome execute_program(Context& context) {
  const WirePlan& plan = *context.plan;
  const char** arguments = vector_of(plan.arguments);
  const char** environment = vector_of(plan.environment);
  if (arguments == nullptr || environment == nullptr) return failed(-ENOMEM, "arguments");
  int program = program_descriptor(context);
  bool script = plan.by_path != 0;
  if (script && program == context.program) return failed(-ESTALE, plan.program.data);
  long rc = script ? sys::call(__NR_execve, plan.program.data, arguments, environment)
                   : sys::call(__NR_execveat, program, "", arguments, environment, AT_EMPTY_PATH);
  return failed(rc, plan.program.size != 0 ? plan.program.data : "program");
}

}  // namespace oncelatch::sandbox
