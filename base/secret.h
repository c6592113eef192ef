// A secret value in locked, non-dumpable memory that is wiped when it is freed (libsodium sodium_malloc).
//
//   Secret key = Secret::copy_of(value);
//   use(key.reveal());
//
// Ownership: move-only, owns the memory. Threads: reading at once is fine. Failure: copy_of aborts the process when
// memory can't be had. Never printable: no stream operator, no fmt formatter. After fork: the child must not touch it.
#pragma once

#include <cstddef>
#include <string_view>

namespace oncelatch {

class Secret {
 public:
  [[nodiscard]] static Secret copy_of(std::string_view value);
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret();

  [[nodiscard]] std::string_view reveal() const { return {static_cast<const char*>(memory_), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  Secret() = default;
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace oncelatch
