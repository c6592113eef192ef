// The output filter and the neutraliser of runner commands beside memcpy, in 64 KiB pieces: plain text, text in other
// scripts, a colourful build, an agent's full-screen drawing. Prints MB/s and the ratio to memcpy of the same bytes.
//   build/release/bench/bench_output_filter
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/output_filter.h"
#include "launcher/runner_commands.h"

namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kPiece = 65'536;
constexpr int kRounds = 7;
constexpr int kPieces = 1'024;

std::string repeated(std::string_view text) {
  std::string piece;
  while (piece.size() < kPiece) piece += text;
  piece.resize(kPiece);
  return piece;
}

// Median of some rounds, in MB/s.
template <typename Work>
double speed(Work work) {
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const Steady::time_point start = Steady::now();
    for (int piece = 0; piece < kPieces; ++piece) work();
    const double taken = std::chrono::duration<double>(Steady::now() - start).count();
    rounds.push_back(static_cast<double>(kPieces * kPiece) / taken / 1e6);
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

template <typename Filter>
double speed_of(Filter& filter, const std::string& input) {
  std::string out;
  out.reserve(4 * kPiece);
  return speed([&] {
    out.clear();
    filter.feed(input, out);
  });
}

double copy_speed(const std::string& input) {
  std::vector<char> target(input.size());
  return speed([&] {
    std::memcpy(target.data(), input.data(), input.size());
    asm volatile("" : : "r"(target.data()) : "memory");
  });
}

}  // namespace

int main() {
  const std::vector<std::pair<const char*, std::string>> inputs = {
      {"one long line", repeated("abcdefghij klmnopqrst")},
      {"plain lines", repeated("The quick brown fox jumps over the lazy dog, and then it sleeps until noon.\r\n")},
      {"other scripts", repeated("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e caf\xc3\xa9 \xd0\xbf\xd1\x80\xd0\xb8\r\n")},
      {"colours", repeated("\x1b[1;32m   Compiling\x1b[0m library v1.2.3 (\x1b[34m/work\x1b[m)\r\n")},
      {"full screen", repeated("\x1b[12;40H\x1b[38;5;17m\xe2\x94\x82\x1b[m text \x1b[K\x1b[?25l\x1b[3A\x1b[?25h")},
  };
  fmt::print("{:<15} {:>12} {:>18} {:>18}\n", "MB/s (ratio)", "memcpy", "output filter", "runner commands");
  for (const auto& [name, input] : inputs) {
    oncelatch::launcher::OutputFilter filter;
    oncelatch::launcher::RunnerCommands commands;
    const double copy = copy_speed(input);
    const double filtered = speed_of(filter, input);
    const double neutral = speed_of(commands, input);
    fmt::print("{:<15} {:>12.0f} {:>9.0f} ({:.3f}) {:>9.0f} ({:.3f})\n", name, copy, filtered, filtered / copy, neutral,
               neutral / copy);
  }
  return 0;
}
