// One file over HTTPS, into a nameless file, hashed as it comes. Only the hosts that are named, also behind a redirect;
// no settings of anybody's (.netrc, .curlrc, proxy variables), a proxy and certificates only where the caller names
// them.
//
//   Fetched archive = TRY(fetch({.url = "https://prod.download.cli.kiro.dev/stable/2.21.0/kirocli.tar.xz",
//                                .hosts = {"prod.download.cli.kiro.dev"}, .most = 1 << 30}, cache.get()));
//   if (archive.sha256 != package.sha256) …
//
// Ownership: the result owns its descriptor, whose file goes with it. Threads: one at a time; the progress is told from
// inside. Failure: Error of stage "verify"; nothing stays. Units: bytes, seconds, hexadecimal digits. After fork: not
// used. Source: libcurl's documentation of each option.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch::verify {

struct FetchRequest {
  std::string url;
  std::vector<std::string> hosts;  // "NAME" for port 443, or "NAME:PORT"
  std::string ca_file;             // instead of the system's; empty: those
  std::string proxy;               // "http://HOST:PORT"; empty: none
  std::uint64_t most = 0;
  std::optional<std::uint64_t> size;                       // exactly so many, where it is known
  std::chrono::seconds longest{20 * 60};                   // altogether
  std::chrono::seconds patience{30};                       // without 1 KiB a second
  std::function<void(std::uint64_t, std::uint64_t)> told;  // received, expected (0: unknown); may be empty
};

struct Fetched {
  Fd file;  // its offset is 0
  std::string sha256;
  std::uint64_t size = 0;
  std::optional<std::time_t> last_modified;
};

// Into a file without a name in `directory`.
[[nodiscard]] Result<Fetched> fetch(const FetchRequest& request, int directory);
// The same from a regular file: copied, so that nobody changes what was hashed.
[[nodiscard]] Result<Fetched> take_file(const std::string& path, int directory, std::uint64_t most);

}  // namespace oncelatch::verify
