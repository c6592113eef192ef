#include "sandbox/idmap.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "sandbox/syscall.h"

namespace oncelatch::sandbox {

namespace {

std::string extent(std::uint64_t from, std::uint64_t to, std::uint64_t count) {
  return std::to_string(from) + ' ' + std::to_string(to) + ' ' + std::to_string(count) + '\n';
}

// Ids from `first` up to the higher of the two; `on_disk` becomes `inside`, and nothing else does.
std::string map_text(std::uint64_t first, std::uint64_t on_disk, std::uint64_t inside) {
  const auto [low, high] = std::minmax(on_disk, inside);
  std::string map = extent(on_disk, inside, 1);
  if (low > first) map += extent(first, first, low - first);
  const std::uint64_t next = std::max(low + 1, first);
  if (high > next) map += extent(next, next, high - next);
  return map;
}

int write_map(const std::string& path, const std::string& map) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return errno;
  return ::write(file.get(), map.data(), map.size()) == static_cast<ssize_t>(map.size()) ? 0 : errno;
}

}  // namespace

// Until the other end of the pipe closes.
struct OwnerMapping::Holder {
  int read = -1;
  int write = -1;
  alignas(16) std::array<char, 16384> stack;
};

namespace {

// Only there so that /proc names its user namespace. It borrows our memory and our thread's, so it makes raw calls
// alone.
int hold_namespace(void* argument) {
  const auto* holder = static_cast<const OwnerMapping::Holder*>(argument);
  sys::close(holder->write);
  char byte = 0;
  while (sys::call(__NR_read, holder->read, &byte, 1) == -EINTR) {
  }
  return 0;
}

}  // namespace

int owner_of(int descriptor, Owner& owner) {
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) return errno;
  owner = {found.st_uid, found.st_gid};
  return 0;
}

OwnerMapping::OwnerMapping() = default;
OwnerMapping::OwnerMapping(OwnerMapping&& other) noexcept
    : on_disk_(other.on_disk_),
      space_(std::move(other.space_)),
      holder_(std::move(other.holder_)),
      lifeline_(std::move(other.lifeline_)),
      child_(std::exchange(other.child_, -1)) {}

OwnerMapping::~OwnerMapping() {
  end_child();
}

int OwnerMapping::make(Owner on_disk, Owner inside) {
  end_child();
  on_disk_ = on_disk;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  Fd read(ends[0]);
  lifeline_ = Fd(ends[1]);
  holder_ = std::make_unique<Holder>();
  holder_->read = ends[0];
  holder_->write = ends[1];
  child_ =
      ::clone(hold_namespace, holder_->stack.data() + holder_->stack.size(), CLONE_NEWUSER | CLONE_VM, holder_.get());
  if (child_ < 0) return errno;
  const std::string directory = "/proc/" + std::to_string(child_);
  if (int error = write_map(directory + "/gid_map", map_text(0, on_disk.gid, inside.gid)); error != 0) return error;
  if (int error = write_map(directory + "/uid_map", map_text(1, on_disk.uid, inside.uid)); error != 0) return error;
  space_ = Fd(::open((directory + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  return space_ ? 0 : errno;
}

int OwnerMapping::apply(int tree, bool recursive) const {
  mount_attr change{};
  change.attr_set = MOUNT_ATTR_IDMAP;
  change.userns_fd = static_cast<std::uint64_t>(space_.get());
  const unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0U);
  return ::syscall(SYS_mount_setattr, tree, "", flags, &change, sizeof change) == 0 ? 0 : errno;
}

void OwnerMapping::end_child() {
  space_.reset();
  if (child_ <= 0) return;
  lifeline_.reset();
  while (::waitpid(child_, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  child_ = -1;
}

}  // namespace oncelatch::sandbox
