#include "recorder.h"

#include "text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace kiro {
namespace {

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

Recorder::Recorder(const Scenario& scenario) : scenario_(scenario) {
  const char* const path = std::getenv("KIRO_ACP_RECORD_PATH");
  if (path != nullptr) path_ = path;
  open_file();
}

Recorder::~Recorder() {
  close_file();
}

void Recorder::open_file() {
  if (!path_.empty()) fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
}

void Recorder::close_file() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void Recorder::to_client(const Json& message) {
  wrapped(scenario_.doc_direction ? "out" : "in", message);
}

void Recorder::to_agent(const Json& message) {
  wrapped(scenario_.doc_direction ? "in" : "out", message);
}

void Recorder::wrapped(const std::string& direction, const Json& message) {
  if (scenario_.string_wrapper) {
    raw(one_line({{"dir", direction}, {"msg", one_line(message)}, {"ts", iso_time()}}) + "\n");
  } else {
    raw(one_line({{"ts", epoch_millis()}, {"dir", direction}, {"msg", message}}) + "\n");
  }
}

void Recorder::raw(const std::string& bytes) {
  if (fd_ < 0) return;
  if (scenario_.record_split_ms <= 0 || bytes.size() < 2) return write_all(fd_, bytes);
  const std::string_view view = bytes;
  write_all(fd_, view.substr(0, view.size() / 2));
  usleep(static_cast<useconds_t>(std::min(scenario_.record_split_ms, 1000L) * 1000));
  write_all(fd_, view.substr(view.size() / 2));
}

bool Recorder::tamper(const std::string& operation) {
  if (fd_ < 0) return false;
  if (operation == "truncate") return ftruncate(fd_, 0) == 0;
  if (operation == "unlink") return unlink(path_.c_str()) == 0;
  if (operation == "hardlink") return link(path_.c_str(), (path_ + ".link").c_str()) == 0;
  const std::string fresh = path_ + ".new";
  close_file();
  bool done = false;
  if (operation == "replace") {
    const int made = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (made >= 0) close(made);
    done = made >= 0 && rename(fresh.c_str(), path_.c_str()) == 0;
  } else if (operation == "symlink") {
    done = rename(path_.c_str(), fresh.c_str()) == 0 && symlink(fresh.c_str(), path_.c_str()) == 0;
  }
  open_file();
  return done;
}

}  // namespace kiro
