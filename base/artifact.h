// A program file whose digest was checked. Only verify/ can make one; exec takes nothing else.
//
//   VerifiedArtifact kiro = TRY(verify::verify_file(path, expected));
//   launch(std::move(kiro));
//
// Ownership: move-only, owns the open descriptor of the very file that was hashed. Threads: a value. Failure: none.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/fd.h"

namespace oncelatch {

namespace verify {
class ArtifactKey;
}

// What changes when a file's bytes or rights do; times in nanoseconds since the epoch.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  std::int64_t modified = 0;
  std::int64_t changed = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

class VerifiedArtifact {
 public:
  // The key's constructor is private to verify/ (verify/artifact_key.h).
  VerifiedArtifact(const verify::ArtifactKey&, Fd file, std::string path, std::string sha256_hex, bool is_script,
                   const FileIdentity& identity = {})
      : file_(std::move(file)),
        path_(std::move(path)),
        sha256_(std::move(sha256_hex)),
        is_script_(is_script),
        identity_(identity) {}

  [[nodiscard]] int fd() const { return file_.get(); }                      // O_RDONLY, close-on-exec
  [[nodiscard]] const std::string& path() const { return path_; }           // real path at the time of the check
  [[nodiscard]] const std::string& sha256() const { return sha256_; }       // 64 lower-case hex digits
  [[nodiscard]] bool is_script() const { return is_script_; }               // starts with "#!"
  [[nodiscard]] const FileIdentity& identity() const { return identity_; }  // at the time of the check

 private:
  Fd file_;
  std::string path_;
  std::string sha256_;
  bool is_script_;
  FileIdentity identity_;
};

}  // namespace oncelatch
