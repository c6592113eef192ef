// What the strict grammar accepts is run by a real bash: the argument vectors must be the ones that were read.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/process.h"
#include "policy/shell_grammar.h"
#include "tests/policy/support.h"

namespace oncelatch::policy::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShell = "/bin/bash";

// A directory of fake programs that each write their argument vector, NUL-separated, to a file of their own.
class Recorder {
 public:
  Recorder() {
    std::string name = (fs::temp_directory_path() / "policy-differential-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) root_ = name;
    fs::create_directories(root_ / "bin");
    fs::create_directories(root_ / "out");
    const fs::path program = root_ / "bin" / "recorder";
    std::ofstream(program) << "#!/bin/sh\nprintf '%s\\0' \"${0##*/}\" \"$@\" > " << (root_ / "out").string() << "/$$\n";
    fs::permissions(program, fs::perms::owner_all);
    for (const char* name_of : {"git", "ls", "rm", "a.out", "x-y_z"})
      fs::create_symlink("recorder", root_ / "bin" / name_of);
  }
  ~Recorder() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  std::vector<Argv> run(const std::string& line) const {
    for (const auto& entry : fs::directory_iterator(root_ / "out")) fs::remove(entry.path());
    Spawn spawn;
    spawn.path = kShell;
    spawn.argv = {"bash", "--norc", "--noprofile", "-c", line};
    spawn.environment = {"PATH=" + (root_ / "bin").string()};
    spawn.directory = (root_ / "out").string();
    const Result<Output> output = run_bounded(spawn, 1 << 16, std::chrono::seconds(20));
    if (!output) ADD_FAILURE() << output.error().message();
    if (output && !output->err.empty()) ADD_FAILURE() << line << ": " << output->err;
    std::vector<Argv> recorded;
    for (const auto& entry : fs::directory_iterator(root_ / "out"))
      recorded.push_back(words_of(read_whole_file(entry.path().string())));
    return recorded;
  }

 private:
  static Argv words_of(const std::string& bytes) {
    Argv argv;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t end = std::min(bytes.find('\0', at), bytes.size());
      argv.push_back(bytes.substr(at, end - at));
      at = end + 1;
    }
    return argv;
  }

  fs::path root_;
};

class LineMaker {
 public:
  explicit LineMaker(unsigned seed) : random_(seed) {}

  struct Line {
    std::string text;
    std::vector<bool> runs;  // per member: every fake program succeeds, so a pipeline after || is skipped
  };

  Line line() {
    Line line;
    bool running = true;
    const std::size_t members = 1 + pick(4);
    for (std::size_t member = 0; member < members; ++member) {
      if (member > 0) {
        const std::string& separator = one_of({"&&", "||", ";", "|"});
        if (separator != "|") running = separator != "||";
        line.text.append(spaces()).append(separator).append(spaces());
      }
      line.runs.push_back(running);
      line.text += program();
      for (std::size_t words = pick(5); words > 0; --words) line.text.append(1, ' ').append(spaces()).append(word());
    }
    return line;
  }

 private:
  std::size_t pick(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }
  const std::string& one_of(std::vector<std::string> choices) {
    chosen_ = choices[pick(choices.size())];
    return chosen_;
  }
  std::string spaces() { return std::string(pick(3), ' '); }
  std::string program() { return one_of({"git", "ls", "rm", "a.out", "x-y_z", "'git'", "l\\s", "\"r\"m", "r''m"}); }

  std::string word() {
    std::string word;
    for (std::size_t piece = 1 + pick(3); piece > 0; --piece) word += this->piece();
    return word;
  }

  std::string piece() {
    const std::string special = " $`<>()*?[]{}~#!&;|\"'\\=^%-/.,:@+a0";
    const char any = special[pick(special.size())];
    switch (pick(5)) {
      case 0:
        return std::string("\\") + any;
      case 1:
        return any == '\'' ? "''" : std::string("'") + any + "$(x) `y`" + "'";
      case 2:
        return any == '"' || any == '$' || any == '`' || any == '\\' || any == '!' ? "\"\""
                                                                                   : std::string("\"") + any + "'*\"";
      case 3:
        return one_of(
            {"größe", "中文", "'中 文'", "a=b", "-x", "--long=v", "a/../b", "0", "a^", "%s", "@", "+", "x,y"});
      default:
        return one_of({"a", "b.c", "-n", "''", "\"\"", "'it'\\''s'", "\\ ", "_", "/", "."});
    }
  }

  std::mt19937 random_;
  std::string chosen_;
};

TEST(Differential, BashRunsTheArgumentVectorsThatWereRead) {
  if (::access(kShell, X_OK) != 0) GTEST_SKIP() << kShell << " is missing";
  const Recorder recorder;
  LineMaker maker(20'240'607);
  int accepted = 0;
  std::size_t members = 0;
  for (int count = 0; count < 500 && !HasFailure(); ++count) {
    const LineMaker::Line made = maker.line();
    const ShellLine line = parse_shell(made.text);
    if (!line.opaque.empty()) continue;  // a bare "^a" or "=" at the start of a word
    ++accepted;
    ASSERT_EQ(line.members.size(), made.runs.size()) << made.text;
    std::vector<Argv> expected;
    for (std::size_t member = 0; member < line.members.size(); ++member) {
      if (made.runs[member]) expected.push_back(line.members[member]);
    }
    members += expected.size();
    EXPECT_THAT(recorder.run(made.text), ::testing::UnorderedElementsAreArray(expected)) << made.text;
  }
  std::printf("  %d lines accepted and run, %zu argument vectors equal\n", accepted, members);
  EXPECT_GT(accepted, 300);
}

// The quoted form that people are shown runs as the same words.
TEST(Differential, QuotedCommandsRunAsTheyAreShown) {
  if (::access(kShell, X_OK) != 0) GTEST_SKIP() << kShell << " is missing";
  const Recorder recorder;
  for (const Argv& argv :
       {Argv{"git", "it's", "", "$x", "a b", "*", "\\", "!x", "~", "#", "=x", "{a,b}", "中"}, Argv{"ls"}}) {
    EXPECT_THAT(recorder.run(quote_command(argv)), ::testing::ElementsAre(argv));
  }
}

}  // namespace
}  // namespace oncelatch::policy::testing
