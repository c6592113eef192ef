// A made-up host around the launchers under test: a workspace, and outside it what must stay out of reach (files,
// sockets, a TCP listener, a process with a canary in its environment and arguments, memory segments, a terminal,
// keys).
//
//   Scene scene(61234);
//   scene.renew();                                       // before each launch
//   std::string word = scene.fill("unix={run}/docker.sock");
//
// Where the caller is root, it lives in a mount namespace of its own, so that attempts which succeed change nothing,
// and /run is planted as a whole.
//
// Ownership: removes what it planted. Threads: one. Failure: what can't be planted is absent, and the attempts on it
// then fail without a launcher too, which is reported. After fork: not used.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/fd.h"

namespace oncelatch::escapes {

class Scene {
 public:
  Scene(uid_t uid, const std::string& probe);
  ~Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  [[nodiscard]] uid_t uid() const { return uid_; }
  [[nodiscard]] const std::string& workspace() const { return workspace_; }
  [[nodiscard]] const std::string& outside() const { return outside_; }
  [[nodiscard]] const std::string& canary() const { return canary_; }
  // Places {names} of the scene into a text.
  [[nodiscard]] std::string fill(std::string text) const;
  // A new workspace, the outside as it was, the process outside alive.
  void renew();
  // Whether a file system is mounted in the workspace, from the next renewal on. An ordinary user's overlay can't have
  // it.
  void mount_below(bool wanted) { mount_below_ = wanted; }
  // Owned by the user, parents made.
  void plant_file(const std::string& path, const std::string& content, mode_t mode = 0644) const;
  void plant_directory(const std::string& path) const;
  [[nodiscard]] bool exists(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> environment() const;
  // Descriptors as a careless parent leaves them: 8 a file outside, 9 a directory outside.
  [[nodiscard]] std::map<int, int> leaked() const { return {{8, file_.get()}, {9, directory_.get()}}; }

 private:
  void own(const std::string& path) const;
  void plant_run();
  void plant_socket(const std::string& path);
  void plant_abstract(const std::string& name);
  void plant_listener();
  void plant_memory();
  void plant_terminal();
  void plant_outside() const;
  void plant_workspace() const;
  void start_victim();
  void end_victim();
  uid_t uid_ = 0;
  bool mounts_ = false;
  bool mount_below_ = true;
  std::string probe_;
  std::string base_;
  std::string workspace_;
  std::string outside_;
  std::string run_;
  std::string runtime_;
  std::string canary_;
  std::string tty_;
  pid_t victim_ = -1;
  int segment_ = -1;
  std::map<std::string, std::string> names_;
  std::vector<std::string> planted_;  // outside base_, removed at the end
  std::vector<Fd> kept_;
  Fd file_;
  Fd directory_;
};

// For root: a mount namespace of its own and a session keyring with a canary, before anything else.
void leave_the_host();

}  // namespace oncelatch::escapes
