// A made-up host for the sandbox's tests: a workspace, and beside it what must stay out of reach. Runs programs in
// sandboxes of four kinds of launch.
//
//   Lab lab(Launch::root_as_user);
//   Seen seen = lab.run({"/bin/sh", "-c", "echo hi"});
//   EXPECT_EQ(seen.code, 0) << seen.err;
//
// Ownership: removes its directories. Threads: one. Failure: gtest assertions in the constructor.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/process.h"

namespace oncelatch::sandbox {

enum class Launch {
  root_as_root,  // kernel uid 0 inside
  root_as_user,  // root gives itself up
  root_mapped,   // root's workspace under a kernel user of its own
  user,          // an ordinary user launches
};
[[nodiscard]] std::string launch_name(const testing::TestParamInfo<Launch>& info);
// What the tests' own user can do.
[[nodiscard]] std::vector<Launch> possible_launches();

inline constexpr uid_t kOrdinaryUser = 61234;
inline constexpr int kRefused = 99;

struct Seen {
  int code = -1;
  std::string out;
  std::string err;
  // Lines "KEY VALUE" of out.
  [[nodiscard]] std::map<std::string, std::string> verdicts() const;
};

class Lab {
 public:
  explicit Lab(Launch launch);
  Lab(Launch launch, uid_t owner);  // of the workspace and what lies outside
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  [[nodiscard]] const std::string& workspace() const { return workspace_; }
  [[nodiscard]] const std::string& outside() const { return outside_; }  // "secret", "socket"
  [[nodiscard]] const std::string& abstract_name() const { return abstract_; }
  [[nodiscard]] uid_t uid() const { return uid_; }
  [[nodiscard]] std::string probe() const { return workspace_ + "/probe"; }

  // Below the workspace, owned by the confined user.
  void write(const std::string& name, const std::string& content, mode_t mode = 0644) const;
  void make_directory(const std::string& name) const;
  // The workspace is one, with a user for commits.
  void make_repository() const;

  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& options,
                                                 const std::vector<std::string>& program) const;
  [[nodiscard]] Spawn spawn(const std::vector<std::string>& options, const std::vector<std::string>& program) const;
  [[nodiscard]] Seen run(const std::vector<std::string>& program, const std::vector<std::string>& options = {}) const;
  [[nodiscard]] std::map<std::string, std::string> attempts(const std::vector<std::string>& words,
                                                            const std::vector<std::string>& options = {}) const;

 private:
  void own(const std::string& path) const;
  void plant();
  Launch launch_;
  uid_t uid_ = 0;
  std::string base_;
  std::string workspace_;
  std::string outside_;
  std::string abstract_;
  Fd path_listener_;
  Fd abstract_listener_;
};

[[nodiscard]] std::string tool(const std::string& name);  // a program built beside the tests
[[nodiscard]] Seen run_program(const Spawn& spawn);

}  // namespace oncelatch::sandbox
