// The key to VerifiedArtifact's constructor. Only verify_file(), open_program() and open_checked() can make one.
//
//   return VerifiedArtifact(ArtifactKey(), std::move(file), path, digest, is_script, identity);   // in verify_file()
//
// Ownership: an empty value, neither copied nor moved. Threads: no state. Failure: none. After fork: safe.
#pragma once

#include <optional>
#include <string>

#include "base/artifact.h"
#include "base/result.h"

namespace oncelatch::verify {

struct CheckedTree;

class ArtifactKey {
 public:
  ArtifactKey(const ArtifactKey&) = delete;
  ArtifactKey& operator=(const ArtifactKey&) = delete;

 private:
  ArtifactKey() = default;
  friend Result<VerifiedArtifact> verify_file(const std::string& path,
                                              const std::optional<std::string>& expected_sha256);
  friend Result<VerifiedArtifact> open_program(const std::string& path);
  friend Result<VerifiedArtifact> open_checked(CheckedTree& tree, const std::string& path, const std::string& place);
};

}  // namespace oncelatch::verify
