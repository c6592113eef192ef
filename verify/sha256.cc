#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iterator>
#include <memory>
#include <vector>

#include "base/untrusted.h"
#include "verify/verify_file.h"

namespace oncelatch::verify {

namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

Failure library_failure(std::string_view name) {
  return fail("verify", escape_for_display(name, 1024), "the crypto library refused SHA-256",
              "check OpenSSL's configuration");
}

std::string hexadecimal(const unsigned char* bytes, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) fmt::format_to(std::back_inserter(text), "{:02x}", bytes[i]);
  return text;
}

}  // namespace

Result<std::string> sha256_of(int fd, std::string_view name) {
  constexpr std::size_t kChunk = std::size_t{1} << 18;
  std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1) return library_failure(name);
  std::vector<unsigned char> chunk(kChunk);
  for (off_t at = 0;;) {
    ssize_t got = ::pread(fd, chunk.data(), chunk.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("verify", escape_for_display(name, 1024), errno, "check the disk", "read");
    if (got == 0) break;
    if (EVP_DigestUpdate(context.get(), chunk.data(), static_cast<std::size_t>(got)) != 1) return library_failure(name);
    at += got;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1) return library_failure(name);
  return hexadecimal(digest.data(), size);
}

Result<std::string> sha256_of_text(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    return library_failure("text");
  return hexadecimal(digest.data(), size);
}

}  // namespace oncelatch::verify
