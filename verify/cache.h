// The managed versions of an agent on disk:
//
//   ROOT/lock                  flock(2), whoever changes something; says who
//   ROOT/seal.key              of the seals
//   ROOT/AGENT/artifacts.lock  the book (verify/tree_record.h)
//   ROOT/AGENT/seals           (verify/seals.h)
//   ROOT/AGENT/versions/V/     the files of a version, read-only; locked shared while it is started or runs
//   ROOT/AGENT/staging/X/      what isn't a version yet, or not any more: removed by whoever locks next
//
//   Cache cache = TRY(Cache::make("/home/u/.local/share/oncelatch/artifacts", "kiro"));
//   CacheLock lock = TRY(cache.lock(std::chrono::seconds(30), {}));
//   std::string name = TRY(cache.stage(lock)); …unpack…; TRY(cache.install(lock, name, record));
//
// After a kill or a power failure at any moment the book names only versions that are whole. Ownership: holds the
// directories open. Threads: one. Failure: Error of stage "verify"; a place that others could change, or that leads
// through a link, is refused before anything is made or read. After fork: not used.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "verify/tree.h"
#include "verify/tree_record.h"

namespace oncelatch::verify {

// Nobody else changes the cache while one lives.
class CacheLock {
 public:
  explicit CacheLock(Fd file) : file_(std::move(file)) {}

 private:
  Fd file_;
};

// A version that may be started: nobody removes or replaces it while this lives.
struct ManagedVersion {
  std::string version;
  std::string place;  // real path
  Fd directory;       // locked shared
  CheckedTree tree;
};

class Cache {
 public:
  // Makes what is missing of it.
  [[nodiscard]] static Result<Cache> make(const std::string& root, const std::string& agent);
  // ENOENT where nothing was ever installed.
  [[nodiscard]] static Result<Cache> open(const std::string& root, const std::string& agent);

  // `waits` is told once who has it, in words.
  [[nodiscard]] Result<CacheLock> lock(std::chrono::milliseconds patience,
                                       const std::function<void(const std::string&)>& waits) const;
  [[nodiscard]] Result<RecordBook> book() const;  // an empty one where there is none
  [[nodiscard]] int directory() const { return agent_.get(); }
  [[nodiscard]] std::string place_of(const std::string& version) const;

  // A fresh directory in staging, by its name; what was left there is removed.
  [[nodiscard]] Result<std::string> stage(const CacheLock& lock) const;
  [[nodiscard]] Result<Fd> open_staged(const std::string& name) const;
  void drop(const CacheLock& lock, const std::string& name) const;
  // May it be installed, and be the current one? Before the download and after it.
  [[nodiscard]] Status may_follow(const RecordBook& book, const std::string& version, const std::string& archive_sha256,
                                  bool downgrade) const;
  // What was staged becomes the version of the record, whose entries are read here, and the current one.
  [[nodiscard]] Status install(const CacheLock& lock, const std::string& name, TreeRecord record, bool downgrade) const;
  // One that is installed becomes the current one.
  [[nodiscard]] Status choose(const CacheLock& lock, const std::string& version) const;
  // Removes the files of versions that are neither current nor in use; their names and digests stay in the book.
  [[nodiscard]] Result<std::vector<std::string>> collect(const CacheLock& lock) const;

  // The version's files as the book has them. `full`: every byte is read.
  [[nodiscard]] Result<ManagedVersion> check(const std::string& version, bool full) const;

 private:
  Cache(std::string root, std::string agent) : root_(std::move(root)), name_(std::move(agent)) {}
  [[nodiscard]] Status write_book(const RecordBook& book) const;
  void clean() const;
  std::string root_;
  std::string name_;
  Fd directory_;  // ROOT
  Fd agent_;
  Fd versions_;
  Fd staging_;
};

}  // namespace oncelatch::verify
