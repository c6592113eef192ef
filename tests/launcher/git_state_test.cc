// Files of git's whose content leads elsewhere: told from those that git itself writes, and out of the way once a
// session has ended.
#include "launcher/git_state.h"

#include <gmock/gmock.h>

#include <fstream>

#include "launcher/git_index.h"
#include "tests/launcher/exec_support.h"

namespace oncelatch::test {
namespace {

using launcher::IndexNames;
using launcher::judge_git_file;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string big_endian(std::uint32_t value, std::size_t size) {
  std::string text;
  for (std::size_t i = size; i-- > 0;) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

// Version 2, of regular files with empty content.
std::string index_of(const std::vector<std::string>& names, std::uint32_t mode = 0100644) {
  std::string text = "DIRC" + big_endian(2, 4) + big_endian(static_cast<std::uint32_t>(names.size()), 4);
  for (const std::string& name : names) {
    std::string entry = std::string(24, '\1') + big_endian(mode, 4) + std::string(12, '\0') + std::string(20, '\xe6') +
                        big_endian(static_cast<std::uint32_t>(std::min<std::size_t>(name.size(), 0xfff)), 2) + name;
    text += entry + std::string(8 - entry.size() % 8, '\0');
  }
  return text + std::string(20, '\0');
}

std::vector<std::string> names_in(const std::string& bytes, std::size_t hash_size = 20) {
  std::vector<std::string> all;
  IndexNames names(bytes, hash_size);
  for (std::string_view name; names.next(name);) all.emplace_back(name);
  if (names.failed()) all.emplace_back("FAILED");
  return all;
}

// What git writes, in each of its forms.
TEST(GitIndex, WhatGitWritesIsRead) {
  Scratch scratch;
  for (const char* form : {"", "--object-format=sha256"}) {
    for (const char* change :
         {"true", "git update-index --index-version 4",
          "touch later && git add -N later && git update-index --index-version 3",
          "git update-index --split-index && echo y > y && git add y", "git update-index --skip-worktree a",
          "git config feature.manyFiles true && git update-index --force-write-index && git status"}) {
      const std::string made = scratch.on_host(
          "rm -rf .git * && git init -q " + std::string(form) +
          " . && mkdir -p deep/er && for i in $(seq 30); do echo $i > deep/er/file-$i; done && "
          "echo a > a && echo b > 'b c' && echo x > \"$(printf 'x%.0s' $(seq 240))\" && git add -A && " +
          change + " >/dev/null; git ls-files -z | tr '\\0' '\\n' > ../names; ls .git | grep -c sharedindex");
      std::vector<std::string> told;
      std::istringstream lines(scratch.read("names"));
      for (std::string line; std::getline(lines, line);) told.push_back(line);
      const std::size_t size = *form == 0 ? 20 : 32;
      EXPECT_EQ(launcher::object_name_size(scratch.path("repository/.git")), size);
      const std::string bytes = scratch.read("repository/.git/index");
      EXPECT_EQ(judge_git_file("index", bytes, size), nullptr) << form << change << made;
      if (made != "0\n") continue;  // the other half has the rest
      EXPECT_EQ(names_in(bytes, size), told) << form << change;
    }
    EXPECT_TRUE(launcher::check_git_state(scratch.path("repository/.git")).empty());
  }
}

TEST(GitIndex, NamesThatLeaveTheWorkTree) {
  EXPECT_THAT(names_in(index_of({"a", "dir/b"})), ElementsAre("a", "dir/b"));
  for (const char* name : {"../x", "/etc/x", "a/../../x", ".git/hooks/x", "a/.git/x", ".GIT/x", ".g\xe2\x80\x8cit/x",
                           "git~1/x", "a//b", "./a", "a/.", "..", "", "a/", ".git"}) {
    EXPECT_EQ(names_in(index_of({"a", name})).back(), "FAILED") << name;
    EXPECT_NE(judge_git_file("index", index_of({name}), 20), nullptr) << name;
    EXPECT_NE(judge_git_file("worktrees/fix/index", index_of({name}, 0160000), 20), nullptr) << name;
    EXPECT_NE(judge_git_file("sharedindex.0123", index_of({name}), 20), nullptr) << name;
  }
  EXPECT_EQ(judge_git_file("index", index_of({"sparse/"}, 040000), 20), nullptr);
  // What isn't whole, or says its length otherwise.
  const std::string good = index_of({"a", "b"});
  for (std::size_t cut : {std::size_t{0}, std::size_t{3}, std::size_t{12}, std::size_t{40}, good.size() - 30})
    EXPECT_NE(judge_git_file("index", good.substr(0, cut), 20), nullptr) << cut;
  std::string other = good;
  other[12 + 61] = 5;
  EXPECT_NE(judge_git_file("index", other, 20), nullptr);
  other = good;
  other[7] = 5;
  EXPECT_NE(judge_git_file("index", other, 20), nullptr);
  other = good;
  other[11] = 99;
  EXPECT_NE(judge_git_file("index", other, 20), nullptr);
}

TEST(GitState, WhatGitWritesIsFine) {
  const std::string id(40, 'a');
  for (const auto& [path, text] : std::vector<std::pair<std::string, std::string>>{
           {"ORIG_HEAD", id + "\n"},
           {"FETCH_HEAD", id + "\tnot-for-merge\tbranch 'x' of y\n"},
           {"MERGE_HEAD", id + "\n" + id + "\n"},
           {"rebase-merge/msgnum", "12\n"},
           {"rebase-merge/end", "3"},
           {"rebase-apply/next", "1\n"},
           {"rebase-merge/strategy", "ort\n"},
           {"sequencer/opts", "[options]\n\tstrategy = ort\n\tstrategy-option = ours\n\tedit = true\n"},
           {"MERGE_RR", id + std::string("\tsrc/a b\0", 9)},
           {"MERGE_RR", ""},
           {"description", "ref: x"},
           {"refs/heads/x", "ref: refs/heads/y"},
           {"worktrees/fix/rebase-merge/msgnum", "1\n"}})
    EXPECT_EQ(judge_git_file(path, text, 20), nullptr) << path;
  for (const auto& [path, text] :
       std::vector<std::pair<std::string, std::string>>{{"ORIG_HEAD", "ref: commondir\n"},
                                                        {"worktrees/fix/ORIG_HEAD", "ref:refs/heads/main"},
                                                        {"AUTO_MERGE", "ref: x"},
                                                        {"rebase-merge/msgnum", "$(id)\n"},
                                                        {"rebase-apply/last", "1;id"},
                                                        {"rebase-merge/end", "1\n2"},
                                                        {"rebase-merge/strategy", "x/e\n"},
                                                        {"sequencer/opts", "[options]\n strategy = x/e\n"},
                                                        {"sequencer/opts", "[options]\nSTRATEGY=x"},
                                                        {"MERGE_RR", id + std::string("\t../secret\0", 11)},
                                                        {"MERGE_RR", id + std::string("\t/etc/passwd\0", 13)},
                                                        {"MERGE_RR", "x"}})
    EXPECT_NE(judge_git_file(path, text, 20), nullptr) << path << text;
}

class GitStateExec : public Exec {
 protected:
  void SetUp() override {
    Exec::SetUp();
    ASSERT_EQ(host("git init -q -b main . && git config user.name t && git config user.email t@e && echo a > a && "
                   "git add . && git commit -qm first && git branch other && git worktree add -q -b fix ../fix 2>&1"),
              "");
  }
  [[nodiscard]] std::string host(const std::string& script) const { return scratch.on_host(script); }
  [[nodiscard]] Output at(const std::string& place, const std::string& script, Words options = {}) const {
    options.insert(options.begin(), {"--workspace", path(place)});
    return changed(options, {"sh", "-c", script}, scratch.environment(), path(place));
  }
};

// Each with what a person does afterwards; none of it touches a file elsewhere or runs anything.
TEST_P(GitStateExec, WhatLeadsElsewhereIsOutOfTheWay) {
  scratch.write("index.hostile", index_of({"../home/written", ".git/hooks/pre-commit", "a"}), 0644);
  scratch.write("home/secret", "secret\n", 0644);
  const std::string mark = "touch " + path("home/MARK");
  const std::string git = "git=$(git rev-parse --git-dir); ";
  struct Attack {
    std::string made;
    std::string told;
    const char* then;
  };
  const std::vector<Attack> attacks = {
      {git + "cp '" + path("index.hostile") + "' $git/index", "/index",
       "git checkout -- .; git checkout-index -af; git restore ."},
      {git + "cp '" + path("index.hostile") + "' x; mv x $git/index", "/index",
       "git checkout -- .; git restore --source=HEAD ."},
      {git + "echo 'ref: commondir' > $git/ORIG_HEAD", "/ORIG_HEAD", "git reset -q; git status"},
      {git + "mkdir -p $git/rebase-merge; echo '$(" + mark +
           ")' > $git/rebase-merge/msgnum; echo 1 > $git/rebase-merge/end",
       "rebase-merge/msgnum",
       ". /usr/lib/git-core/git-sh-prompt; PROMPT_COMMAND='__git_ps1 x y'; eval \"$PROMPT_COMMAND\"; printf '%s' "
       "\"${PS1@P}\""},
      {git + "n=1111111111111111111111111111111111111111; mkdir -p $git/rr-cache/$n; : > $git/rr-cache/$n/preimage; "
             "printf '%s\\t../home/secret\\0' $n > $git/MERGE_RR",
       "/MERGE_RR", "git commit -q --allow-empty -m x; cat .git/rr-cache/*/postimage"},
      {git + "mkdir -p $git/rebase-merge git-merge-x; printf '#!/bin/sh\\n" + mark +
           "\\n' > git-merge-x/e; chmod +x git-merge-x/e; "
           "echo x/e > $git/rebase-merge/strategy",
       "rebase-merge/strategy", "git rebase --continue"},
      {git + "rm -f $git/index; mkfifo $git/index", "/index", "timeout 5 git status || echo stuck"},
  };
  for (const Attack& attack : attacks) {
    for (const char* place : {"repository", "fix"}) {
      const Output output = at(place, attack.made, {"--read", path("index.hostile")});
      EXPECT_THAT(output.err, AllOf(HasSubstr(attack.told), HasSubstr("moved"))) << attack.made << place;
      const std::string said =
          host("cd ../" + std::string(place) + "; bash <<'EOS' 2>&1\n" + std::string(attack.then) + "\nEOS");
      EXPECT_THAT(said, AllOf(Not(HasSubstr("secret")), Not(HasSubstr("stuck")))) << attack.made;
      EXPECT_FALSE(scratch.exists("home/MARK")) << attack.made;
      EXPECT_FALSE(scratch.exists("home/written")) << attack.made;
      EXPECT_FALSE(scratch.exists("repository/.git/hooks/pre-commit")) << attack.made;
      (void)host(
          "rm -rf .git/rebase-merge .git/rr-cache .git/MERGE_RR git-merge-x ../fix/git-merge-x; git reset -q --hard; "
          "git -C ../fix reset -q --hard; find .git -name 'oncelatch-refused-*' -delete");
    }
  }
}

TEST_P(GitStateExec, TheReportAndTheCodeSayIt) {
  const Output output =
      at("repository", "echo 'ref: x' > .git/ORIG_HEAD", {"--fail-on", "refused", "--report", path("report.json")});
  EXPECT_EQ(output.status.shell_code(), 123);
  EXPECT_THAT(scratch.read("report.json"),
              AllOf(HasSubstr("oncelatch-refused-ORIG_HEAD-1"), HasSubstr("into the file that it names")));
  EXPECT_EQ(scratch.read("repository/.git/oncelatch-refused-ORIG_HEAD-1"), "ref: x\n");
  EXPECT_EQ(
      at("repository", "git commit -q --allow-empty -m x; git reset -q HEAD", {"--fail-on", "any"}).status.shell_code(),
      0);
}

// What is beyond the bound isn't called clean.
TEST_P(GitStateExec, MoreThanCanBeLookedAtIsTold) {
  const Output output =
      at("repository", "for i in $(seq 1030); do mkdir -p .git/worktrees/d$i; echo x > .git/worktrees/d$i/HEAD; done",
         {"--fail-on", "refused"});
  EXPECT_EQ(output.status.shell_code(), 123);
  EXPECT_THAT(output.err, HasSubstr("more worktrees and submodules than can be looked at"));
}

// An overlay's changes are looked at when they are promoted.
TEST_P(GitStateExec, NoneIsPromoted) {
  scratch.write("index.hostile", index_of({"../home/written"}), 0644);
  const Output output = at(
      "repository", "cp '" + path("index.hostile") + "' .git/index; echo 'ref: x' > .git/ORIG_HEAD; echo fine > fine",
      {"--workspace-mode", "overlay", "--read", path("index.hostile")});
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  const Output applied = scratch.oncelatch({"changes", "apply"});
  EXPECT_THAT(applied.out + applied.err,
              AllOf(HasSubstr(".git/index"), HasSubstr("by it"), HasSubstr(".git/ORIG_HEAD")));
  EXPECT_EQ(host("cat fine; test -e .git/ORIG_HEAD && echo promoted; git ls-files"), "fine\na\n");
}
EXEC_USERS(GitStateExec);

}  // namespace
}  // namespace oncelatch::test
