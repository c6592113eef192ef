// What git outside would run or follow is covered in everything that `exec` shows writable.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/launcher/scratch.h"

namespace oncelatch::test {
namespace {

// As `git init` makes them, below the scratch directory.
void make_git_directory(const Scratch& scratch, const std::string& name) {
  for (const char* part : {"", "/hooks", "/objects", "/refs"}) ::mkdir(scratch.path(name + part).c_str(), 0755);
  scratch.write(name + "/HEAD", "ref: refs/heads/main\n", 0644);
  scratch.write(name + "/config", "[core]\n", 0644);
  scratch.write(name + "/hooks/post-update", "#!/bin/sh\n", 0755);
}

void expect_covered(const Scratch& scratch, std::vector<std::string> options, const std::string& git) {
  const std::string script =
      "for name in config hooks/post-update; do echo x >> \"$0/$name\" && echo changed; done; "
      "mv \"$0/hooks\" \"$0/h\" && echo moved; echo made > \"$0/objects/x\" && echo wrote";
  options.insert(options.begin(), "exec");
  options.insert(options.end(), {"--", "sh", "-c", script, scratch.path(git)});
  Output output = scratch.oncelatch(options);
  EXPECT_EQ(output.out, "wrote\n") << output.err;
  EXPECT_EQ(scratch.read(git + "/config"), "[core]\n");
  EXPECT_EQ(scratch.read(git + "/hooks/post-update"), "#!/bin/sh\n");
  EXPECT_EQ(scratch.read(git + "/objects/x"), "made\n");
}

TEST(ExecCovers, ARepositoryAroundTheWorkspaceThatIsShownWritable) {
  Scratch scratch;
  ::mkdir(scratch.path("repository/.git").c_str(), 0755);
  make_git_directory(scratch, "repository/.git");
  ::mkdir(scratch.path("repository/part").c_str(), 0755);
  expect_covered(scratch, {"--workspace", scratch.path("repository/part"), "--write", scratch.path("repository")},
                 "repository/.git");
}

TEST(ExecCovers, AnotherRepositoryThatIsShownWritable) {
  Scratch scratch;
  ::mkdir(scratch.path("other").c_str(), 0755);
  make_git_directory(scratch, "other/.git");
  expect_covered(scratch, {"--write", scratch.path("other")}, "other/.git");
}

TEST(ExecCovers, ARepositoryWithoutAWorkTree) {
  Scratch scratch;
  make_git_directory(scratch, "repository");
  expect_covered(scratch, {}, "repository");
}

TEST(ExecCovers, AWritableFileOrDirectoryWithoutGit) {
  Scratch scratch;
  ::mkdir(scratch.path("plain").c_str(), 0755);
  scratch.write("file", "", 0644);
  Output output = scratch.oncelatch({"exec", "--write", scratch.path("plain"), "--write", scratch.path("file"), "--",
                                     "sh", "-c", "mkdir \"$0/hooks\" && echo text > \"$1\" && echo done",
                                     scratch.path("plain"), scratch.path("file")});
  EXPECT_EQ(output.out, "done\n") << output.err;
  EXPECT_EQ(scratch.read("file"), "text\n");
}

TEST(ExecCovers, AsManyAsThereMayBe) {
  Scratch scratch;
  constexpr int kMost = 250;  // and what git would run
  std::vector<std::string> options = {"exec"};
  for (int i = 0; i < kMost; ++i) {
    scratch.write("repository/" + std::to_string(i), "secret\n", 0644);
    options.insert(options.end(), {"--deny", scratch.path("repository/" + std::to_string(i))});
  }
  std::vector<std::string> more;
  for (int i = 0; i < 10; ++i) more.insert(more.end(), {"--deny", scratch.path("repository/more")});
  scratch.write("repository/more", "secret\n", 0644);
  const std::vector<std::string> command = {"--", "sh", "-c", "cat [0-9]*; cat more; ls | wc -l"};
  auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), command.begin(), command.end());
    return scratch.oncelatch(words);
  };
  Output output = with(options);
  EXPECT_EQ(output.out, "secret\n" + std::to_string(kMost + 1) + "\n") << output.err;
  options.insert(options.end(), more.begin(), more.end());
  Output refused = with(options);
  EXPECT_EQ(refused.status.shell_code(), 125) << refused.out;
  EXPECT_NE(refused.err.find("at most 256 covers"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace oncelatch::test
