// Build-time program: compiles sandbox/syscall_groups.cc with libseccomp into a C++ header.
//
//   filter_gen sandbox/filter_data.h
//
// Every architecture the kernel can run is registered, a binary tree over the numbers keeps loading and running cheap,
// an unknown architecture and x32 are killed. A short program of our own stands before libseccomp's for what it can't
// say.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "sandbox/syscall_groups.h"

namespace oncelatch::sandbox {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kNative = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kSecond = AUDIT_ARCH_I386;
constexpr std::uint32_t kSecondToken = SCMP_ARCH_X86;
#elif defined(__aarch64__)
constexpr std::uint32_t kNative = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kSecond = AUDIT_ARCH_ARM;
constexpr std::uint32_t kSecondToken = SCMP_ARCH_ARM;
#endif

[[noreturn]] void die(const std::string& what, int error) {
  std::fprintf(stderr, "filter_gen: %s: %s\n", what.c_str(), std::strerror(error < 0 ? -error : error));
  std::exit(1);
}

scmp_arg_cmp comparison(const ArgumentTest& test) {
  switch (test.kind) {
    case ArgumentTest::Kind::masked:
      return {test.argument, SCMP_CMP_MASKED_EQ, test.mask, test.value};
    case ArgumentTest::Kind::above:
      return {test.argument, SCMP_CMP_GT, test.value, 0};
    case ArgumentTest::Kind::differs:
      return {test.argument, SCMP_CMP_NE, test.value, 0};
  }
  die("comparison", EINVAL);
}

void add(scmp_filter_ctx context, const SyscallGroup& group, const SyscallRule& rule) {
  int number = seccomp_syscall_resolve_name(std::string(rule.name).c_str());
  if (number == __NR_SCMP_ERROR) die(std::string(rule.name), ENOENT);
  std::vector<scmp_arg_cmp> tests;
  for (const ArgumentTest& test : rule.tests) tests.push_back(comparison(test));
  std::uint32_t action = SCMP_ACT_ERRNO(static_cast<std::uint32_t>(group.error));
  int rc = seccomp_rule_add_array(context, action, number, static_cast<unsigned>(tests.size()), tests.data());
  if (rc < 0) die(std::string(rule.name), rc);
}

std::vector<sock_filter> compile() {
  scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
  if (context == nullptr) die("seccomp_init", ENOMEM);
  if (int rc = seccomp_arch_add(context, kSecondToken); rc < 0) die("second architecture", rc);
  if (int rc = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS); rc < 0) die("bad arch", rc);
  if (int rc = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2); rc < 0) die("optimize", rc);
  for (const SyscallGroup& group : syscall_groups())
    for (const SyscallRule& rule : group.rules) add(context, group, rule);
  int fd = memfd_create("filter", MFD_CLOEXEC);
  if (fd < 0) die("memfd_create", errno);
  if (int rc = seccomp_export_bpf(context, fd); rc < 0) die("export", rc);
  seccomp_release(context);
  off_t size = lseek(fd, 0, SEEK_END);
  std::vector<sock_filter> program(static_cast<std::size_t>(size) / sizeof(sock_filter));
  if (pread(fd, program.data(), static_cast<std::size_t>(size), 0) != size) die("read", errno);
  close(fd);
  return program;
}

// Instructions with jumps to labels; all labels lie ahead.
class Prefix {
 public:
  enum Label { next, second, common, no_such_call, persona, allow, rest, labels };

  void load(std::size_t offset) { put(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset), next, next); }
  void jump(std::uint16_t test, std::uint32_t value, Label yes, Label no) {
    put(BPF_JMP | test | BPF_K, value, yes, no);
  }
  void answer(std::uint32_t action) { put(BPF_RET | BPF_K, action, next, next); }
  void here(Label label) { place_[label] = lines_.size(); }

  [[nodiscard]] std::vector<sock_filter> assemble() const {
    std::vector<sock_filter> program;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      sock_filter instruction = lines_[i].instruction;
      instruction.jt = distance(i, lines_[i].yes);
      instruction.jf = distance(i, lines_[i].no);
      program.push_back(instruction);
    }
    return program;
  }

 private:
  struct Line {
    sock_filter instruction;
    Label yes;
    Label no;
  };
  void put(int code, std::uint32_t value, Label yes, Label no) {
    lines_.push_back({{static_cast<std::uint16_t>(code), 0, 0, value}, yes, no});
  }
  [[nodiscard]] std::uint8_t distance(std::size_t from, Label to) const {
    return to == next ? std::uint8_t{0} : static_cast<std::uint8_t>(place_[to] - from - 1);
  }
  std::vector<Line> lines_;
  std::size_t place_[labels] = {};
};

std::uint32_t number_of(const char* name, std::uint32_t token) {
  int number = seccomp_syscall_resolve_name_arch(token, name);
  if (number < 0) die(name, ENOENT);
  return static_cast<std::uint32_t>(number);
}

void answer_new_calls(Prefix& program) {
  program.here(Prefix::common);
  for (std::uint32_t number : kUnnamedRefused) program.jump(BPF_JEQ, number, Prefix::no_such_call, Prefix::next);
  program.jump(BPF_JGT, kNewestKnownSyscall, Prefix::next, Prefix::rest);
  program.jump(BPF_JGE, kFirstPrivateSyscall, Prefix::rest, Prefix::next);
  program.here(Prefix::no_such_call);
  program.answer(SECCOMP_RET_ERRNO | ENOSYS);
}

void answer_personality(Prefix& program) {
  program.here(Prefix::persona);
  program.load(offsetof(seccomp_data, args));  // low half: both architectures are little-endian
  for (std::uint32_t value : kHarmlessPersonalities) program.jump(BPF_JEQ, value, Prefix::allow, Prefix::next);
  program.answer(SECCOMP_RET_ERRNO | EPERM);
  program.here(Prefix::allow);
  program.answer(SECCOMP_RET_ALLOW);
}

std::vector<sock_filter> prefix() {
  Prefix program;
  program.load(offsetof(seccomp_data, arch));
  program.jump(BPF_JEQ, kSecond, Prefix::second, Prefix::next);
  program.jump(BPF_JEQ, kNative, Prefix::next, Prefix::rest);
  program.load(offsetof(seccomp_data, nr));
  program.jump(BPF_JEQ, number_of("personality", SCMP_ARCH_NATIVE), Prefix::persona, Prefix::common);
  program.here(Prefix::second);
  program.load(offsetof(seccomp_data, nr));
  program.jump(BPF_JEQ, number_of("personality", kSecondToken), Prefix::persona, Prefix::common);
  answer_new_calls(program);
  answer_personality(program);
  program.here(Prefix::rest);
  return program.assemble();
}

void write_header(const char* path, const std::vector<sock_filter>& program) {
  std::FILE* out = std::fopen(path, "we");
  if (out == nullptr) die(path, errno);
  std::fprintf(out, "// Made by sandbox/filter_gen.cc from sandbox/syscall_groups.cc.\n#pragma once\n\n");
  std::fprintf(out, "#include <linux/filter.h>\n\nnamespace oncelatch::sandbox {\n\n");
  std::fprintf(out, "inline constexpr unsigned short kFilterLength = %zu;\n", program.size());
  std::fprintf(out, "inline constexpr sock_filter kFilter[] = {\n");
  for (const sock_filter& line : program)
    std::fprintf(out, "    {0x%02x, %u, %u, 0x%08xU},\n", line.code, line.jt, line.jf, line.k);
  std::fprintf(out, "};\n\n}  // namespace oncelatch::sandbox\n");
  if (std::fclose(out) != 0) die(path, errno);
}

int generate(const char* path) {
  std::vector<sock_filter> program = prefix();
  std::vector<sock_filter> compiled = compile();
  program.insert(program.end(), compiled.begin(), compiled.end());
  if (program.size() > BPF_MAXINSNS) die("length of the filter", E2BIG);
  write_header(path, program);
  return 0;
}

}  // namespace
}  // namespace oncelatch::sandbox

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: filter_gen HEADER\n");
    return 2;
  }
  return oncelatch::sandbox::generate(argv[1]);
}
