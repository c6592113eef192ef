// The recorder file's tail: partial, long and many lines; shrink, replacement, links.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "elicitation/recorder_file.h"

namespace oncelatch::elicitation {
namespace {

class RecorderFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/oncelatch-recorder-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
    path_ = directory_ + "/record.jsonl";
    append("old line\n");
  }
  void TearDown() override {
    for (const char* file : {"/record.jsonl", "/other", "/linked"}) ::unlink((directory_ + file).c_str());
    ::rmdir(directory_.c_str());
  }
  void append(std::string_view text) const {
    const Fd file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  Result<RecorderFile> open() const {
    return RecorderFile::start(Fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)), path_);
  }

  std::string directory_;
  std::string path_;
};

TEST_F(RecorderFileTest, StartsAtTheEnd) {
  RecorderFile file = open().value();
  EXPECT_TRUE(file.read_round()->lines.empty());
  append("new\n");
  EXPECT_THAT(file.read_round()->lines, ::testing::ElementsAre("new"));
  EXPECT_TRUE(file.read_round()->lines.empty());
}

TEST_F(RecorderFileTest, APartialLineWaitsForItsEnd) {
  RecorderFile file = open().value();
  for (const char c : std::string("first\nsecond")) {
    append(std::string(1, c));
    const RecorderRound round = file.read_round().value();
    if (c == '\n') {
      EXPECT_THAT(round.lines, ::testing::ElementsAre("first"));
    } else {
      EXPECT_TRUE(round.lines.empty());
    }
  }
  append("\n");
  EXPECT_THAT(file.read_round()->lines, ::testing::ElementsAre("second"));
}

TEST_F(RecorderFileTest, ALineBegunBeforeTheStartIsHistory) {
  append("half");
  RecorderFile file = open().value();
  append(" a line\nnew\n");
  EXPECT_THAT(file.read_round()->lines, ::testing::ElementsAre("new"));
  EXPECT_EQ(file.skipped_lines(), 0U);
}

TEST_F(RecorderFileTest, ATooLongLineIsSkippedAndCounted) {
  RecorderFile file = open().value();
  append(std::string(RecorderFile::longest_line + 10, 'x') + "\nshort\n");
  std::vector<std::string> lines;
  RecorderRound round;
  do {
    round = file.read_round().value();
    lines.insert(lines.end(), round.lines.begin(), round.lines.end());
  } while (round.more);
  EXPECT_THAT(lines, ::testing::ElementsAre("short"));
  EXPECT_EQ(file.skipped_lines(), 1U);
}

TEST_F(RecorderFileTest, AFloodIsTakenInBoundedRounds) {
  RecorderFile file = open().value();
  std::string flood;
  for (int i = 0; i < 100'000; ++i) flood += "0123456789\n";
  append(flood);
  std::size_t lines = 0;
  std::size_t rounds = 0;
  for (bool more = true; more; ++rounds) {
    const RecorderRound round = file.read_round().value();
    lines += round.lines.size();
    more = round.more;
    EXPECT_LE(round.lines.size(), RecorderFile::round_bytes / 11 + 1);
  }
  EXPECT_EQ(lines, 100'000U);
  EXPECT_GE(rounds, flood.size() / RecorderFile::round_bytes);
}

TEST_F(RecorderFileTest, AShorterFileIsRefused) {
  RecorderFile file = open().value();
  ASSERT_EQ(::truncate(path_.c_str(), 0), 0);
  EXPECT_NE(file.read_round().error().message().find("shorter"), std::string::npos);
}

TEST_F(RecorderFileTest, AFileWrittenAnewIsRefused) {
  RecorderFile file = open().value();
  ASSERT_EQ(::truncate(path_.c_str(), 0), 0);
  append("another beginning that is longer\n");
  EXPECT_NE(file.read_round().error().message().find("anew"), std::string::npos);
}

TEST_F(RecorderFileTest, AReplacedFileIsRefused) {
  RecorderFile file = open().value();
  const std::string other = directory_ + "/other";
  Fd made(::open(other.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(made.get(), "a long enough content\n", 22), 22);
  ASSERT_EQ(::rename(other.c_str(), path_.c_str()), 0);
  EXPECT_FALSE(file.read_round());
}

TEST_F(RecorderFileTest, ARemovedLinkedOrHardLinkedFileIsRefused) {
  {
    RecorderFile file = open().value();
    ASSERT_EQ(::link(path_.c_str(), (directory_ + "/linked").c_str()), 0);
    EXPECT_NE(file.read_round().error().message().find("more than one name"), std::string::npos);
    ASSERT_EQ(::unlink((directory_ + "/linked").c_str()), 0);
  }
  {
    RecorderFile file = open().value();
    ASSERT_EQ(::rename(path_.c_str(), (directory_ + "/other").c_str()), 0);
    ASSERT_EQ(::symlink("other", path_.c_str()), 0);
    EXPECT_NE(file.read_round().error().message().find("replaced"), std::string::npos);
    ASSERT_EQ(::unlink(path_.c_str()), 0);
    EXPECT_NE(file.read_round().error().message().find("removed"), std::string::npos);
  }
}

TEST_F(RecorderFileTest, AFifoOrALinkIsRefusedAtTheStart) {
  ASSERT_EQ(::link(path_.c_str(), (directory_ + "/linked").c_str()), 0);
  EXPECT_FALSE(open());
  ASSERT_EQ(::unlink((directory_ + "/linked").c_str()), 0);
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const Result<RecorderFile> fifo =
      RecorderFile::start(Fd(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)), path_);
  EXPECT_NE(fifo.error().message().find("plain file"), std::string::npos);
}

TEST_F(RecorderFileTest, TheWatchWakesOnANewLine) {
  RecorderFile file = open().value();
  pollfd wait{file.watch_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&wait, 1, 0), 0);
  append("new\n");
  EXPECT_EQ(::poll(&wait, 1, 1000), 1);
  EXPECT_EQ(file.read_round()->lines.size(), 1U);
  EXPECT_EQ(::poll(&wait, 1, 0), 0);
}

}  // namespace
}  // namespace oncelatch::elicitation
