// Real programs on a pty: their output passes the filter unchanged but for queries and what the filter does itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <regex>

#include "launcher/output_filter.h"

namespace oncelatch::launcher {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Recording {
  std::string output;
  bool ended = false;  // by itself, with 0
};

[[noreturn]] void run_program(const std::string& command, const char* terminal) {
  ::setenv("TERM", terminal, 1);
  ::setenv("LC_ALL", "C.UTF-8", 1);
  ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  ::_exit(127);
}

// False when nothing more will come.
bool read_some(int tty, std::string& output, milliseconds wait) {
  pollfd ready{tty, POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(wait.count())) == 0) return true;
  char buffer[4096];
  const ssize_t size = ::read(tty, buffer, sizeof buffer);
  if (size > 0) output.append(buffer, static_cast<std::size_t>(size));
  return size > 0;
}

// Runs the command on a terminal of its own; types `keys` whenever it has been silent for a moment.
Recording record(const std::string& command, const char* terminal, const std::string& keys) {
  int tty = -1;
  winsize size{24, 80, 0, 0};
  const pid_t child = ::forkpty(&tty, nullptr, nullptr, &size);
  if (child == 0) run_program(command, terminal);
  Recording recording;
  const Steady::time_point end = Steady::now() + seconds(20);
  while (Steady::now() < end) {
    const std::size_t before = recording.output.size();
    if (!read_some(tty, recording.output, milliseconds(400))) break;
    const bool silent = before != 0 && recording.output.size() == before;
    if (silent && !keys.empty() && ::write(tty, keys.data(), keys.size()) < 0) break;
  }
  ::close(tty);
  if (Steady::now() >= end) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  recording.ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return recording;
}

// Sequences each for itself, and the text between them byte by byte.
std::vector<std::string> pieces_of(const std::string& output) {
  static const std::regex piece(
      "\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)|\x1b[PX^_k][^\x1b]*\x1b\\\\|\x1b[ -/]*[0-~]|[^]");
  std::vector<std::string> pieces;
  for (std::sregex_iterator at(output.begin(), output.end(), piece); at != std::sregex_iterator(); ++at) {
    pieces.push_back(at->str());
  }
  return pieces;
}

// What programs ask or set for themselves and may lose: device attributes, version, position, colours, settings, the
// title's stack (the filter's own), the scrollback's end, the meta key's eighth bit, colour reports, the Linux
// console's cursor form, and two sequences by which vim tries what a terminal understands.
bool may_be_dropped(const std::string& piece) {
  static const std::regex expected(
      "\x1b\\[[>=]?0?c|\x1b\\[>0?q|\x1b\\[[?]?[0-9]+n|\x1b\\[[?][0-9]+[$]p|\x1b\\][0-9]+;[?](\x07|\x1b\\\\)|"
      "\x1bP[+$]q[0-9A-Za-z;]*\x1b\\\\|\x1b\\[2[23];[012](;[012])?t|\x1b\\[3J|\x1b\\[[?]4m|\x1b\\[[?]1034h|"
      "\x1b\\[[?]2031[hl]|\x1b\\[[?]1?u|\x1b\\[[?][018]c|\x1bPzz\x1b\\\\|\x1b\\[0%m");
  return std::regex_match(piece, expected);
}

// The filter's output lacks such pieces and nothing else.
void expect_ordinary(const std::string& output) {
  OutputFilter filter;
  std::string out;
  filter.feed(output, out);
  const std::vector<std::string> before = pieces_of(output);
  const std::vector<std::string> after = pieces_of(out);
  std::size_t at = 0;
  std::size_t lost = 0;
  for (const std::string& piece : before) {
    if (at < after.size() && after[at] == piece) {
      ++at;
      continue;
    }
    if (piece == std::string_view("\0", 1)) continue;  // padding
    ASSERT_TRUE(may_be_dropped(piece)) << ::testing::PrintToString(piece) << " of "
                                       << ::testing::PrintToString(output.substr(0, 2000));
    ++lost;
  }
  EXPECT_EQ(at, after.size()) << ::testing::PrintToString(out);
  EXPECT_EQ(filter.dropped().sequences, lost);
  EXPECT_EQ(filter.dropped().bytes, 0U);
}

bool is_installed(const std::string& program) {
  return ::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

class OrdinaryOutput : public ::testing::TestWithParam<const char*> {
 protected:
  static void expect_passes(const std::string& program, const std::string& command, const std::string& keys) {
    ASSERT_TRUE(is_installed(program)) << program << " isn't installed: scripts/install-packages --tests";
    const Recording recording = record(command, GetParam(), keys);
    EXPECT_TRUE(recording.ended) << ::testing::PrintToString(recording.output);
    EXPECT_THAT(recording.output, ::testing::HasSubstr("\x1b["));
    expect_ordinary(recording.output);
  }
};

TEST_P(OrdinaryOutput, Shell) {
  expect_passes("ls", "ls --color=always / && printf '\\033[1mbold\\033[m caf\\303\\251\\n'", "");
}

TEST_P(OrdinaryOutput, Less) {
  expect_passes("less", "seq 200 | LESSOPEN= LESS= less", "  /15\nq");
}

TEST_P(OrdinaryOutput, GitDiff) {
  expect_passes(
      "git",
      "printf 'a\\n' >\"${T:=$(mktemp)}\"; git --no-pager diff --no-index --color=always /dev/null \"$T\"; rm \"$T\"",
      "");
}

TEST_P(OrdinaryOutput, Vim) {
  expect_passes("vim", "vim -u NONE -N -i NONE -n -c 'syntax on' -c 'set number mouse=a' -c 'sp' /etc/passwd",
                "Gdd:q!\r:q!\r");
}

TEST_P(OrdinaryOutput, Top) {
  expect_passes("top", "top -d 1 -n 1", "");
}

TEST_P(OrdinaryOutput, Curses) {
  expect_passes(
      "python3",
      "exec python3 -c \"import curses\n"
      "def main(w):\n"
      " curses.has_colors() and curses.init_pair(1, 1, 4); curses.mousemask(-1)\n"
      " w.box(); w.addstr(2, 2, 'red', curses.A_BOLD | (curses.color_pair(1) if curses.has_colors() else 0)); "
      "w.setscrreg(3, 9); w.refresh()\n"
      " w.scrollok(True); w.scroll(1); w.insertln(); w.refresh(); w.getch(); curses.beep(); w.clear(); w.refresh()\n"
      "curses.wrapper(main)\"",
      "x");
}

TEST_P(OrdinaryOutput, ClearAndReset) {
  expect_passes(
      "clear",
      "clear; tput smcup; tput civis; tput smkx; tput smacs; tput rmacs; tput rmkx; tput cnorm; tput rmcup; true", "");
}

INSTANTIATE_TEST_SUITE_P(Terminals, OrdinaryOutput,
                         ::testing::Values("xterm-256color", "tmux-256color", "screen", "linux", "vt100"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
                           return name;
                         });

}  // namespace
}  // namespace oncelatch::launcher
