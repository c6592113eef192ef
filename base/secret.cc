#include "base/secret.h"

#include <sodium.h>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace oncelatch {

Secret Secret::copy_of(std::string_view value) {
  if (sodium_init() < 0) std::abort();
  Secret secret;
  secret.memory_ = sodium_malloc(value.size());
  if (secret.memory_ == nullptr) std::abort();
  secret.size_ = value.size();
  if (!value.empty()) std::memcpy(secret.memory_, value.data(), value.size());
  sodium_mprotect_readonly(secret.memory_);
  return secret;
}

Secret::Secret(Secret&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    sodium_free(memory_);
    memory_ = std::exchange(other.memory_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

Secret::~Secret() {
  sodium_free(memory_);
}  // wipes; nullptr is allowed

}  // namespace oncelatch
