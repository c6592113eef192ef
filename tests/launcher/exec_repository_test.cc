// Git inside where the repository isn't in the workspace: a linked worktree, a directory below the root, and what a
// repository that nobody vouches for says instead.
#include <sys/stat.h>

#include "tests/launcher/exec_support.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ExecRepository : public Exec {
 protected:
  void SetUp() override {
    Exec::SetUp();
    ASSERT_EQ(host("git init -q -b main . && git config user.name t && git config user.email t@e && mkdir part && "
                   "echo a > a && echo b > part/b && git add . && git commit -qm first"),
              "");
  }
  [[nodiscard]] std::string host(const std::string& script) const { return scratch.on_host(script); }
  [[nodiscard]] Output at(const std::string& place, const std::string& script, std::vector<std::string> options = {}) {
    std::vector<std::string> words = {"--workspace", path(place)};
    words.insert(words.end(), options.begin(), options.end());
    return changed(words, {"sh", "-ec", script}, scratch.environment(), path(place));
  }
  void link_worktree() const { ASSERT_EQ(host("git worktree add -q -b fix ../fix 2>&1"), ""); }
};

constexpr const char* kWork = R"sh(
git config user.name >/dev/null
echo new > new; git add new; git commit -qm second
echo more >> new; git stash -q; git stash pop -q; git commit -qam third
git switch -q -c topic; echo t > t; git add t; git commit -qm topic
git switch -q -; echo u > u; git add u; git commit -qm other; git merge -q -m merged topic
git rebase -q HEAD~1; git gc -q; git status --short; git log --format=%s | head -n 1)sh";

TEST_P(ExecRepository, GitWorksInALinkedWorktree) {
  link_worktree();
  const Output output = at("fix", kWork);
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_EQ(host("git status --short"), "");
  EXPECT_THAT(host("git log --format=%s fix"), HasSubstr("third"));
  EXPECT_THAT(host("git -C ../fix status --short; git fsck 2>&1"), Not(HasSubstr("error")));
}

TEST_P(ExecRepository, GitWorksBelowTheRoot) {
  const Output output = at("repository/part", kWork);
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_THAT(output.err, AllOf(HasSubstr("note: the workspace is a part of the repository"), Not(HasSubstr("D a"))));
  EXPECT_EQ(host("git status --short"), "");
  EXPECT_THAT(host("git log --format=%s; ls"), AllOf(HasSubstr("third"), HasSubstr("a\n")));
  EXPECT_EQ(at("repository/part", "cat ../a").out, "a\n");
  EXPECT_NE(at("repository/part", "echo x > ../a").status.shell_code(), 0);
  EXPECT_NE(at("repository/part", "cat ../a", {"--deny", path("repository/a")}).out, "a\n");
}

// What git runs or follows stays as it is, wherever the repository lies.
TEST_P(ExecRepository, ItsHooksAndSettingsAreKept) {
  link_worktree();
  const std::string before = host("cat .git/config .git/worktrees/fix/gitdir .git/worktrees/fix/commondir ../fix/.git");
  constexpr const char* kHostile = R"sh(
cd "$(git rev-parse --git-common-dir)"
for name in hooks/pre-commit hooks/post-checkout config config.worktree commondir objects/info/alternates info/attributes \
    worktrees/fix/gitdir worktrees/fix/commondir worktrees/fix/config.worktree worktrees/evil/commondir .git modules/x/config; do
  mkdir -p "$(dirname $name)" || continue
  echo evil > $name && echo MADE $name
  echo evil > objects/tmp; mv objects/tmp $name && echo MOVED $name
  ln -s objects/tmp $name && echo LINKED $name
done 2>/dev/null
mkdir objects/h 2>/dev/null || true; mv hooks objects/old 2>/dev/null && echo MOVED hooks
echo tried)sh";
  for (const char* place : {"fix", "repository/part"}) {
    const Output output = at(place, kHostile);
    EXPECT_EQ(output.out, "tried\n") << output.err;
  }
  EXPECT_EQ(host("cat .git/config .git/worktrees/fix/gitdir .git/worktrees/fix/commondir ../fix/.git"), before);
  EXPECT_EQ(host("ls .git/hooks | grep -v sample; ls .git/commondir .git/config.worktree 2>/dev/null"), "");
}

// Git writes a submodule's settings anew for that, as they were; nothing else can be written into them.
TEST_P(ExecRepository, SubmodulesThatAreThereAreUpdated) {
  ASSERT_EQ(
      host("git init -q -b main ../library && cd ../library && git config user.name t && git config user.email t@e && "
           "for n in 1 2; do echo $n > f && git add f && git commit -qm $n; done && cd ../repository && "
           "git -c protocol.file.allow=always submodule -q add ../library m && git commit -qm new && "
           "git -C m checkout -q HEAD~1 && git commit -qam old 2>&1"),
      "");
  link_worktree();
  ASSERT_EQ(host("cd ../fix && git -c protocol.file.allow=always submodule -q update --init 2>&1"), "");
  const std::vector<std::pair<std::string, std::string>> places = {{"repository", "repository/.git/modules/m"},
                                                                   {"fix", "repository/.git/worktrees/fix/modules/m"}};
  for (const auto& [place, module] : places) {
    const std::string settings = scratch.read(module + "/config");
    Output output = at(place,
                       "git checkout -q HEAD~1; git submodule -q update; git -C m log -1 --format=%s; "
                       "git status --porcelain; git submodule update --init; ls " +
                           path(module) + " | grep lock || true");
    EXPECT_EQ(output.out, "2\n") << place << output.err;
    output = at(place, "set +e; set -C; exec 2>/dev/null; cd " + path(module) + R"sh(
git config a.b c; git config core.worktree ../../../part
cat config > config.lock; mv config.lock HEAD && echo HEAD; mv config.lock x && echo x; rm config.lock
cp config x; mv x config.lock && echo moved; ln x config.lock && echo linked; ln -s x config.lock && echo link
(cat config; mv config.lock config; echo '[core]'; echo 'fsmonitor = evil') > config.lock; ls | grep lock
echo evil > config.lock; mv config.lock config && echo evil; rm -f config.lock x
mkdir -p hooks; cd hooks && echo evil > config.lock && echo hook)sh");
    EXPECT_EQ(output.out, "") << place;
    EXPECT_EQ(scratch.read(module + "/config"), settings);
  }
}

// Prepared beside it, moved there as a whole, and also while the directory is no repository: what the host then runs in
// a submodule is its own.
TEST_P(ExecRepository, NothingIsMovedToWhereGitRunsOrFollowsIt) {
  ASSERT_EQ(
      host("git init -q -b main ../library && cd ../library && git config user.name t && git config user.email t@e && "
           "git commit -q --allow-empty -m l && cd ../repository && git -c protocol.file.allow=always submodule -q "
           "add ../library m && git commit -qm module && mkdir -p .git/info .git/modules/m/hooks 2>&1"),
      "");
  link_worktree();
  const std::string hostile = R"sh(
cd "$(git rev-parse --git-common-dir)"; set +e
prepare() { rm -rf x; mkdir -p x/hooks; printf '#!/bin/sh\ntouch )sh" +
                              path("home/MARK") + R"sh(
' > x/post-checkout
  chmod +x x/post-checkout; cp x/post-checkout x/hooks; echo '* filter=x' > x/attributes; echo x > x/config; echo x > x/alternates; }
attack() {
  for name in modules/m/hooks info modules/m/info modules/new objects/info hooks worktrees/new; do
    prepare; mv $name old; mv -T x $name && echo MOVED $name; test -e $name || mv old $name; rm -rf old
    test -e $name || ln -s "$PWD/x" $name && test -L $name && echo LINKED $name && rm $name
  done
  for name in info/attributes modules/new/config commondir config.worktree modules/m/hooks/x; do
    mkdir -p $(dirname $name); echo x > $name && echo MADE $name
  done
}
attack
cp HEAD ours; mv refs refs2; attack; mv refs2 refs; rm HEAD; attack; mv ours HEAD
echo tried)sh";
  for (const char* place : {"fix", "repository/part"}) {
    EXPECT_EQ(at(place, "exec 2>/dev/null" + hostile).out, "tried\n") << place;
    ASSERT_EQ(host("cd .git && mkdir -p refs/heads && test -e HEAD || echo 'ref: refs/heads/main' > HEAD; "
                   "cd ../m && git checkout -q -B again 2>&1"),
              "");
    EXPECT_FALSE(scratch.exists("home/MARK"));
    EXPECT_EQ(host("cd .git && rm -rf x old refs2 ours"), "");
  }
}

// Git sees no other worktree there, and forgets none for that.
TEST_P(ExecRepository, OtherWorktreesArentForgotten) {
  link_worktree();
  ASSERT_EQ(host("git worktree add -q ../third 2>&1"), "");
  for (const char* place : {"repository", "fix", "repository/part"}) {
    const Output output =
        at(place, "git gc -q; git worktree prune -v; git worktree prune --expire now; ls -A " + path("third"));
    EXPECT_EQ(output.out, ".git\n") << place << output.err;
  }
  EXPECT_EQ(host("git worktree list --porcelain | grep -c prunable; git -C ../third status --porcelain; git -C ../fix "
                 "fsck 2>&1"),
            "0\n");
}

// The user's checkout, and what others work in, have files of their own in the repository: its index, its HEAD, a
// paused rebase. A session in a linked worktree has no business there.
TEST_P(ExecRepository, TheMainCheckoutsOwnFilesStay) {
  link_worktree();
  ASSERT_EQ(
      host("git worktree add -q -b third ../third 2>&1; echo staged > s; git add s; git -C ../third rebase -q main"),
      "");
  const std::string look =
      "find .git -type f ! -path '*/objects/*' ! -path '*/refs/*' ! -path '*/logs/*' ! -path '.git/worktrees/fix/*' | "
      "sort | "
      "xargs sha256sum; ls -A .git .git/worktrees/third";
  const std::string before = host(look);
  const Output output = at("fix", R"sh(exec 2>/dev/null; set +e; git=$(git rev-parse --git-common-dir)
for place in $git $git/worktrees/third; do
  cd $place
  for name in index HEAD ORIG_HEAD FETCH_HEAD MERGE_HEAD MERGE_MSG COMMIT_EDITMSG rebase-merge/msgnum sequencer/todo new index.lock MERGE_RR; do
    mkdir -p $(dirname $name); echo evil > $name && echo WRITTEN $place/$name
    echo evil > $git/objects/x; mv $git/objects/x $name && echo MOVED $place/$name; ln $git/objects/x $name && echo LINKED $place/$name
  done
  mv index $git/objects/y && echo TAKEN; truncate -s 0 index && echo TRUNCATED
done
rm -rf $git/objects/x; mv $git/worktrees/third $git/worktrees/other && echo MOVED; echo tried)sh");
  EXPECT_EQ(output.out, "tried\n");
  EXPECT_EQ(host(look), before);
  EXPECT_THAT(host("git status --short; git -C ../third status --short; git fsck 2>&1"),
              AllOf(HasSubstr("A  s"), Not(HasSubstr("error"))));
  // Its own it writes, and those that it makes.
  const Output work =
      at("fix", std::string("set -e; ") + kWork +
                    "; git worktree add -q -b more more; cd more; echo m > m; git add m; git commit -qm more");
  EXPECT_EQ(work.status.shell_code(), 0) << work.err;
  EXPECT_EQ(host("git log -1 --format=%s more"), "more\n");
}

// One that the host makes meanwhile, on which no mount lies.
TEST_P(ExecRepository, AWorktreesPointersArentMovedElsewhere) {
  Process running = scratch.start(all({"--workspace", path("repository")}, {"sh", "-c", R"sh(
echo > started; for i in $(seq 600); do test -e go && break; sleep 0.05; done
mkdir evil; mv .git/worktrees/fix evil/x && echo MOVED; mv .git/worktrees evil/y && echo MOVED; ls .git/worktrees)sh"}));
  ASSERT_TRUE(eventually([&] { return scratch.exists("repository/started"); }));
  link_worktree();
  scratch.write("repository/go", "", 0644);
  (void)running.wait(std::chrono::seconds(60));
  EXPECT_EQ(scratch.read("stdout.txt"), "fix\n") << scratch.read("stderr.txt");
}

// A repository by itself, in the workspace.
TEST_P(ExecRepository, HooksOfABareOneArentReplacedAsAWhole) {
  ASSERT_EQ(host("git init -q --bare bare.git && mkdir -p bare.git/hooks bare.git/info"), "");
  EXPECT_EQ(at("repository", R"sh(
set +e; exec 2>/dev/null; mkdir -p x; echo x > x/post-update; echo x > x/attributes; cd bare.git
for name in hooks info; do mv $name old; mv -T ../x $name && echo MOVED; ln -s ../x $name && echo LINKED; mv old $name; done
echo tried)sh")
                .out,
            "tried\n");
}

// A pointer that somebody wrote: nothing of the host is shown for it, and nothing hangs.
TEST_P(ExecRepository, APointerThatNobodyAnswersShowsNothing) {
  link_worktree();
  make_directory("secret/worktrees/x");
  make_directory("secret/objects");
  make_directory("secret/refs");
  scratch.write("secret/HEAD", "ref: refs/heads/main\n", 0644);
  scratch.write("secret/worktrees/x/commondir", "../..\n", 0644);
  scratch.write("secret/worktrees/x/gitdir", path("fix") + "/.git\n", 0644);
  make_directory("taken");
  const std::string own = path("repository/.git/worktrees/fix");
  const std::vector<std::string> pointers = {
      "gitdir: " + own + "\n",                         // of another worktree
      "gitdir: " + path("secret/worktrees/x") + "\n",  // whose way back leads elsewhere
      "gitdir: " + path("repository/.git") + "\n",
      "gitdir: /etc\n",
      "gitdir: " + path("home") + "\n",
      "gitdir: .\n",
      "gitdir: \n",
      "gitdir: " + own + "\nmore\n",
      std::string("gitdir: ") + std::string(8192, 'x'),
      std::string("gitdir: /tmp\0x\n", 15),
      "nothing"};
  for (const std::string& pointer : pointers) {
    scratch.write("taken/.git", pointer, 0644);
    const Output output = at("taken", "git status 2>/dev/null || ls -d " + path("secret") + " " +
                                          path("repository/.git") + " 2>/dev/null || echo none");
    EXPECT_EQ(output.out, "none\n") << pointer.substr(0, 100) << output.err;
    EXPECT_THAT(output.err, HasSubstr("git isn't found inside: ")) << pointer.substr(0, 100);
  }
  ASSERT_EQ(host("rm ../taken/.git && mkfifo ../taken/.git"), "");
  EXPECT_EQ(at("taken", "ls -d " + path("secret") + " 2>/dev/null || echo none").out, "none\n");
  ASSERT_EQ(host("rm ../taken/.git && ln -s ../repository/.git ../taken/.git"), "");
  EXPECT_EQ(at("taken", "ls -d " + path("repository/.git") + " 2>/dev/null || echo none").out, "none\n");
}

// A repository around the home, as some keep their settings, isn't shown for a directory in it.
TEST_P(ExecRepository, TheHomeIsNeverShown) {
  make_directory("home/project");
  scratch.write("home/private", "private\n", 0644);
  ASSERT_EQ(host("git init -q -b main ../home"), "");
  const Output output =
      at("home/project", "cat ../private 2>/dev/null || echo none; git status 2>/dev/null || echo none");
  EXPECT_EQ(output.out, "none\nnone\n") << output.err;
  EXPECT_THAT(output.err, HasSubstr("belongs to a place that is never shown"));
}

// Only root can: the repository is another user's, and so is the way to it.
TEST_P(ExecRepository, AnotherUsersWorktree) {
  if (::geteuid() != 0 || GetParam() != 0) return;
  link_worktree();
  ASSERT_EQ(host("chown -R 12345:12345 . ../fix"), "");
  const Output output = at("fix", kWork);
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  struct stat made {};
  ASSERT_EQ(::stat(path("repository/.git/refs/heads/fix").c_str(), &made) == 0 ||
                ::stat(path("repository/.git/packed-refs").c_str(), &made) == 0,
            true);
  EXPECT_EQ(made.st_uid, 12345U);
  // Another user's than both.
  ASSERT_EQ(host("chown -R 23456:23456 .git"), "");
  EXPECT_THAT(at("fix", "git status || true").err, HasSubstr("isn't found inside"));
  // The caller's, in a place that another user took over.
  ASSERT_EQ(host("chown -R 0:0 .git"), "");
  EXPECT_THAT(at("fix", "git status || true").err, HasSubstr("isn't found inside"));
}

// E040
TEST_P(ExecRepository, E040OnlyTheOwnBranchMoves) {
  ASSERT_EQ(host("git branch loose; git branch packed; git tag old; git update-ref refs/remotes/o/main HEAD; "
                 "git switch -q -c topic/mine; git worktree add -q ../fix 2>/dev/null"),
            "");
  for (const char* place : {"repository", "fix", "repository/part"}) {
    const bool linked = std::string(place) == "fix";
    ASSERT_EQ(host("git pack-refs --all; c=$(git commit-tree -p HEAD -m c 'HEAD^{tree}'); "
                   "git update-ref refs/heads/loose $c; git update-ref refs/heads/new $c"),
              "");
    const std::string own = linked ? "refs/heads/fix" : "refs/heads/topic/mine";
    const std::string others = "git for-each-ref --format='%(refname) %(objectname)' | grep -v ' *" + own +
                               " '; cat .git/HEAD .git/worktrees/fix/HEAD";
    const std::string before = host(others);
    const Output output = at(place, R"sh(
echo w > work; git add work; git commit -qm work; git commit -q --amend -m amended
set +e; d=$(git rev-parse --git-common-dir); h=$(git rev-parse HEAD); here=$(git rev-parse --git-dir)
for ref in refs/heads/main refs/heads/loose refs/heads/packed refs/heads/made refs/tags/old refs/tags/made refs/remotes/o/main; do
  git update-ref $ref $h && echo MOVED $ref
  git update-ref -d $ref && echo DELETED $ref
  mkdir -p $d/$(dirname $ref) && echo $h > $d/$ref && echo WRITTEN $ref
  echo $h > x && mv x $d/$ref && echo RENAMED $ref
  echo $h > x && ln -f x $d/$ref && echo LINKED $ref
done
for name in HEAD packed-refs; do
  for g in $d $here; do
    [ $g/$name = $here/packed-refs ] && [ $here != $d ] && continue
    echo "$h refs/heads/main" > $g/$name && echo WRITTEN $name
    echo x > x && mv -f x $g/$name && echo RENAMED $name
  done
done
rm $d/packed-refs && echo REMOVED packed-refs; rm $d/HEAD && echo REMOVED HEAD
mv $d/refs $d/r && echo MOVED refs; mv $d/refs/heads $d/h && echo MOVED heads; rm $d/refs/heads/loose && echo REMOVED
mv $d/logs $d/l && echo MOVED logs; rm $d/worktrees/fix/HEAD && echo REMOVED HEAD
git switch -q main && echo SWITCHED; git branch made2 && echo BRANCHED; git tag made3 && echo TAGGED; git pack-refs --all
git log --format=%s | head -n 1)sh",
                             {"--git", "own-branch"});
    EXPECT_EQ(output.out, "amended\n") << place << output.err;
    EXPECT_EQ(host(others), before) << place;
    EXPECT_THAT(host("git log -1 --format=%s " + own), HasSubstr("amended")) << place;
  }
}

TEST_P(ExecRepository, E040WithoutABranchItIsRefused) {
  EXPECT_EQ(host("git checkout -q --detach"), "");
  const Output detached = at("repository", "true", {"--git", "own-branch"});
  EXPECT_EQ(detached.status.shell_code(), 122);
  EXPECT_THAT(detached.err, AllOf(HasSubstr("no branch is checked out"), HasSubstr("try: ")));
  make_directory("plain");
  EXPECT_EQ(at("plain", "true", {"--git", "own-branch"}).status.shell_code(), 122);
  EXPECT_EQ(host("git switch -q main; mkdir .git/reftable"), "");
  EXPECT_THAT(at("repository", "true", {"--git", "own-branch"}).err, HasSubstr("don't lie in files"));
}

// The host goes on working in the same repository. A collection of garbage removes an empty directory that git is about
// to write in, anywhere: whoever commits meanwhile tries again.
TEST_P(ExecRepository, TheHostUsesItMeanwhile) {
  link_worktree();
  constexpr const char* kCommits = R"sh(
cd "$1"
for i in 1 2 3 4 5 6 7 8 9 10; do
  for try in 1 2 3 4 5; do echo $i > file; git add file && git commit -qm "inside $i" && break; done
done
git log --format=%s | grep -c inside)sh";
  Process running = scratch.start(all({"--workspace", path("fix")}, {"sh", "-c", kCommits, "sh", path("fix")}));
  int rounds = 0;
  for (bool more = true; more; ++rounds) {
    more = !running.poll().value_or(std::optional<ExitStatus>(ExitStatus{}));
    (void)host("git config test.round " + std::to_string(rounds) +
               "; git commit -q --allow-empty -m outside; git gc -q");
  }
  EXPECT_EQ(scratch.read("stdout.txt"), "10\n") << scratch.read("stderr.txt");
  EXPECT_THAT(host("git log --format=%s fix; git fsck 2>&1"), AllOf(HasSubstr("inside 10"), Not(HasSubstr("error"))));
}

EXEC_USERS(ExecRepository);

}  // namespace
}  // namespace oncelatch::test
