// Classic BPF as seccomp runs it, in user space.
//
//   std::uint32_t action = run_filter(kFilters[0].instructions, kFilters[0].length, {.nr = 165, .arch =
//   AUDIT_ARCH_X86_64});
//
// A jump out of the program, an unknown instruction or a missing return throws, so a test fails. Source: Linux
// kernel/seccomp.c seccomp_check_filter (which instructions there are), net/core/filter.c (what they do).
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace oncelatch::sandbox {

class BpfMachine {
 public:
  BpfMachine(const sock_filter* program, std::size_t length, const seccomp_data& data)
      : program_(program), length_(length), data_(data) {}

  std::uint32_t run() {
    for (std::size_t at = 0; at < length_; ++at) {
      const sock_filter& line = program_[at];
      switch (BPF_CLASS(line.code)) {
        case BPF_LD:
          accumulator_ = load(line);
          break;
        case BPF_ALU:
          if (line.code != (BPF_ALU | BPF_AND | BPF_K)) throw std::runtime_error("ALU instruction");
          accumulator_ &= line.k;
          break;
        case BPF_JMP:
          at += jump(line);
          break;
        case BPF_RET:
          return line.k;
        default:
          throw std::runtime_error("instruction class");
      }
    }
    throw std::runtime_error("ran off the end");
  }

 private:
  std::uint32_t load(const sock_filter& line) const {
    if (line.code != (BPF_LD | BPF_W | BPF_ABS) || line.k % 4 != 0 || line.k + 4 > sizeof data_)
      throw std::runtime_error("load");
    std::uint32_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char*>(&data_) + line.k, sizeof word);
    return word;
  }
  std::size_t jump(const sock_filter& line) const {
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
        throw std::runtime_error("jump");
    }
  }

  const sock_filter* program_;
  std::size_t length_;
  seccomp_data data_;
  std::uint32_t accumulator_ = 0;
};

inline std::uint32_t run_filter(const sock_filter* program, std::size_t length, const seccomp_data& data) {
  return BpfMachine(program, length, data).run();
}

}  // namespace oncelatch::sandbox
