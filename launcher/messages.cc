#include "launcher/messages.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "launcher/runner_commands.h"

namespace oncelatch::launcher {

namespace {

std::string harmless(std::string_view text, int descriptor) {
  if (::isatty(descriptor) == 1) return std::string(text);
  RunnerCommands commands;
  std::string out;
  commands.feed(text, out);
  return out;
}

}  // namespace

void tell(std::string_view message) {
  const std::string line = "oncelatch: " + std::string(message) + "\n";
  std::fputs(harmless(line, STDERR_FILENO).c_str(), stderr);
}

bool print_page(std::string_view text) {
  if (std::fputs(harmless(text, STDOUT_FILENO).c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return true;
  tell("output: " + std::string(std::strerror(errno)) + "\n  try: give it a place to write to");
  return false;
}

}  // namespace oncelatch::launcher
