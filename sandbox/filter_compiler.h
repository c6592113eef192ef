// Compiles decisions about system calls into classic BPF: a search tree over ranges of numbers, arguments decided once
// and shared. Build-time only (sandbox/filter_gen.cc), which compares the result with libseccomp's.
//
//   FilterCompiler compiler;
//   compiler.architecture(AUDIT_ARCH_X86_64, calls);   // the last one that is given is found first
//   std::vector<sock_filter> program = compiler.finish();
//
// Why our own: the kernel runs the program once for every number when it is loaded and pays for every instruction, so
// length and depth are start-up time. Ownership: values. Threads: one. Failure: ends the program. After fork: not used.
#pragma once

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sandbox/syscall_groups.h"

namespace oncelatch::sandbox {

// What a number gets: the first rule whose tests all hold, else `otherwise`.
struct Decision {
  struct Rule {
    std::vector<ArgumentTest> tests;
    std::uint32_t action = 0;
  };
  std::vector<Rule> rules;
  std::uint32_t otherwise = 0;
};

// First number of each range, up to the next one; the first is 0.
using CallTable = std::map<std::uint32_t, Decision>;

// Instructions, written from the end to the beginning: a target always exists already, and equal tails are one.
class BackwardProgram {
 public:
  using Node = std::size_t;
  Node answer(std::uint32_t action);
  Node load(std::size_t offset, Node next);
  Node mask(std::uint32_t bits, Node next);
  Node jump(std::uint16_t test, std::uint32_t value, Node yes, Node no);
  [[nodiscard]] std::vector<sock_filter> forward() const;

 private:
  using Key = std::tuple<std::uint16_t, std::uint32_t, Node, Node>;
  Node append(std::uint16_t code, std::uint32_t value, Node yes, Node no);
  Node falls_to(Node next);
  Node near(Node target);
  struct Line {
    std::uint16_t code;
    std::uint32_t value;
    Node yes;
    Node no;
  };
  std::vector<Line> lines_;
  std::map<Key, Node> known_;
  std::map<Node, Node> relays_;
};

class FilterCompiler {
 public:
  void architecture(std::uint32_t token, const CallTable& calls);
  [[nodiscard]] std::vector<sock_filter> finish();

 private:
  using Node = BackwardProgram::Node;
  struct Range {
    std::uint32_t first;
    std::string key;
    const Decision* decision;
    double weight;  // numbers that the kernel tries while loading
  };
  struct Plan {
    double cost;
    std::size_t split;  // of a search step; size_t(-1): a chain of single numbers
  };
  Node decide(const Decision& decision, std::size_t loaded);
  Node decide_bits(const Decision& decision, std::size_t loaded);
  Node decide_test(const Decision& decision, const ArgumentTest& test, std::size_t loaded);
  Node tree(const std::vector<Range>& ranges, std::size_t from, std::size_t to,
            const std::vector<std::vector<Plan>>& plans);

  BackwardProgram program_;
  std::vector<std::pair<std::uint32_t, Node>> architectures_;
  std::map<std::string, Node> decided_;
};

}  // namespace oncelatch::sandbox
