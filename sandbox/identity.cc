#include "sandbox/identity.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "sandbox/idmap.h"

namespace oncelatch::sandbox {

namespace {

// systemd's table of user ids calls 0x70000000 to 0x7fffffff unused but for a part of its last 4 Mi; directory services
// count up to 2000200000. At random, since the process ids of two containers are often the same.
constexpr std::uint32_t kFirstUser = 0x78000000;
constexpr std::uint32_t kUsers = 0x07c00000;

std::uint32_t unused_user() {
  std::uint32_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number))
    number = static_cast<std::uint32_t>(::getpid());
  return kFirstUser + number % kUsers;
}

// The change of user, and giving a file away to it, as the self-test's targets are; in a child that is then gone.
int become_error(uid_t uid, gid_t gid) {
  pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    const int file = ::memfd_create("owner", MFD_CLOEXEC);
    bool done = file >= 0 && ::fchown(file, uid, gid) == 0 && ::syscall(SYS_setgroups, 0, nullptr) == 0 &&
                ::syscall(SYS_setresgid, gid, gid, gid) == 0 && ::syscall(SYS_setresuid, uid, uid, uid) == 0;
    ::_exit(done ? 0 : errno);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EFAULT;
}

// Takes one path as a launch does (sandbox/trees.cc), without attaching it anywhere.
int map_error(const std::string& path, Owner inside) {
  Fd source(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!source) return errno;
  Owner owner;
  if (int error = owner_of(source.get(), owner); error != 0) return error;
  Fd mount = detached_tree(source.get());
  if (!mount) return errno;
  OwnerMapping mapping;
  if (int error = mapping.make(owner, inside); error != 0) return error;
  return mapping.apply(mount.get(), true);
}

// Empty where the mapped identity works.
std::string mapping_fault(const std::string& workspace, const std::vector<std::string>& writable, Owner inside) {
  if (int error = become_error(inside.uid, inside.gid); error != 0)
    return std::string("another user can't be taken: ") + std::strerror(error);
  std::vector<std::string> paths = {workspace};
  paths.insert(paths.end(), writable.begin(), writable.end());
  for (const std::string& path : paths)
    if (int error = map_error(path, inside); error != 0)
      return path + " can't be mounted with mapped owners: " + std::strerror(error);
  return {};
}

Identity same(uid_t uid, gid_t gid) {
  return {.uid = uid, .gid = gid, .shown_uid = uid, .shown_gid = gid, .idmapped = false, .loss = {}};
}

Identity root_itself(const Owner& owner, const std::string& fault) {
  Identity identity = same(0, ::getegid());
  identity.loss =
      "the program runs as this machine's root without capabilities, so files of the host's root that are "
      "in view stay root's (" +
      fault + ")";
  if (owner.uid != 0)
    identity.loss += "; the workspace belongs to user " + std::to_string(owner.uid) +
                     ", so only what its mode gives to others can be written";
  return identity;
}

}  // namespace

Identity choose_identity(const std::string& workspace, const std::vector<std::string>& writable,
                         IdentityChoice choice) {
  if (::geteuid() != 0) return same(::geteuid(), ::getegid());
  struct stat found {};
  if (::lstat(workspace.c_str(), &found) != 0) return root_itself({}, workspace + ": " + std::strerror(errno));
  Owner owner{found.st_uid, found.st_gid};
  std::uint32_t user = unused_user();
  std::string fault;
  if (choice == IdentityChoice::proven) fault = mapping_fault(workspace, writable, {user, user});
  if (choice == IdentityChoice::on_host) fault = "owners can't be mapped without mounts of the sandbox's own";
  if (fault.empty())
    return {.uid = user, .gid = user, .shown_uid = owner.uid, .shown_gid = owner.gid, .idmapped = true, .loss = {}};
  if (owner.uid == 0) return root_itself(owner, fault);
  int error = become_error(owner.uid, owner.gid);
  if (error == 0) return same(owner.uid, owner.gid);
  return root_itself(owner, fault);
}

}  // namespace oncelatch::sandbox
