// Names that the broker gave to files, counted: a file with another name that it didn't give may be one outside the
// view, and isn't opened for writing.
//
//   HardLinks links;
//   links.made(origin, inode, before);             // it had `before` names, and has one more now
//   if (!links.knows_all(origin, inode, names)) return -EACCES;
//
// `origin`: the device and what else tells a file from one that gets its inode's number later (its birth).
// A full table forgets nothing and takes up no more: the files then count as unknown. Ownership: a value. Threads: one.
// Failure: none. After fork: safe; freestanding.
#pragma once

#include <cstdint>

namespace oncelatch::sandbox {

class HardLinks {
 public:
  void made(std::uint64_t origin, std::uint64_t inode, std::uint32_t before) {
    Row* row = find(origin, inode);
    if (row == nullptr) return;
    if (row->made == 0) *row = {origin, inode, 0};
    if (before > row->made + 1) return;  // one of its names is somebody else's
    row->made = before;                  // what was removed meanwhile doesn't count any more
  }
  [[nodiscard]] bool knows_all(std::uint64_t origin, std::uint64_t inode, std::uint32_t names) {
    if (names <= 1) return true;
    const Row* row = find(origin, inode);
    return row != nullptr && row->made != 0 && names <= row->made + 1;
  }

 private:
  struct Row {
    std::uint64_t origin;
    std::uint64_t inode;
    std::uint32_t made;  // names besides the first; 0: free
  };
  // Its row, or a free one; null: there is neither.
  Row* find(std::uint64_t origin, std::uint64_t inode) {
    const std::uint64_t start = (inode ^ origin * 0x9E3779B97F4A7C15ULL) * 0x9E3779B97F4A7C15ULL >> 32;
    for (unsigned i = 0; i < kMostProbes; ++i) {
      Row& row = rows_[(start + i) % kRows];
      if (row.made == 0 || (row.origin == origin && row.inode == inode)) return &row;
    }
    return nullptr;
  }
  static constexpr unsigned kRows = 65536;
  static constexpr unsigned kMostProbes = 64;
  Row rows_[kRows] = {};
};

}  // namespace oncelatch::sandbox
