// What the light program needs of a C++ runtime: storage, and an end for what can't be helped. It is linked with musl's
// libc.a and of libstdc++ with nothing but plain functions (trees, clocks); there are no exceptions to throw.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace {

constexpr int kFault = 125;

[[noreturn]] void end(const char* why) {
  const char* parts[] = {"oncelatch: fault: ", why, "\n"};
  for (const char* part : parts) (void)!::write(STDERR_FILENO, part, std::strlen(part));
  ::_exit(kFault);
}

}  // namespace

void* operator new(std::size_t size) {
  void* memory = std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) end("out of memory");
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

extern "C" {
extern char __libc_single_threaded;
char __libc_single_threaded = 1;
extern void* __dso_handle;
void* __dso_handle = nullptr;
[[noreturn]] void __cxa_pure_virtual() {
  end("pure virtual call");
}
}

namespace std {
void terminate() noexcept {
  end("terminate");
}
void __throw_length_error(const char* why) {
  end(why);
}
void __throw_logic_error(const char* why) {
  end(why);
}
void __throw_out_of_range(const char* why) {
  end(why);
}
void __throw_out_of_range_fmt(const char* why, ...) {
  end(why);
}
void __throw_invalid_argument(const char* why) {
  end(why);
}
void __throw_bad_alloc() {
  end("out of memory");
}
void __throw_bad_array_new_length() {
  end("out of memory");
}
void __throw_bad_function_call() {
  end("empty function");
}
void __throw_bad_optional_access() {
  end("empty optional");
}
}  // namespace std
