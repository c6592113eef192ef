#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tests/probes/probe.h"

namespace oncelatch::probe {

namespace {

// A call by number with harmless arguments: NUMBER[:A[:B]].
int call_number(const std::string& text) {
  long words[4] = {0, 0, 0, 0};
  const char* here = text.c_str();
  for (long& word : words) {
    char* end = nullptr;
    word = static_cast<long>(std::strtoul(here, &end, 0));
    if (*end != ':') break;
    here = end + 1;
  }
  return error_of(::syscall(words[0], words[1], words[2], words[3], 0, 0, 0));
}

int set_up_ring(const std::string&) {
  unsigned char parameters[120] = {};
  return error_of(::syscall(SYS_io_uring_setup, 4, parameters));
}
int type_into_terminal(const std::string&) {
  return error_of(::syscall(SYS_ioctl, 0, TIOCSTI, "x"));
}
int type_with_high_bit(const std::string& bit) {
  unsigned long request = TIOCSTI | (1UL << std::atoi(bit.c_str()));
  return error_of(::syscall(SYS_ioctl, 0, request, "x"));
}
int paste(const std::string&) {
  return error_of(::syscall(SYS_ioctl, 0, 0x541CUL, "\3"));
}
int line_discipline(const std::string&) {
  int number = 0;
  return error_of(::syscall(SYS_ioctl, 0, TIOCSETD, &number));
}
int search_keys(const std::string&) {
  return error_of(::syscall(SYS_keyctl, 0, -3, 0, 0, 0));
}
int add_key(const std::string&) {
  return error_of(::syscall(SYS_add_key, "user", "x", "y", 1, -3));
}
int find_key(const std::string& description) {
  return error_of(::syscall(SYS_keyctl, 10 /* SEARCH */, -3, "user", description.c_str(), 0));
}
int request_key(const std::string& description) {
  return error_of(::syscall(SYS_request_key, "user", description.c_str(), nullptr, 0));
}
int make_bpf_map(const std::string&) {
  unsigned attributes[18] = {2, 4, 4, 1, 0};
  return error_of(::syscall(SYS_bpf, 0, attributes, sizeof attributes));
}
int open_perf(const std::string&) {
  unsigned attributes[32] = {1, 128};
  attributes[10] = 0x60;  // without the kernel and the hypervisor: what an ordinary user may have
  return error_of(::syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0));
}
int weaken(const std::string& value) {
  return error_of(::personality(std::strtoul(value.c_str(), nullptr, 0)));
}
int rewrite_map(const std::string&) {
  return error_of(::prctl(PR_SET_MM, PR_SET_MM_ARG_START, 0, 0, 0));
}
int map_page_zero(const std::string&) {
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return page == MAP_FAILED ? errno : 0;
}
int set_time(const std::string&) {
  timeval now{1, 0};
  return error_of(::settimeofday(&now, nullptr));
}

#if defined(__x86_64__)
// The 32-bit entry: NUMBER[:A[:B]]. The static program lies below 4 GiB, so pointers fit.
int call_i386(const std::string& text) {
  unsigned words[3] = {0, 0, 0};
  const char* here = text.c_str();
  for (unsigned& word : words) {
    char* end = nullptr;
    word = static_cast<unsigned>(std::strtoul(here, &end, 0));
    if (*end != ':') break;
    here = end + 1;
  }
  int result = 0;
  __asm__ volatile("int $0x80"
                   : "=a"(result)
                   : "a"(words[0]), "b"(words[1]), "c"(words[2]), "d"(0), "S"(0), "D"(0)
                   : "memory", "cc", "r8", "r9", "r10", "r11");
  return result < 0 ? -result : 0;
}
int call_x32(const std::string& number) {
  return error_of(::syscall(0x40000000L | std::strtol(number.c_str(), nullptr, 0), 0, 0, 0));
}
#else
int call_i386(const std::string&) {
  return ENOSYS;
}
int call_x32(const std::string&) {
  return ENOSYS;
}
#endif

}  // namespace

const Named kKernelAttempts[] = {
    {"call", call_number},
    {"io-uring", set_up_ring},
    {"tiocsti", type_into_terminal},
    {"tiocsti-high", type_with_high_bit},
    {"tioclinux", paste},
    {"tiocsetd", line_discipline},
    {"keyctl", search_keys},
    {"add-key", add_key},
    {"find-key", find_key},
    {"request-key", request_key},
    {"bpf", make_bpf_map},
    {"perf", open_perf},
    {"personality", weaken},
    {"prctl-mm", rewrite_map},
    {"map-zero", map_page_zero},
    {"settimeofday", set_time},
    {"i386", call_i386},
    {"x32", call_x32},
    {nullptr, nullptr},
};

}  // namespace oncelatch::probe
