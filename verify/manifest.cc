#include "verify/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/json.h"
#include "base/untrusted.h"
#include "verify/verify_file.h"
#include "verify/version.h"

namespace oncelatch::verify {

namespace {

constexpr std::size_t kMostPackages = 256;
constexpr std::size_t kMostWord = 64;
constexpr std::size_t kMostFileName = 128;
constexpr std::uint64_t kMostSize = std::uint64_t{4} << 30;
constexpr std::size_t kShownCandidates = 8;

std::string shown(std::string_view text) {
  return escape_for_display(text, 120);
}

Failure refuse(const std::string& object, std::string what) {
  return fail("verify", object.empty() ? "the manifest" : "the manifest, " + object, std::move(what),
              "nothing was downloaded; try again later, or name another manifest with --manifest");
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_alphanumeric(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= kMostWord && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alphanumeric(c) || c == '_' || c == '-' || c == '.';
  });
}

bool is_same_word(std::string_view one, std::string_view other) {
  auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [&](char a, char b) { return lower(a) == lower(b); });
}

// In another spelling than the one we know it could be taken for it, or not.
bool is_known_in_other_case(std::string_view text) {
  constexpr std::array kKnown = {"linux",    "macos", "windows", "x86_64", "aarch64", "universal",
                                 "headless", "full",  "tarXz",   "tarGz",  "tarZst",  "zip",
                                 "deb",      "rpm",   "dmg",     "msi",    "appImage"};
  return std::any_of(kKnown.begin(), kKnown.end(),
                     [&](std::string_view known) { return text != known && is_same_word(text, known); });
}

// "VERSION/FILE", which is put behind the download root as it is.
bool is_download(std::string_view text, std::string_view version) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || text.substr(0, slash) != version) return false;
  const std::string_view file = text.substr(slash + 1);
  auto fits = [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-' || c == '+' || c == ' '; };
  return !file.empty() && file.size() <= kMostFileName && is_alphanumeric(file.front()) &&
         is_alphanumeric(file.back()) && file.find("..") == std::string_view::npos &&
         std::all_of(file.begin(), file.end(), fits);
}

bool is_hexadecimal(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// One of `packages`, by its number from 0.
class PackageReader {
 public:
  PackageReader(const Json& value, std::size_t number, const std::string& version)
      : value_(value), object_(fmt::format("packages[{}]", number)), version_(version) {}

  Result<Package> read() {
    if (!value_.is_object()) return refuse(object_, "isn't an object");
    Package package;
    package.os = TRY(word("os", true));
    package.architecture = TRY(word("architecture", true));
    package.file_type = TRY(word("fileType", true));
    package.variant = TRY(word("variant", false));
    package.target_triple = TRY(word("targetTriple", false));
    package.download = TRY(text("download"));
    if (!is_download(package.download, version_))
      return refuse(object_, "download: isn't VERSION/FILE of this version: " + shown(package.download));
    package.sha256 = TRY(digest());
    package.size = TRY(size());
    return package;
  }

 private:
  Result<std::string> text(const char* key) const {
    const std::string* found = json_string(value_, key);
    if (found == nullptr) return refuse(object_, std::string(key) + ": missing, or no text");
    return *found;
  }

  Result<std::string> word(const char* key, bool required) const {
    if (!required && !value_.contains(key)) return std::string();
    std::string found = TRY(text(key));
    if (!is_word(found)) return refuse(object_, std::string(key) + ": not a word: " + shown(found));
    if (is_known_in_other_case(found))
      return refuse(object_, std::string(key) + ": an unknown spelling: " + shown(found));
    return found;
  }

  Result<std::string> digest() const {
    std::string found = TRY(text("sha256"));
    if (found.size() != 64 || !std::all_of(found.begin(), found.end(), is_hexadecimal))
      return refuse(object_, "sha256: not 64 hexadecimal digits: " + shown(found));
    for (char& one : found) one = static_cast<char>(std::tolower(static_cast<unsigned char>(one)));
    return found;
  }

  Result<std::optional<std::uint64_t>> size() const {
    if (!value_.contains("size")) return std::optional<std::uint64_t>();
    const std::optional<std::int64_t> found = json_integer(value_, "size");
    if (!found || *found <= 0 || static_cast<std::uint64_t>(*found) > kMostSize)
      return refuse(object_, "size: no number of bytes between 1 and 4 GiB");
    return std::optional<std::uint64_t>(static_cast<std::uint64_t>(*found));
  }

  const Json& value_;
  std::string object_;
  const std::string& version_;
};

struct Format {
  const char* file_type;
  const char* ending;
};
// The first that there is one archive of is taken.
constexpr Format kFormats[] = {{"tarXz", ".tar.xz"}, {"tarZst", ".tar.zst"}, {"tarGz", ".tar.gz"}, {"zip", ".zip"}};

// Below these the vendor's glibc build doesn't start.
bool needs_musl(const Platform& platform) {
  if (platform.libc == Libc::musl) return true;
  const unsigned floor = platform.architecture == "aarch64" ? 39 : 34;
  return platform.major < 2 || (platform.major == 2 && platform.minor < floor);
}

// By the triple and by the file's name, which agree.
bool is_for(const Package& package, const Platform& platform, const Format& format) {
  const bool musl = needs_musl(platform);
  const std::string stem = "-" + platform.architecture + "-" + platform.os + (musl ? "-musl" : "") + format.ending;
  const std::string triple = platform.architecture + "-unknown-linux-" + (musl ? "musl" : "gnu");
  return package.os == platform.os && package.architecture == platform.architecture &&
         (package.variant.empty() || package.variant == "headless") && package.file_type == format.file_type &&
         (package.target_triple.empty() || package.target_triple == triple) && package.download.ends_with(stem);
}

// The first few, each on a line of its own.
std::string listed(const std::vector<const Package*>& packages) {
  std::string text;
  for (std::size_t i = 0; i < packages.size() && i < kShownCandidates; ++i)
    text += fmt::format("\n  {} ({}, {})", shown(packages[i]->download), packages[i]->file_type,
                        packages[i]->sha256.substr(0, 12));
  return text;
}

std::vector<const Package*> of_system(const Manifest& manifest, const Platform& platform) {
  std::vector<const Package*> found;
  for (const Package& one : manifest.packages)
    if (one.os == platform.os) found.push_back(&one);
  return found;
}

std::string described(const Platform& platform) {
  return platform.os + ", " + platform.architecture + ", " +
         (platform.libc == Libc::musl ? std::string("musl")
                                      : fmt::format("glibc {}.{}", platform.major, platform.minor));
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view bytes) {
  Result<Json> parsed = parse_json(bytes, {.bytes = kMostManifestBytes, .depth = 8, .nodes = 16384}, "the manifest");
  if (!parsed) return refuse({}, "isn't the JSON that was expected: " + parsed.error().what);
  Manifest manifest;
  const std::string* version = json_string(*parsed, "version");
  if (version == nullptr || !is_version(*version))
    return refuse({},
                  version == nullptr ? "version: missing, or no text" : "version: not like 1.2.3: " + shown(*version));
  manifest.version = *version;
  const Json* packages = json_array(*parsed, "packages");
  if (packages == nullptr || packages->size() > kMostPackages)
    return refuse({}, packages == nullptr ? "packages: missing, or no list" : "packages: more than 256");
  for (std::size_t i = 0; i < packages->size(); ++i)
    manifest.packages.push_back(TRY(PackageReader((*packages)[i], i, manifest.version).read()));
  manifest.sha256 = TRY(sha256_of_text(bytes));
  return manifest;
}

Status check_version(const std::string& asked, const Manifest& manifest) {
  if (asked.empty() || asked == "latest" || asked == manifest.version) return {};
  if (!is_version(asked))
    return fail("verify", "version " + shown(asked), "not like 1.2.3",
                "--version latest, or --version " + manifest.version);
  return fail("verify", "version " + shown(asked),
              "can't be installed safely: the vendor publishes digests of " + manifest.version + " only",
              "--version latest, or an archive whose digest you know with oncelatch run --cli-path FILE --sha256 HEX");
}

Result<Package> choose_package(const Manifest& manifest, const Platform& platform) {
  for (const Format& format : kFormats) {
    std::vector<const Package*> fitting;
    for (const Package& one : manifest.packages)
      if (is_for(one, platform, format)) fitting.push_back(&one);
    if (fitting.size() == 1) return *fitting.front();
    if (fitting.size() > 1)
      return refuse("version " + manifest.version,
                    "has several archives for " + described(platform) + ":" + listed(fitting));
  }
  const std::vector<const Package*> others = of_system(manifest, platform);
  return refuse("version " + manifest.version, "has no archive for " + described(platform) +
                                                   (others.empty() ? std::string() : "; it has:" + listed(others)));
}

}  // namespace oncelatch::verify
