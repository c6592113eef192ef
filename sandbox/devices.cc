// A private /dev: six harmless nodes of the host, terminals of our own.
#include <linux/fcntl.h>
#include <linux/mount.h>

#include "sandbox/enforce.h"
#include "sandbox/mount_tools.h"

namespace oncelatch::sandbox {

namespace {

struct Node {
  const char* host;
  const char* inside;
};

// Nothing else: no console of the host, kmsg, mem, kvm, fuse, loop, input or disks.
constexpr Node kNodes[] = {
    {"/dev/null", "dev/null"},     {"/dev/zero", "dev/zero"},       {"/dev/full", "dev/full"},
    {"/dev/random", "dev/random"}, {"/dev/urandom", "dev/urandom"}, {"/dev/tty", "dev/tty"},
};

constexpr char kSharedMemory[] = "dev/shm";

struct Link {
  const char* target;
  const char* name;
};

constexpr Link kLinks[] = {
    {"pts/ptmx", "dev/ptmx"},          {"/proc/self/fd", "dev/fd"},       {"/proc/self/fd/0", "dev/stdin"},
    {"/proc/self/fd/1", "dev/stdout"}, {"/proc/self/fd/2", "dev/stderr"},
};

long bind_node(const Node& node) {
  if (long rc = make_mount_point(node.inside); rc < 0) return rc;
  return sys::call(__NR_mount, node.host, node.inside, nullptr, MS_BIND, nullptr);
}

// A node's mode, owner and times are the host's: kernel user 0 would change them for the whole machine. A device is
// written on a read-only mount all the same.
long keep_from_owner() {
  for (const Node& node : kNodes)
    if (long rc = set_attributes(node.inside, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC); rc < 0)
      return rc;
  return 0;
}

// For the same reason a standard stream that is the host's /dev/null becomes this one.
long replace_null_streams() {
  for (int number = 0; number <= 2; ++number) {
    if (!same_object(number, "dev/null")) continue;
    const long flags = sys::call(__NR_fcntl, number, F_GETFL, 0);  // a closed one has the wrong direction
    if (flags < 0) return flags;
    long opened = sys::call(__NR_openat, AT_FDCWD, "dev/null", (flags & (O_ACCMODE | O_PATH)) | O_CLOEXEC, 0);
    if (opened < 0) return opened;
    if (long rc = sys::call(__NR_dup3, opened, number, 0); rc < 0) return rc;
    sys::close(static_cast<int>(opened));
  }
  return 0;
}

// Lets ttyname() find the inner terminal, which isn't in the private devpts. Nothing depends on it.
void bind_terminal(const Context& context) {
  if (!has(*context.plan, kPlanTerminal)) return;
  const int terminal = terminal_descriptor();  // the input may be something else
  long tree = terminal >= 0 ? clone_by_name(terminal) : -ENOTTY;
  if (tree >= 0 && make_mount_point("dev/console") >= 0) (void)attach(static_cast<int>(tree), AT_FDCWD, "dev/console");
}

}  // namespace

Outcome make_devices(Context& context) {
  if (long rc = sys::call(__NR_mkdirat, AT_FDCWD, "dev", 0755); rc < 0) return failed(rc, "/dev");
  for (const Node& node : kNodes) {
    long rc = bind_node(node);
    if (rc < 0) return failed(rc, node.host);
  }
  const bool owner = context.plan->uid == 0;
  if (long rc = owner ? keep_from_owner() : 0; rc < 0) return failed(rc, "read-only nodes");
  if (long rc = owner ? replace_null_streams() : 0; rc < 0) return failed(rc, "/dev/null");
  for (const Link& link : kLinks) {
    long rc = sys::call(__NR_symlinkat, link.target, AT_FDCWD, link.name);
    if (rc < 0) return failed(rc, link.name);
  }
  if (long rc = sys::call(__NR_mkdirat, AT_FDCWD, "dev/pts", 0755); rc < 0) return failed(rc, "/dev/pts");
  // The machine's number of terminals is shared by all sandboxes.
  long rc = sys::call(__NR_mount, "devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                      "newinstance,ptmxmode=0666,mode=0620,max=256");
  if (rc < 0) return failed(rc, "devpts");
  bind_terminal(context);
  if (rc = sys::call(__NR_mkdirat, AT_FDCWD, kSharedMemory, 0755); rc < 0) return failed(rc, "/dev/shm");
  if (Outcome outcome = mount_tmpfs(kSharedMemory, context.plan->temporary_bytes, 0755); outcome.error != 0)
    return outcome;
  context.temporary =
      static_cast<int>(sys::call(__NR_openat, AT_FDCWD, kSharedMemory, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (context.temporary < 0) return failed(context.temporary, "/dev/shm");
  return attach_temporary(context.temporary, kSharedMemory, 01777);
}

}  // namespace oncelatch::sandbox
