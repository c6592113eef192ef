// What a plan's view says of one path: answered from the entries that the exec path builds and the rights that Landlock
// grants, with the modes and owners of the host's files. Nothing is started.
//
//   ViewAnswers answers = TRY(ViewAnswers::of(plan, facts.landlock_abi));
//   PathAnswer answer = answers.ask("/etc/shadow");
//   // answer.visible == Answer::no, answer.place == Place::nothing
//
// Ownership: values; borrows the plan. Threads: one. Failure: Error naming what can't be opened. After fork: allocates.
// Part of the light program.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/guarded_names.h"
#include "sandbox/plan.h"
#include "sandbox/view.h"

namespace oncelatch::sandbox {

// depends: on what the plan doesn't know, such as an access list or a process that isn't there yet.
enum class Answer { no, yes, depends };

// What the view has there.
enum class Place {
  nothing,
  skeleton,   // made for the view: a directory, a link, a file of ours
  temporary,  // private, empty at the start: /tmp, /dev/shm, a home without a host directory
  system,     // /usr and its like, /etc by list
  workspace,
  home,  // a private home that lies on the host
  bind,  // of the plan: `bind` says which
  hidden,
  protection,
  devices,
  processes,
};

struct PathAnswer {
  std::string real;    // without the links of the view
  std::string holder;  // target of the entry it lies in; empty: none
  std::string host;    // where it lies on the host; empty: nowhere
  Place place = Place::nothing;
  std::size_t bind = 0;  // index among the plan's, of Place::bind
  bool exists = false;
  bool directory = false;
  bool other = false;  // neither a directory nor a regular file
  mode_t mode = 0;
  uid_t owner = 0;  // on the host
  Answer visible = Answer::no;
  Answer readable = Answer::no;
  Answer writable = Answer::no;
  Answer executable = Answer::no;
  Answer creatable = Answer::no;         // in it, or it where it doesn't exist
  Answer connectable = Answer::no;       // of a socket
  bool by_mode = false;                  // something that the sandbox allows is refused by the file's mode or owner
  bool by_host_mount = false;            // or by how the host mounted it
  bool linked = false;                   // or by the guard, because it has another name, which may lie anywhere
  const GuardedName* guarded = nullptr;  // the workspace guard's row that refuses this name
  const GuardedName* held = nullptr;     // or holds it, as the plan says; with HeldNames::refuse both
};

class ViewAnswers {
 public:
  [[nodiscard]] static Result<ViewAnswers> of(const SandboxPlan& plan, int landlock_abi);

  // `path`: absolute, as seen inside.
  [[nodiscard]] PathAnswer ask(const std::string& path) const;

 private:
  // The deepest entry that holds a path, the deepest cover, and where the path lies on the host.
  struct Step {
    const ViewEntry* entry = nullptr;
    const ViewEntry* cover = nullptr;
    std::string host;
  };
  class Judge;
  explicit ViewAnswers(const SandboxPlan& plan) : plan_(&plan) {}
  [[nodiscard]] Step at(const std::string& path) const;
  [[nodiscard]] std::string host_of(const ViewEntry& entry) const;
  // The link's text where `path` is one in the view, else empty.
  [[nodiscard]] std::string link_at(const std::string& path) const;
  [[nodiscard]] std::string resolve(const std::string& path) const;
  [[nodiscard]] std::uint64_t rights_at(const std::string& path) const;
  [[nodiscard]] bool in_temporary(const std::string& target) const;
  void place(PathAnswer& answer, const Step& step) const;
  void place_entry(PathAnswer& answer, const ViewEntry& entry) const;

  const SandboxPlan* plan_;
  std::vector<ViewEntry> entries_;
  std::uint64_t known_rights_ = 0;
};

}  // namespace oncelatch::sandbox
