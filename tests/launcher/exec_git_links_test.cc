// Links and directories among git's own files: what git on the host reads and writes afterwards lies in the repository.
#include <sys/stat.h>

#include "tests/launcher/exec_support.h"

namespace oncelatch::test {
namespace {

using ::testing::HasSubstr;

class ExecGitLinks : public Exec {
 protected:
  void SetUp() override {
    Exec::SetUp();
    ASSERT_EQ(
        host("git init -q -b main . && git config user.name t && git config user.email t@e && mkdir part && "
             "echo a > a && echo b > part/b && git add . && git commit -qm first && git init -q --bare bare.git && "
             "git -C bare.git config core.logAllRefUpdates true && git push -q ./bare.git main 2>&1 && "
             "git init -q -b main nested && cp .git/config nested/.git/config && "
             "cd nested && git commit -q --allow-empty -m nested && cd .. && git worktree add -q -b fix ../fix "
             "2>&1 && echo kept > ../home/file"),
        "");
  }
  [[nodiscard]] std::string host(const std::string& script) const { return scratch.on_host(script); }
  [[nodiscard]] Output at(const std::string& place, const std::string& script, const Words& options = {}) {
    Words words = {"--workspace", path(place)};
    words.insert(words.end(), options.begin(), options.end());
    return changed(words, {"sh", "-c", script}, scratch.environment(), path(place));
  }
  // Where git's files lie, from a place to start in.
  const std::vector<std::pair<std::string, std::string>> places = {
      {"repository", ".git"},           {"repository", "nested/.git"},
      {"repository", "bare.git"},       {"repository/part", path("repository/.git")},
      {"fix", path("repository/.git")}, {"fix", path("repository/.git/worktrees/fix")}};
};

// Names that git writes at a commit, a fetch, a merge or by itself; with what they may be made of.
constexpr const char* kLinks = R"sh(
cd "$1" || exit 1; exec 2>/dev/null; set +e
try() {
  rm -rf "$1"
  ln -s "$2" "$1" && echo "LINKED $1"
  ln -s "$2" "$top/link"; mv -T "$top/link" "$1" && echo "MOVED $1"
  ln -P "$top/link" "$1" && echo "NAMED $1"
  mkdir "$top/tree"; ln -s "$2" "$top/tree/x"; mv -T "$top/tree" "$1" && echo "MOVED $1 as a directory"
  rm -rf "$top/link" "$top/tree"
}
for name in COMMIT_EDITMSG MERGE_MSG FETCH_HEAD ORIG_HEAD AUTO_MERGE packed-refs shallow description index.lock \
    logs/HEAD logs/refs/heads/main logs/refs/stash logs/new refs/heads/new refs/heads/new.lock refs/stash info/exclude \
    info/refs objects/pack/x objects/aa objects/new rr-cache sequencer rebase-merge gc.log gc.pid; do
  try "$name" "$2"
done
find . -type l; echo tried)sh";

TEST_P(ExecGitLinks, NoneIsMadeThere) {
  for (const auto& [place, directory] : places) {
    const std::string script = "top=$PWD; set -- '" + directory + "' '" + path("home/file") + "'\n" + kLinks;
    EXPECT_EQ(at(place, script).out, "tried\n") << place << ' ' << directory;
  }
  // What git does there afterwards.
  (void)host(
      "for d in . nested ../fix; do (cd $d; echo more >> more; git add more; GIT_EDITOR=true git commit -v; "
      "git commit --amend --no-edit; git stash; git stash pop; git fetch ../repository main; git gc -q; "
      "git merge FETCH_HEAD; git repack -adq); done; git push ./bare.git main");
  EXPECT_EQ(scratch.read("home/file"), "kept\n");
  EXPECT_EQ(host("find . ../fix -type l"), "");
}

// Git doesn't need any: what it does itself goes on.
TEST_P(ExecGitLinks, GitMissesNone) {
  const Output output = at("repository",
                           "set -e; git commit -q --allow-empty -m second; git stash list; "
                           "cd nested; git commit -q --allow-empty -m deep; git branch x; git pack-refs --all; "
                           "git gc -q; ln -s a ../link; mv ../link ../renamed; mkdir ../d; mv ../d ../e; "
                           "mv ../nested ../moved; cd ../moved; git log -1 --format=%s");
  EXPECT_EQ(output.out, "deep\n") << output.err;
  EXPECT_EQ(output.status.shell_code(), 0);
}

// Settings first, then the rest under another name, where no repository is seen; then the whole is brought out.
TEST_P(ExecGitLinks, ARepositoryIsntPreparedInAnother) {
  const std::string hostile = R"sh(
exec 2>/dev/null
for d in nested/.git/x .git/x nested/.git/refs/x .git/objects/x nested/.git/worktrees/x; do
  mkdir -p $d; printf '[core]\nbare=false\nworktree=.\nfsmonitor=touch )sh" +
                              path("home/MARK") + R"sh(\n' > $d/config; mkdir -p $d/objects $d/refs/heads
  echo 'ref: refs/heads/main' > $d/HEAD; echo 'ref: refs/heads/main' > $d/head2; mv $d/head2 $d/HEAD
  mkdir docs; cp -r $d/. docs; mv -T $d docs/x && echo MOVED $d
  mv $d/HEAD $d/objects $d/refs docs; rm -rf docs/x/HEAD
done
mv -T nested/.git/objects brought && echo MOVED objects
echo tried)sh";
  EXPECT_EQ(at("repository", hostile).out, "tried\n");
  (void)host("for d in $(find . -type d); do (cd $d && git status; git log); done");
  EXPECT_FALSE(scratch.exists("home/MARK"));
}

// What a reference names may be the file that says where settings are; git writes a commit's name there.
TEST_P(ExecGitLinks, NothingIsCalledAsACommitIs) {
  const Output output = at("repository", R"sh(
exec 2>/dev/null
for git in .git nested/.git bare.git; do
  for h in $(git rev-parse HEAD) 0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF; do
    mkdir $git/$h && echo MADE; echo x > $git/$h && echo WRITTEN; mkdir d; mv -T d $git/$h && echo MOVED; rmdir d
  done
done
mkdir -p .git/lfs/$h && echo elsewhere; mkdir .git/0123 && echo shorter
echo 'ref: commondir' > .git/ORIG_HEAD)sh");
  EXPECT_EQ(output.out, "elsewhere\nshorter\n") << output.err;
}

// Hooks and settings that the user keeps in the work tree, and told git of.
TEST_P(ExecGitLinks, WhereSettingsPointIsKept) {
  ASSERT_EQ(host("mkdir -p tools/hooks && echo '#!/bin/sh' > tools/hooks/pre-commit && chmod +x tools/hooks/pre-commit "
                 "&& touch tools/gitconfig tools/more "
                 "tools/attributes && "
                 "printf '[include]\\n\\tpath = more # x\\n' > tools/gitconfig && git config core.hooksPath "
                 "tools/hooks && "
                 "git config include.path ../tools/gitconfig && git config "
                 "core.attributesFile $PWD/tools/attributes && "
                 "git config includeIf.gitdir:/x.path ../tools/../tools/gitconfig "
                 "&& git add tools && git commit -qm tools && "
                 "cd ../fix && git merge -q main 2>&1"),
            "");
  const std::string before = host("cat tools/hooks/* tools/gitconfig tools/more tools/attributes ../fix/tools/hooks/*");
  for (const char* place : {"repository", "fix"}) {
    const Output output = at(place, R"sh(exec 2>/dev/null
for f in tools/hooks/post-checkout tools/hooks/pre-commit tools/gitconfig tools/more tools/attributes; do
  case $PWD:$f in */fix:tools/hooks/*|*/repository:*) ;; *) continue;; esac
  echo evil > $f && echo WRITTEN $f; echo evil > x; mv x $f && echo MOVED $f; test -e $f && rm -f $f && test ! -e $f && echo REMOVED $f
done
mv tools/hooks old && echo MOVED; mv tools old && echo MOVED; echo fine > tools/plain && echo fine)sh");
    EXPECT_EQ(output.out, "fine\n") << place << output.err;
  }
  EXPECT_EQ(host("cat tools/hooks/* tools/gitconfig tools/more tools/attributes ../fix/tools/hooks/*"), before);
  // Not there: whoever makes it decides.
  ASSERT_EQ(host("git config core.hooksPath tools/none"), "");
  const Output refused = at("repository", "echo started");
  EXPECT_EQ(refused.status.shell_code(), 122);
  EXPECT_THAT(refused.err,
              ::testing::AllOf(HasSubstr("core.hooksPath"), HasSubstr("isn't there"), HasSubstr("git config --unset")));
  ASSERT_EQ(host("git config core.hooksPath .husky/_; git config core.attributesFile '~/x'; git config --unset-all "
                 "include.path"),
            "");
  EXPECT_EQ(at("repository", "mkdir -p .husky/_; echo x > .husky/_/pre-commit || echo refused").out, "refused\n");
}

// E040: a name that may be written is no name for a link or a directory.
TEST_P(ExecGitLinks, TheOwnBranchIsAFile) {
  const Output output = at("repository", R"sh(
exec 2>/dev/null; own=.git/refs/heads/main; cp $own kept; rm $own
mkdir $own && echo DIRECTORY; mkdir -p $own/x && echo BELOW; ln -s fix $own && echo LINK
mkdir d; mv -T d $own && echo MOVED; ln -s fix l; mv -T l $own && echo MOVED
ln -s fix $own.lock && echo LOCK; cat kept > $own.lock; mv $own.lock $own; git log -1 --format=%s)sh",
                           {"--git", "own-branch"});
  EXPECT_EQ(output.out, "first\n") << output.err;
}

// Beside refs/ such a name would be found before it.
TEST_P(ExecGitLinks, NoNameStandsForAnotherBranch) {
  ASSERT_EQ(host("git branch release; git tag v1"), "");
  for (const char* place : {"repository", "fix"}) {
    const Output output = at(place, R"sh(exec 2>/dev/null; h=$(git rev-parse HEAD)
for git in $(git rev-parse --git-dir) $(git rev-parse --git-common-dir); do
  for name in release v1 origin/main heads/release tags/v1 Release main.x; do
    mkdir -p $git/$(dirname $name); echo $h > $git/$name && echo WRITTEN $name; echo $h > x; mv x $git/$name && echo MOVED $name
  done
done
git commit -q --allow-empty -m fine && git commit -q --amend --allow-empty -m finer && git log -1 --format=%s)sh",
                             {"--git", "own-branch"});
    EXPECT_EQ(output.out, "finer\n") << place << output.err;
  }
}

// What it says can't be held: whoever has its lock open writes it after it was moved.
TEST_P(ExecGitLinks, TheOwnBranchNamesACommit) {
  ASSERT_EQ(host("git branch other && git worktree add -q -b topic ../topic 2>&1; git -C ../topic pack-refs --all"),
            "");
  const std::string others = host("git rev-parse other fix; git -C ../fix rev-parse HEAD");
  const std::vector<std::string> ways = {
      "echo 'ref: refs/heads/other' > \"$own\"",
      "git symbolic-ref \"$name\" refs/heads/other",
      "exec 3> \"$own.lock\"; mv \"$own.lock\" \"$own\"; echo 'ref: refs/heads/fix' >&3",
      ": > \"$own\"",
      "echo 'ref: refs/heads/new' > \"$own\"",
      "printf '%s' 0123456789abcdef > \"$own\"",
      "head -c 100000 /dev/zero > \"$own\"",
      "echo 'ref: refs/heads/other' > \"$own\"; : > \"$own.lock\"; kill -9 $$"};
  for (const auto& [place, name] : {std::pair<std::string, std::string>{"repository", "main"}, {"topic", "topic"}}) {
    const std::string tip = host("git rev-parse " + name);
    for (const std::string& way : ways) {
      const std::string script = "name=refs/heads/" + name + "; own=$(git rev-parse --git-common-dir)/$name; " + way;
      const Output output =
          at(place, script, {"--git", "own-branch", "--fail-on", "git", "--report", path("report.json")});
      EXPECT_EQ(output.status.shell_code(), 123) << way << output.err;
      EXPECT_THAT(output.err, HasSubstr("own branch: " + path("repository/.git/refs/heads/" + name))) << way;
      EXPECT_THAT(scratch.read("report.json"), HasSubstr("put back to what it was before")) << way;
      EXPECT_EQ(host("git rev-parse " + name + "; git symbolic-ref -q refs/heads/" + name), tip) << way;
      EXPECT_EQ(
          host("cd ../" + place + " && git commit -q --allow-empty -m outside && git reset -q --soft HEAD~1 2>&1"), "")
          << way;
      EXPECT_EQ(host("git rev-parse other fix; git -C ../fix rev-parse HEAD"), others) << way;
    }
    const Output fine = at(place, "git commit -q --allow-empty -m inside", {"--git", "own-branch", "--fail-on", "git"});
    EXPECT_EQ(fine.status.shell_code(), 0) << fine.err;
    EXPECT_EQ(host("git log -1 --format=%s " + name), "inside\n");
  }
}

TEST_P(ExecGitLinks, AnOwnBranchThatNamesNoneIsRefused) {
  ASSERT_EQ(host("git symbolic-ref refs/heads/main refs/heads/fix"), "");
  const Output output = at("repository", "true", {"--git", "own-branch"});
  EXPECT_EQ(output.status.shell_code(), 122);
  EXPECT_THAT(output.err, HasSubstr("doesn't name a commit"));
}

// With names held a link may not lead to where nobody is asked.
TEST_P(ExecGitLinks, ALinkToInstalledPackagesIsHeld) {
  const Output output = at("repository", R"sh(
exec 2>/dev/null; mkdir -p node_modules/x sub/node_modules; echo evil > node_modules/x/package.json
for target in node_modules/x ./node_modules/x sub/../node_modules/x "$PWD/node_modules/x" sub/node_modules NODE_MODULES/x .git/x; do
  ln -s $target docs && echo LINKED $target; rm -f docs
done
ln -s x node_modules/y; mv node_modules/y docs && echo MOVED; ln -P node_modules/y docs && echo NAMED
mv node_modules docs && echo MOVED all
ln -s sub plain && echo plain; cd node_modules; ln -s ../node_modules/x z && echo inside)sh",
                           {"--held", "refuse"});
  EXPECT_EQ(output.out, "plain\ninside\n") << output.err;
}
EXEC_USERS(ExecGitLinks);

}  // namespace
}  // namespace oncelatch::test
