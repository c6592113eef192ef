// Files whose bytes were hashed, known again by what changes with their bytes (device, inode, size, times). The list is
// sealed by a key that nothing in a sandbox can read, so nobody adds to it. A file that was written in the same tick of
// the clock in which it was hashed isn't taken up, nor one on a network file system: its times say too little.
//
//   Seals seals = Seals::open(directory, key);
//   if (!seals.knows(path, identity, digest)) { hash it; seals.add(path, identity, digest, when); }
//   seals.save();
//
// Ownership: borrows the directory. Threads: one. Failure: a list that can't be read or was changed is empty; one that
// can't be written is left as it was: both only cost time. Units: nanoseconds. After fork: not used.
#pragma once

#include <map>
#include <string>

#include "base/artifact.h"
#include "base/result.h"

namespace oncelatch::verify {

class Seals {
 public:
  // Of `seals` in `directory`, under the key `seal.key` in `key_directory`, which is made where it's missing.
  [[nodiscard]] static Seals open(int directory, int key_directory);
  // Nothing is known from here on: everything is hashed.
  void forget() { seals_.clear(); }
  [[nodiscard]] bool knows(const std::string& path, const FileIdentity& identity, const std::string& sha256) const;
  // `started`: clock_now() before its first byte was read.
  void add(const std::string& path, const FileIdentity& identity, const std::string& sha256, std::int64_t started);
  void save();
  // As the kernel stamps files with.
  [[nodiscard]] static std::int64_t clock_now();

 private:
  struct Seal {
    FileIdentity identity;
    std::string sha256;
  };
  Seals() = default;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string mac_of(const std::string& text) const;
  void read(const std::string& bytes);

  int directory_ = -1;
  std::string key_;  // empty: there is none
  std::map<std::string, Seal> seals_;
  bool changed_ = false;
};

}  // namespace oncelatch::verify
