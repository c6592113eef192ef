#include "sandbox/filter_compiler.h"

#include <linux/seccomp.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

namespace oncelatch::sandbox {

namespace {

constexpr std::size_t kFarthest = 255;
constexpr std::size_t kNothing = ~std::size_t{0};
constexpr std::uint32_t kTriedWhileLoading = 470;
// Of one instruction against one step for one number, measured (docs: bench/launch): 0.11 us and 0.0018 us.
constexpr double kStepCost = 0.0164;

std::size_t low_half(unsigned argument) {
  return offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t);
}

bool same(const ArgumentTest& a, const ArgumentTest& b) {
  return a.argument == b.argument && a.kind == b.kind && a.mask == b.mask && a.value == b.value;
}

std::string key_of(const Decision& decision) {
  std::string key = std::to_string(decision.otherwise);
  for (const Decision::Rule& rule : decision.rules) {
    key += "|" + std::to_string(rule.action);
    for (const ArgumentTest& test : rule.tests)
      key += "," + std::to_string(test.argument) + "." + std::to_string(static_cast<int>(test.kind)) + "." +
             std::to_string(test.mask) + "." + std::to_string(test.value);
  }
  return key;
}

bool is_equality(const ArgumentTest& test) {
  return test.kind == ArgumentTest::Kind::masked && test.mask == 0xffffffff;
}

bool is_bit(const ArgumentTest& test) {
  return test.kind == ArgumentTest::Kind::masked && test.mask == test.value &&
         std::has_single_bit(static_cast<std::uint32_t>(test.mask));
}

bool holds(const ArgumentTest& test, std::uint32_t value) {
  switch (test.kind) {
    case ArgumentTest::Kind::masked:
      return (value & test.mask) == test.value;
    case ArgumentTest::Kind::above:
      return value > test.value;
    case ArgumentTest::Kind::differs:
      return value != test.value;
  }
  return false;
}

// The rules that are left once `test` is known to hold.
Decision after_yes(const Decision& decision, const ArgumentTest& test) {
  Decision rest{{}, decision.otherwise};
  for (const Decision::Rule& rule : decision.rules) {
    Decision::Rule left{{}, rule.action};
    bool possible = true;
    for (const ArgumentTest& one : rule.tests) {
      bool decided = is_equality(test) && one.argument == test.argument;
      if (decided) possible = possible && holds(one, static_cast<std::uint32_t>(test.value));
      if (!decided && !same(one, test)) left.tests.push_back(one);
    }
    if (possible) rest.rules.push_back(left);
    if (possible && left.tests.empty()) break;  // nothing behind it is reached
  }
  return rest;
}

Decision after_no(const Decision& decision, const ArgumentTest& test) {
  Decision rest{{}, decision.otherwise};
  for (const Decision::Rule& rule : decision.rules) {
    auto is_it = [&](const ArgumentTest& one) { return same(one, test); };
    if (std::none_of(rule.tests.begin(), rule.tests.end(), is_it)) rest.rules.push_back(rule);
  }
  return rest;
}

}  // namespace

BackwardProgram::Node BackwardProgram::append(std::uint16_t code, std::uint32_t value, Node yes, Node no) {
  lines_.push_back({code, value, yes, no});
  return lines_.size() - 1;
}

// Short enough to be repeated where the last one is too far.
BackwardProgram::Node BackwardProgram::answer(std::uint32_t action) {
  Key key{BPF_RET | BPF_K, action, 0, 0};
  auto found = known_.find(key);
  if (found != known_.end() && lines_.size() - found->second < kFarthest) return found->second;
  return known_[key] = append(BPF_RET | BPF_K, action, 0, 0);
}

BackwardProgram::Node BackwardProgram::falls_to(Node next) {
  if (next + 1 == lines_.size()) return next;
  return append(BPF_JMP | BPF_JA, 0, next, next);
}

BackwardProgram::Node BackwardProgram::load(std::size_t offset, Node next) {
  Key key{BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset), next, next};
  if (auto found = known_.find(key); found != known_.end()) return found->second;
  Node after = falls_to(next);
  return known_[key] = append(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset), after, after);
}

BackwardProgram::Node BackwardProgram::mask(std::uint32_t bits, Node next) {
  Key key{BPF_ALU | BPF_AND | BPF_K, bits, next, next};
  if (auto found = known_.find(key); found != known_.end()) return found->second;
  Node after = falls_to(next);
  return known_[key] = append(BPF_ALU | BPF_AND | BPF_K, bits, after, after);
}

// Itself, or a jump to it that a conditional jump can reach. Two more instructions may come before that one.
BackwardProgram::Node BackwardProgram::near(Node target) {
  constexpr std::size_t kReach = kFarthest - 2;
  if (lines_.size() - target < kReach) return target;
  if (lines_[target].code == (BPF_RET | BPF_K)) return answer(lines_[target].value);
  auto relay = relays_.find(target);
  if (relay != relays_.end() && lines_.size() - relay->second < kReach) return relay->second;
  return relays_[target] = append(BPF_JMP | BPF_JA, 0, target, target);
}

BackwardProgram::Node BackwardProgram::jump(std::uint16_t test, std::uint32_t value, Node yes, Node no) {
  if (yes == no) return yes;
  auto code = static_cast<std::uint16_t>(BPF_JMP | test | BPF_K);
  Key key{code, value, yes, no};
  if (auto found = known_.find(key); found != known_.end()) return found->second;
  Node near_yes = near(yes);
  Node near_no = near(no);
  return known_[key] = append(code, value, near_yes, near_no);
}

std::vector<sock_filter> BackwardProgram::forward() const {
  std::vector<sock_filter> program;
  for (std::size_t i = lines_.size(); i-- > 0;) {
    const Line& line = lines_[i];
    sock_filter instruction{line.code, 0, 0, line.value};
    if (line.code == (BPF_JMP | BPF_JA)) instruction.k = static_cast<std::uint32_t>(i - line.yes - 1);
    if (BPF_CLASS(line.code) == BPF_JMP && line.code != (BPF_JMP | BPF_JA)) {
      if (i - line.yes - 1 > kFarthest || i - line.no - 1 > kFarthest) std::abort();
      instruction.jt = static_cast<std::uint8_t>(i - line.yes - 1);
      instruction.jf = static_cast<std::uint8_t>(i - line.no - 1);
    }
    program.push_back(instruction);
  }
  return program;
}

// `loaded`: offset of the word that the accumulator holds on arrival.
FilterCompiler::Node FilterCompiler::decide(const Decision& decision, std::size_t loaded) {
  if (decision.rules.empty()) return program_.answer(decision.otherwise);
  const Decision::Rule& first = decision.rules.front();
  if (first.tests.empty()) return program_.answer(first.action);
  std::string key = key_of(decision) + "@" + std::to_string(loaded);
  if (auto found = decided_.find(key); found != decided_.end()) return found->second;
  if (first.tests.size() == 1 && is_bit(first.tests[0])) return decided_[key] = decide_bits(decision, loaded);
  return decided_[key] = decide_test(decision, first.tests.front(), loaded);
}

// The first rules, as far as each asks for one bit of the same argument and gives the same answer: one test for all.
FilterCompiler::Node FilterCompiler::decide_bits(const Decision& decision, std::size_t loaded) {
  const Decision::Rule& first = decision.rules.front();
  const unsigned argument = first.tests.front().argument;
  std::uint32_t bits = 0;
  Decision rest = decision;
  for (const Decision::Rule& rule : decision.rules) {
    const bool alike = rule.tests.size() == 1 && rule.action == first.action && is_bit(rule.tests[0]) &&
                       rule.tests[0].argument == argument;
    if (!alike) break;
    bits |= static_cast<std::uint32_t>(rule.tests[0].value);
    rest = after_no(rest, rule.tests[0]);
  }
  const std::size_t offset = low_half(argument);
  Node yes = program_.answer(first.action);
  Node node = program_.jump(BPF_JSET, bits, yes, decide(rest, offset));
  return loaded == offset ? node : program_.load(offset, node);
}

// Arguments are compared in their low half, as the kernel uses them: all that are tested are int or unsigned.
FilterCompiler::Node FilterCompiler::decide_test(const Decision& decision, const ArgumentTest& test,
                                                 std::size_t loaded) {
  std::size_t offset = low_half(test.argument);
  auto mask = static_cast<std::uint32_t>(test.mask);
  auto value = static_cast<std::uint32_t>(test.value);
  bool masked = test.kind == ArgumentTest::Kind::masked;
  bool one_bit = is_bit(test);
  bool range = masked && !is_equality(test) && std::countl_one(mask) + std::countr_zero(mask) == 32;
  bool plain = !masked || is_equality(test) || one_bit || range;
  Node yes = decide(after_yes(decision, test), plain ? offset : kNothing);
  Node no = decide(after_no(decision, test), plain ? offset : kNothing);
  Node node = 0;
  if (test.kind == ArgumentTest::Kind::above) {
    node = program_.jump(BPF_JGT, value, yes, no);
  } else if (test.kind == ArgumentTest::Kind::differs) {
    node = program_.jump(BPF_JEQ, value, no, yes);
  } else if (one_bit) {
    node = program_.jump(BPF_JSET, value, yes, no);
  } else if (range) {
    node = program_.jump(BPF_JGE, value, program_.jump(BPF_JGT, value | ~mask, no, yes), no);
  } else {
    node = program_.jump(BPF_JEQ, value, yes, no);
  }
  if (!plain) node = program_.mask(mask, node);
  return loaded == offset ? node : program_.load(offset, node);
}

FilterCompiler::Node FilterCompiler::tree(const std::vector<Range>& ranges, std::size_t from, std::size_t to,
                                          const std::vector<std::vector<Plan>>& plans) {
  if (from == to) return decide(*ranges[from].decision, kNothing);
  std::size_t split = plans[from][to].split;
  if (split != kNothing) {
    Node right = tree(ranges, split + 1, to, plans);
    Node left = tree(ranges, from, split, plans);
    return program_.jump(BPF_JGE, ranges[split + 1].first, right, left);
  }
  Node node = decide(*ranges[from].decision, kNothing);
  for (std::size_t i = from + 1; i < to; i += 2)
    node = program_.jump(BPF_JEQ, ranges[i].first, decide(*ranges[i].decision, kNothing), node);
  return node;
}

// The cheapest tree: every interval of ranges is either split or, where single numbers interrupt one decision, a chain.
void FilterCompiler::architecture(std::uint32_t token, const CallTable& calls) {
  std::vector<Range> ranges;
  for (const auto& [first, decision] : calls) {
    std::string key = key_of(decision);
    if (!ranges.empty() && ranges.back().key == key) continue;
    if (!ranges.empty()) ranges.back().weight = std::min(first, kTriedWhileLoading) - ranges.back().weight;
    ranges.push_back({first, key, &decision, static_cast<double>(std::min(first, kTriedWhileLoading))});
  }
  ranges.back().weight = kTriedWhileLoading - ranges.back().weight;
  std::size_t count = ranges.size();
  std::vector<std::vector<Plan>> plans(count, std::vector<Plan>(count, Plan{0, kNothing}));
  for (std::size_t width = 1; width < count; ++width) {
    for (std::size_t from = 0; from + width < count; ++from) {
      std::size_t to = from + width;
      double weight = 0;
      for (std::size_t i = from; i <= to; ++i) weight += ranges[i].weight;
      Plan best{1e9, kNothing};
      for (std::size_t k = from; k < to; ++k) {
        double cost = 1 + plans[from][k].cost + plans[k + 1][to].cost + kStepCost * weight;
        if (cost < best.cost) best = {cost, k};
      }
      bool chain = width % 2 == 0;
      for (std::size_t i = from; chain && i <= to; ++i)
        chain = (i - from) % 2 == 0 ? ranges[i].key == ranges[from].key : ranges[i + 1].first == ranges[i].first + 1;
      double steps = static_cast<double>(width) / 2;
      double cost = steps + kStepCost * weight * steps;
      plans[from][to] = chain && cost < best.cost ? Plan{cost, kNothing} : best;
    }
  }
  architectures_.emplace_back(token, program_.load(offsetof(seccomp_data, nr), tree(ranges, 0, count - 1, plans)));
}

std::vector<sock_filter> FilterCompiler::finish() {
  Node node = program_.answer(SECCOMP_RET_KILL_PROCESS);
  for (const auto& [token, start] : architectures_) node = program_.jump(BPF_JEQ, token, start, node);
  program_.load(offsetof(seccomp_data, arch), node);
  return program_.forward();
}

}  // namespace oncelatch::sandbox
