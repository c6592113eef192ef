// A case being tried: the scene, the launcher and the case together, with the launches that procedures need.
//
//   Observed tried = stage.attempt();       // one run of the probe: the case's attempts, then ordinary work
//   Ended ended = stage.run({"/bin/true"});
//
// Ownership: borrows all three. Threads: one. Failure: Observed::trouble. After fork: not used.
#pragma once

#include <string>
#include <vector>

#include "tests/escapes/case.h"
#include "tests/escapes/child.h"
#include "tests/escapes/launcher.h"
#include "tests/escapes/scene.h"

namespace oncelatch::escapes {

class Stage {
 public:
  Stage(Scene& scene, const Launcher& launcher, const Case& one) : scene_(scene), launcher_(launcher), case_(one) {}

  [[nodiscard]] Scene& scene() const { return scene_; }
  [[nodiscard]] const Launcher& launcher() const { return launcher_; }
  [[nodiscard]] const Case& current() const { return case_; }

  // How the program is launched; procedures change it before Child::start().
  [[nodiscard]] ChildPlan plan(const std::vector<std::string>& program, const std::string& workspace = {}) const;
  [[nodiscard]] Ended run(const std::vector<std::string>& program) const;
  [[nodiscard]] Ended shell(const std::string& script) const;  // {names} are filled in
  // Attempts that name what they leave are made each by itself (tests/escapes/aftermath.h).
  [[nodiscard]] Observed attempt() const;
  [[nodiscard]] Observed attempt_at_once() const;
  // The probe's command for the case's attempts and work, and what its output says.
  [[nodiscard]] std::vector<std::string> probe_command() const;
  [[nodiscard]] Observed read_verdicts(const Ended& ended) const;
  // After a procedure of its own: is ordinary work still possible?
  [[nodiscard]] Line ordinary_work() const;

 private:
  [[nodiscard]] std::vector<std::string> environment() const;
  Scene& scene_;
  const Launcher& launcher_;
  const Case& case_;
};

inline constexpr const char* kOrdinaryWork =
    "sh=cd {workspace} && printf 'b\\na\\n' | sort | head -n 1 | grep -q a && mkdir -p d && echo x > d/w && mv d/w d/v "
    "&& "
    "test \"$(cat d/v)\" = x && rm -r d && (exit 0) & wait $!";

[[nodiscard]] std::string last_words(const std::string& text);  // of an error output, for a table
[[nodiscard]] Line got_through(const std::string& label, bool through, const std::string& refusal = "refused");

}  // namespace oncelatch::escapes
