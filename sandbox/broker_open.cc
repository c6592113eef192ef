// open(2) on behalf: looked up until a regular file stands there or one can be made. What isn't in a tree of ours, and
// what no rule is about, the kernel does itself: by the callers' own domain nothing in those trees can be made or
// written.
#include <linux/openat2.h>

#include "sandbox/broker_request.h"

namespace oncelatch::sandbox {

namespace {

constexpr unsigned kTemporary = 020000000 | O_DIRECTORY;  // O_TMPFILE
constexpr unsigned kOnCreation = O_CREAT | O_EXCL | O_NOFOLLOW;
constexpr long kRestart = 512;   // ERESTARTSYS: EINTR or once more, as the signal's handler says
constexpr int kMostRounds = 64;  // somebody removes what we find

bool writes(unsigned flags) {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
}

long reopen(int object, unsigned flags) {
  return sys::call(__NR_openat, AT_FDCWD, ObjectPath(object).c_str(), (flags & ~kOnCreation) | O_CLOEXEC);
}

// -ENXIO where the caller would wait for the other end of a pipe.
long open_without_waiting(int pipe, unsigned flags) {
  const long fd = reopen(pipe, flags | O_NONBLOCK);
  if (fd >= 0) (void)sys::call(__NR_fcntl, fd, F_SETFL, flags & ~kOnCreation);
  return fd;
}

}  // namespace

struct Broker::Opening {
  const Request& request;
  unsigned flags;
  unsigned mode;
  Place place;
  int links = 0;
  int rounds = 0;
};

Broker::Answer Broker::open(const Request& request, unsigned flags, unsigned mode) {
  if ((flags & O_PATH) != 0) return Answer::by_kernel();
  // What the kernel looks at before the path, which is wrong here for sure.
  if (sys::call(__NR_openat, AT_FDCWD, "", flags, mode) == -EINVAL) return Answer::error(-EINVAL);
  char text[kMostPathBytes];
  long rc = request.path(request.call->path, text);
  if (rc >= 0 && request.caller.is_crowded()) rc = -EMFILE;  // nothing is made that can't be handed over
  if (rc < 0) return Answer::error(rc);
  if ((flags & kTemporary) == kTemporary) return open_temporary(request, text, flags, mode);
  if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) flags |= O_NOFOLLOW;
  Opening opening{request, flags, mode, {}};
  if (rc = request.place_of(request.call->directory, text, opening.place); rc < 0) return Answer::error(rc);
  Answer answer;
  while (!open_step(opening, answer)) {
    if (++opening.rounds > kMostRounds) return Answer::error(-EAGAIN);
  }
  return answer;
}

// True: answered.
bool Broker::open_step(Opening& opening, Answer& answer) {
  const Place& place = opening.place;
  const bool creates = (opening.flags & O_CREAT) != 0;
  const bool is_name = std::strcmp(place.name, ".") != 0 && std::strcmp(place.name, "..") != 0;
  if (creates && is_name && place.slash) {
    answer = Answer::by_kernel();  // EISDIR
    return true;
  }
  if (creates && is_name && open_new(opening, answer)) return true;
  return open_existing(opening, answer);
}

// False: there is something already, or it isn't for us to make it.
bool Broker::open_new(Opening& opening, Answer& answer) {
  const char* path = opening.place.path;
  if (rules_.tree_of(path) == nullptr) return false;
  long rc = -EEXIST;
  if (!is_valid(opening.request.id)) rc = -ESRCH;
  const bool exclusive = (opening.flags & O_EXCL) != 0;
  Ruling ruling = rules_.judge_making(path, Making::file);
  if (exclusive && ruling != Ruling::allowed && rules_.is_settings_lock(path)) ruling = Ruling::allowed;
  if (ruling != Ruling::allowed) {
    constexpr int kPresent = 0;  // F_OK, of the link itself
    const long found =
        sys::call(__NR_faccessat2, opening.place.parent.number, opening.place.name, kPresent, AT_SYMLINK_NOFOLLOW);
    if (found == -ENOENT && ruling == Ruling::refused && open_for_worktree(opening, true, answer)) return true;
    if (found == -ENOENT) ruling = settle(opening.request, ruling, HeldUse::create, path);
    if (found == -ENOENT && ruling != Ruling::allowed) {
      answer = refusal(ruling);
      return true;
    }
  }
  if (ruling == Ruling::allowed && rc == -EEXIST) {
    take_umask(opening.request);
    rc = sys::call(__NR_openat, opening.place.parent.number, opening.place.name,
                   opening.flags | kOnCreation | O_CLOEXEC, opening.mode);
  }
  if (rc == -EEXIST && !exclusive) return false;
  answer = rc < 0 ? Answer::error(rc) : Answer{Answer::Kind::descriptor, rc, opening.flags & O_CLOEXEC};
  return true;
}

// False: it has nothing to do with a worktree that git adds.
bool Broker::open_for_worktree(const Opening& opening, bool is_new, Answer& answer) {
  constexpr unsigned kWhole = O_ACCMODE | O_CREAT | O_TRUNC;
  if (adds_no_worktree_) return false;
  if ((opening.flags & kWhole) != (O_WRONLY | O_CREAT | O_TRUNC) || !is_valid(opening.request.id)) return false;
  take_umask(opening.request);
  const Place& place = opening.place;
  long fd = is_new ? new_worktrees_.begin(rules_, place) : new_worktrees_.repeat(place.path);
  if (fd == -EACCES && is_new) fd = new_worktrees_.link(rules_, place);
  if (fd == -EACCES) return false;
  answer = fd < 0 ? Answer::error(fd) : Answer{Answer::Kind::descriptor, fd, opening.flags & O_CLOEXEC};
  return true;
}

bool Broker::open_existing(Opening& opening, Answer& answer) {
  Place& place = opening.place;
  Descriptor object;
  long rc = object.keep(sys::call(__NR_openat, place.parent.number, place.name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  FileStatus found{};
  if (rc == 0) rc = inspect(object.number, found);
  if (rc == 0 && is_type(found, S_IFLNK) && (place.slash || (opening.flags & O_NOFOLLOW) == 0)) {
    if (++opening.links > kMostLinks) rc = -ELOOP;
    if (rc == 0 && is_magic_link(place.parent.number, found.stx_mode)) {
      rc = object.keep(sys::call(__NR_openat, place.parent.number, place.name, O_PATH | O_CLOEXEC));
      if (rc == 0) rc = inspect(object.number, found);
    } else if (rc == 0) {
      char text[kMostLinkBytes];
      rc = read_link(place, text);
      Descriptor base;
      base.take(place.parent);
      if (rc >= 0) rc = find_place(opening.request.caller, base.number, text, place);
      if (rc >= 0) return false;
    }
  }
  if (rc == -ENOENT && (opening.flags & O_CREAT) != 0 && place.parent.number >= 0) {  // the last component alone
    if (rules_.tree_of(place.path) != nullptr) return false;                          // removed since
    answer = Answer::by_kernel();
    return true;
  }
  answer = rc < 0 ? Answer::error(rc) : open_object(opening, object, found);
  return true;
}

Broker::Answer Broker::open_object(Opening& opening, const Descriptor& object, const FileStatus& found) {
  if (is_type(found, S_IFDIR) || is_type(found, S_IFLNK)) return Answer::by_kernel();  // EISDIR, ELOOP
  if (opening.place.slash) return Answer::error(-ENOTDIR);
  char name[kMostPathBytes];
  if (long rc = name_of(object.number, name); rc < 0) return Answer::error(rc);
  if (rules_.tree_of(name) == nullptr) return Answer::by_kernel();
  if (is_type(found, S_IFREG)) return open_file(opening, object, found);
  if (is_type(found, S_IFIFO)) return open_pipe(opening.request, object, opening.flags);
  if (is_type(found, S_IFSOCK)) return Answer::error(reopen(object.number, opening.flags));  // ENXIO
  return Answer::by_kernel();  // EACCES: no device of the view's own is in a tree
}

Broker::Answer Broker::open_file(Opening& opening, const Descriptor& object, const FileStatus& found) {
  char name[kMostPathBytes];
  if (long rc = name_of(object.number, name); rc < 0) return Answer::error(rc);
  if (writes(opening.flags)) {
    if (!links_.knows_all(origin_of(found), found.stx_ino, found.stx_nlink)) return Answer::error(-EACCES);
    Ruling ruling = rules_.judge_changing(name);
    Answer answer;
    if (ruling == Ruling::refused && open_for_worktree(opening, false, answer)) return answer;
    ruling = settle(opening.request, ruling, HeldUse::write, name);
    if (ruling != Ruling::allowed) return refusal(ruling);
  }
  if (!is_valid(opening.request.id)) return Answer::error(-ESRCH);
  const long fd = reopen(object.number, opening.flags);
  return fd < 0 ? Answer::error(fd) : Answer{Answer::Kind::descriptor, fd, opening.flags & O_CLOEXEC};
}

// Never waits itself: an open that would is tried again until its other end is there.
Broker::Answer Broker::open_pipe(const Request& request, const Descriptor& object, unsigned flags) {
  if ((flags & O_ACCMODE) == O_RDONLY) return Answer::by_kernel();  // nothing is written
  const long fd = open_without_waiting(object.number, flags);
  if (fd == -ENXIO && (flags & O_NONBLOCK) == 0) {
    if (waiting_ == kMostWaiting) return Answer::error(-EAGAIN);
    const long again = sys::call(__NR_fcntl, object.number, F_DUPFD_CLOEXEC, 0);
    if (again < 0) return Answer::error(again);
    waiting_opens_[waiting_++] = {request.id, request.caller.thread(), static_cast<int>(again), flags};
    return Answer::later();
  }
  return fd < 0 ? Answer::error(fd) : Answer{Answer::Kind::descriptor, fd, flags & O_CLOEXEC};
}

void Broker::look_again() {
  unsigned kept = 0;
  for (unsigned i = 0; i < waiting_; ++i) {
    const WaitingOpen one = waiting_opens_[i];
    long fd = is_valid(one.id) ? open_without_waiting(one.pipe, one.flags) : -ESRCH;
    if (fd == -ENXIO && callers_.find(one.thread).has_signal()) fd = -kRestart;
    if (fd == -ENXIO) {
      waiting_opens_[kept++] = one;
      continue;
    }
    reply(one.id, fd < 0 ? Answer::error(fd) : Answer{Answer::Kind::descriptor, fd, one.flags & O_CLOEXEC});
    sys::close(one.pipe);
  }
  waiting_ = kept;
}

// A file without a name: harmless until it is linked.
Broker::Answer Broker::open_temporary(const Request& request, const char* path, unsigned flags, unsigned mode) {
  Place place;
  long rc = request.place_of(request.call->directory, path, place);
  Descriptor directory;
  if (rc == 0) rc = sandbox::open_object(request.caller, place, (flags & O_NOFOLLOW) == 0, directory);
  char name[kMostPathBytes];
  if (rc == 0) rc = name_of(directory.number, name);
  if (rc < 0) return Answer::error(rc);
  if (rules_.tree_of(name) == nullptr) return Answer::by_kernel();
  if (!is_valid(request.id)) return Answer::error(-ESRCH);
  take_umask(request);
  const long fd = sys::call(__NR_openat, directory.number, ".", flags | O_CLOEXEC, mode);
  return fd < 0 ? Answer::error(fd) : Answer{Answer::Kind::descriptor, fd, flags & O_CLOEXEC};
}

}  // namespace oncelatch::sandbox
