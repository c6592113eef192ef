// Checks a program file and hands over the very descriptor that was checked.
//
//   VerifiedArtifact kiro = TRY(verify::verify_file("/opt/kiro/kiro-cli", expected));
//   TRY(verify::still_unchanged(kiro));   // directly before exec
//
// Ownership: the artifact owns its descriptor and with it the read lease that keeps writers out as long as it lives
// (where the file system gives one: own files, or root's to root). Threads: no state. Failure: Error with stage
// "verify", the path escaped; errno ENOENT: no such file, EACCES: not executable, 0: refused by a rule. Units: bytes,
// hexadecimal digits. After fork: allocates.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/artifact.h"
#include "base/result.h"

namespace oncelatch::verify {

// Symlinks in `path` are followed once, by the caller's will; then only the descriptor counts. Wants a regular,
// executable file of the caller's or root's that nobody else may write, and, when `expected_sha256` is given (64
// hexadecimal digits of any case), exactly that digest.
[[nodiscard]] Result<VerifiedArtifact> verify_file(const std::string& path,
                                                   const std::optional<std::string>& expected_sha256);

// Any program, for `oncelatch exec`: opened once, its descriptor is what runs, but nothing is claimed about its bytes:
// no digest (sha256() is empty), no lease, any owner. The sandbox is what holds.
[[nodiscard]] Result<VerifiedArtifact> open_program(const std::string& path);

// The file is as it was at the check; a script, which runs by path, also still stands at its path.
[[nodiscard]] Status still_unchanged(const VerifiedArtifact& artifact);

// Of all bytes of the file, wherever its offset stands; 64 lower-case hexadecimal digits.
[[nodiscard]] Result<std::string> sha256_of(int fd, std::string_view name);
[[nodiscard]] Result<std::string> sha256_of_text(std::string_view text);

}  // namespace oncelatch::verify
