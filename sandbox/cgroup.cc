#include "sandbox/cgroup.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "base/beneath.h"
#include "sandbox/cgroup_places.h"

namespace oncelatch::sandbox {

namespace {

constexpr std::size_t kMostText = std::size_t{1} << 20;

std::string text_of(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  Result<std::string> text = read_whole(file.get(), path, kMostText);
  return text ? std::move(*text) : std::string();
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    std::size_t end = at + word.size();
    bool starts = at == 0 || text[at - 1] == ' ';
    bool ends = end == text.size() || text[end] == ' ' || text[end] == '\n';
    if (starts && ends) return true;
  }
  return false;
}

// Whether children of `parent` have both controllers, or can be given them: the kernel refuses that while processes
// live in `parent` itself.
bool hands_down(const std::string& parent) {
  const std::string file = parent + "/cgroup.subtree_control";
  auto given = [&file] {
    std::string controllers = text_of(file);
    return has_word(controllers, "memory") && has_word(controllers, "pids");
  };
  if (given()) return true;
  std::string offered = text_of(parent + "/cgroup.controllers");
  if (!has_word(offered, "memory") || !has_word(offered, "pids")) return false;
  Fd control(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  constexpr std::string_view kBoth = "+memory +pids";
  return control && ::write(control.get(), kBoth.data(), kBoth.size()) >= 0 && given();
}

// Whether a group beside `own` would be bound no less than one within: what limits us must go on limiting the session.
bool nothing_is_lost_beside(const std::string& own, const Cgroup::Wanted& wanted) {
  auto covers = [&own](const char* file, std::uint64_t ours) {
    std::string limit = text_of(own + "/" + file);  // empty: there is no such controller here
    if (limit.empty() || limit.starts_with("max")) return true;
    return ours != 0 && std::strtoull(limit.c_str(), nullptr, 10) >= ours;
  };
  return covers("memory.max", wanted.memory) && covers("memory.high", wanted.memory) &&
         covers("pids.max", wanted.processes) && covers("cpu.max", 0) && covers("io.max", 0);
}

// Asks the kernel to make `event` readable when the group runs out of memory (v1).
Status announce_out_of_memory(const ControlGroup& group, int event) {
  const std::string path = group.path() + "/memory.oom_control";
  Fd control(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!control) return fail_errno("sandbox", path, errno);
  return group.set("cgroup.event_control", std::to_string(event) + " " + std::to_string(control.get()));
}

}  // namespace

Cgroup Cgroup::make(const Wanted& wanted, const Lists& lists) {
  Cgroup result;
  if (wanted.memory == 0 && !wanted.always) return result;
  CgroupPlaces places = find_places(text_of(lists.own_groups), text_of(lists.mounts));
  for (const std::string& parent : places.unified) {
    bool beside = &parent != &places.unified.front();
    if (beside && !nothing_is_lost_beside(places.unified.front(), wanted)) continue;
    if (result.take_unified(parent, wanted)) return result;
  }
  if (wanted.memory != 0 && !places.memory.empty()) (void)result.take_memory(places.memory, wanted.memory).has_value();
  if (wanted.processes != 0 && !places.processes.empty())
    (void)result.take_processes(places.processes, wanted.processes).has_value();
  return result;
}

void Cgroup::sweep() {
  const Lists lists;
  CgroupPlaces places = find_places(text_of(lists.own_groups), text_of(lists.mounts));
  for (const std::string& parent : places.unified) sweep_groups(parent);
  if (!places.memory.empty()) sweep_groups(places.memory);
  if (!places.processes.empty()) sweep_groups(places.processes);
}

bool Cgroup::take_unified(const std::string& parent, const Wanted& wanted) {
  // To enter, the child needs to write where its old group and the new one meet.
  if (!hands_down(parent) || ::access((parent + "/cgroup.procs").c_str(), W_OK) != 0) return false;
  Result<ControlGroup> group = ControlGroup::make(parent);
  if (!group) return false;
  if (wanted.memory != 0 && !group->set_limit("memory.max", wanted.memory)) return false;
  if (wanted.processes != 0 && !group->set_limit("pids.max", wanted.processes)) return false;
  if (wanted.memory != 0) {
    (void)group->set("memory.swap.max", "0").has_value();  // no such file where there is no swap
    if (!group->set("memory.oom.group", "1")) return false;
    memory_ = 0;
  }
  if (wanted.processes != 0) processes_ = 0;
  groups_.push_back(std::move(*group));
  return unified_ = true;
}

Status Cgroup::take_memory(const std::string& parent, std::uint64_t bytes) {
  ControlGroup group = TRY(ControlGroup::make(parent));
  TRY(group.set_limit("memory.limit_in_bytes", bytes));
  if (!group.set_limit("memory.memsw.limit_in_bytes", bytes)) (void)group.set("memory.swappiness", "0").has_value();
  Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return fail_errno("sandbox", "eventfd", errno);
  TRY(announce_out_of_memory(group, event.get()));
  memory_event_ = std::move(event);
  memory_ = static_cast<int>(groups_.size());
  groups_.push_back(std::move(group));
  return {};
}

Status Cgroup::take_processes(const std::string& parent, std::uint64_t most) {
  ControlGroup group = TRY(ControlGroup::make(parent));
  TRY(group.set_limit("pids.max", most));
  processes_ = static_cast<int>(groups_.size());
  groups_.push_back(std::move(group));
  return {};
}

std::vector<int> Cgroup::enroll() const {
  std::vector<int> descriptors;
  for (const ControlGroup& group : groups_) descriptors.push_back(group.processes_file());
  return descriptors;
}

bool Cgroup::ran_out_of_memory() const {
  if (!limits_memory()) return false;
  const ControlGroup& group = groups_[static_cast<std::size_t>(memory_)];
  return group.counter(unified_ ? "memory.events" : "memory.oom_control", "oom_kill") != 0;
}

bool Cgroup::refused_processes() const {
  return limits_processes() && groups_[static_cast<std::size_t>(processes_)].counter("pids.events", "max") != 0;
}

std::string Cgroup::in_words() const {
  const std::string source = unified_ ? "control group v2" : "control group v1";
  std::string memory = limits_memory() ? source : "the first process inside, which counts";
  std::string processes = limits_processes() ? source + ", pid namespace, rlimit" : "pid namespace, rlimit";
  return "memory: " + memory + "; processes: " + processes;
}

}  // namespace oncelatch::sandbox
