#include "verify/listing.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/fd.h"
#include "base/untrusted.h"

namespace oncelatch::verify {

Result<std::vector<std::string>> names_in(int directory, const std::string& path, std::size_t most) {
  const std::string object = escape_for_display(path, 300);
  Fd again(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(again ? ::fdopendir(again.get()) : nullptr, ::closedir);
  if (!stream) return fail_errno("verify", object, errno, {}, "look into it");
  (void)again.release();
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr && errno == 0) break;
    if (entry == nullptr) return fail_errno("verify", object, errno, {}, "look into it");
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == most) return fail("verify", object, "holds more than " + std::to_string(most) + " names");
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace oncelatch::verify
