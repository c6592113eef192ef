// Opening what a plan binds: once, by descriptor, without following a link in the last component.
//
//   Sources sources;
//   Source tool = TRY(sources.open_path("/opt/tool"));
//
// Ownership: owns the descriptors. Threads: one. Failure: Error naming the path. After fork: allocates.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch::sandbox {

struct Source {
  std::int32_t index = -1;
  bool directory = false;
  bool regular = false;
  bool link = false;
  uid_t owner = 0;
  std::string real_path;
};

class Sources {
 public:
  // Directories and regular files only: a socket, device or FIFO is refused. `links` may stand before the last
  // component; never where the confined side could have made one.
  [[nodiscard]] Result<Source> open_path(const std::string& path, bool links = true);
  // Below a source that is open already, not through a link, of any kind, a link itself included; nullopt where it
  // doesn't exist.
  [[nodiscard]] Result<std::optional<Source>> open_below(const Source& root, const std::string& relative);
  [[nodiscard]] std::vector<Fd> take() { return std::move(descriptors_); }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(descriptors_.size()); }

 private:
  [[nodiscard]] Result<Source> keep(Fd descriptor, const std::string& path);
  std::vector<Fd> descriptors_;
};

}  // namespace oncelatch::sandbox
