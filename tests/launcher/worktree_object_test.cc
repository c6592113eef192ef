// Objects whose content isn't what their names say, and packs whose indexes don't: git takes them as they are.
#include "tests/launcher/worktree_session.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Inside or outside: lie NAME CONTENT-NAME puts one object's file under another's name.
constexpr const char* kLie =
    "lie() { o=$(git rev-parse --git-common-dir)/objects; to=$o/$(echo $1 | cut -c1-2)/$(echo $1 | cut -c3-); rm -f "
    "$to; "
    "mkdir -p $o/$(echo $1 | cut -c1-2); cp $o/$(echo $2 | cut -c1-2)/$(echo $2 | cut -c3-) $to; }; ";

class WorktreeObjects : public WorktreeSession {
 protected:
  void expect_found_out(const std::string& object) const {
    const std::string before = host("git rev-parse HEAD; git ls-files -s | wc -l; ls; cat a");
    for (const std::string verb : {"diff", "apply"}) {
      std::vector<std::string> arguments = {verb, "fix"};
      if (verb == "apply") arguments.emplace_back("--commit");
      const Output output = worktree(arguments);
      EXPECT_EQ(output.status.shell_code(), 122) << verb << output.out;
      EXPECT_EQ(output.out, "") << verb;
      EXPECT_THAT(output.err, AllOf(HasSubstr("content isn't what its name says: "), HasSubstr(object))) << verb;
      EXPECT_THAT(output.err, HasSubstr("fsck")) << verb;
    }
    EXPECT_EQ(host("git rev-parse HEAD; git ls-files -s | wc -l; ls; cat a"), before);
  }
  [[nodiscard]] std::string line(const std::string& script) const {
    const std::string text = host(script);
    return text.substr(0, text.find('\n'));
  }
};

// The patch would show less than what comes.
TEST_P(WorktreeObjects, AnOldFileWithOthersContent) {
  const Output ran =
      session("fix", std::string(kLie) +
                         "old=$(git rev-parse HEAD:a); printf 'a\\nevil\\nmore\\n' > a; git commit -qam fix; "
                         "like=$(printf 'a\\nevil\\n' | git hash-object -w --stdin); lie $old $like");
  EXPECT_EQ(ran.status.shell_code(), 0) << ran.err;
  ASSERT_EQ(host("git show main:a"), "a\nevil\n") << "git takes it as it is";
  expect_found_out(line("git rev-parse main:a"));
}

TEST_P(WorktreeObjects, ANewFileWithOthersContent) {
  const Output ran = session("fix", std::string(kLie) +
                                        "echo good > b; git add b; git commit -qm fix; "
                                        "lie $(git rev-parse HEAD:b) $(echo evil | git hash-object -w --stdin)");
  EXPECT_EQ(ran.status.shell_code(), 0) << ran.err;
  ASSERT_EQ(host("git show oncelatch/fix:b"), "evil\n");
  expect_found_out(line("git rev-parse oncelatch/fix:b"));
}

// The file in the worktree is the good one, and git doesn't write an object that is there.
TEST_P(WorktreeObjects, AnUncommittedFileWithOthersContent) {
  const Output ran = session(
      "fix", std::string(kLie) + "echo good > b; lie $(git hash-object b) $(echo evil | git hash-object -w --stdin)");
  EXPECT_EQ(ran.status.shell_code(), 0) << ran.err;
  expect_found_out(line("echo good | git hash-object --stdin"));
}

TEST_P(WorktreeObjects, ATreeWithOthersContent) {
  const Output ran =
      session("fix", std::string(kLie) +
                         "old=$(git rev-parse HEAD:src); echo e > src/evil; git add -A; new=$(git write-tree); "
                         "git reset -q --hard; echo b > b; git add b; git commit -qm fix; "
                         "lie $old $(git rev-parse $new:src)");
  EXPECT_EQ(ran.status.shell_code(), 0) << ran.err;
  ASSERT_THAT(host("git ls-tree -r main"), HasSubstr("src/evil"));
  expect_found_out(line("git rev-parse main:src"));
}

// The branch would seem to start at what is checked out, and the user's commit to be in it.
TEST_P(WorktreeObjects, ACommitWithAnotherParent) {
  EXPECT_EQ(session("fix", "for i in 1 2; do echo $i > b; git add b; git commit -qm fix; done").status.shell_code(), 0);
  EXPECT_EQ(
      host(std::string(kLie) + "echo own > own; git add own; git commit -qm own; one=$(git rev-parse oncelatch/fix~1); "
                               "lie $one $(git commit-tree $one^{tree} -p main -m fix)"),
      "");
  ASSERT_EQ(host("git merge-base main oncelatch/fix"), head()) << "git takes it as it is";
  expect_found_out(line("git rev-parse oncelatch/fix~1"));
}

TEST_P(WorktreeObjects, ATipWithAnotherParent) {
  EXPECT_EQ(session("fix", "echo b > b; git add b; git commit -qm fix").status.shell_code(), 0);
  EXPECT_EQ(
      host(std::string(kLie) + "echo own > own; git add own; git commit -qm own; tip=$(git rev-parse oncelatch/fix); "
                               "lie $tip $(git commit-tree $tip^{tree} -p main -m fix)"),
      "");
  expect_refused({"diff", "fix"}, "gone or broken");
  expect_refused({"apply", "fix"}, "gone or broken");
}

// One that is in the middle of the branch's history, in neither end's files.
TEST_P(WorktreeObjects, AFileInTheMiddleWithOthersContent) {
  const Output ran =
      session("fix", std::string(kLie) +
                         "echo good > b; git add b; git commit -qm one; middle=$(git rev-parse HEAD:b); "
                         "echo better > b; git commit -qam two; lie $middle $(echo evil | git hash-object -w --stdin)");
  EXPECT_EQ(ran.status.shell_code(), 0) << ran.err;
  expect_found_out(line("git rev-parse oncelatch/fix~1:b"));
}

TEST_P(WorktreeObjects, APackWhoseIndexSaysOtherwise) {
  EXPECT_EQ(session("fix", "printf 'a\\nevil\\nmore\\n' > a; git commit -qam fix").status.shell_code(), 0);
  // Two packs of one object each; the second's content gets the first's index, and the checksum that belongs to it.
  EXPECT_EQ(
      host("one=$(git rev-parse main:a); two=$(printf 'a\\nevil\\n' | git hash-object -w --stdin); mkdir ../p; "
           "x=$(echo $one | git pack-objects -q ../p/pack); y=$(echo $two | git pack-objects -q ../p/pack); "
           "rm .git/objects/$(echo $one | cut -c1-2)/$(echo $one | cut -c3-); chmod u+w ../p/*; "
           "head -c -20 ../p/pack-$y.pack > .git/objects/pack/pack-$x.pack; "
           "tail -c 20 ../p/pack-$x.pack >> .git/objects/pack/pack-$x.pack; cp ../p/pack-$x.idx .git/objects/pack/"),
      "");
  ASSERT_EQ(host("git show main:a"), "a\nevil\n") << "git takes it as it is";
  expect_found_out(line("git rev-parse main:a"));
}

// Of two copies one is right: what comes is right, and what lies in the repository is named.
TEST_P(WorktreeObjects, TheRightOneIsTakenOrNone) {
  EXPECT_EQ(session("fix", std::string(kLie) + "echo good > b; git add b; git commit -qm fix; git gc -q; "
                                               "lie $(git rev-parse HEAD:b) $(echo evil | git hash-object -w --stdin)")
                .status.shell_code(),
            0);
  const Output output = worktree({"apply", "fix"});
  if (output.status.shell_code() == 0)
    EXPECT_EQ(host("cat b"), "good\n");
  else
    EXPECT_THAT(output.err, HasSubstr("content isn't what its name says"));
}

TEST_P(WorktreeObjects, AnObjectThatIsNone) {
  EXPECT_EQ(session("fix",
                    "echo b > b; git add b; git commit -qm fix; o=$(git rev-parse HEAD:b); "
                    "f=$(git rev-parse --git-common-dir)/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-); "
                    "rm -f $f; echo none > $f")
                .status.shell_code(),
            0);
  expect_refused({"diff", "fix"}, "fsck");
  expect_refused({"apply", "fix"}, "fsck");
}

INSTANTIATE_TEST_SUITE_P(Users, WorktreeObjects, ::testing::ValuesIn(users()), [](const auto& one) {
  return one.param == 0 ? std::string("Root") : std::string("OrdinaryUser");
});

}  // namespace
}  // namespace oncelatch::test
