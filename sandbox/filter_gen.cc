// Build-time program: compiles sandbox/syscall_groups.cc with libseccomp into a C++ header.
//
//   filter_gen sandbox/filter_data.h
//
// One whole program for each variant (sandbox/filter_variant.h). Every architecture the kernel can run is in it; an
// unknown one and x32 are killed. libseccomp names the calls and compiles the same rules as the reference: both
// programs must give the same answer for every number and for arguments around every value that a rule names.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "sandbox/filter_compiler.h"
#include "sandbox/syscall_groups.h"

namespace oncelatch::sandbox {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kNative = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kSecond = AUDIT_ARCH_I386;
constexpr std::uint32_t kNativeToken = SCMP_ARCH_X86_64;
constexpr std::uint32_t kSecondToken = SCMP_ARCH_X86;
#elif defined(__aarch64__)
constexpr std::uint32_t kNative = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kSecond = AUDIT_ARCH_ARM;
constexpr std::uint32_t kNativeToken = SCMP_ARCH_AARCH64;
constexpr std::uint32_t kSecondToken = SCMP_ARCH_ARM;
#endif

constexpr std::uint32_t kNoSuchCall = ~0U;

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
  std::uint32_t action =
      group.error == kToBroker ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(static_cast<std::uint32_t>(group.error));
  int rc = seccomp_rule_add_array(context, action, number, static_cast<unsigned>(tests.size()), tests.data());
  if (rc < 0) die(std::string(rule.name), rc);
}

// The reference.
std::vector<sock_filter> compile_by_libseccomp(const std::vector<SyscallGroup>& groups) {
  scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
  if (context == nullptr) die("seccomp_init", ENOMEM);
  if (int rc = seccomp_arch_add(context, kSecondToken); rc < 0) die("second architecture", rc);
  if (int rc = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS); rc < 0) die("bad arch", rc);
  if (int rc = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2); rc < 0) die("optimize", rc);
  for (const SyscallGroup& group : groups)
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

// i386 has them twice, direct and through socketcall and ipc; libseccomp names only the second.
struct DirectCall {
  std::string_view name;
  std::uint32_t number;
};
constexpr DirectCall kDirectCalls[] = {
    {"sendmmsg", 345}, {"socket", 359}, {"socketpair", 360}, {"bind", 361},   {"listen", 363}, {"sendto", 369},
    {"sendmsg", 370},  {"semget", 393}, {"semctl", 394},     {"shmget", 395}, {"shmctl", 396}, {"shmat", 397},
    {"shmdt", 398},    {"msgget", 399}, {"msgsnd", 400},     {"msgrcv", 401}, {"msgctl", 402},
};

std::uint32_t call_number(std::string_view name, std::uint32_t token) {
  if (token == SCMP_ARCH_X86)
    for (const DirectCall& call : kDirectCalls)
      if (call.name == name) return call.number;
  int number = seccomp_syscall_resolve_name_arch(token, std::string(name).c_str());
  return number < 0 ? kNoSuchCall : static_cast<std::uint32_t>(number);
}

// What libseccomp 2.5 can't name or say.
void add_special_calls(CallTable& calls, std::uint32_t token) {
  Decision unknown{{}, SECCOMP_RET_ERRNO | ENOSYS};
  for (std::uint32_t number : kUnnamedRefused) calls[number] = unknown;
  calls[kNewestKnownSyscall + 1] = unknown;
  calls[kFirstPrivateSyscall] = {{}, SECCOMP_RET_ALLOW};
  Decision persona{{}, SECCOMP_RET_ERRNO | EPERM};
  for (std::uint32_t value : kHarmlessPersonalities)
    persona.rules.push_back({{{0, ArgumentTest::Kind::masked, 0xffffffff, value}}, SECCOMP_RET_ALLOW});
  calls[call_number("personality", token)] = persona;
}

// x32 shares the token of x86-64. -1 is what a tracer writes to skip a call.
void kill_x32(CallTable& calls) {
#if defined(__x86_64__)
  calls[0x40000000] = {{}, SECCOMP_RET_KILL_PROCESS};
  calls[0xffffffff] = {{}, SECCOMP_RET_ALLOW};
#else
  (void)calls;
#endif
}

std::uint32_t action_of(const SyscallGroup& group) {
  if (group.error == kToBroker) return SECCOMP_RET_USER_NOTIF;
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(group.error);
}

CallTable table_of(const std::vector<SyscallGroup>& groups, std::uint32_t token) {
  CallTable calls;
  for (std::uint32_t number = 0; number <= kNewestKnownSyscall; ++number) calls[number] = {{}, SECCOMP_RET_ALLOW};
  for (const SyscallGroup& group : groups)
    for (const SyscallRule& rule : group.rules)
      if (std::uint32_t number = call_number(rule.name, token); number <= kNewestKnownSyscall)
        calls[number].rules.push_back({rule.tests, action_of(group)});
  add_special_calls(calls, token);
  return calls;
}

std::vector<sock_filter> compile(const std::vector<SyscallGroup>& groups) {
  CallTable second = table_of(groups, kSecondToken);
  CallTable native = table_of(groups, kNativeToken);
  kill_x32(native);
  FilterCompiler compiler;
  compiler.architecture(kSecond, second);
  compiler.architecture(kNative, native);
  std::vector<sock_filter> program = compiler.finish();
  if (program.size() > BPF_MAXINSNS) die("length of the filter", E2BIG);
  return program;
}

// Native calls by name; whatever else there is, on either architecture, is refused.
std::vector<sock_filter> compile_for_broker() {
  const Decision refused{{}, SECCOMP_RET_ERRNO | EPERM};
  CallTable native = {{0, refused}};
  for (std::uint32_t number = 0; number <= kNewestKnownSyscall + 1; ++number) native[number] = refused;
  for (std::string_view name : kBrokerCalls) {
    const std::uint32_t number = call_number(name, kNativeToken);
    if (number > kNewestKnownSyscall) die(std::string(name), ENOENT);
    native[number] = {{}, SECCOMP_RET_ALLOW};
  }
  kill_x32(native);
  FilterCompiler compiler;
  compiler.architecture(kSecond, {{0, refused}});
  compiler.architecture(kNative, native);
  return compiler.finish();
}

// Runs programs side by side. Classic BPF as seccomp has it. What is refused is a program of its own, and what goes to
// the broker: libseccomp has no order of rules whose arguments overlap.
class FilterComparison {
 public:
  FilterComparison(const std::vector<sock_filter>& one, const std::vector<sock_filter>& refusing,
                   const std::vector<sock_filter>& brokering)
      : one_(one), refusing_(refusing), brokering_(brokering), values_(interesting(refusing)) {
    for (int flag : {O_CREAT, O_TRUNC, O_CREAT | O_TRUNC}) values_.push_back(static_cast<std::uint32_t>(flag));
  }

  // For all pairs of interesting values in the arguments that rules look at: 0 and 1, 0 and 2, 1 and 2, 2 and 3.
  [[nodiscard]] bool agree(std::uint32_t arch, std::uint32_t number) const {
    constexpr unsigned kPairs[][2] = {{0, 1}, {0, 2}, {1, 2}, {2, 3}};
    seccomp_data data{};
    data.nr = static_cast<int>(number);
    data.arch = arch;
    for (const auto& pair : kPairs)
      for (std::uint32_t a : values_)
        for (std::uint32_t b : values_) {
          std::memset(data.args, 0, sizeof data.args);
          data.args[pair[0]] = a;
          data.args[pair[1]] = b;
          std::uint32_t expected = run(refusing_, data);
          if (expected == SECCOMP_RET_ALLOW) expected = run(brokering_, data);
          if (run(one_, data) != expected) return false;
        }
    return true;
  }

 private:
  static std::vector<std::uint32_t> interesting(const std::vector<sock_filter>& program) {
    std::vector<std::uint32_t> values = {0, 1, 0xffffffff};
    for (const sock_filter& line : program)
      if (BPF_CLASS(line.code) == BPF_JMP && line.k > kNewestKnownSyscall)
        for (std::uint32_t value : {line.k - 1, line.k, line.k + 1}) values.push_back(value);
    for (std::uint32_t value = 0; value < 20; ++value) values.push_back(value);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }
  static std::uint32_t run(const std::vector<sock_filter>& program, const seccomp_data& data) {
    std::uint32_t word = 0;
    for (std::size_t at = 0;; ++at) {
      const sock_filter& line = program.at(at);
      if (line.code == (BPF_RET | BPF_K)) return line.k;
      if (line.code == (BPF_LD | BPF_W | BPF_ABS))
        std::memcpy(&word, reinterpret_cast<const char*>(&data) + line.k, sizeof word);
      if (line.code == (BPF_ALU | BPF_AND | BPF_K)) word &= line.k;
      if (BPF_CLASS(line.code) == BPF_JMP) at += distance(line, word);
    }
  }
  static std::size_t distance(const sock_filter& line, std::uint32_t word) {
    bool yes = false;
    if (BPF_OP(line.code) == BPF_JA) return line.k;
    if (BPF_OP(line.code) == BPF_JEQ) yes = word == line.k;
    if (BPF_OP(line.code) == BPF_JGT) yes = word > line.k;
    if (BPF_OP(line.code) == BPF_JGE) yes = word >= line.k;
    if (BPF_OP(line.code) == BPF_JSET) yes = (word & line.k) != 0;
    return yes ? line.jt : line.jf;
  }
  const std::vector<sock_filter>& one_;
  const std::vector<sock_filter>& refusing_;
  const std::vector<sock_filter>& brokering_;
  std::vector<std::uint32_t> values_;
};

void check(const std::vector<sock_filter>& program, const std::vector<SyscallGroup>& groups) {
  std::vector<SyscallGroup> refusing;
  std::vector<SyscallGroup> brokering;
  for (const SyscallGroup& group : groups) (group.error == kToBroker ? brokering : refusing).push_back(group);
  const std::vector<sock_filter> reference = compile_by_libseccomp(refusing);
  const std::vector<sock_filter> to_broker = compile_by_libseccomp(brokering);
  FilterComparison comparison(program, reference, to_broker);
  for (std::uint32_t arch : {kNative, kSecond, 0U})
    for (std::uint32_t number = 0; number <= kNewestKnownSyscall; ++number) {
      bool special =
          std::find(std::begin(kUnnamedRefused), std::end(kUnnamedRefused), number) != std::end(kUnnamedRefused);
      special = special || number == call_number("personality", arch == kNative ? kNativeToken : kSecondToken);
      if (!special && !comparison.agree(arch, number)) die("disagreement about " + std::to_string(number), EINVAL);
    }
  std::printf("filter: %zu instructions, libseccomp %zu + %zu\n", program.size(), reference.size(), to_broker.size());
}

void write_program(std::FILE* out, const std::string& name, const std::vector<sock_filter>& program) {
  std::fprintf(out, "inline constexpr sock_filter kFilter%s[] = {\n", name.c_str());
  for (const sock_filter& line : program)
    std::fprintf(out, "    {0x%02x, %u, %u, 0x%08xU},\n", line.code, line.jt, line.jf, line.k);
  std::fprintf(out, "};\n\n");
}

int generate(const char* path) {
  std::FILE* out = std::fopen(path, "we");
  if (out == nullptr) die(path, errno);
  std::fprintf(out, "// Made by sandbox/filter_gen.cc from sandbox/syscall_groups.cc.\n#pragma once\n\n");
  std::fprintf(out, "#include <linux/filter.h>\n\n#include \"sandbox/filter_variant.h\"\n\n");
  std::fprintf(out, "namespace oncelatch::sandbox {\n\n");
  std::string table;
  for (unsigned variant = 0; variant < kFilterVariants; ++variant) {
    std::vector<SyscallGroup> groups = syscall_groups(filter_variant_of(variant));
    std::vector<sock_filter> program = compile(groups);
    check(program, groups);
    write_program(out, std::to_string(variant), program);
    std::string name = "kFilter" + std::to_string(variant);
    table += "    {sizeof " + name + " / sizeof(sock_filter), " + name + "},\n";
  }
  const std::vector<sock_filter> for_broker = compile_for_broker();
  std::printf("filter of the broker: %zu instructions\n", for_broker.size());
  write_program(out, "Broker", for_broker);
  std::fprintf(out, "struct FilterProgram {\n  unsigned short length;\n  const sock_filter* instructions;\n};\n\n");
  std::fprintf(out, "inline constexpr FilterProgram kFilters[kFilterVariants] = {\n%s};\n\n", table.c_str());
  std::fprintf(out, "inline constexpr FilterProgram kBrokerFilter = {%zu, kFilterBroker};\n\n", for_broker.size());
  std::fprintf(out, "}  // namespace oncelatch::sandbox\n");
  if (std::fclose(out) != 0) die(path, errno);
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
