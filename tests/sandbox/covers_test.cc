// Hidden and protected parts of the workspace, and that no rename gets around them.
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

class Covers : public testing::TestWithParam<Launch> {
 protected:
  void SetUp() override { REQUIRE_CONFINEMENT(); }
};
INSTANTIATE_TEST_SUITE_P(Launches, Covers, testing::ValuesIn(possible_launches()), launch_name);

void fill(const Lab& lab) {
  for (const char* name : {"a", "a/b", "a/b/.git", "a/b/.git/hooks", "other", ".hidden"}) lab.make_directory(name);
  lab.write("a/b/.git/config", "[core]\n");
  lab.write("a/b/free", "free");
  lab.write(".hidden/token", "token");
  lab.write(".env", "KEY=value");
  lab.write("other/file", "x");
}

TEST_P(Covers, ProtectedDirectoryAndItsAncestors) {
  Lab lab(GetParam());
  fill(lab);
  std::string ws = lab.workspace();
  std::map<std::string, std::set<std::string>> expected = {
      {"write=" + ws + "/a/b/.git/new", {"EROFS"}},
      {"append=" + ws + "/a/b/.git/config", {"EROFS"}},
      {"truncate=" + ws + "/a/b/.git/config", {"EROFS"}},
      {"unlink=" + ws + "/a/b/.git/config", {"EROFS"}},
      {"mkdir=" + ws + "/a/b/.git/hooks/x", {"EROFS"}},
      {"chmod-suid=" + ws + "/a/b/.git/config", {"EPERM"}},
      {"rename=" + ws + "/a/b/.git:" + ws + "/a/b/old", {"EBUSY"}},
      {"rename=" + ws + "/a/b:" + ws + "/a/c", {"EBUSY"}},
      {"rename=" + ws + "/a:" + ws + "/c", {"EBUSY"}},
      {"exchange=" + ws + "/a:" + ws + "/other", {"EBUSY", "EXDEV"}},
      {"exchange=" + ws + "/a/b:" + ws + "/a/b/.git", {"EBUSY", "EXDEV", "EINVAL"}},
      {"rename=" + ws + "/a/b/.git/config:" + ws + "/a/b/config", {"EXDEV", "EROFS"}},
      {"rename=" + ws + "/other/file:" + ws + "/a/b/.git/config", {"EXDEV", "EROFS"}},
      {"link=" + ws + "/a/b/.git/config:" + ws + "/a/b/config", {"EXDEV", "EROFS"}},
      {"umount=" + ws + "/a/b/.git", {"EPERM"}},
      {"remount=" + ws + "/a/b/.git", {"EPERM"}},
      {"mount-setattr=" + ws + "/a/b/.git", {"ENOSYS"}},
      {"read=" + ws + "/a/b/.git/config", {"OK"}},
      {"append=" + ws + "/a/b/free", {"OK"}},
      {"write=" + ws + "/a/new", {"OK"}},
      {"rename=" + ws + "/other:" + ws + "/another", {"OK"}},
  };
  std::vector<std::string> words;
  for (const auto& [word, allowed] : expected) words.push_back(word);
  auto seen = lab.attempts(words, {"--protect", ws + "/a/b/.git"});
  for (const auto& [word, allowed] : expected) EXPECT_TRUE(allowed.contains(seen[word])) << word << ": " << seen[word];
}

TEST_P(Covers, HiddenDirectoryAndFile) {
  Lab lab(GetParam());
  fill(lab);
  Seen seen = lab.run({"/bin/sh", "-c",
                       "ls -A .hidden; cat .env; echo x > .hidden/new || echo refused; echo y > .env || echo refused; "
                       "rm -rf .hidden 2>/dev/null || echo kept; mv .env e 2>/dev/null || echo kept"},
                      {"--hide", lab.workspace() + "/.hidden", "--hide", lab.workspace() + "/.env"});
  EXPECT_EQ(seen.out, "refused\nrefused\nkept\nkept\n") << seen.err;
  EXPECT_TRUE(std::filesystem::exists(lab.workspace() + "/.hidden/token"));
  std::ifstream env(lab.workspace() + "/.env");
  std::string line;
  std::getline(env, line);
  EXPECT_EQ(line, "KEY=value");
}

TEST_P(Covers, MissingOnesAreSkippedAndLeaveNoStub) {
  Lab lab(GetParam());
  fill(lab);
  Seen seen =
      lab.run({"/bin/true"}, {"--protect", lab.workspace() + "/absent/.git", "--hide", lab.workspace() + "/a/absent"});
  EXPECT_EQ(seen.code, 0) << seen.err;
  EXPECT_FALSE(std::filesystem::exists(lab.workspace() + "/absent"));
  EXPECT_FALSE(std::filesystem::exists(lab.workspace() + "/a/absent"));
}

TEST_P(Covers, NestedAndManyInAnyOrder) {
  Lab lab(GetParam());
  fill(lab);
  std::string ws = lab.workspace();
  Seen seen = lab.run({"/bin/sh", "-c", "ls -A a/b/.git/hooks; echo x > a/b/.git/new || echo refused; ls -A other"},
                      {"--hide", ws + "/other", "--hide", ws + "/a/b/.git/hooks", "--protect", ws + "/a/b/.git",
                       "--protect", ws + "/a/b/.git", "--hide", ws + "/other/file"});
  EXPECT_EQ(seen.out, "refused\n") << seen.err;
}

TEST_P(Covers, LinkInThePathIsRefused) {
  Lab lab(GetParam());
  fill(lab);
  std::filesystem::create_symlink(lab.outside(), lab.workspace() + "/link");
  Seen seen = lab.run({"/bin/true"}, {"--protect", lab.workspace() + "/link/secret"});
  EXPECT_EQ(seen.code, kRefused);
  EXPECT_NE(seen.err.find("refused ELOOP"), std::string::npos) << seen.err;
}

}  // namespace
}  // namespace oncelatch::sandbox
