// Chance and the paths of file_operations: a few names that collide often, in every spelling a path can have. None of
// them is one that the workspace guard holds or refuses.
//
//   Dice dice(seed);
//   Paths paths(dice, "/home/u/project");
//   std::string path = paths.any();      // "d0/../lf", "/proc/self/fd/7", "/tmp/w/c1/"
//   std::string line = paths.shown(path);  // "@" for the root, "$" for the process
//
// Ownership: Paths borrows the dice. Threads: one. Failure: none.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace oncelatch::probes {

// xorshift64*: the same numbers with every C library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 0x2545F4914F6CDD1DULL) {}
  unsigned below(unsigned count) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<unsigned>((state_ * 0x2545F4914F6CDD1DULL) >> 33) % count;
  }
  bool once_in(unsigned count) { return below(count) == 0; }
  template <class T, unsigned Count>
  const T& of(const T (&choices)[Count]) {
    return choices[below(Count)];
  }

 private:
  std::uint64_t state_;
};

class Paths {
 public:
  Paths(Dice& dice, std::string root);
  std::string any();     // whatever a caller may come up with
  std::string inside();  // one to three names below the root
  std::string name();
  std::string target();                                                          // what a new link says
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> links() const;  // target and name, of every kind
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string shown(std::string text) const;

 private:
  std::string directory();
  std::string ended(const std::string& path);
  std::string through_proc();
  std::string elsewhere();
  std::string long_one();
  std::string many_links();
  Dice& dice_;
  std::string root_;
  std::string process_;
};

}  // namespace oncelatch::probes
