// What the light program needs of a C++ runtime: storage, and an end for what can't be helped. It is linked with musl's
// libc.a and of libstdc++ with nothing but plain functions (trees, clocks); there are no exceptions to throw.
#include <unistd.h>

#include <cstdint>
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

namespace {

// What a short run needs lies in one piece, of which only the end is given back: the C library's own way takes and
// returns pages, and each of them costs more than the allocation.
constexpr std::size_t kArena = std::size_t{1} << 20;
alignas(64) char arena[kArena];
std::size_t arena_used = 0;

bool in_arena(const void* memory) {
  auto address = reinterpret_cast<std::uintptr_t>(memory);
  auto first = reinterpret_cast<std::uintptr_t>(arena);
  return address - first < kArena;
}

std::size_t rounded(std::size_t size) {
  return (size + 15) & ~std::size_t{15};
}

}  // namespace

void* operator new(std::size_t size) {
  const std::size_t taken = rounded(size);
  if (taken >= size && taken <= kArena - arena_used) {
    void* memory = arena + arena_used;
    arena_used += taken;
    return memory;
  }
  void* memory = std::malloc(size);
  if (memory == nullptr) end("out of memory");
  return memory;
}
void operator delete(void* memory) noexcept {
  if (!in_arena(memory)) std::free(memory);
}
// What was taken last is taken again: no fresh page for every short text.
void operator delete(void* memory, std::size_t size) noexcept {
  if (!in_arena(memory)) return std::free(memory);
  if (static_cast<char*>(memory) + rounded(size) == arena + arena_used) arena_used -= rounded(size);
}

extern "C" {
extern char __libc_single_threaded;
char __libc_single_threaded = 1;
extern void* __dso_handle;
void* __dso_handle = nullptr;
// The archive of libsodium was compiled with the other C library's checks.
void __explicit_bzero_chk(void* memory, std::size_t size, std::size_t) {
  ::explicit_bzero(memory, size);
}
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
