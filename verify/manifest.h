// The vendor's manifest: which archives there are of its latest version, with their digests. Whoever serves it is the
// only one who vouches for them, so a field that isn't as expected refuses the whole.
//
//   Manifest manifest = TRY(parse_manifest(bytes));
//   TRY(check_version("latest", manifest));
//   Package package = TRY(choose_package(manifest, TRY(this_platform())));
//
// Ownership: values. Threads: no state. Failure: Error of stage "verify", what it quotes escaped. Units: bytes,
// hexadecimal digits. After fork: allocates. Source: the manifest as it is served.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "verify/platform.h"

namespace oncelatch::verify {

struct Package {
  std::string os;
  std::string architecture;
  std::string variant;
  std::string file_type;
  std::string download;  // "VERSION/FILE"
  std::string sha256;    // lower case
  std::string target_triple;
  std::optional<std::uint64_t> size;
};

struct Manifest {
  std::string version;
  std::vector<Package> packages;
  std::string sha256;  // of the bytes it was read from
};

inline constexpr std::size_t kMostManifestBytes = std::size_t{1} << 20;

[[nodiscard]] Result<Manifest> parse_manifest(std::string_view bytes);
// What the manifest has digests for is one version: nothing, "latest", or exactly that may be asked for.
[[nodiscard]] Status check_version(const std::string& asked, const Manifest& manifest);
// The one archive for a machine. None or several: refused, with those that came close.
[[nodiscard]] Result<Package> choose_package(const Manifest& manifest, const Platform& platform);

}  // namespace oncelatch::verify
