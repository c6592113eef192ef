// Other names of the workspace.
#include <filesystem>

#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

class Aliases : public testing::TestWithParam<Launch> {
 protected:
  void SetUp() override { REQUIRE_CONFINEMENT(); }
};
INSTANTIATE_TEST_SUITE_P(Launches, Aliases, testing::ValuesIn(possible_launches()), launch_name);

TEST_P(Aliases, TheWorkspaceIsReachedByBothNames) {
  Lab lab(GetParam());
  lab.write("file", "content\n");
  lab.make_directory("private");
  lab.write("private/key", "key\n");
  const std::string& ws = lab.workspace();
  for (const std::string& name :
       {std::string("/home/u/project"), std::string("/data/link"), std::string("/tmp/project"), ws + "-too"}) {
    Seen seen = lab.run({"/bin/sh", "-c",
                         "pwd -P; cat \"$0/file\" \"$1/file\"; echo x > \"$0/new\" && cat new; cat \"$0/private/key\"; "
                         "readlink \"$0\"; mv \"$0\" \"$0-2\" 2>/dev/null; true",
                         name, ws},
                        {"--alias", name + ":" + ws, "--cwd", name, "--deny", ws + "/private"});
    EXPECT_EQ(seen.out, ws + "\ncontent\ncontent\nx\n" + ws + "\n") << name << seen.err;
    EXPECT_TRUE(std::filesystem::exists(ws + "/new"));
    EXPECT_FALSE(std::filesystem::exists(name)) << "made in the view only";
  }
}

TEST_P(Aliases, NeverInATreeOfTheHostOrOverTheView) {
  Lab lab(GetParam());
  const std::string& ws = lab.workspace();
  for (const std::string& name :
       {ws, ws + "/link", ws + "/a/link", std::string("/more/link"), std::string("/read/link"),
        std::string("/usr/link"), std::string("/usr"), std::string("/var"), std::string("/etc/passwd"),
        std::string("/etc"), std::string("/bin/x"), std::string("/dev/x"), std::string("/dev/shm/x"),
        std::string("/proc/x"), std::string("/home"), std::string("relative"), std::string("/a/../b"),
        std::string("/")}) {
    Seen seen = lab.run({"/bin/echo", "ran"}, {"--bind", lab.outside() + ":/more:rw", "--bind",
                                               lab.outside() + ":/read:ro", "--alias", name + ":" + ws});
    EXPECT_EQ(seen.code, kRefused) << name;
    EXPECT_EQ(seen.out, "") << name;
    EXPECT_NE(seen.err.find("refused E"), std::string::npos) << name << seen.err;
  }
  EXPECT_EQ(lab.run({"/bin/true"}, {"--alias", "/a:relative"}).code, kRefused);
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(ws + "/link")));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(lab.outside() + "/link")));
}

}  // namespace
}  // namespace oncelatch::sandbox
