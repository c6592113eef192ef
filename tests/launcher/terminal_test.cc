#include "launcher/terminal.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "tests/launcher/scratch.h"

namespace oncelatch::launcher {
namespace {

using elicitation::Key;

// A person's side (`keyboard`, the master of the pane's pty) and a program's side (the inner slave).
struct Pane {
  Pane() {
    int keyboard_end = -1;
    int tty = -1;
    termios raw{};
    ::cfmakeraw(&raw);
    winsize size{30, 100, 0, 0};
    EXPECT_EQ(::openpty(&keyboard_end, &tty, nullptr, &raw, &size), 0);
    keyboard = Fd(keyboard_end);
    terminal.emplace(std::move(*Terminal::open(clock)));
    EXPECT_TRUE(terminal->connect_pane(Fd(tty)));
    termios mode{};
    ::tcgetattr(terminal->slave(), &mode);
    ::cfmakeraw(&mode);
    ::tcsetattr(terminal->slave(), TCSANOW, &mode);
  }
  void type(const std::string& bytes) const {
    EXPECT_EQ(::write(keyboard.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  std::string program_reads() {
    terminal->handle_ready();
    char buffer[4096];
    int count = 0;
    ::ioctl(terminal->slave(), FIONREAD, &count);
    if (count == 0) return {};
    ssize_t size = ::read(terminal->slave(), buffer, sizeof buffer);
    return {buffer, static_cast<std::size_t>(size)};
  }

  ManualClock clock;
  Fd keyboard;
  std::optional<Terminal> terminal;
};

TEST(Terminal, CopiesBothWays) {
  Pane pane;
  pane.clock.advance(std::chrono::seconds(5));
  pane.type("hello");
  std::string got;
  EXPECT_TRUE(test::eventually([&] { return (got += pane.program_reads()) == "hello"; })) << got;
  EXPECT_EQ(::write(pane.terminal->slave(), "world", 5), 5);
  char buffer[64];
  pane.terminal->handle_ready();
  EXPECT_EQ(::read(pane.keyboard.get(), buffer, sizeof buffer), 5);
}

TEST(Terminal, FollowsThePanesSize) {
  Pane pane;
  winsize size{};
  ::ioctl(pane.terminal->slave(), TIOCGWINSZ, &size);
  EXPECT_EQ(size.ws_col, 100);
  winsize bigger{50, 160, 0, 0};
  ::ioctl(pane.keyboard.get(), TIOCSWINSZ, &bigger);
  pane.terminal->follow_size();
  ::ioctl(pane.terminal->slave(), TIOCGWINSZ, &size);
  EXPECT_EQ(size.ws_col, 160);
  EXPECT_EQ(size.ws_row, 50);
}

TEST(Terminal, APersonsByteIsTimedAndOursIsNot) {
  Pane pane;
  EXPECT_EQ(pane.terminal->last_person_input(), Nanoseconds(0));
  pane.clock.advance(std::chrono::seconds(1));
  for (Key key : {Key::down, Key::up, Key::enter}) pane.terminal->expect_own_key(key);
  pane.type("\x1b[B\x1bOA\r");
  std::string got;
  ASSERT_TRUE(test::eventually([&] { return (got += pane.program_reads()).size() == 7; }));
  EXPECT_EQ(pane.terminal->last_person_input(), Nanoseconds(0)) << "announced keys are ours";
  pane.clock.advance(std::chrono::seconds(1));
  pane.type("\r");
  ASSERT_TRUE(test::eventually([&] { return !pane.program_reads().empty(); }));
  EXPECT_EQ(pane.terminal->last_person_input(), std::chrono::seconds(2)) << "the same byte unannounced is a person's";
}

TEST(Terminal, APersonsKeyBetweenOursIsSeen) {
  Pane pane;
  pane.clock.advance(std::chrono::seconds(3));
  pane.terminal->expect_own_key(Key::down);
  pane.terminal->expect_own_key(Key::enter);
  pane.type("\x1b[Bx\r");
  ASSERT_TRUE(test::eventually([&] { return !pane.program_reads().empty(); }));
  EXPECT_EQ(pane.terminal->last_person_input(), std::chrono::seconds(3));
}

TEST(Terminal, AKeyThatWasNotSentIsNobodysToUse) {
  Pane pane;
  pane.clock.advance(std::chrono::seconds(4));
  pane.terminal->expect_own_key(Key::enter);
  pane.terminal->own_key_not_sent(Key::enter);
  pane.type("\r");
  ASSERT_TRUE(test::eventually([&] { return !pane.program_reads().empty(); }));
  EXPECT_EQ(pane.terminal->last_person_input(), std::chrono::seconds(4));
}

TEST(Terminal, IsQuietOnlyWhenTheProgramHasReadEverything) {
  Pane pane;
  EXPECT_TRUE(pane.terminal->quiet());
  pane.type("k");
  EXPECT_TRUE(test::eventually([&] { return !pane.terminal->quiet(); })) << "typed and not yet read by the program";
  std::string got;
  ASSERT_TRUE(test::eventually([&] { return (got += pane.program_reads()) == "k"; }));
  EXPECT_TRUE(pane.terminal->quiet());
}

TEST(Terminal, AClosedPaneIsReported) {
  Pane pane;
  pane.keyboard.reset();
  EXPECT_TRUE(test::eventually([&] {
    pane.terminal->handle_ready();
    return pane.terminal->pane_closed();
  }));
}

TEST(Terminal, APipeIsNoPane) {
  ManualClock clock;
  Terminal terminal = std::move(*Terminal::open(clock));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[1]);
  EXPECT_FALSE(terminal.connect_pane(Fd(ends[0])));
}

}  // namespace
}  // namespace oncelatch::launcher
