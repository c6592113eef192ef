#include "approvals/conversation.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "approvals/session_socket.h"
#include "base/beneath.h"

namespace oncelatch::approvals {
namespace {

constexpr const char* socket_name = "approvals.sock";
constexpr Nanoseconds patience = std::chrono::seconds(5);
constexpr int most_entries = 4096;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// nullopt: not a private directory of this user with a socket in it.
std::optional<Fd> open_session_directory(int root, const std::string& session) {
  Result<Fd> directory = open_beneath(root, session, O_RDONLY | O_DIRECTORY);
  if (!directory || !check_private_directory(directory->get(), session)) return std::nullopt;
  struct stat info {};
  if (::fstatat(directory->get(), socket_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISSOCK(info.st_mode))
    return std::nullopt;
  return std::move(*directory);
}

}  // namespace

Result<std::vector<std::string>> session_names(int root) {
  const int copy = ::openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return fail_errno("approvals", "sessions", errno, {}, "open");
  const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(copy));
  if (!directory) {
    const int error = errno;
    ::close(copy);
    return fail_errno("approvals", "sessions", error, {}, "open");
  }
  std::vector<std::string> names;
  for (int count = 0; count < most_entries; ++count) {
    const dirent* entry = ::readdir(directory.get());  // NOLINT(concurrency-mt-unsafe): its own stream
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (valid_session_id(name)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Failure Conversation::timed_out() const {
  return fail_errno("approvals", session_, ETIMEDOUT,
                    "see whether that session is stopped or hangs; answer in its terminal");
}

Status Conversation::wait_for(short events) const {
  for (;;) {
    const Nanoseconds left = deadline_ - SystemClock().monotonic();
    if (left <= Nanoseconds(0)) return timed_out();
    pollfd ready{socket_.get(), events, 0};
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    const int got = ::poll(&ready, 1, static_cast<int>(milliseconds));
    if (got > 0) return {};
    if (got < 0 && errno != EINTR) return fail_errno("approvals", session_, errno, {}, "poll");
  }
}

Result<bool> Conversation::connect(int directory) {
  socket_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_) return fail_errno("approvals", session_, errno, {}, "socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", directory, socket_name);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);  // at most 40 bytes
  while (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno == ECONNREFUSED || errno == ENOENT) return false;
    if (errno != EAGAIN && errno != EINTR) return fail_errno("approvals", session_, errno, {}, "connect");
    if (SystemClock().monotonic() >= deadline_) return timed_out();
    ::poll(nullptr, 0, 20);  // the broker's queue is full
  }
  if (!same_user(socket_.get()))
    return fail("approvals", session_, "another user answers there", "remove that directory");
  return true;
}

Result<std::optional<Conversation>> Conversation::open(int root, const std::string& session) {
  const std::optional<Fd> directory = open_session_directory(root, session);
  if (!directory) return std::optional<Conversation>();
  Conversation conversation(session, SystemClock().monotonic() + patience);
  const bool listening = TRY(conversation.connect(directory->get()));
  if (!listening) return std::optional<Conversation>();
  return std::optional<Conversation>(std::move(conversation));
}

Result<std::string> Conversation::exchange(const std::string& line) {
  for (std::size_t done = 0; done < line.size();) {
    TRY(wait_for(POLLOUT));
    const ssize_t sent = ::send(socket_.get(), line.data() + done, line.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) done += static_cast<std::size_t>(sent);
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) break;  // its last words may still be there to read
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return fail_errno("approvals", session_, errno, {}, "send");
  }
  std::array<char, 65536> bytes;  // NOLINT: filled by recv
  for (;;) {
    if (std::optional<std::string> reply = lines_.next()) return std::move(*reply);
    if (lines_.overflowed()) return fail("approvals", session_, "the reply is too long", "answer in its terminal");
    TRY(wait_for(POLLIN));
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) lines_.add(std::string_view(bytes.data(), static_cast<std::size_t>(got)));
    if (got == 0)
      return fail("approvals", session_, "the session closed the connection", "list again; it may have ended");
    if (got < 0 && errno != EAGAIN && errno != EINTR) return fail_errno("approvals", session_, errno, {}, "receive");
  }
}

}  // namespace oncelatch::approvals
