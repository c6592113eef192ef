#include "verify/cache_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/beneath.h"
#include "base/untrusted.h"

namespace oncelatch::verify {

namespace {

constexpr int kLooking = O_PATH | O_NOFOLLOW | O_CLOEXEC;

Failure refuse_place(const std::string& path, std::string what, std::string try_next) {
  return fail("verify", escape_for_display(path, 400), std::move(what), std::move(try_next));
}

Status check_directory(const struct stat& found, const std::string& path) {
  if (S_ISLNK(found.st_mode))
    return refuse_place(path, "is a symbolic link: it could lead elsewhere at any time",
                        "name the directory itself with XDG_DATA_HOME");
  if (!S_ISDIR(found.st_mode)) return refuse_place(path, "is not a directory", "move it away");
  if (found.st_uid != 0 && found.st_uid != ::geteuid())
    return refuse_place(path, fmt::format("belongs to uid {}, neither to you nor to root", found.st_uid),
                        "set XDG_DATA_HOME to a directory of yours");
  const bool shared = (found.st_mode & 022U) != 0;
  const bool kept = (found.st_mode & S_ISVTX) != 0 && found.st_uid == 0;  // as /tmp
  if (shared && !kept)
    return refuse_place(path, fmt::format("mode {:04o}: others can change what lies in it", found.st_mode & 07777U),
                        "chmod go-w it, once you know that nobody did");
  return {};
}

// A link of the system's own on the way to a home, such as /home: nobody but root can change it.
bool is_the_systems(int parent, const struct stat& link) {
  struct stat above {};
  return link.st_uid == 0 && ::fstat(parent, &above) == 0 && above.st_uid == 0 && (above.st_mode & 022U) == 0;
}

}  // namespace

Result<Fd> open_own_place(const std::string& path, Missing missing) {
  if (path.empty() || path[0] != '/') return refuse_place(path, "is no absolute path", "set HOME or XDG_DATA_HOME");
  Fd at(::open("/", kLooking | O_DIRECTORY));
  if (!at) return fail_errno("verify", "/", errno);
  bool is_ours = false;  // from the first directory of the caller's on
  for (std::size_t start = 1; start < path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string name = path.substr(start, end - start);
    const std::string here = path.substr(0, end);
    start = end + 1;
    if (name.empty() || name == "." || name == "..") return refuse_place(path, "is no clean path", "set XDG_DATA_HOME");
    Fd next(::openat(at.get(), name.c_str(), kLooking));
    if (!next && errno == ENOENT && missing == Missing::make) {
      if (::mkdirat(at.get(), name.c_str(), 0700) != 0 && errno != EEXIST)
        return fail_errno("verify", escape_for_display(here, 400), errno, {}, "mkdir");
      next.reset(::openat(at.get(), name.c_str(), kLooking));
    }
    struct stat found {};
    if (!next || ::fstat(next.get(), &found) != 0) return fail_errno("verify", escape_for_display(here, 400), errno);
    if (S_ISLNK(found.st_mode) && !is_ours && is_the_systems(at.get(), found)) {
      next.reset(::openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (!next || ::fstat(next.get(), &found) != 0) return fail_errno("verify", escape_for_display(here, 400), errno);
    }
    TRY(check_directory(found, here));
    is_ours = is_ours || found.st_uid == ::geteuid();
    at = std::move(next);
  }
  Fd opened(::openat(at.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return fail_errno("verify", escape_for_display(path, 400), errno);
  return opened;
}

}  // namespace oncelatch::verify
