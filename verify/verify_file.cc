#include "verify/verify_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "base/untrusted.h"
#include "verify/artifact_key.h"
#include "verify/program_file.h"

namespace oncelatch::verify {

namespace {

constexpr std::size_t kDigits = 64;

Result<std::string> lower_digest(std::string digest) {
  for (char& c : digest) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  bool hexadecimal = digest.size() == kDigits && digest.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (hexadecimal) return digest;
  return fail("verify", "expected SHA-256",
              fmt::format("not {} hexadecimal digits: {}", kDigits, escape_for_display(digest, 80)),
              "give the digest as `sha256sum FILE` prints it");
}

// Owner, and who may write.
Status check_owner(const struct stat& status, const std::string& path) {
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    return refuse(path, fmt::format("belongs to uid {}, neither to you nor to root", status.st_uid),
                  "use a copy of your own");
  }
  if ((status.st_mode & 022) != 0) {
    return refuse(path, fmt::format("mode {:04o}: others can write it", status.st_mode & 07777),
                  "chmod go-w it, then check its digest");
  }
  return {};
}

Status check_digest(const std::string& path, const std::string& actual, const std::optional<std::string>& expected) {
  if (!expected || CRYPTO_memcmp(actual.data(), expected->data(), kDigits) == 0) return {};
  return refuse(path, fmt::format("SHA-256 is {}, expected {}; nothing was started", actual, *expected),
                "get the file again from its vendor, or check the digest you gave");
}

Status check_identity(int fd, const FileIdentity& before, const std::string& path) {
  struct stat now = TRY(status_of(fd, path));
  if (identity_of(now) == before) return {};
  return refuse(path, "changed since it was opened for the check; nothing was started",
                "find out what writes it, then try again");
}

}  // namespace

Result<VerifiedArtifact> verify_file(const std::string& path, const std::optional<std::string>& expected_sha256) {
  std::optional<std::string> expected;
  if (expected_sha256) expected = TRY(lower_digest(*expected_sha256));
  Fd file = TRY(open_program_file(path, "give `--cli-path FILE`"));
  struct stat status = TRY(status_of(file.get(), path));
  TRY(check_owner(status, path));
  TRY(take_lease(file.get(), path));
  FileIdentity identity = identity_of(status);
  std::string digest = TRY(sha256_of(file.get(), path));
  bool is_script = starts_as_script(file.get());
  TRY(check_identity(file.get(), identity, path));
  TRY(check_digest(path, digest, expected));
  std::string real = TRY(real_path_of(path, identity));
  return VerifiedArtifact(ArtifactKey(), std::move(file), std::move(real), std::move(digest), is_script, identity);
}

Status still_unchanged(const VerifiedArtifact& artifact) {
  TRY(check_identity(artifact.fd(), artifact.identity(), artifact.path()));
  struct stat status {};
  bool moved = artifact.is_script() &&
               (::lstat(artifact.path().c_str(), &status) != 0 || !(identity_of(status) == artifact.identity()));
  if (moved)
    return refuse(artifact.path(), "another file stands at the script's path now; nothing was started", "try again");
  return {};
}

}  // namespace oncelatch::verify
