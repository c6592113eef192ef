// Worktrees for agents: made, looked at, applied and dropped on the host, without running anything of the repository.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/launcher/worktree_session.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class WorktreeOf : public WorktreeSession {};

TEST_P(WorktreeOf, TheWorkComesBackAndNothingElseWasTouched) {
  Output ran = session("fix", "echo b > b; echo more >> a; pwd > where; printf 'all:\\n\\tevil\\n' > Makefile; exit 4");
  EXPECT_EQ(ran.status.shell_code(), 4) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("branch oncelatch/fix"), HasSubstr("oncelatch worktree diff fix"),
                             HasSubstr("after the run: 1 change takes effect outside later")));
  EXPECT_EQ(host("git status --porcelain; cat a"), "a\n");
  const Json known = list();
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].at("name"), "fix");
  EXPECT_EQ(known[0].at("uncommitted"), true);
  EXPECT_EQ(known[0].at("in_use"), false);
  EXPECT_EQ(
      scratch.read("state/oncelatch/worktrees/" +
                   known[0].at("path").get<std::string>().substr(scratch.path("state/oncelatch/worktrees/").size()) +
                   "/.vscode/settings.json"),
      "{}\n");
  const Output diff = worktree({"diff", "fix"});
  EXPECT_THAT(diff.out, AllOf(HasSubstr("+more"), HasSubstr("+++ b/b"), HasSubstr("+\tevil")));
  EXPECT_THAT(diff.err, HasSubstr("build: " + scratch.path("repository/Makefile") + " (new): make runs it: all:"));
  expect_refused({"apply"}, "aren't committed");
  expect_refused({"drop"}, "aren't committed");
  const Output applied = worktree({"apply", "--commit"});
  EXPECT_EQ(applied.status.shell_code(), 0) << applied.err;
  EXPECT_THAT(applied.err, AllOf(HasSubstr("make runs it"), HasSubstr("1 commit is in this branch now")));
  EXPECT_EQ(host("git status --porcelain; cat a b; git log --format=%s"),
            "a\nmore\nb\nChanges in the worktree fix\nfirst\n");
  EXPECT_EQ(host("git -C " + place() + " status --porcelain"), "");
  EXPECT_EQ(worktree({"drop"}).status.shell_code(), 0);
  EXPECT_EQ(list().size(), 0U);
  EXPECT_EQ(host("git branch --format='%(refname:short)'; git worktree list | wc -l; ls .git/worktrees 2>/dev/null"),
            "main\n1\n");
  EXPECT_EQ(host("git fsck 2>&1 | grep -v dangling"), "");
}

// The repository outside of it is shown, guarded.
TEST_P(WorktreeOf, TheAgentCommitsThere) {
  const Output output = session("fix",
                                "echo new > new; git add new; git commit -qm 'by the agent'; "
                                "echo evil > \"$(git rev-parse --git-common-dir)/hooks/pre-commit\"; "
                                "git config core.fsmonitor evil; git config user.name > told");
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_THAT(host("git log --format=%s oncelatch/fix"), HasSubstr("by the agent\n"));
  EXPECT_EQ(host("ls .git/hooks/pre-commit 2>/dev/null; git config core.fsmonitor"), "");
  expect_refused({"drop", "fix"}, "has changes");
  EXPECT_EQ(worktree({"apply", "--commit", "fix"}).status.shell_code(), 0);
  EXPECT_THAT(host("git log --format=%s; cat new"), AllOf(HasSubstr("by the agent\n"), HasSubstr("new\n")));
}

TEST_P(WorktreeOf, IsGoneOnWithByItsName) {
  EXPECT_EQ(session("fix", "echo b > b").status.shell_code(), 0);
  Output again = session("fix", "cat b; echo c > c");
  EXPECT_EQ(again.status.shell_code(), 0) << again.err;
  EXPECT_EQ(list().size(), 1U);
  EXPECT_THAT(worktree({"diff"}).out, AllOf(HasSubstr("+++ b/b"), HasSubstr("+++ b/c")));
  // Without a name each session has its own.
  scratch.write("agent.sh", "#!/bin/sh\ntrue\n", 0755);
  Output unnamed = scratch.oncelatch({"run", "kiro", "--cli-path", scratch.path("agent.sh"), "--worktree"});
  EXPECT_EQ(unnamed.status.shell_code(), 0) << unnamed.err;
  EXPECT_EQ(list().size(), 2U);
  expect_refused({"diff"}, "several");
}

// What git could be told to run, in the repository's settings, attributes and hooks: none of it runs.
TEST_P(WorktreeOf, NothingOfTheRepositoryIsRun) {
  const std::string mark = scratch.path("home/MARK");
  scratch.write("evil", "#!/bin/sh\necho \"$0 $*\" >> " + mark + "\ncat\n", 0755);
  const std::string evil = scratch.path("evil");
  EXPECT_EQ(host("echo '* filter=x diff=x merge=x' > .gitattributes; echo 'a filter=a=b' >> .gitattributes; "
                 "git add -A; git commit -qm attributes"),
            "");
  EXPECT_EQ(
      host("mkdir evilhooks; for h in post-checkout reference-transaction post-index-change pre-commit post-commit "
           "post-merge pre-auto-gc prepare-commit-msg commit-msg pre-merge-commit post-rewrite; do cp " +
           evil +
           " evilhooks/$h; done; cp evilhooks/* .git/hooks/; echo evilhooks >> .git/info/exclude; "
           "for s in core.hooksPath=$PWD/evilhooks core.fsmonitor=EVIL filter.x.smudge=EVIL filter.x.clean=EVIL "
           "filter.a=b.smudge=EVIL filter.x.required=true diff.external=EVIL diff.x.textconv=EVIL diff.x.command=EVIL "
           "merge.x.driver=EVIL gpg.program=EVIL commit.gpgSign=true core.pager=EVIL core.editor=EVIL "
           "core.sshCommand=EVIL core.alternateRefsCommand=EVIL sequence.editor=EVIL log.showSignature=true "
           "merge.verifySignatures=true pager.diff=EVIL; do "
           "n=${s%%=EVIL}; v=EVIL; [ \"$n\" = \"$s\" ] && { n=${s%=*}; v=${s##*=}; }; "
           "[ $v = EVIL ] && v=" +
           evil +
           "; git config \"$n\" \"$v\"; done; "
           "git config protocol.ext.allow always; git config extensions.partialClone origin; "
           "git config remote.origin.promisor true; git config remote.origin.url 'ext::" +
           evil + " x'; rm -f " + mark),
      "");
  Output ran = session("fix", "echo b > b; echo more >> a; echo x >> src/s");
  EXPECT_EQ(ran.status.shell_code(), 0) << ran.err;
  (void)list();
  EXPECT_THAT(worktree({"diff"}).out, HasSubstr("+more"));
  // Forward, then by a merge of the same file.
  EXPECT_EQ(worktree({"apply", "--commit"}).status.shell_code(), 0);
  EXPECT_EQ(session("other", "echo o > o; sed -i '1i top' a").status.shell_code(), 0);
  EXPECT_EQ(session("third", "echo t > t; echo end >> a").status.shell_code(), 0);
  EXPECT_EQ(worktree({"apply", "--commit", "other"}).status.shell_code(), 0);
  (void)worktree({"apply", "--commit", "third"});
  for (const char* name : {"fix", "other", "third"}) (void)worktree({"drop", "--force", name});
  EXPECT_EQ(list().size(), 0U);
  EXPECT_FALSE(scratch.exists("home/MARK")) << scratch.read("home/MARK");
  (void)host("git status; git checkout -q -b own");
  EXPECT_TRUE(scratch.exists("home/MARK")) << "the settings were none that git obeys";
}

TEST_P(WorktreeOf, AMergeWithoutConflictsAndOneWith) {
  EXPECT_EQ(session("fix", "echo b > b").status.shell_code(), 0);
  EXPECT_EQ(session("clash", "echo theirs > a").status.shell_code(), 0);
  EXPECT_EQ(host("echo ours > a; git commit -qam ours"), "");
  EXPECT_EQ(worktree({"apply", "--commit", "fix"}).status.shell_code(), 0);
  EXPECT_EQ(host("git log -1 --format=%s; cat a b; git status --porcelain"), "Merge branch 'oncelatch/fix'\nours\nb\n");
  const std::string before = head();
  expect_refused({"apply", "--commit", "clash"}, "conflicts with what is checked out here: a");
  EXPECT_EQ(head(), before);
  EXPECT_EQ(host("cat a; git status --porcelain; git show oncelatch/clash:a"), "ours\ntheirs\n");
  expect_refused({"drop", "clash"}, "1 commit of its own");
  EXPECT_EQ(worktree({"drop", "fix"}).status.shell_code(), 0);
  EXPECT_EQ(worktree({"drop", "--force", "clash"}).status.shell_code(), 0);
}

// Two bases, which git merges first.
TEST_P(WorktreeOf, BranchesThatWereMergedIntoEachOther) {
  EXPECT_EQ(session("fix", "echo fix > b; sed -i '1i top' a; git add -A; git commit -qm f1").status.shell_code(), 0);
  EXPECT_EQ(host("echo own > own; echo end >> a; git add -A; git commit -qm m1; m=$(git rev-parse HEAD); "
                 "git merge -q --no-edit oncelatch/fix >/dev/null; git -C " +
                 place() + " merge -q --no-edit $m >/dev/null; echo m >> own; git commit -qam m2"),
            "");
  EXPECT_EQ(session("fix", "echo f >> b; git commit -qam f2").status.shell_code(), 0);
  ASSERT_EQ(host("git merge-base --all main oncelatch/fix | wc -l"), "2\n");
  const Output applied = worktree({"apply", "fix"});
  EXPECT_EQ(applied.status.shell_code(), 0) << applied.err;
  EXPECT_EQ(host("cat a b own; git status --porcelain; git fsck 2>&1 | grep -v dangling"),
            "top\na\nend\nfix\nf\nown\nm\n");
}

TEST_P(WorktreeOf, ChangesOfTheUserAreKept) {
  EXPECT_EQ(session("fix", "echo theirs > a").status.shell_code(), 0);
  const std::string before = head();
  EXPECT_EQ(host("echo mine > a"), "");
  expect_refused({"apply", "--commit"}, "changes files that you changed, too: a");
  EXPECT_EQ(head(), before);
  EXPECT_EQ(host("cat a; git checkout -q a; echo mine > src/s"), "mine\n");
  EXPECT_EQ(worktree({"apply"}).status.shell_code(), 0);
  EXPECT_EQ(host("cat a src/s; git status --porcelain"), "theirs\nmine\n M src/s\n");
  EXPECT_EQ(host("git checkout -q --detach"), "");
  expect_refused({"apply"}, "no branch is checked out");
}

TEST_P(WorktreeOf, WhoWorksInItHasItAlone) {
  scratch.write("agent.sh", "#!/bin/sh\ntouch started\nwhile :; do sleep 1; done\n", 0755);
  const std::vector<std::string> command = {"run", "kiro", "--worktree=fix", "--cli-path", scratch.path("agent.sh")};
  Process run = scratch.start(command);
  ASSERT_TRUE(eventually([&] { return host("ls ../state/oncelatch/worktrees/*/fix/started 2>/dev/null") != ""; },
                         std::chrono::seconds(20)));
  EXPECT_EQ(list().at(0).at("in_use"), true);
  expect_refused({"drop", "--force", "fix"}, "a session works in it");
  expect_refused({"apply", "fix"}, "a session works in it");
  const Output second = scratch.oncelatch(command);
  EXPECT_EQ(second.status.shell_code(), 122);
  EXPECT_THAT(second.err, HasSubstr("a session works in it"));
  ASSERT_TRUE(run.signal(SIGTERM));
  ASSERT_TRUE(run.wait(std::chrono::seconds(15)));
  EXPECT_EQ(worktree({"drop", "--force", "fix"}).status.shell_code(), 0);
}

TEST_P(WorktreeOf, ARefusedLaunchLeavesNone) {
  Output refused = session("fix", "true", {"--policy", scratch.path("absent.yaml")});
  EXPECT_EQ(refused.status.shell_code(), 122);
  EXPECT_EQ(list().size(), 0U);
  EXPECT_EQ(host("git branch --format='%(refname:short)'"), "main\n");
  for (const char* name : {"../x", "-x", ".x", "a..b", "x.lock", "x.own", "a/b", "a b", "x."})
    EXPECT_EQ(session(name, "true").status.shell_code(), 122) << name;
  EXPECT_EQ(host("rm -rf .git; mkdir -p .git"), "");
  Output none = session("fix", "true");
  EXPECT_EQ(none.status.shell_code(), 122);
  EXPECT_THAT(none.err, HasSubstr("try:"));
  EXPECT_EQ(host("rm -rf .git; git init -q"), "");
  EXPECT_THAT(session("fix", "true").err, HasSubstr("no commit yet"));
}

// What an agent that can write in the repository's git directory may leave there: other branches and settings stay.
TEST_P(WorktreeOf, LinksAndReferencesThatLeadElsewhere) {
  EXPECT_EQ(session("fix", "echo b > b").status.shell_code(), 0);
  const std::string before = host("cat .git/config; git rev-parse main");
  const std::string path = place();
  // Its .git file, its index.
  EXPECT_EQ(host("mkdir ../trap; git -C ../trap init -q; git -C ../trap config core.fsmonitor 'touch " +
                 scratch.path("home/MARK") + "'; echo \"gitdir: $PWD/../trap/.git\" > " + path +
                 "/.git; "
                 "ln -sf ../../config .git/worktrees/fix/index"),
            "");
  expect_refused({"diff"}, "worktrees/fix/index: is a symbolic link");
  EXPECT_EQ(host("rm .git/worktrees/fix/index; cp .git/config .git/worktrees/fix/index"), "");
  EXPECT_EQ(worktree({"diff"}).status.shell_code(), 0);
  EXPECT_EQ(worktree({"apply", "--commit"}).status.shell_code(), 0);
  EXPECT_EQ(host("cat b"), "b\n");
  EXPECT_EQ(host("cat .git/config"), before.substr(0, before.rfind('\n', before.size() - 2) + 1));
  EXPECT_FALSE(scratch.exists("home/MARK"));
  // Its branch, as another name of main.
  const std::string now = head();
  EXPECT_EQ(host("echo 'ref: refs/heads/main' > .git/refs/heads/oncelatch/fix; echo c > " + path + "/c"), "");
  (void)worktree({"apply", "--commit"});
  EXPECT_EQ(worktree({"drop", "--force"}).status.shell_code(), 0);
  EXPECT_EQ(host("git branch --format='%(refname:short)'"), "main\n");
  EXPECT_EQ(host("git merge-base --is-ancestor " + now.substr(0, now.size() - 1) + " main && echo kept"), "kept\n");
}

// Names and lines of the worktree are no commands to a terminal; a patch for a program is byte by byte what git says.
TEST_P(WorktreeOf, AnIgnoredFileStaysAndTheRestIsWhole) {
  EXPECT_EQ(host("echo ignored > .gitignore; echo t > ignored; git add -f ignored .gitignore; git commit -qm i"), "");
  EXPECT_EQ(session("fix", "echo changed > ignored; printf 'a\\0b\\033[31m' > binary; ln -s / out").status.shell_code(),
            0);
  const Output diff = worktree({"diff"});
  EXPECT_THAT(diff.out, AllOf(HasSubstr("+changed"), HasSubstr("GIT binary patch")));
  EXPECT_THAT(diff.err, HasSubstr("link: " + scratch.path("repository/out")));
  const Json body = Json::parse(worktree({"diff", "--json"}).out);
  EXPECT_EQ(body.at("host_effects").at(0).at("kind"), "link");
  EXPECT_EQ(body.at("host_effects").at(0).at("line"), "/");
  scratch.write("patch", diff.out, 0644);
  EXPECT_EQ(host("git apply ../patch; cat ignored; git apply -R ../patch"), "changed\n");
}

// What git would take for expendable, since a list in the repository says so: that list is the agent's to write.
TEST_P(WorktreeOf, FilesThatGitDoesntKnowAreKept) {
  constexpr const char* kHostile = R"sh(
common=$(git rev-parse --git-common-dir); mkdir -p $common/info
printf 'new\nbuild\ndeep\nempty\nlink\n' > $common/info/exclude
for name in new deep/er/file build link; do mkdir -p $(dirname $name); echo agent > $name; done
git add -f -A; git commit -qm agent)sh";
  ASSERT_EQ(session("fix", kHostile).status.shell_code(), 0);
  struct Case {
    const char* made;
    const char* kept;
    const char* told;
  };
  for (const Case& one :
       {Case{"echo mine > new", "cat new", "new"}, Case{"mkdir build; echo mine > build/x", "cat build/x", "build/x"},
        Case{"echo mine > deep", "cat deep", "deep"}, Case{"mkdir deep; echo mine > deep/er", "cat deep/er", "deep/er"},
        Case{"ln -s /nowhere link", "readlink link", "link"},
        Case{"mkdir -p build/a/b; echo mine > build/a/b/c", "cat build/a/b/c", "build/a/b/c"},
        Case{"mkfifo new", "test -p new && echo pipe", "new"}}) {
    ASSERT_EQ(host(one.made), "");
    const std::string before = host(one.kept);
    const std::string commit = head();
    const Output output = worktree({"apply", "fix"});
    EXPECT_EQ(output.status.shell_code(), 122) << one.made;
    EXPECT_THAT(output.err,
                AllOf(HasSubstr("git doesn't know them: "), HasSubstr(one.told), HasSubstr("move them away")))
        << one.made;
    EXPECT_EQ(host(one.kept), before) << one.made;
    EXPECT_EQ(head(), commit);
    ASSERT_EQ(host("rm -rf new build deep link"), "");
  }
  ASSERT_EQ(host("mkdir -p build deep/er"), "");  // nothing is in them
  EXPECT_EQ(worktree({"apply", "fix"}).status.shell_code(), 0);
  EXPECT_EQ(host("cat new build deep/er/file; git status --porcelain"), "agent\nagent\nagent\n");
}

// The index of the checkout lies in the git directory, too.
TEST_P(WorktreeOf, ChangesThatTheIndexHidesAreKept) {
  ASSERT_EQ(host("echo mine >> a; echo mine >> src/s"), "");
  ASSERT_EQ(session("fix", "echo agent > a; echo agent > src/s; git commit -qam agent").status.shell_code(), 0);
  ASSERT_EQ(host("git update-index --assume-unchanged a; git update-index --skip-worktree src/s"), "");
  EXPECT_EQ(host("git status --porcelain"), "");  // so git itself says
  const std::string before = head();
  const Output output = worktree({"apply", "fix"});
  EXPECT_EQ(output.status.shell_code(), 122);
  EXPECT_THAT(output.err, AllOf(HasSubstr("files that you changed, too: a, src/s"), HasSubstr("commit or stash")));
  EXPECT_EQ(host("cat a src/s"), "a\nmine\ns\nmine\n");
  EXPECT_EQ(head(), before);
}

TEST_P(WorktreeOf, HistoryThatWasMadeUpIsntFollowed) {
  ASSERT_EQ(session("fix",
                    "echo b > b; git add b; git commit -qm agent; "
                    "git rev-parse HEAD > $(git rev-parse --git-common-dir)/info/grafts; "
                    "git replace -f HEAD~1 HEAD 2>/dev/null; true")
                .status.shell_code(),
            0);
  const Output output = worktree({"apply", "fix"});
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_EQ(host("rm -f .git/info/grafts; GIT_NO_REPLACE_OBJECTS=1 git log --format=%s"), "agent\nfirst\n");
}

// None can be made inside; whoever made one, git on the host isn't led by it.
TEST_P(WorktreeOf, LinksAmongGitsFilesRefuse) {
  ASSERT_EQ(session("fix", "echo b > b; git add b; git commit -qm agent").status.shell_code(), 0);
  ASSERT_EQ(host("echo kept > ../home/file"), "");
  for (const char* name : {"logs/HEAD", "logs/refs/heads/main", "logs", "index", "index.lock", "HEAD.lock",
                           "refs/heads/main.lock", "packed-refs", "objects/pack", "objects/ab", "refs/heads/oncelatch",
                           "logs/refs/heads/oncelatch/fix", "worktrees/fix/logs/HEAD", "worktrees/fix/index"}) {
    const std::string file = ".git/" + std::string(name);
    ASSERT_EQ(host("mkdir -p $(dirname " + file + "); test ! -e " + file + " || mv " + file + " ../aside; ln -s " +
                   scratch.path("home/file") + " " + file),
              "");
    for (const char* verb : {"apply", "diff", "drop"}) {
      const Output output = worktree({verb, "fix"});
      EXPECT_EQ(output.status.shell_code(), 122) << name << ' ' << verb << output.err;
      EXPECT_THAT(output.err, AllOf(HasSubstr("is a symbolic link"), HasSubstr(file))) << verb;
    }
    ASSERT_EQ(host("rm " + file + "; test ! -e ../aside || mv ../aside " + file), "");
  }
  EXPECT_EQ(scratch.read("home/file"), "kept\n");
  EXPECT_EQ(worktree({"apply", "fix"}).status.shell_code(), 0);
}

TEST_P(WorktreeOf, OneThatTheRepositoryForgotIsDropped) {
  ASSERT_EQ(session("fix", "rm -f $(git rev-parse --git-dir)/HEAD").status.shell_code(), 0);
  ASSERT_EQ(session("other", "true").status.shell_code(), 0);
  EXPECT_THAT(worktree({"list"}).out,
              AllOf(HasSubstr("doesn't know it any more"), HasSubstr("other  oncelatch/other  0 commits")));
  for (const char* verb : {"diff", "apply", "drop"}) {
    const Output output = worktree({verb, "fix"});
    EXPECT_EQ(output.status.shell_code(), 122);
    EXPECT_THAT(output.err, HasSubstr("oncelatch worktree drop --force fix")) << verb;
  }
  EXPECT_EQ(worktree({"drop", "--force", "fix"}).status.shell_code(), 0);
  EXPECT_EQ(list().size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Users, WorktreeOf, ::testing::ValuesIn(users()), [](const auto& one) {
  return one.param == 0 ? std::string("Root") : std::string("OrdinaryUser");
});

}  // namespace
}  // namespace oncelatch::test
