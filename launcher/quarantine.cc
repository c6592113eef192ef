#include "launcher/quarantine.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/beneath.h"
#include "base/untrusted.h"
#include "launcher/change_list.h"
#include "launcher/session_directory.h"

namespace oncelatch::launcher {

namespace {

constexpr const char* kStage = "quarantine";
constexpr off_t kMostCopied = off_t{64} << 20;  // of one file, to another file system
constexpr unsigned kMostObjects = 100'000;

std::string shown(const std::string& text) {
  return escape_for_display(text, 400);
}

Failure refused(const std::string& path, const char* doing) {
  return fail_errno(kStage, shown(path), errno, {}, doing);
}

Status copy_file(int from, const std::string& name, int to, const std::string& as) {
  Fd source = open_in_layer(from, name, O_RDONLY);
  struct stat found {};
  if (!source || ::fstat(source.get(), &found) != 0) return refused(name, "open");
  if (found.st_size > kMostCopied) return fail_errno(kStage, shown(name), EFBIG);
  const std::string bytes = TRY(read_whole(source.get(), name, static_cast<std::size_t>(found.st_size)));
  Fd target = TRY(open_beneath(to, as, O_WRONLY | O_CREAT | O_EXCL, 0600));
  return write_all(target.get(), bytes, as);
}

// To another file system, where a name can't be moved to. Pipes, sockets and devices hold nothing.
class TreeCopy {
 public:
  TreeCopy(int from, int to) : from_(from), to_(to) {}

  Status copy(const std::string& name, const std::string& as) {
    open_.push_back({name, as});
    while (!open_.empty()) {
      const Pair pair = std::move(open_.back());
      open_.pop_back();
      TRY(copy_one(pair.from, pair.to));
    }
    return {};
  }

 private:
  struct Pair {
    std::string from;
    std::string to;
  };

  Status copy_one(const std::string& from, const std::string& to) {
    if (++objects_ > kMostObjects) return fail_errno(kStage, shown(from), E2BIG);
    Fd source = open_in_layer(from_, directory_of(from), O_RDONLY | O_DIRECTORY);
    Fd target = TRY(open_beneath(to_, directory_of(to), O_RDONLY | O_DIRECTORY));
    const std::string name = name_of(from);
    struct stat found {};
    if (!source || ::fstatat(source.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0)
      return refused(from, "look");
    if (S_ISREG(found.st_mode)) return copy_file(source.get(), name, target.get(), name_of(to));
    if (S_ISLNK(found.st_mode)) {
      const std::string where = link_target(source.get(), name);
      return ::symlinkat(where.c_str(), target.get(), name_of(to).c_str()) == 0 ? Status() : refused(from, "link");
    }
    return S_ISDIR(found.st_mode) ? copy_directory(source.get(), target.get(), from, to) : Status();
  }

  Status copy_directory(int source, int target, const std::string& from, const std::string& to) {
    (void)TRY(make_directory(target, name_of(to), 0700));
    Fd directory = open_in_layer(source, name_of(from), O_RDONLY | O_DIRECTORY);
    DIR* stream = directory ? ::fdopendir(directory.get()) : nullptr;
    if (stream == nullptr) return refused(from, "open");
    (void)directory.release();
    while (const dirent* entry = ::readdir(stream)) {
      const std::string name = entry->d_name;
      if (name != "." && name != ".." && open_.size() < kMostObjects)
        open_.push_back({from + "/" + name, to + "/" + name});
    }
    ::closedir(stream);
    return {};
  }

  int from_;
  int to_;
  std::vector<Pair> open_;
  unsigned objects_ = 0;
};

// Also out of a directory that the run closed to its owner.
int rename_out(int parent, const std::string& name, int to, const std::string& as) {
  if (rename_by(parent, name, to, as, RENAME_NOREPLACE) == 0) return 0;
  struct stat closed {};
  if (errno != EACCES || ::fstat(parent, &closed) != 0) return errno;
  if (::fchmod(parent, (closed.st_mode & 07777U) | S_IRWXU) != 0) return EACCES;
  const int error = rename_by(parent, name, to, as, RENAME_NOREPLACE) == 0 ? 0 : errno;
  (void)::fchmod(parent, closed.st_mode & 07777U);
  return error;
}

// Away from its name at once; then, where that is another file system, over.
Status move_away(int parent, const std::string& name, int to, const std::string& as) {
  struct stat found {};
  if (::fstatat(parent, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return refused(name, "look");
  if (S_ISDIR(found.st_mode)) (void)open_in_layer(parent, name, O_RDONLY | O_DIRECTORY);  // moving it writes to it
  const int error = rename_out(parent, name, to, as);
  if (error == 0) return {};
  if (error != EXDEV) return fail_errno(kStage, shown(name), error, {}, "move");
  const std::string aside = ".oncelatch-quarantine-" + std::to_string(::getpid()) + "-" + as;
  if (const int held = rename_out(parent, name, parent, aside); held != 0)
    return fail_errno(kStage, shown(name), held, {}, "move");
  if (Status copied = TreeCopy(parent, to).copy(aside, as); !copied)
    return fail(kStage, shown(aside), "is its name now: " + copied.error().what, "remove it, or move it by hand");
  return remove_tree(parent, aside);
}

}  // namespace

Result<Quarantine> Quarantine::open(const std::vector<std::string>& environment) {
  Quarantine quarantine;
  quarantine.all_ = TRY(open_state_directory(environment, "quarantine"));
  return quarantine;
}

Status Quarantine::make() {
  if (directory_) return {};
  const std::string id = TRY(new_session_id());
  directory_ = TRY(make_directory(all_.directory.get(), id, 0700));
  own_path_ = all_.path + "/" + id;
  return {};
}

void Quarantine::take(const AfterRun& watch, AfterRunReport& seen) {
  for (HostEffect& effect : seen.effects) {
    if (effect.guard != "refused") continue;
    Status taken = take_one(watch.place_of(effect), effect);
    if (taken || taken.error().errno_value == ENOENT) continue;  // gone with its directory
    lines_.push_back("quarantine: " + shown(effect.path) + ": couldn't be moved away, and is still there: " +
                     taken.error().object + ": " + taken.error().what);
  }
  if (moved_ != 0)
    lines_.push_back("quarantine: what was moved lies in " + shown(own_path_) +
                     "\n  try: look at it; to put one back, move it to its name: mv DIRECTORY/NUMBER NAME");
}

// But for its mode: a repository's directory isn't moved away for that.
Result<bool> Quarantine::is_same_thing(int parent, const AfterRun::Place& place) {
  struct stat is {};
  if (::fstatat(parent, name_of(place.path).c_str(), &is, AT_SYMLINK_NOFOLLOW) != 0) return refused(place.path, "look");
  if (place.was == 0 || ((place.was ^ is.st_mode) & S_IFMT) != 0) return false;
  if (S_ISDIR(is.st_mode)) return place.inode == is.st_ino;
  if (!S_ISREG(is.st_mode) || !place.whole || static_cast<std::size_t>(is.st_size) != place.text.size()) return false;
  Fd file = open_in_layer(parent, name_of(place.path), O_RDONLY);
  return file && TRY(read_whole(file.get(), place.path, place.text.size())) == place.text;
}

Status Quarantine::put_mode_back(int parent, const AfterRun::Place& place, const HostEffect& effect) {
  Fd object = open_in_layer(parent, name_of(place.path), O_RDONLY);
  struct stat is {};
  if (!object || ::fstat(object.get(), &is) != 0) return refused(place.path, "open");
  if (((is.st_mode ^ place.was) & 0777U) == 0) return {};  // written anew with what it held
  if (::fchmod(object.get(), place.was & 0777U) != 0) return refused(place.path, "change its mode");
  lines_.push_back("quarantine: " + shown(effect.path) + ": its mode from before is back");
  return {};
}

Status Quarantine::take_one(const AfterRun::Place& place, HostEffect& effect) {
  Fd parent = TRY(open_beneath(place.root, directory_of(place.path), O_RDONLY | O_DIRECTORY));
  if (!place.known)
    return fail(kStage, shown(effect.path), "what was there before the run couldn't be looked at",
                "look at it yourself");
  if (TRY(is_same_thing(parent.get(), place))) return put_mode_back(parent.get(), place, effect);
  TRY(make());
  const std::string number = std::to_string(moved_ + 1);
  const std::string name = name_of(place.path);
  TRY(move_away(parent.get(), name, directory_.get(), number));
  ++moved_;
  effect.quarantined = own_path_ + "/" + number;
  lines_.push_back("quarantine: " + shown(effect.path) + " (" + effect.change + ") is " + number + " now" +
                   put_back(parent.get(), name, place));
  return {};
}

// Never over what somebody made there meanwhile.
std::string Quarantine::put_back(int parent, const std::string& name, const AfterRun::Place& place) {
  if (place.was == 0) return {};
  if (!place.whole) return "; what was there before was too long to be kept, and isn't put back";
  if (S_ISLNK(place.was))
    return ::symlinkat(place.text.c_str(), parent, name.c_str()) == 0 ? "; the link from before is back" : "";
  Result<Fd> file = open_beneath(parent, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
  struct stat owner {};
  const bool written = file && write_all(file->get(), place.text, name) && ::fstat(parent, &owner) == 0 &&
                       (::geteuid() != 0 || ::fchown(file->get(), owner.st_uid, owner.st_gid) == 0) &&
                       ::fchmod(file->get(), place.was & 0777U) == 0;
  return written ? "; what was there before is back" : "; what was there before couldn't be put back";
}

}  // namespace oncelatch::launcher
