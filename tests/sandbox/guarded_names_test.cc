// Names that take effect on the host, in every spelling that a file system takes for the same.
#include "sandbox/guarded_names.h"

#include <cstring>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace oncelatch::sandbox {
namespace {

std::string verdict(const std::string& path) {
  const GuardedName* row = guarded_name(path.c_str());
  return row == nullptr ? "" : std::string(kGuardNames[static_cast<unsigned>(row->guard)]) + " " + row->kind;
}

struct Named {
  const char* path;
  const char* verdict;
};

TEST(GuardedNames, AtEveryDepth) {
  const Named names[] = {
      {".git", "refused git"},
      {"a/b/c/.git", "refused git"},
      {".git/hooks/pre-commit", "refused git"},
      {"a/b/.git/hooks/deep/er", "refused git"},
      {".git/config", "refused git"},
      {".git/worktrees/x/gitdir", "refused git"},
      {".git/modules/sub/hooks/post-checkout", "refused git"},
      {".git/rebase-merge/git-rebase-todo", "reported git"},
      {".gitmodules", "held git"},
      {".kiro/agents/a.json", "refused agent"},
      {".kiro/steering/product.md", "held agent"},
      {".vscode/tasks.json", "refused editor"},
      {".vscode/other.json", "held editor"},
      {"x.code-workspace", "refused editor"},
      {".envrc", "refused shell"},
      {"sub/.envrc", "refused shell"},
      {".github/workflows/x.yml", "held ci"},
      {"package.json", "held package"},
      {"web/package.json", "held package"},
      {"Makefile", "reported build"},
      {"docker-compose.prod.yaml", "reported build"},
      {".venv/bin/python", "reported package"},
      {"node_modules/.bin/tsc", "reported package"},
  };
  for (const Named& name : names) EXPECT_EQ(verdict(name.path), name.verdict) << name.path;
}

TEST(GuardedNames, OrdinaryNamesAreFree) {
  for (const char* path : {"a",
                           "src/main.cc",
                           ".git/index",
                           ".git/objects/ab/cdef",
                           ".git/refs/heads/main",
                           ".git/HEAD",
                           ".git/COMMIT_EDITMSG",
                           ".git/logs/HEAD",
                           "git",
                           "gitx",
                           ".gitignore",
                           ".github/ISSUE_TEMPLATE.md",
                           ".kiro/specs/a.md",
                           "hooks/pre-commit",
                           "config",
                           "docs/Makefile.md",
                           "package.json.bak",
                           "a.git",
                           ".gitx",
                           "x.git/y",
                           "package-lock.json",
                           "",
                           "...",
                           "\xff\xfe"})
    EXPECT_EQ(verdict(path), "") << path;
}

// What HFS+, APFS, NTFS and casefolding ext4 take for the same name (git's protectHFS and protectNTFS know the first).
TEST(GuardedNames, OtherSpellingsAreTheName) {
  for (const char* path : {".GIT",
                           ".Git/HOOKS/Pre-Commit",
                           ".g\xe2\x80\x8cit",
                           "\xe2\x80\x8b.git",
                           ".git.",
                           ".git ",
                           ".git. . ",
                           ".git::$INDEX_ALLOCATION",
                           ".git:x",
                           "git~1",
                           "GIT~1/hooks/x",
                           ".g\xef\xbb\xbfit",
                           ".git/hoo\xe2\x84\xaas/x" /* KELVIN SIGN */,
                           ".git/hook\xc5\xbf/x" /* LONG S */,
                           "\xef\xbc\x8egit" /* full width */,
                           ".gi\xc2\xadt" /* SOFT HYPHEN */,
                           ".git\xcd\x8f" /* GRAPHEME JOINER */,
                           ".g\xe2\x81\xa0it" /* WORD JOINER */,
                           ".gi\xef\xb8\x8ft" /* VARIATION SELECTOR-16 */,
                           ".git\xf3\xa0\x80\xa1" /* a TAG */,
                           "\xe3\x85\xa4.git" /* HANGUL FILLER */})
    EXPECT_EQ(verdict(path), "refused git") << path;
  for (const char* path : {".g\xc3\xadt" /* i with ACUTE */, ".gi\xcc\x81t" /* the same, in two */, ".git\xe2\x80\x89"})
    EXPECT_EQ(verdict(path), "") << path;
  EXPECT_EQ(verdict("MAKEFILE"), "reported build");
  EXPECT_EQ(verdict("makefile "), "reported build");
  EXPECT_EQ(verdict("agents.MD"), "held agent");
}

// Each row is reachable, says something, and matches its own pattern.
TEST(GuardedNames, EachRowMatchesItself) {
  unsigned count = 0;
  const GuardedName* rows = guarded_names(count);
  ASSERT_GT(count, 100U);
  std::set<std::string> patterns;
  for (unsigned i = 0; i < count; ++i) {
    const GuardedName& row = rows[i];
    EXPECT_TRUE(patterns.insert(row.pattern).second) << row.pattern << " stands twice";
    EXPECT_GT(std::strlen(row.reason), 5U) << row.pattern;
    std::string path = row.pattern;
    for (std::size_t at = path.find('*'); at != std::string::npos; at = path.find('*')) {
      std::size_t end = path.find_first_not_of('*', at);
      path.replace(at, (end == std::string::npos ? path.size() : end) - at, "x");
    }
    const GuardedName* found = guarded_name(("some/where/" + path).c_str());
    ASSERT_NE(found, nullptr) << path;
    EXPECT_GE(found->guard, row.guard) << path;
  }
}

TEST(GuardedNames, LongAndHostilePathsEnd) {
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "a/";
  EXPECT_EQ(verdict(deep + ".git"), "refused git");
  EXPECT_EQ(verdict(std::string(4000, '*')), "");
  EXPECT_EQ(verdict(std::string(4000, '.')), "");
  EXPECT_EQ(verdict(std::string(2000, 'x') + ".code-workspace"), "refused editor");
  EXPECT_EQ(verdict("\xf0\x9f"), "");
  EXPECT_EQ(verdict("//"), "");
}

}  // namespace
}  // namespace oncelatch::sandbox
