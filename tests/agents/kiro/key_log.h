// The key log: one JSON line for each key that was consumed or lost, each panel that was first
// drawn, and each decision. Tests read it to prove that no key reached a wrong row.
//
//   log.write(Json{{"shown", prompt.id}});
//
// Owns its file descriptor; every line is one append write. Without a path every call does nothing.
// A file that cannot be opened is silently no log (the program under test may forbid it).
#pragma once

#include "json.h"

#include <string>

namespace kiro {

class KeyLog {
 public:
  explicit KeyLog(const std::string& path);
  ~KeyLog();
  KeyLog(const KeyLog&) = delete;
  KeyLog& operator=(const KeyLog&) = delete;

  void write(Json entry) const;  // puts "t" (monotonic microseconds) in front

 private:
  int fd_ = -1;
};

}  // namespace kiro
