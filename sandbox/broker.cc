#include "sandbox/broker.h"

#include <asm/poll.h>
#include <asm/socket.h>
#include <linux/openat2.h>
#include <linux/resource.h>
#include <linux/time_types.h>
#include <linux/un.h>

#include "sandbox/broker_request.h"
#include "sandbox/directory_names.h"
#include "sandbox/test_hook.h"

namespace oncelatch::sandbox {

namespace {

constexpr int kFileTooLarge = 25;                                 // SIGXFSZ
constexpr unsigned long kSyncWakeUp = 1;                          // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP, 6.6
constexpr unsigned long kSetFlags = _IOW('!', 4, std::uint64_t);  // SECCOMP_IOCTL_NOTIF_SET_FLAGS

// The caller's limit of a file's size, as ours for a while. Never above our hard one.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uint64_t soft) {
    (void)sys::call(__NR_prlimit64, 0, RLIMIT_FSIZE, nullptr, &before_);
    const Limits now{soft < before_.hard ? soft : before_.hard, before_.hard};
    (void)sys::call(__NR_prlimit64, 0, RLIMIT_FSIZE, &now, nullptr);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() { (void)sys::call(__NR_prlimit64, 0, RLIMIT_FSIZE, &before_, nullptr); }

 private:
  struct Limits {
    std::uint64_t soft;
    std::uint64_t hard;
  };
  Limits before_{};
};

// By what gets a new name.
Making making_of(const FileStatus& found) {
  return is_type(found, S_IFDIR) ? Making::tree : is_type(found, S_IFLNK) ? Making::symbolic_link : Making::file;
}

// Byte for byte; what is longer isn't compared.
bool is_same_text(const Place& one, const Place& other) {
  constexpr unsigned kMostParts = 16;
  constexpr unsigned kRead = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor left;
  Descriptor right;
  if (left.keep(sys::call(__NR_openat, one.parent.number, one.name, kRead)) < 0) return false;
  if (right.keep(sys::call(__NR_openat, other.parent.number, other.name, kRead)) < 0) return false;
  for (unsigned part = 0; part < kMostParts; ++part) {
    char a[4096];
    char b[4096];
    const long size = sys::call(__NR_read, left.number, a, sizeof a);
    if (size < 0 || sys::call(__NR_read, right.number, b, sizeof b) != size) return false;
    if (size == 0) return true;
    if (std::memcmp(a, b, static_cast<std::size_t>(size)) != 0) return false;
  }
  return false;
}

// A lock that is moved over the settings beside it and says the same: it goes, they stay. Whoever has it open still can
// write what they like: it has no name any more.
long drop_settings_lock(const Place& lock, const Place& settings) {
  const std::size_t directory = std::strlen(lock.path) - std::strlen(lock.name);
  const bool beside = std::strncmp(lock.path, settings.path, directory) == 0 &&
                      std::strcmp(settings.path + directory, "config") == 0 && !settings.slash;
  if (!beside || !is_same_text(lock, settings)) return -EACCES;
  return sys::call(__NR_unlinkat, lock.parent.number, lock.name, 0);
}

// Those that are there now; of one that is made inside all is its maker's.
long keep_unshared(GuardRules& rules, const char* repository) {
  char path[kMostPathBytes];
  const std::size_t size = std::strlen(repository);
  constexpr char kWorktrees[] = "/worktrees";
  if (size + sizeof kWorktrees > sizeof path) return -ENAMETOOLONG;
  std::memcpy(path, repository, size);
  std::memcpy(path + size, kWorktrees, sizeof kWorktrees);
  rules.keep_unshared(repository);
  Descriptor directory;
  long rc = directory.keep(sys::call(__NR_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (rc < 0) return rc == -ENOENT ? 0 : rc;
  DirectoryNames names(directory.number);
  while (const char* name = names.next())
    if (!rules.keep_worktree(path, name)) return -E2BIG;
  return names.error();
}

}  // namespace

// Of what is writable in the view: the host's trees are guarded; a private one is worked in only where it holds one of
// those, since no rule of Landlock could let it be written without them.
Outcome Broker::prepare(const WirePlan& plan) {
  for (std::uint32_t i = 0; i < plan.entry_count; ++i) {
    const Entry& entry = plan.entries[i];
    if (!is_writable(entry) || makes_by_itself(plan, entry)) continue;
    if (!rules_.add(entry.target.data, (entry.flags & kGuarded) != 0, (entry.flags & kGitDirectory) != 0))
      return failed(-E2BIG, "guarded directories");
    if ((entry.flags & kSharedOnly) == 0) continue;
    if (const long rc = keep_unshared(rules_, entry.target.data); rc < 0) return failed(rc, "other worktrees");
  }
  if (plan.git_directory.size != 0 && !rules_.keep_other_branches(plan.git_directory.data, plan.own_reference.data))
    return failed(-E2BIG, "own branch");
  adds_no_worktree_ = has(plan, kPlanNoWorktrees);
  asks_ = has(plan, kPlanHeldAsked);
  if (asks_ || has(plan, kPlanHeldRefused))
    rules_.hold(has(plan, kPlanHoldBuilds) ? Held::names_and_builds : Held::names);
  return {};
}

Outcome Broker::listen(int listener) {
  listener_ = listener;
  if (long rc = sys::call(__NR_ioctl, listener, kSetFlags, kSyncWakeUp); rc < 0) return failed(rc, "SYNC_WAKE_UP");
  return {};
}

// For the next call on behalf; most callers have the same.
void Broker::take_umask(const Request& request) {
  const long mask = callers_.umask_of(request.caller);
  const long wanted = mask < 0 ? 0777 : mask;
  if (!umask_known_ || wanted != umask_) sys::call(__NR_umask, wanted);
  umask_ = wanted;
  umask_known_ = true;
}

void Broker::work() {
  while (serve()) wait_for_call();
}

void Broker::wait_for_call() {
  for (bool called = false; is_waiting() && !called;) {
    pollfd entries[2] = {{listener_, POLLIN, 0}, {channel_, POLLIN, 0}};
    __kernel_timespec pause{0, (waiting_ != 0 ? kLookPause : kHeldPause) * 1000000};
    (void)sys::call(__NR_ppoll, entries, questions_open_ != 0 ? 2 : 1, &pause, nullptr, 0);
    called = entries[0].revents != 0;
    look_again();
    if (entries[1].revents != 0) take_answers();
    look_at_questions();
  }
}

// Somebody has the filter still.
bool Broker::has_callers() const {
  pollfd listener{listener_, POLLIN, 0};
  __kernel_timespec now{};
  return sys::call(__NR_ppoll, &listener, 1, &now, nullptr, 0) >= 0 && (listener.revents & POLLHUP) == 0;
}

bool Broker::is_valid(std::uint64_t id) const {
  return sys::call(__NR_ioctl, listener_, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

bool Broker::serve() {
  seccomp_notif notification{};
  const long rc = sys::call(__NR_ioctl, listener_, SECCOMP_IOCTL_NOTIF_RECV, &notification);
  if (rc < 0) return rc == -EINTR || (rc == -ENOENT && has_callers());  // the one that called ended meanwhile
  const seccomp_data& data = notification.data;
  const Request request{notification.id,
                        callers_.find(static_cast<int>(notification.pid)),
                        brokered_call(data.arch, data.nr),
                        data.args,
                        notification,
                        nullptr};
  const bool leaves_it = leaves_all_to_kernel_by_test();
  const Answer answer = leaves_it                 ? Answer::by_kernel()
                        : request.call == nullptr ? Answer::error(-EPERM)
                                                  : act(request);
  if (answer.kind != Answer::Kind::later) reply(notification.id, answer);
  return true;
}

// A caller that ended gets no answer.
void Broker::reply(std::uint64_t id, const Answer& answer) {
  seccomp_notif_resp response{};
  response.id = id;
  if (answer.kind == Answer::Kind::kernel) response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  if (answer.kind == Answer::Kind::result) response.error = static_cast<std::int32_t>(answer.result);
  if (answer.kind == Answer::Kind::descriptor) {
    seccomp_notif_addfd add{};
    add.id = id;
    add.flags = SECCOMP_ADDFD_FLAG_SEND;
    add.srcfd = static_cast<std::uint32_t>(answer.result);
    add.newfd_flags = answer.flags;
    const long rc = sys::call(__NR_ioctl, listener_, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
    sys::close(static_cast<int>(answer.result));
    if (rc >= 0 || rc == -ENOENT) return;
    response.error = static_cast<std::int32_t>(rc);  // EMFILE
  }
  (void)sys::call(__NR_ioctl, listener_, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

Broker::Answer Broker::act(const Request& request) {
  const BrokeredCall& call = *request.call;
  switch (call.deed) {
    case Deed::open:
      return open(request, request.number(call.flags), request.number(call.mode));
    case Deed::create:
      return open(request, O_CREAT | O_WRONLY | O_TRUNC, request.number(call.mode));
    case Deed::truncate:
      return truncate(request, static_cast<std::int64_t>(request.arguments[call.mode]));
    case Deed::truncate_pair:
      return truncate(request, static_cast<std::int64_t>((request.arguments[call.mode] & 0xffffffff) |
                                                         (request.arguments[call.mode + 1] << 32)));
    case Deed::directory:
      return make(request, Making::directory);
    case Deed::node:
      return make(request, Making::file);
    case Deed::symbolic_link:
      return make(request, Making::symbolic_link);
    case Deed::hard_link:
      return make_hard_link(request);
    case Deed::rename:
      return rename(request);
    case Deed::bind:
      return bind(request);
    case Deed::umask:
      callers_.forget_umasks();
      return Answer::by_kernel();
  }
  return Answer::error(-EPERM);
}

Broker::Answer Broker::truncate(const Request& request, std::int64_t length) {
  if (length < 0) return Answer::error(-EINVAL);
  Place place;
  char text[kMostPathBytes];
  long rc = request.place(request.call->directory, request.call->path, place, text);
  Descriptor object;
  if (rc == 0) rc = sandbox::open_object(request.caller, place, true, object);
  FileStatus found{};
  if (rc == 0) rc = inspect(object.number, found);
  char name[kMostPathBytes];
  if (rc == 0) rc = name_of(object.number, name);
  if (rc < 0) return Answer::error(rc);
  if (rules_.tree_of(name) == nullptr || !is_type(found, S_IFREG)) return Answer::by_kernel();  // EISDIR, EINVAL
  if (!links_.knows_all(origin_of(found), found.stx_ino, found.stx_nlink)) return Answer::error(-EACCES);
  const Ruling ruling = settle(request, rules_.judge_changing(name), HeldUse::write, name);
  if (ruling != Ruling::allowed) return refusal(ruling);
  if (!is_valid(request.id)) return Answer::error(-ESRCH);
  const std::uint64_t most = request.caller.limit(RLIMIT_FSIZE);
  const FileSizeLimit limit(most);
  rc = sys::call(__NR_truncate, ObjectPath(object.number).c_str(), length);
  if (rc == -EFBIG && static_cast<std::uint64_t>(length) > most)
    (void)sys::call(__NR_tgkill, request.caller.process(), request.caller.thread(), kFileTooLarge);
  return Answer::error(rc);
}

// A directory, a node or a symbolic link.
Broker::Answer Broker::make(const Request& request, Making making) {
  const BrokeredCall& call = *request.call;
  const unsigned mode = request.number(call.mode);
  char target[kMostPathBytes];
  long rc = 0;
  const bool links = making == Making::symbolic_link;
  if (links) rc = request.path(call.other_path, target);
  // A type that there is none of is refused before the path is looked at.
  if (making == Making::file) rc = sys::call(__NR_mknodat, AT_FDCWD, "", mode, 0);
  if (rc < 0 && (links || rc != -ENOENT)) return Answer::error(rc);
  Place place;
  char text[kMostPathBytes];
  if (rc = request.place(call.directory, call.path, place, text); rc < 0) return Answer::error(rc);
  if (rules_.tree_of(place.path) == nullptr) return Answer::by_kernel();
  const LastName last(place);
  Ruling ruling = links ? rules_.judge_linking(place.path, target) : rules_.judge_making(place.path, making);
  if (ruling != Ruling::allowed) {
    constexpr int kPresent = 0;  // F_OK
    const bool exists = sys::call(__NR_faccessat2, place.parent.number, place.name, kPresent, AT_SYMLINK_NOFOLLOW) == 0;
    if (exists) return Answer::error(-EEXIST);
    ruling = settle(request, ruling, HeldUse::create, place.path);
    if (ruling != Ruling::allowed) return refusal(ruling);
  }
  if (!is_valid(request.id)) return Answer::error(-ESRCH);
  if (links) return Answer::error(sys::call(__NR_symlinkat, target, place.parent.number, last.text));
  take_umask(request);
  return Answer::error(making == Making::directory ? sys::call(__NR_mkdirat, place.parent.number, last.text, mode)
                                                   : sys::call(__NR_mknodat, place.parent.number, last.text, mode, 0));
}

Broker::Answer Broker::make_hard_link(const Request& request) {
  const BrokeredCall& call = *request.call;
  const unsigned flags = request.number(call.flags);
  if ((flags & ~static_cast<unsigned>(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0) return Answer::error(-EINVAL);
  char text[kMostPathBytes];
  Descriptor object;
  long rc = request.text(call.path, text);
  if (rc == 0 && (flags & AT_EMPTY_PATH) != 0) {
    rc = request.caller.base(request.directory(call.directory), text, object);
  } else if (rc >= 0) {
    Place from;
    rc = request.place(call.directory, call.path, from, text);
    if (rc == 0) rc = sandbox::open_object(request.caller, from, (flags & AT_SYMLINK_FOLLOW) != 0, object);
  }
  Place to;
  if (rc == 0) rc = request.place(call.other_directory, call.other_path, to, text);
  if (rc < 0) return Answer::error(rc);
  FileStatus found{};
  char source[kMostPathBytes];
  if (rc = inspect(object.number, found); rc == 0) rc = name_of(object.number, source);
  if (rc < 0) return Answer::error(rc);
  if (rules_.tree_of(to.path) == nullptr && rules_.tree_of(source) == nullptr) return Answer::by_kernel();
  // The kernel makes no other name of a directory, and says so.
  if (is_type(found, S_IFDIR))
    return Answer::error(sys::call(__NR_linkat, AT_FDCWD, ObjectPath(object.number).c_str(), to.parent.number, to.name,
                                   AT_SYMLINK_FOLLOW));
  const TwoNames names{HeldUse::link,   source,  rules_.judge_changing(source),
                       object.number,   to.path, rules_.judge_moving(source, to.path, making_of(found)),
                       to.parent.number};
  if (names.is_held() && names.are_apart()) return Answer::error(-EXDEV);
  if (const Ruling ruling = settle_both(request, names); ruling != Ruling::allowed) return refusal(ruling);
  if (!is_valid(request.id)) return Answer::error(-ESRCH);
  const LastName last(to);
  rc = sys::call(__NR_linkat, AT_FDCWD, ObjectPath(object.number).c_str(), to.parent.number, last.text,
                 AT_SYMLINK_FOLLOW);
  if (rc == 0) links_.made(origin_of(found), found.stx_ino, found.stx_nlink);
  return Answer::error(rc);
}

Broker::Answer Broker::rename(const Request& request) {
  const BrokeredCall& call = *request.call;
  const unsigned flags = request.number(call.flags);
  // Flags that there are none of are refused before the paths are looked at.
  long rc = sys::call(__NR_renameat2, AT_FDCWD, "", AT_FDCWD, "", flags);
  if (rc == -EINVAL) return Answer::error(rc);
  char text[kMostPathBytes];
  Place from;
  Place to;
  rc = request.place(call.directory, call.path, from, text);
  if (rc == 0) rc = request.place(call.other_directory, call.other_path, to, text);
  if (rc < 0) return Answer::error(rc);
  if (rules_.tree_of(from.path) == nullptr && rules_.tree_of(to.path) == nullptr) return Answer::by_kernel();
  FileStatus found{};
  FileStatus taken{};
  rc = sys::call(__NR_statx, from.parent.number, from.name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &found);
  TwoNames names{HeldUse::move,      from.path, rules_.judge_changing(from.path),
                 from.parent.number, to.path,   rules_.judge_moving(from.path, to.path, making_of(found)),
                 to.parent.number};
  if ((flags & RENAME_EXCHANGE) != 0) {
    if (rc == 0) rc = sys::call(__NR_statx, to.parent.number, to.name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &taken);
    names.first_ruling = graver(names.first_ruling, rules_.judge_moving(to.path, from.path, making_of(taken)));
    names.second_ruling = graver(names.second_ruling, rules_.judge_changing(to.path));
  }
  if (rc < 0 && names.ruling() != Ruling::allowed) return Answer::error(rc);
  if (names.ruling() != Ruling::allowed && flags == 0 && rules_.is_settings_lock(from.path))
    return Answer::error(drop_settings_lock(from, to));
  if (names.is_held() && names.are_apart()) return Answer::error(-EXDEV);
  if (const Ruling ruling = settle_both(request, names); ruling != Ruling::allowed) return refusal(ruling);
  if (!is_valid(request.id)) return Answer::error(-ESRCH);
  const LastName old_name(from);
  const LastName new_name(to);
  return Answer::error(
      sys::call(__NR_renameat2, from.parent.number, old_name.text, to.parent.number, new_name.text, flags));
}

// Whether nobody but us can change where it leads: no link, no way back, and only directories of our trees.
bool Broker::is_steady(const Descriptor& base, const char* path) const {
  char start[kMostPathBytes];
  const char* from = path;
  if (path[0] != '/') {
    if (name_of(base.number, start) < 0) return false;
    from = start;
  }
  if (rules_.tree_of(from) == nullptr || std::strstr(path, "..") != nullptr) return false;
  char parent[sizeof(sockaddr_un)];
  const char* last = std::strrchr(path, '/');
  const std::size_t size = last == nullptr ? 0 : static_cast<std::size_t>(last - path);
  std::memcpy(parent, path, size);
  std::memcpy(parent + size, size == 0 ? "." : "", size == 0 ? 2 : 1);
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  Descriptor reached;
  return reached.keep(sys::call(__NR_openat2, base.number, parent, &how, sizeof how)) == 0;
}

// A socket with a name. Others, and those without one, the kernel binds: it makes no name in our trees.
Broker::Answer Broker::bind(const Request& request) {
  constexpr unsigned kFamilySize = 2;
  constexpr int kUnix = 1;
  sockaddr_un address{};
  const unsigned size = request.number(request.call->mode);
  if (size <= kFamilySize || size > sizeof address) return Answer::by_kernel();
  Descriptor socket;
  long rc = request.caller.copy_descriptor(request.directory(request.call->directory), socket);
  int family = 0;
  unsigned family_size = sizeof family;
  if (rc == 0) rc = sys::call(__NR_getsockopt, socket.number, SOL_SOCKET, SO_DOMAIN, &family, &family_size);
  if (rc < 0) return Answer::error(rc);
  if (family != kUnix) return Answer::by_kernel();
  rc = request.caller.read_bytes(request.arguments[request.call->path], &address, size);
  if (rc < 0) return Answer::error(rc);
  if (address.sun_family != kUnix || address.sun_path[0] == 0) return Answer::by_kernel();
  char path[sizeof address.sun_path + 1] = {};
  std::memcpy(path, address.sun_path, size - kFamilySize);
  Descriptor base;
  rc = request.caller.base(AT_FDCWD, path, base);
  Place place;
  if (rc == 0) rc = find_place(request.caller, base.number, path, place);
  if (rc < 0) return Answer::error(rc);
  if (rules_.tree_of(place.path) == nullptr) return Answer::by_kernel();
  const Ruling ruling = settle(request, rules_.judge_making(place.path, Making::file), HeldUse::create, place.path);
  if (ruling != Ruling::allowed) return refusal(ruling);
  const bool steady = is_steady(base, path);
  if (!is_valid(request.id)) return Answer::error(-ESRCH);
  take_umask(request);
  // The name that the caller gave is the one that its peers are told, if it can't lead elsewhere meanwhile.
  if (!steady) {
    std::memset(address.sun_path, 0, sizeof address.sun_path);
    const LastName last(place);
    const std::size_t length = std::strlen(last.text);
    if (length >= sizeof address.sun_path) return Answer::error(-ENAMETOOLONG);
    std::memcpy(address.sun_path, last.text, length);
  }
  const int start = steady ? base.number : place.parent.number;  // none for an absolute name
  if (start >= 0) rc = sys::call(__NR_fchdir, start);
  if (rc < 0) return Answer::error(rc);
  rc = sys::call(__NR_bind, socket.number, &address, size);
  (void)sys::call(__NR_chdir, "/");
  return Answer::error(rc);
}

}  // namespace oncelatch::sandbox
