// With a sanitizer the leak check at exit attaches by ptrace, and the SIGCONT that comes with a
// terminal's hang-up cancels the attach's stop: the process would then spin for ever. Leaks are of no
// interest in a program that ends anyway. Without a sanitizer nothing calls this.
extern "C" const char* __asan_default_options();  // NOLINT: the name is the sanitizer's
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}
