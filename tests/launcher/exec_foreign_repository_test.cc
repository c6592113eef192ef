// Repositories of several users side by side, where root works in a directory of one of them: whose files are shown.
#include <sys/stat.h>

#include "tests/launcher/exec_support.h"

namespace oncelatch::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Only root can give files away, and only in its own mount namespace can it change what lies below /home.
class ForeignRepository : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_EQ(scratch.on_host("git init -q -b main . && git config user.name t && git config user.email t@e && "
                              "mkdir part && echo a > a && echo b > part/b && git add . && git commit -qm first && "
                              "chmod 755 .. ."),
              "");
  }
  // After a script of the host's, with a mount namespace of its own.
  [[nodiscard]] Output at(const std::string& before, const std::string& where, const std::string& script) const {
    return scratch.oncelatch_behind({"/usr/bin/unshare", "-m", "--propagation", "private", "sh", "-ec",
                                     "exec 3>&1 >&2; " + before + "\nexec >&3 3>&-; exec \"$@\"", "sh"},
                                    {"exec", "--workspace", where, "--", "sh", "-c", script});
  }

  Scratch scratch;
  const std::string place = scratch.path("shared");
  const std::string work = place + "/work";
};

// Whoever may write in a directory for all has a repository there, but none of what others keep beside it.
TEST_F(ForeignRepository, OnePlantedInADirectoryForAllShowsNothing) {
  const std::string planted = "mkdir -p " + work + " " + place + "/other && chmod 1777 " + place +
                              " && echo private > " + place + "/other/file && chown 12345:12345 " + work +
                              " && setpriv --reuid 12345 --regid 12345 --clear-groups env HOME=/ git init -q " + place;
  const Output output = at(planted, work, "cat ../other/file 2>/dev/null || echo none; ls -d ../.git 2>/dev/null");
  EXPECT_EQ(output.out, "none\n") << output.err;
  EXPECT_THAT(output.err, HasSubstr("isn't found inside"));
  // The same is taken where all of it is one user's.
  EXPECT_EQ(at("chown -R 12345:12345 " + place, work, "cat ../other/file").out, "private\n");
}

// The place of a worktree that was removed without git: the repository still names it.
TEST_F(ForeignRepository, WhoeverTakesAWorktreesPlaceGetsNoRepository) {
  const std::string taken = "git worktree add -q -b fix " + place + "; cp " + place + "/.git pointer; rm -r " + place +
                            "; mkdir " + place + "; mv pointer " + place + "/.git; ";
  constexpr const char* kLook = "git log --format=%s 2>/dev/null || echo none";
  EXPECT_EQ(at(taken, place, kLook).out, "first\n");
  Output output = at("chown -R 12345:12345 " + place, place, kLook);
  EXPECT_EQ(output.out, "none\n") << output.err;
  EXPECT_THAT(output.err, HasSubstr("isn't found inside"));
  // Nor by the pointer alone.
  output = at("chown 0:0 " + place, place, kLook);
  EXPECT_EQ(output.out, "none\n") << output.err;
}

// Some keep their settings in a repository around their home: the home of the workspace's owner isn't shown either.
TEST_F(ForeignRepository, TheOwnersHomeIsNeverShown) {
  const std::string home = "echo \"other:x:12345:12345::" + place +
                           ":/bin/sh\" > accounts; cat /etc/passwd >> accounts; "
                           "mount --bind accounts /etc/passwd; ";
  const std::string made = "mkdir -p " + work + "; echo private > " + place + "/key; git init -q " + place +
                           "; chown -R 12345:12345 " + place + "; ";
  constexpr const char* kLook = "cat ../key 2>/dev/null || echo none";
  const Output output = at(home + made, work, kLook);
  EXPECT_EQ(output.out, "none\n") << output.err;
  EXPECT_THAT(output.err, HasSubstr("belongs to a place that is never shown"));
  EXPECT_THAT(output.err, Not(HasSubstr("takes the whole")));
  EXPECT_EQ(at(":", work, kLook).out, "private\n");  // somebody's directory, but no home
}

// What nobody may take for a workspace isn't shown as the rest of one.
TEST_F(ForeignRepository, WhereSeveralLiveIsNeverShown) {
  for (const char* holder : {"/srv", "/opt"}) {
    const std::string root = holder;
    const std::string made = "mount -t tmpfs none " + root + "; mkdir -p " + root + "/work; echo private > " + root +
                             "/file; git init -q " + root;
    const Output output = at(made, root + "/work", "cat ../file 2>/dev/null || echo none");
    EXPECT_EQ(output.out, "none\n") << output.err;
    EXPECT_THAT(output.err, HasSubstr("belongs to a place that is never shown")) << holder;
  }
}

}  // namespace
}  // namespace oncelatch::test
