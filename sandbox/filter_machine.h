// Classic BPF as seccomp runs it, in user space: what a filter says without asking the kernel.
//
//   std::optional<std::uint32_t> action = run_filter(program.instructions, program.length, {.nr = 165, …});
//
// Ownership: borrows the program. Threads: any. Failure: nullopt for a jump out of the program, an instruction that
// seccomp doesn't have, or a missing return. After fork: safe. Source: Linux kernel/seccomp.c seccomp_check_filter
// (which instructions there are), net/core/filter.c (what they do).
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace oncelatch::sandbox {

class FilterMachine {
 public:
  FilterMachine(const sock_filter* program, std::size_t length, const seccomp_data& data)
      : program_(program), length_(length), data_(data) {}

  [[nodiscard]] std::optional<std::uint32_t> run() {
    for (std::size_t at = 0; at < length_; ++at) {
      const sock_filter& line = program_[at];
      if (line.code == (BPF_RET | BPF_K)) return line.k;
      if (BPF_CLASS(line.code) == BPF_JMP) {
        std::optional<std::size_t> distance = jump(line);
        if (!distance) return std::nullopt;
        at += *distance;
      } else if (!compute(line)) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  bool compute(const sock_filter& line) {
    if (line.code == (BPF_ALU | BPF_AND | BPF_K)) {
      accumulator_ &= line.k;
      return true;
    }
    if (line.code != (BPF_LD | BPF_W | BPF_ABS) || line.k % 4 != 0 || line.k >= sizeof data_) return false;
    std::memcpy(&accumulator_, reinterpret_cast<const char*>(&data_) + line.k, sizeof accumulator_);
    return true;
  }

  [[nodiscard]] std::optional<std::size_t> jump(const sock_filter& line) const {
    switch (BPF_OP(line.code)) {
      case BPF_JA:
        return line.k;
      case BPF_JEQ:
        return accumulator_ == line.k ? line.jt : line.jf;
      case BPF_JGT:
        return accumulator_ > line.k ? line.jt : line.jf;
      case BPF_JGE:
        return accumulator_ >= line.k ? line.jt : line.jf;
      case BPF_JSET:
        return (accumulator_ & line.k) != 0 ? line.jt : line.jf;
      default:
        return std::nullopt;
    }
  }

  const sock_filter* program_;
  std::size_t length_;
  seccomp_data data_;
  std::uint32_t accumulator_ = 0;
};

[[nodiscard]] inline std::optional<std::uint32_t> run_filter(const sock_filter* program, std::size_t length,
                                                             const seccomp_data& data) {
  return FilterMachine(program, length, data).run();
}

}  // namespace oncelatch::sandbox
