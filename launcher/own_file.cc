#include "launcher/own_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/untrusted.h"

namespace oncelatch::launcher {

Result<std::string> read_own_file(const std::string& path, const OwnFile& what) {
  const std::string shown = escape_for_display(path, 400);
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return fail_errno(what.stage, shown, errno, what.try_next);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return fail_errno(what.stage, shown, errno);
  if (!S_ISREG(info.st_mode)) return fail(what.stage, shown, "is not a regular file", what.try_next);
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    return fail(what.stage, shown, "belongs to another user (uid " + std::to_string(info.st_uid) + ")",
                "use a file of your own");
  if ((info.st_mode & 022) != 0) return fail(what.stage, shown, "others can write it", "chmod go-w " + shown);
  Result<std::string> text = read_whole(file.get(), path, what.most);
  if (!text) return fail(what.stage, shown, text.error().what, text.error().try_next);
  return text;
}

}  // namespace oncelatch::launcher
