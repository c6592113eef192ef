// The reader of the vendor's manifest: nothing crashes, what it takes has the shape that the rest relies on, and at
// most one archive is chosen.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "verify/manifest.h"
#include "verify/version.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oncelatch::verify;
  const auto manifest = parse_manifest({reinterpret_cast<const char*>(data), size});
  if (!manifest) {
    require(manifest.error().stage == "verify" && !manifest.error().what.empty());
    return 0;
  }
  require(is_version(manifest->version) && manifest->sha256.size() == 64);
  require(manifest->version.find('/') == std::string::npos && manifest->version[0] != '.');
  for (const Package& one : manifest->packages) {
    require(one.sha256.size() == 64 && one.download.rfind(manifest->version + "/", 0) == 0);
    require(one.download.find("..") == std::string::npos && one.download.find_first_of("?#%\\:@") == std::string::npos);
  }
  require(static_cast<bool>(check_version("latest", *manifest)) &&
          static_cast<bool>(check_version(manifest->version, *manifest)));
  require(!check_version("../" + manifest->version, *manifest));
  for (const Libc libc : {Libc::glibc, Libc::musl}) {
    const auto package = choose_package(*manifest, {"linux", "x86_64", libc, 2, 36});
    if (package) require(package->architecture == "x86_64" && package->os == "linux");
  }
  return 0;
}
