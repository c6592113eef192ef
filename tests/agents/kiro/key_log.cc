#include "key_log.h"

#include "text.h"

#include <fcntl.h>
#include <unistd.h>

namespace kiro {

KeyLog::KeyLog(const std::string& path) {
  if (!path.empty()) fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
}

KeyLog::~KeyLog() {
  if (fd_ >= 0) close(fd_);
}

void KeyLog::write(Json entry) const {
  if (fd_ < 0) return;
  Json line = {{"t", monotonic_micros()}};
  line.update(entry);
  const std::string text = one_line(line) + "\n";
  if (::write(fd_, text.data(), text.size()) < 0) return;  // no log is no reason to stop
}

}  // namespace kiro
