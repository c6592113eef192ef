// What an agent leaves in the repository whose worktree it works in, so that taking its work over destroys or moves
// what is the user's: ignore rules, flags in the index, links, references, trees.
#include <sys/stat.h>

#include "tests/launcher/worktree_session.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class WorktreeAttack : public WorktreeSession {
 protected:
  // Refused; head, and what this script prints, stay.
  void expect_kept(const std::string& name, const std::string& why, const std::string& script) const {
    const std::string before = host(script + "; git rev-parse HEAD");
    expect_refused({"apply", "--commit", name}, why);
    EXPECT_EQ(host(script + "; git rev-parse HEAD"), before);
  }
  void expect_applied(const std::string& name) const {
    const Output output = worktree({"apply", "--commit", name});
    EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  }
};

TEST_P(WorktreeAttack, IgnoreRulesMakeNoFileOfTheUserExpendable) {
  EXPECT_EQ(
      host("echo mine > secret; mkdir -p keep/deep src/own; echo mine > keep/deep/notes; echo mine > src/own/file"),
      "");
  const Output ran = session("fix",
                             "common=$(git rev-parse --git-common-dir); echo evil > secret; echo evil > keep; "
                             "git rm -rq src; echo evil > src; git add -A; git commit -qm evil; "
                             "printf 'secret\\nkeep\\nown\\n' >> $common/info/exclude");
  EXPECT_EQ(ran.status.shell_code(), 0) << ran.err;
  ASSERT_THAT(host("cat .git/info/exclude"), HasSubstr("secret"));
  expect_kept("fix", "keep/deep/notes, secret, src/own/file", "cat secret keep/deep/notes src/own/file src/s");
  EXPECT_EQ(host("rm -r secret keep src/own"), "");
  expect_applied("fix");
  EXPECT_EQ(host("cat secret keep src"), "evil\nevil\nevil\n");
}

TEST_P(WorktreeAttack, ALinkOfTheUserInPlaceOfADirectoryStays) {
  EXPECT_EQ(
      host("mkdir ../elsewhere; ln -s ../elsewhere link; rm -r src; ln -s ../elsewhere src; echo l > ../elsewhere/s"),
      "");
  EXPECT_EQ(session("fix", "mkdir link; echo evil > link/x; echo evil > src/s").status.shell_code(), 0);
  expect_kept("fix", "link, src", "readlink link src; ls ../elsewhere; cat ../elsewhere/s");
}

TEST_P(WorktreeAttack, FlagsInTheIndexHideNoChange) {
  for (const char* flag : {"--assume-unchanged", "--skip-worktree"}) {
    EXPECT_EQ(host("echo mine > a; echo mine > new"), "");
    const Output ran = session("fix", std::string("echo evil > a; echo evil > new; git add -A; git commit -qm evil"));
    EXPECT_EQ(ran.status.shell_code(), 0) << ran.err;
    // A session can't write there; another program may have.
    EXPECT_EQ(
        host("git update-index --add --cacheinfo 100644,$(git rev-parse oncelatch/fix:new),new; git update-index " +
             std::string(flag) + " a"),
        "");
    ASSERT_THAT(host("git ls-files -v"), HasSubstr(flag[2] == 'a' ? "h a" : "S a"));
    expect_kept("fix", "git doesn't know them: new", "cat a new");
    EXPECT_EQ(host("mv new ../"), "");
    expect_kept("fix", "files that you changed, too: a", "cat a");
    EXPECT_EQ(worktree({"drop", "--force", "fix"}).status.shell_code(), 0);
    EXPECT_EQ(host("rm .git/index; git reset -q --hard"), "");
  }
}

// Sizes and times of the user's changed file with the blob from before.
TEST_P(WorktreeAttack, AnIndexThatTakesAChangedFileForTheOldOne) {
  EXPECT_EQ(session("fix", "echo evil > a").status.shell_code(), 0);
  EXPECT_EQ(host("old=$(git rev-parse HEAD:a); echo mine > a; sleep 1.1; git add a; new=$(git rev-parse :a); "
                 "perl -MDigest::SHA=sha1 -0777 -i -pe 'BEGIN { $o = pack(\"H*\", \"'$old'\"); $n = pack(\"H*\", "
                 "\"'$new'\"); } s/\\Q$n\\E/$o/; s/.{20}\\z//s; $_ .= sha1($_)' .git/index; git status --porcelain"),
            "");
  expect_kept("fix", "files that you changed, too: a", "cat a");
}

TEST_P(WorktreeAttack, WhatTheUserStagedStays) {
  EXPECT_EQ(session("fix", "echo evil > a").status.shell_code(), 0);
  EXPECT_EQ(host("echo staged > a; git add a; echo a > a"), "");
  expect_kept("fix", "Entry 'a'", "git show :a; cat a");
}

TEST_P(WorktreeAttack, ASparseCheckoutTakesNothingAway) {
  EXPECT_EQ(host("git config core.sparseCheckout true"), "");
  EXPECT_EQ(session("fix", "main=$(git rev-parse --git-common-dir); echo b > b; echo '/b' > $main/info/sparse-checkout")
                .status.shell_code(),
            0);
  ASSERT_EQ(host("cat .git/info/sparse-checkout"), "/b\n");
  expect_applied("fix");
  EXPECT_EQ(host("cat a b src/s"), "a\nb\ns\n");
}

TEST_P(WorktreeAttack, GraftsAndReplacementsTellNoHistory) {
  const Output ran = session("fix", "echo b > b; git add b; git commit -qm fix");
  EXPECT_EQ(ran.status.shell_code(), 0) << ran.err;
  EXPECT_EQ(host("echo own > own; git add own; git commit -qm own; "
                 "echo $(git rev-parse oncelatch/fix) $(git rev-parse HEAD) > .git/info/grafts; "
                 "git replace --graft oncelatch/fix HEAD 2>/dev/null"),
            "");
  ASSERT_EQ(host("git merge-base HEAD oncelatch/fix 2>/dev/null"), head()) << "git follows the graft";
  expect_applied("fix");
  EXPECT_EQ(host("rm .git/info/grafts; git --no-replace-objects log --format=%s | sort; cat own b"),
            "Merge branch 'oncelatch/fix'\nfirst\nfix\nown\nown\nb\n");
}

TEST_P(WorktreeAttack, AHistoryThatIsCutOffRefuses) {
  const Output ran = session("fix",
                             "echo b > b; git add b; git commit -qm fix; "
                             "git rev-parse HEAD > $(git rev-parse --git-common-dir)/shallow");
  EXPECT_EQ(ran.status.shell_code(), 0) << ran.err;
  ASSERT_TRUE(scratch.exists("repository/.git/shallow"));
  expect_kept("fix", "nothing in common", "ls");
}

TEST_P(WorktreeAttack, AShallowCloneWorks) {
  EXPECT_EQ(
      host("for i in 1 2 3; do echo $i > a; git commit -qam $i; done; git clone -q --depth 2 file://$PWD ../clone && "
           "mv .git ../old && mv ../clone/.git . && git config user.name t && git config user.email t@e"),
      "");
  EXPECT_EQ(session("fix", "echo b > b").status.shell_code(), 0);
  EXPECT_EQ(session("other", "echo c > c").status.shell_code(), 0);
  expect_applied("fix");
  expect_applied("other");
  EXPECT_EQ(
      host("git log --format=%s | sort; cat a b c; git status --porcelain"),
      "2\n3\nChanges in the worktree fix\nChanges in the worktree other\nMerge branch 'oncelatch/other'\n3\nb\nc\n");
}

// git writes through links that it finds in its directory.
TEST_P(WorktreeAttack, NothingIsWrittenThroughALinkInTheGitDirectory) {
  EXPECT_EQ(session("fix", "echo b > b").status.shell_code(), 0);
  scratch.write("home/victim", "mine\n", 0644);
  for (const char* file : {"logs/refs/heads/oncelatch/fix", "refs/heads/oncelatch", "logs/HEAD", "logs/refs/heads/main",
                           "index", "packed-refs", "logs/refs/heads", "objects/pack"}) {
    const std::string at = std::string(".git/") + file;
    EXPECT_EQ(host("git pack-refs; mkdir -p ../aside; mv " + at +
                   " ../aside/was; [ -d ../aside/was ] && ln -s "
                   "../../../../aside/was " +
                   at + " || ln -s " + scratch.path("home/victim") + " " + at),
              "")
        << file;
    const Output output = worktree({"apply", "--commit", "fix"});
    EXPECT_EQ(output.status.shell_code(), 122) << file;
    EXPECT_THAT(output.err, HasSubstr("try:")) << file;
    EXPECT_EQ(scratch.read("home/victim"), "mine\n") << file;
    EXPECT_EQ(host("rm " + at + "; mv ../aside/was " + at + "; ls b 2>/dev/null"), "") << file;
  }
  EXPECT_EQ(host("ln .git/logs/HEAD .git/other"), "");
  expect_kept("fix", "has another name", "cat .git/other");
  EXPECT_EQ(host("rm .git/other"), "");
  expect_applied("fix");
  EXPECT_EQ(host("cat b; git reflog -1 --format=%gs"), "b\noncelatch worktree apply: fix\n");
}

TEST_P(WorktreeAttack, ABranchThatNamesAnotherMovesNone) {
  EXPECT_EQ(host("git branch production"), "");
  EXPECT_EQ(session("fix", "echo b > b; git symbolic-ref refs/heads/main refs/heads/production").status.shell_code(),
            0);
  ASSERT_EQ(host("cat .git/refs/heads/main"), "ref: refs/heads/production\n");
  expect_kept("fix", "is another name of refs/heads/production", "git rev-parse production; ls");
}

TEST_P(WorktreeAttack, TreesWithNamesThatLeadElsewhere) {
  const Output ran = session("fix",
                             "blob=$(echo evil | git hash-object -w --stdin); "
                             "for name in .git ..; do tree=$(printf \"100644 blob $blob\\tconfig\\n\" | git mktree); "
                             "tree=$(printf \"040000 tree $tree\\t$name\\n\" | git mktree); "
                             "git update-ref refs/heads/oncelatch/fix$name "
                             "$(git commit-tree $tree -p HEAD -m evil); done; git branch -a > branches; "
                             "git update-ref refs/heads/oncelatch/fix $(git rev-parse oncelatch/fix.git)");
  ASSERT_THAT(host("git ls-tree -r oncelatch/fix"), HasSubstr(".git/config")) << ran.err;
  expect_kept("fix", "", "cat .git/config; ls");
}

TEST_P(WorktreeAttack, ASubmodulesFilesStay) {
  EXPECT_EQ(
      host("git init -q ../module; git -C ../module -c user.name=t -c user.email=t@e commit -q --allow-empty -m m; "
           "git -c protocol.file.allow=always submodule --quiet add ../module module 2>/dev/null; "
           "git commit -qm module; echo mine > module/mine; mkdir other; echo mine > other/mine"),
      "");
  EXPECT_EQ(session("fix",
                    "git rm -q --cached module; rm -rf module; echo evil > module; git add -A; "
                    "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),other; git commit -qm evil; "
                    "rm -f other; mkdir -p other")
                .status.shell_code(),
            0);
  expect_refused({"apply", "fix"}, "");
  EXPECT_EQ(host("cat module/mine other/mine"), "mine\nmine\n");
}

// More than are looked at: each is told as one that leads out, and that not all was looked at.
TEST_P(WorktreeAttack, ManyLinksHideNone) {
  EXPECT_EQ(session("fix", "for i in $(seq 1000); do ln -s a in$i; done; ln -s / zz-out").status.shell_code(), 0);
  const Output diff = worktree({"diff", "fix"});
  EXPECT_EQ(diff.status.shell_code(), 0) << diff.err;
  EXPECT_THAT(diff.err, AllOf(HasSubstr("link: " + scratch.path("repository/zz-out")), HasSubstr("not all")));
}

INSTANTIATE_TEST_SUITE_P(Users, WorktreeAttack, ::testing::ValuesIn(users()), [](const auto& one) {
  return one.param == 0 ? std::string("Root") : std::string("OrdinaryUser");
});

}  // namespace
}  // namespace oncelatch::test
