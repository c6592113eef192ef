// SHA-256 of bytes as they come.
//
//   HashStream hash; hash.add(bytes, size); std::string digest = hash.end();   // 64 lower-case hexadecimal digits
//
// Ownership: its state. Threads: one. Failure: end() is empty where the crypto library refused. After fork: not used.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace oncelatch::verify {

class HashStream {
 public:
  HashStream();
  HashStream(const HashStream&) = delete;
  HashStream& operator=(const HashStream&) = delete;
  ~HashStream();
  void add(const void* bytes, std::size_t size);
  [[nodiscard]] std::string end();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace oncelatch::verify
