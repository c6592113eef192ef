#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "base/digits.h"
#include "base/untrusted.h"
#include "verify/hash_stream.h"
#include "verify/verify_file.h"

namespace oncelatch::verify {

namespace {

Failure library_failure(std::string_view name) {
  return fail("verify", escape_for_display(name, 1024), "the crypto library refused SHA-256",
              "check OpenSSL's configuration");
}

}  // namespace

struct HashStream::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  bool fine = context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1;
};

HashStream::HashStream() : state_(std::make_unique<State>()) {}
HashStream::~HashStream() {
  EVP_MD_CTX_free(state_->context);
}

void HashStream::add(const void* bytes, std::size_t size) {
  state_->fine = state_->fine && EVP_DigestUpdate(state_->context, bytes, size) == 1;
}

std::string HashStream::end() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (!state_->fine || EVP_DigestFinal_ex(state_->context, digest.data(), &size) != 1) return {};
  state_->fine = false;
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += hexadecimal(digest[i], 2);
  return text;
}

Result<std::string> sha256_of(int fd, std::string_view name) {
  constexpr std::size_t kChunk = std::size_t{1} << 18;
  HashStream hash;
  std::vector<unsigned char> chunk(kChunk);
  for (off_t at = 0;;) {
    ssize_t got = ::pread(fd, chunk.data(), chunk.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("verify", escape_for_display(name, 1024), errno, "check the disk", "read");
    if (got == 0) break;
    hash.add(chunk.data(), static_cast<std::size_t>(got));
    at += got;
  }
  std::string digest = hash.end();
  if (digest.empty()) return library_failure(name);
  return digest;
}

Result<std::string> sha256_of_text(std::string_view text) {
  HashStream hash;
  hash.add(text.data(), text.size());
  std::string digest = hash.end();
  if (digest.empty()) return library_failure("text");
  return digest;
}

}  // namespace oncelatch::verify
