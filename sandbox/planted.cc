#include "sandbox/planted.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>

#include "sandbox/view.h"

namespace oncelatch::sandbox {

namespace {

constexpr std::string_view kPrefix = "oncelatch-probe-";

Result<std::string> random_name() {
  unsigned char bytes[8];
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes))
    return fail_errno("sandbox", "getrandom", errno);
  std::string name(kPrefix);
  for (unsigned char byte : bytes) {
    name += "0123456789abcdef"[byte >> 4];
    name += "0123456789abcdef"[byte & 15];
  }
  return name;
}

std::vector<std::string> places(uid_t caller) {
  return {"/run/user/" + std::to_string(caller), "/dev/shm", "/run", "/tmp", "/var/tmp"};
}

bool shown(const std::string& place, const std::vector<std::string>& visible) {
  return std::any_of(visible.begin(), visible.end(), [&](const std::string& path) { return lies_within(place, path); });
}

// Every directory on the way lets others through, so that only the view keeps another user out.
bool open_to_others(const std::string& place) {
  for (std::string path = place; !path.empty(); path = parent_path(path)) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0 || (found.st_mode & S_IXOTH) == 0) return false;
  }
  return true;
}

constexpr int kMostLookedAt = 4096;  // entries of a place
constexpr std::time_t kYoung = 60;   // seconds in which the socket is surely there

// By descriptor: the directory is another user's, who may put a link to something else in its place at any time. Its
// own name is one component of a common place, and removing that follows no link.
void remove_targets(int directory, const std::string& path) {
  for (const char* name : {"secret", "socket", "socket~"}) ::unlinkat(directory, name, 0);
  if (::rmdir(path.c_str()) == 0) return;
  ::unlinkat(directory, "written", 0);  // an attempt succeeded
  ::rmdir(path.c_str());
}

Fd open_targets(const std::string& path) {
  return Fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Nobody listens any more: whoever planted it was killed.
bool is_abandoned(int directory) {
  struct stat found {};
  if (::fstat(directory, &found) != 0 || (::geteuid() != 0 && found.st_uid != ::geteuid())) return false;
  struct stat socket {};
  if (::fstatat(directory, "socket", &socket, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT && std::time(nullptr) - found.st_ctime > kYoung;
  if (!S_ISSOCK(socket.st_mode)) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/socket";
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!client || ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return false;
  return errno == ECONNREFUSED;
}

void sweep(const std::string& place) {
  DIR* directory = ::opendir(place.c_str());
  if (directory == nullptr) return;
  int left = kMostLookedAt;
  for (const dirent* entry = ::readdir(directory); entry != nullptr && left > 0; entry = ::readdir(directory), --left) {
    if (!std::string_view(entry->d_name).starts_with(kPrefix)) continue;
    std::string path = place + "/" + entry->d_name;
    Fd targets = open_targets(path);
    if (targets && is_abandoned(targets.get())) remove_targets(targets.get(), path);
  }
  ::closedir(directory);
}

// A umask may take the owner's bits, too.
bool make_private(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0) return false;
  if (::chmod(path.c_str(), 0700) == 0) return true;
  int error = errno;
  ::rmdir(path.c_str());
  errno = error;
  return false;
}

Result<std::string> make_directory_somewhere(const std::string& name, uid_t uid,
                                             const std::vector<std::string>& visible) {
  int error = EROFS;
  for (const std::string& place : places(::geteuid())) {
    if (shown(place, visible) || (uid != ::geteuid() && !open_to_others(place))) continue;
    std::string path = place + "/" + name;
    sweep(place);
    if (make_private(path)) return path;
    error = errno;
  }
  return fail_errno("sandbox", "self-test targets", error, "make /run, /tmp or /var/tmp writable");
}

// Named as the stage of the identity that can't be had.
Status given_away(const std::string& path, int rc) {
  return rc == 0 ? Status() : fail_errno("sandbox", "identity: " + path, errno, {}, "chown");
}

Status plant_secret(const std::string& path, uid_t uid, gid_t gid) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail_errno("sandbox", path, errno);
  if (::fchmod(file.get(), 0600) != 0 || ::write(file.get(), "planted\n", 8) != 8)
    return fail_errno("sandbox", path, errno);
  return ::geteuid() == 0 ? given_away(path, ::fchown(file.get(), uid, gid)) : Status();
}

Result<Fd> listen_at(const std::string& name, bool abstract) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::size_t skip = abstract ? 1 : 0;
  if (name.size() + 1 >= sizeof address.sun_path) return fail_errno("sandbox", name, ENAMETOOLONG);
  std::memcpy(address.sun_path + skip, name.data(), name.size());
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener) return fail_errno("sandbox", "socket", errno);
  std::size_t size = offsetof(sockaddr_un, sun_path) + name.size() + 1;
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)) != 0)
    return fail_errno("sandbox", name, errno);
  if (::listen(listener.get(), 4) != 0) return fail_errno("sandbox", name, errno);
  return listener;
}

// On the host's loopback; `port` is the kernel's choice.
Result<Fd> listen_on_loopback(unsigned& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener || ::bind(listener.get(), plain, size) != 0 || ::listen(listener.get(), 4) != 0 ||
      ::getsockname(listener.get(), plain, &size) != 0)
    return fail_errno("sandbox", "loopback listener of the self-test", errno);
  port = ::ntohs(address.sin_port);
  return listener;
}

}  // namespace

Result<std::unique_ptr<Planted>> Planted::make(uid_t uid, gid_t gid, const std::string& beside,
                                               const std::vector<std::string>& visible) {
  std::unique_ptr<Planted> planted(new Planted);
  std::string name = TRY(random_name());
  std::string here = beside + "/probe";
  bool fits = here.size() + sizeof "/socket~" < sizeof sockaddr_un{}.sun_path;
  if (!beside.empty() && uid == ::geteuid() && fits && !shown(beside, visible) && make_private(here)) {
    planted->directory_ = here;
  } else {
    planted->directory_ = TRY(make_directory_somewhere(name, uid, visible));
  }
  planted->opened_ = open_targets(planted->directory_);
  unsigned port = 0;
  if (Result<Fd> listener = listen_on_loopback(port); listener) planted->tcp_listener_ = std::move(*listener);
  planted->abstract_name_ = name + "-" + std::to_string(port);  // 0: this machine has no loopback to try
  planted->uid_ = uid;
  planted->gid_ = gid;
  return planted;
}

Status Planted::plant() {
  TRY(plant_secret(directory_ + "/secret", uid_, gid_));
  // Under its name only once somebody listens: else it looks abandoned.
  const std::string socket = directory_ + "/socket";
  path_listener_ = TRY(listen_at(socket + "~", false));
  if (::rename((socket + "~").c_str(), socket.c_str()) != 0) return fail_errno("sandbox", socket, errno);
  abstract_listener_ = TRY(listen_at(abstract_name_, true));
  if (::geteuid() != 0) return {};
  TRY(given_away(socket, ::chown(socket.c_str(), uid_, gid_)));
  return given_away(directory_, ::chown(directory_.c_str(), uid_, gid_));
}

Planted::~Planted() {
  if (opened_) remove_targets(opened_.get(), directory_);
}

}  // namespace oncelatch::sandbox
