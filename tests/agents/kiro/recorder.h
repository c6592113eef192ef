// The recorder file of the terminal interface: one JSON object a line, appended.
//
//   recorder.to_client(permission_request(...));
//   recorder.to_agent(permission_answer(...));
//
// The path is KIRO_ACP_RECORD_PATH; unset or not to be opened: every call does nothing. Owns its
// descriptor. Borrows the scenario, which must live longer.
#pragma once

#include "json.h"
#include "scenario.h"

#include <string>

namespace kiro {

class Recorder {
 public:
  explicit Recorder(const Scenario& scenario);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void to_client(const Json& message);  // requests and updates of the agent
  void to_agent(const Json& message);   // answers and requests of the client
  void wrapped(const std::string& direction, const Json& message);
  void raw(const std::string& bytes);  // as they are, for forged and broken lines

  // truncate | unlink | replace (a new empty file under the same name) | hardlink | symlink
  bool tamper(const std::string& operation);

 private:
  void open_file();
  void close_file();

  const Scenario& scenario_;
  std::string path_;
  int fd_ = -1;
};

}  // namespace kiro
