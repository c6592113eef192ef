#include "sandbox/layer_probes.h"

#include <asm/ioctls.h>
#include <linux/capability.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <linux/stat.h>
#include <linux/un.h>

#include "sandbox/small_text.h"

namespace oncelatch::sandbox {

namespace {

constexpr int kUnix = 1;
constexpr int kStream = 1;
constexpr int kFilterMode = 2;  // SECCOMP_MODE_FILTER
constexpr int kMostCapabilities = 64;

long there(bool is) {
  return is ? -EPERM : 0;
}

long connect_to(const sockaddr_un& address, unsigned size) {
  long socket = sys::call(__NR_socket, kUnix, kStream | O_CLOEXEC, 0);
  if (socket < 0) return socket;
  long rc = sys::call(__NR_connect, socket, &address, size);
  sys::close(static_cast<int>(socket));
  return rc;
}

// The ambient set is never more than what is both permitted and inheritable.
bool nothing_held() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3] = {};
  if (sys::call(__NR_capget, &header, held) < 0) return false;
  for (const __user_cap_data_struct& half : held)
    if ((half.effective | half.permitted | half.inheritable) != 0) return false;
  return true;
}

bool bounding_set_empty() {
  for (int number = 0; number < kMostCapabilities; ++number) {
    long rc = sys::call(__NR_prctl, PR_CAPBSET_READ, number, 0, 0, 0);
    if (rc == -EINVAL && number > CAP_SYSLOG) return true;  // beyond the last one of this kernel
    if (rc != 0) return false;
  }
  return true;
}

}  // namespace

Outcome plant_scope_target(Context& context) {
  long socket = sys::call(__NR_socket, kUnix, kStream | O_CLOEXEC, 0);
  if (socket < 0) return failed(socket, "target of the scope probe");
  sockaddr_un address{};
  address.sun_family = kUnix;
  long rc = sys::call(__NR_bind, socket, &address, sizeof address.sun_family);  // the kernel chooses an abstract name
  if (rc >= 0) rc = sys::call(__NR_listen, socket, 1);
  if (rc < 0) return failed(rc, "target of the scope probe");
  context.scope_target = static_cast<int>(socket);
  return {};
}

long probe_mount_namespace(const Context& context) {
  struct statx found {};
  long rc =
      sys::call(__NR_statx, AT_FDCWD, context.plan->planted_directory.data, AT_SYMLINK_NOFOLLOW, STATX_INO, &found);
  return rc == -ENOENT || rc == -ENOTDIR ? rc : 0;
}

long probe_pid_namespace(const Context&) {
  return there(sys::call(__NR_getppid) == 1);
}

// On the host the name exists: Landlock would say EPERM.
long probe_network_namespace(const Context& context) {
  long rc = connect_planted_abstract(context);
  return rc == -ECONNREFUSED ? rc : 0;
}

long probe_user_namespace_limit(const Context&) {
  long fd = sys::call(__NR_openat, AT_FDCWD, "/proc/sys/user/max_user_namespaces", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[8] = {};
  long size = sys::call(__NR_read, fd, text, sizeof text);
  sys::close(static_cast<int>(fd));
  return there(size == 2 && text[0] == '0' && text[1] == '\n');
}

long probe_capabilities(const Context&) {
  return there(nothing_held() && bounding_set_empty());
}

long probe_held_capabilities(const Context&) {
  return there(nothing_held());
}

long probe_no_new_privileges(const Context&) {
  return there(sys::call(__NR_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
}

// Without Landlock the kernel would answer ENOTTY: this one fails by that layer alone.
long probe_landlock(const Context&) {
  long device = sys::call(__NR_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC);
  if (device < 0) return 0;
  unsigned char settings[64];
  long rc = sys::call(__NR_ioctl, device, TCGETS, settings);
  sys::close(static_cast<int>(device));
  return rc == -EACCES ? rc : 0;
}

// Anybody may list the root directory of a machine.
long probe_landlock_on_host(const Context&) {
  long root = sys::call(__NR_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root >= 0) sys::close(static_cast<int>(root));
  return root == -EACCES ? root : 0;
}

// A socket of its own, made before it entered the domain.
long probe_landlock_scope(const Context& context) {
  sockaddr_un address{};
  unsigned size = sizeof address;
  if (sys::call(__NR_getsockname, context.scope_target, &address, &size) < 0) return 0;
  long rc = connect_to(address, size);
  return rc == -EPERM ? rc : 0;
}

long probe_landlock_scope_on_host(const Context&) {
  long rc = sys::call(__NR_kill, sys::call(__NR_getppid), 0);
  return rc == -EPERM ? rc : 0;
}

long probe_seccomp(const Context&) {
  return there(sys::call(__NR_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) == kFilterMode);
}

// Forked from it, this process was as dumpable as that one is. What others see of it may be kept by Landlock as well.
long probe_first_process_hidden(const Context& context) {
  if (context.dumpable_before != 0) return 0;
  SmallText path;
  path.text("/proc/").number(static_cast<std::uint64_t>(sys::call(__NR_getppid))).text("/exe");
  char target[256];
  return sys::call(__NR_readlinkat, AT_FDCWD, path.c_str(), target, sizeof target);
}

long connect_planted_abstract(const Context& context) {
  sockaddr_un address{};
  address.sun_family = kUnix;
  const Text& name = context.plan->planted_abstract;
  for (unsigned i = 0; i < name.size; ++i) address.sun_path[i + 1] = name.data[i];
  return connect_to(address, static_cast<unsigned>(sizeof address.sun_family + 1 + name.size));
}

}  // namespace oncelatch::sandbox
