#include "sandbox/view_answer.h"

#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>

#include "sandbox/landlock_rules.h"
#include "sandbox/view_builder.h"

namespace oncelatch::sandbox {

namespace {

constexpr int kMostLinks = 40;  // as the kernel: ELOOP beyond
constexpr unsigned kReadBit = 4;
constexpr unsigned kWriteBit = 2;
constexpr unsigned kSearchBit = 1;

// Made by the exec path itself (sandbox/devices.cc, sandbox/proc.cc).
bool built_in(const std::string& path) {
  return lies_within(path, "/dev") || lies_within(path, "/proc");
}

std::string below(const std::string& path, const std::string& directory) {
  return directory == "/" ? path : path.substr(directory.size());
}

std::string link_text(const std::string& host) {
  std::array<char, PATH_MAX> target;
  ssize_t size = host.empty() ? -1 : ::readlink(host.c_str(), target.data(), target.size() - 1);
  return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : std::string();
}

Answer both(Answer one, Answer other) {
  if (one == Answer::no || other == Answer::no) return Answer::no;
  return one == Answer::yes && other == Answer::yes ? Answer::yes : Answer::depends;
}

Answer answer_of(bool yes) {
  return yes ? Answer::yes : Answer::no;
}

bool has_access_list(const std::string& host) {
  return ::lgetxattr(host.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

bool in_groups(gid_t group) {
  std::array<gid_t, 1024> groups;
  int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  return std::find(groups.data(), groups.data() + std::max(count, 0), group) != groups.data() + std::max(count, 0);
}

}  // namespace

Result<ViewAnswers> ViewAnswers::of(const SandboxPlan& plan, int landlock_abi) {
  ViewAnswers answers(plan);
  ViewBuilder builder(plan, plan.guard);
  TRY(builder.build());
  answers.entries_ = TRY(builder.entries());
  std::erase_if(answers.entries_, [](const ViewEntry& entry) { return lies_within(entry.target, kOverlayPlace); });
  answers.known_rights_ = landlock::known_file_rights(landlock_abi);
  return answers;
}

std::string ViewAnswers::host_of(const ViewEntry& entry) const {
  if (is_cover(entry.kind)) return entry.target;
  if (entry.kind == EntryKind::overlay) return plan_->workspace;
  if (entry.kind != EntryKind::bind) return {};
  if (!entry.text.empty()) return entry.text;
  for (const Bind& bind : plan_->binds)
    if (bind.target == entry.target) return bind.source;
  if (entry.target == plan_->home_inside) return plan_->home;
  return entry.target == plan_->workspace ? plan_->workspace : std::string();
}

ViewAnswers::Step ViewAnswers::at(const std::string& path) const {
  Step step;
  for (const ViewEntry& entry : entries_) {
    if (!lies_within(path, entry.target)) continue;
    if (!is_cover(entry.kind)) {
      if (step.entry == nullptr || entry.target.size() >= step.entry->target.size()) step.entry = &entry;
    } else if (entry.kind != EntryKind::pin) {
      if (step.cover == nullptr || entry.target.size() >= step.cover->target.size()) step.cover = &entry;
    }
  }
  if (step.entry == nullptr) return step;
  // A mount of its own below a covered directory comes later than the cover only where it is one of the view's.
  std::string host = host_of(*step.entry);
  if (!host.empty()) step.host = host + below(path, step.entry->target);
  if (step.cover != nullptr && step.cover->kind == EntryKind::hide && path != step.cover->target) step.host.clear();
  return step;
}

std::string ViewAnswers::link_at(const std::string& path) const {
  Step step = at(path);
  if (step.entry == nullptr) return {};
  if (step.entry->kind == EntryKind::link && step.entry->target == path) return step.entry->text;
  return link_text(step.host);
}

std::string ViewAnswers::resolve(const std::string& path) const {
  std::string rest = path;
  std::string here;
  int links = 0;
  while (!rest.empty()) {
    std::size_t slash = rest.find('/');
    std::string name = rest.substr(0, slash);
    rest = slash == std::string::npos ? std::string() : rest.substr(slash + 1);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      here = parent_path(here);
      continue;
    }
    std::string next = here + "/" + name;
    std::string to = built_in(next) ? std::string() : link_at(next);
    if (to.empty() || ++links > kMostLinks) {
      here = next;
      continue;
    }
    if (to[0] == '/') here.clear();
    rest = to + (rest.empty() ? "" : "/" + rest);
  }
  return here.empty() ? "/" : here;
}

std::uint64_t ViewAnswers::rights_at(const std::string& path) const {
  std::uint64_t rights = 0;
  for (const landlock::FixedRule& rule : landlock::kFixedRules)
    if (lies_within(path, rule.path)) rights |= rule.rights;
  for (const ViewEntry& entry : entries_) {
    if (is_cover(entry.kind) || !lies_within(path, entry.target)) continue;
    std::uint64_t given = landlock::kRightsTable[static_cast<unsigned>(entry.rights)];
    rights |= (entry.flags & kIsDirectory) != 0 ? given : given & landlock::kFileOnly;
  }
  return rights;
}

// Made on the way to a mount below /tmp.
bool ViewAnswers::in_temporary(const std::string& target) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const ViewEntry& entry) {
    return entry.kind == EntryKind::temporary && lies_within(target, entry.target);
  });
}

void ViewAnswers::place_entry(PathAnswer& answer, const ViewEntry& entry) const {
  const bool made =
      entry.kind == EntryKind::directory || entry.kind == EntryKind::link || entry.kind == EntryKind::file;
  answer.holder = entry.target;
  answer.place = Place::system;
  if (entry.kind == EntryKind::temporary) answer.place = Place::temporary;
  if (made) answer.place = entry.target == answer.real ? Place::skeleton : Place::nothing;
  if (entry.kind == EntryKind::directory && in_temporary(entry.target)) answer.place = Place::temporary;
  if (entry.kind == EntryKind::bind && entry.target == plan_->home_inside) answer.place = Place::home;
  for (std::size_t i = 0; i < plan_->binds.size(); ++i) {
    if (entry.kind != EntryKind::bind || plan_->binds[i].target != entry.target) continue;
    answer.place = Place::bind;
    answer.bind = i;
  }
  if (entry.target == plan_->workspace) answer.place = Place::workspace;
}

void ViewAnswers::place(PathAnswer& answer, const Step& step) const {
  if (step.entry != nullptr) {
    place_entry(answer, *step.entry);
  } else if (built_in(answer.real)) {
    answer.holder = lies_within(answer.real, "/dev/shm") ? "/dev/shm" : answer.real.substr(0, answer.real.find('/', 1));
    answer.place = answer.holder == "/proc" ? Place::processes : Place::devices;
    if (answer.holder == "/dev/shm") answer.place = Place::temporary;
  } else if (answer.real == "/") {
    answer.place = Place::skeleton;
  }
  const bool covered = step.cover != nullptr && step.cover->target.size() >= answer.holder.size();
  if (!covered) return;
  answer.place = step.cover->kind == EntryKind::hide ? Place::hidden : Place::protection;
  answer.holder = step.cover->target;
}

// The verdict on one path, of which place() has said what holds it.
class ViewAnswers::Judge {
 public:
  Judge(const ViewAnswers& view, const Step& step, PathAnswer& answer)
      : view_(view), step_(step), answer_(answer), rights_(view.rights_at(answer.real) & view.known_rights_) {}

  void decide() {
    if (answer_.place == Place::processes || answer_.place == Place::devices) return decide_built_in();
    look();
    look_at_mounts();
    look_at_name();
    reach_ = reach();
    answer_.visible = both(answer_of(answer_.exists), reach_);
    if (answer_.exists) decide_use();
    decide_creation();
  }

 private:
  // Which files there are, the exec path and the kernel decide.
  void decide_built_in() {
    bool top = answer_.real == answer_.holder;
    answer_.directory = top;
    answer_.visible = answer_.readable = top ? Answer::yes : Answer::depends;
    if (answer_.place == Place::devices && !top) answer_.writable = Answer::depends;
  }

  void look() {
    if (answer_.place == Place::hidden) {
      answer_.host.clear();
      answer_.exists = answer_.real == answer_.holder;
      answer_.directory = answer_.exists && (step_.cover->flags & kIsDirectory) != 0;
    } else if (answer_.host.empty()) {
      bool directory = step_.entry != nullptr && step_.entry->kind == EntryKind::directory;
      answer_.exists = answer_.place == Place::skeleton || (is_private() && answer_.real == answer_.holder);
      answer_.directory = answer_.exists && (directory || is_private() || answer_.real == "/");
    } else {
      look_at_host();
    }
  }

  void look_at_host() {
    struct stat found {};
    answer_.exists = ::lstat(answer_.host.c_str(), &found) == 0;
    if (!answer_.exists) return;
    answer_.directory = S_ISDIR(found.st_mode);
    answer_.other = !answer_.directory && !S_ISREG(found.st_mode);
    names_ = S_ISREG(found.st_mode) ? found.st_nlink : 1;
    answer_.mode = found.st_mode & 07777;
    answer_.owner = found.st_uid;
  }

  // The view's mount, and that of the host below it.
  void look_at_mounts() {
    const unsigned flags = step_.entry != nullptr ? step_.entry->flags : 0U;
    const bool overlay = step_.entry != nullptr && step_.entry->kind == EntryKind::overlay;
    const bool bound = overlay || (step_.entry != nullptr && step_.entry->kind == EntryKind::bind);
    const bool covered = answer_.place == Place::hidden || answer_.place == Place::protection;
    writable_ = !covered && (is_private() || (bound && (flags & kReadOnly) == 0));
    executable_ = answer_.place != Place::hidden && (flags & kNoExecute) == 0;
    struct statvfs host {};
    const std::string object = answer_.exists ? answer_.host : parent_path(answer_.host);
    if (answer_.host.empty() || ::statvfs(object.c_str(), &host) != 0) return;
    const bool read_only = !overlay && (host.f_flag & ST_RDONLY) != 0;
    const bool no_execute = (host.f_flag & ST_NOEXEC) != 0;
    answer_.by_host_mount = (writable_ && read_only) || (executable_ && no_execute);
    writable_ = writable_ && !read_only;
    executable_ = executable_ && !no_execute;
  }

  // Of what lies in a directory of the host that is written on behalf.
  void look_at_name() {
    const unsigned flags = step_.entry != nullptr ? step_.entry->flags : 0U;
    if (!writable_ || (flags & kGuarded) == 0 || answer_.real.size() <= answer_.holder.size()) return;
    answer_.linked = names_ > 1;
    const std::string in_git = (flags & kGitDirectory) != 0 ? ".git/" : "";
    const GuardedName* row = guarded_name((in_git + answer_.real.substr(answer_.holder.size() + 1)).c_str());
    if (row == nullptr) return;
    const SandboxPlan& plan = *view_.plan_;
    const bool held = row->guard == Guard::held ||
                      (row->guard == Guard::held_if_strict && plan.hold_builds && plan.held != HeldNames::report);
    if (held && !is_never_held(answer_.real.c_str() + answer_.holder.size() + 1)) answer_.held = row;
    const bool refused = answer_.held != nullptr && plan.held == HeldNames::refuse;
    if (row->guard == Guard::refused || refused) answer_.guarded = row;
  }

  // The directories above, inside the same mount, must let it through.
  Answer reach() {
    Answer result = Answer::yes;
    if (answer_.host.empty()) return result;
    const std::string top = view_.host_of(*step_.entry);
    for (std::string parent = parent_path(answer_.host); !parent.empty() && lies_within(parent, top);
         parent = parent_path(parent))
      result = both(result, by_mode(kSearchBit, parent));
    return result;
  }

  // A read-only mount doesn't keep anybody from connecting.
  void decide_connection() {
    const bool scoped = (view_.known_rights_ & landlock::kResolveUnix) != 0;
    if (!scoped || has(landlock::kResolveUnix))
      answer_.connectable = both(answer_.visible, by_mode(kWriteBit, answer_.host));
  }

  void decide_use() {
    if (answer_.other) decide_connection();
    if (has(answer_.directory ? landlock::kReadDir : landlock::kReadFile))
      answer_.readable = both(answer_.visible, by_mode(kReadBit, answer_.host));
    if (answer_.directory) return;
    if (writable_ && answer_.guarded == nullptr && !answer_.linked && has(landlock::kWriteFile))
      answer_.writable = both(answer_.visible, by_mode(kWriteBit, answer_.host));
    if (executable_ && has(landlock::kExecute))
      answer_.executable = both(answer_.visible, by_mode(kSearchBit, answer_.host));
  }

  void decide_creation() {
    if (!writable_ || !has(landlock::kMakeReg) || (answer_.exists && !answer_.directory)) return;
    if (!answer_.exists && answer_.guarded != nullptr) return;
    const std::string parent = answer_.exists ? answer_.host : parent_path(answer_.host);
    if (!answer_.exists && parent.empty() && parent_path(answer_.real) != answer_.holder) return;
    answer_.creatable = both(reach_, by_mode(kWriteBit | kSearchBit, parent));
  }

  // As the kernel's user that the plan names, without capabilities. A mount with mapped owners shows the files of its
  // source's owner as that user's, and root's files in it can't be written at all.
  Answer by_mode(unsigned wanted, const std::string& host) {
    struct stat found {};
    if (host.empty()) return Answer::yes;
    if (::stat(host.c_str(), &found) != 0) return Answer::no;
    const SandboxPlan& plan = *view_.plan_;
    const bool caller = plan.uid == ::geteuid() && plan.uid != 0;
    bool own = found.st_uid == plan.uid;
    bool group = found.st_gid == plan.gid || (caller && in_groups(found.st_gid));
    bool refused = false;
    struct stat source {};
    if (plan.idmapped && step_.entry->map_owner && ::stat(view_.host_of(*step_.entry).c_str(), &source) == 0) {
      own = found.st_uid == source.st_uid;
      group = found.st_gid == source.st_gid;
      refused = (wanted & kWriteBit) != 0 && found.st_uid == 0 && !own;
    }
    if (!refused && has_access_list(host)) return Answer::depends;
    const unsigned shift = own ? 6U : group ? 3U : 0U;
    refused = refused || ((found.st_mode >> shift) & wanted) != wanted;
    const bool told = refused && !(wanted == kSearchBit && S_ISREG(found.st_mode));  // most files are no programs
    answer_.by_mode = answer_.by_mode || told;
    return answer_of(!refused);
  }

  [[nodiscard]] bool has(std::uint64_t right) const { return (rights_ & right) == right; }
  [[nodiscard]] bool is_private() const { return answer_.place == Place::temporary; }

  const ViewAnswers& view_;
  const Step& step_;
  PathAnswer& answer_;
  std::uint64_t rights_;
  nlink_t names_ = 1;
  bool writable_ = false;  // as the mounts have it
  bool executable_ = false;
  Answer reach_ = Answer::yes;
};

PathAnswer ViewAnswers::ask(const std::string& path) const {
  PathAnswer answer;
  answer.real = resolve(path);
  Step step = at(answer.real);
  answer.host = step.host;
  place(answer, step);
  Judge(*this, step, answer).decide();
  return answer;
}

}  // namespace oncelatch::sandbox
