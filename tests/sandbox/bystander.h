// A process of the confined user outside the sandbox, for attempts that only the sandbox can refuse.
//
//   Bystander bystander(lab.uid());
//   lab.attempts({"signal=" + bystander.number()});
#pragma once

#include <grp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace oncelatch::sandbox {

class Bystander {
 public:
  explicit Bystander(uid_t uid) : pid_(::fork()) {
    if (pid_ != 0) return;
    if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setgid(uid) != 0 || ::setuid(uid) != 0)) ::_exit(1);
    ::execl("/bin/sleep", "sleep", "100", nullptr);
    ::_exit(1);
  }
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;
  ~Bystander() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] std::string number() const { return std::to_string(pid_); }

 private:
  pid_t pid_;
};

}  // namespace oncelatch::sandbox
