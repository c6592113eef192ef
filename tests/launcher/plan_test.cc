#include "launcher/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/beneath.h"
#include "launcher/home.h"
#include "tests/launcher/scratch.h"

namespace oncelatch::launcher {
namespace {

using test::Scratch;

RunOptions options(const Scratch& scratch) {
  RunOptions run;
  run.agent = "kiro";
  run.cli_path = test::program("kiro-cli");
  run.workspace = scratch.path("repository");
  run.arguments = {"--model", "auto", "hello"};
  return run;
}

TEST(Plan, ArgumentsAndPlacesOfAFreshLaunch) {
  Scratch scratch;
  Result<LaunchConfig> config = resolve_config(options(scratch), scratch.environment());
  ASSERT_TRUE(config) << config.error().message();
  LaunchPlan plan = make_plan(*config, "/run/session", "/opt/bin/kiro-cli");
  EXPECT_THAT(plan.sandbox.argv, ::testing::ElementsAre("kiro-cli", "chat", "--tui", "--model", "auto", "hello"));
  EXPECT_EQ(plan.sandbox.workspace, scratch.path("repository"));
  EXPECT_EQ(plan.sandbox.home, "/run/session/home");
  ASSERT_EQ(plan.sandbox.binds.size(), 2U) << "only the program and the recorder beside the skeleton";
  EXPECT_EQ(plan.sandbox.binds[0].source, "/opt/bin/kiro-cli");
  EXPECT_EQ(plan.sandbox.binds[0].access, sandbox::Access::read_only);
  EXPECT_EQ(plan.sandbox.binds[1].source, "/run/session/record.jsonl");
  EXPECT_EQ(plan.sandbox.program_inside, "/opt/oncelatch/agent/kiro-cli");
}

TEST(Plan, TheRepositorysExecutableConfigurationIsCovered) {
  Scratch scratch;
  LaunchConfig config = std::move(*resolve_config(options(scratch), scratch.environment()));
  std::vector<std::string> hidden;
  std::vector<std::string> kept;
  for (const sandbox::Cover& cover : make_plan(config, "/s", "/b/kiro-cli").sandbox.covers) {
    (cover.kind == sandbox::Cover::Kind::hide ? hidden : kept)
        .push_back(cover.path.substr(scratch.path("repository").size()));
  }
  EXPECT_THAT(hidden, ::testing::IsSupersetOf({"/.kiro/agents", "/.kiro/hooks", "/.kiro/settings"}));
  EXPECT_THAT(kept, ::testing::IsSupersetOf({"/.git/hooks", "/.git/config"}));
  EXPECT_THAT(hidden, ::testing::Not(::testing::Contains("/.kiro/specs")));
}

// B033
TEST(Plan, B033LinksOnTheWayAreKept) {
  Scratch scratch;
  std::filesystem::create_directories(scratch.path("repository/.git"));
  std::filesystem::create_directories(scratch.path("repository/shared/hooks"));
  std::filesystem::create_symlink("../shared/hooks", scratch.path("repository/.git/hooks"));
  std::filesystem::create_symlink("shared", scratch.path("repository/.kiro"));
  LaunchConfig config = std::move(*resolve_config(options(scratch), scratch.environment()));
  std::map<std::string, sandbox::Cover::Kind> covers;
  for (const sandbox::Cover& cover : make_plan(config, "/s", "/b/kiro-cli").sandbox.covers)
    covers.try_emplace(cover.path.substr(scratch.path("repository").size()), cover.kind);
  EXPECT_EQ(covers.at("/.git/hooks"), sandbox::Cover::Kind::link);
  EXPECT_EQ(covers.at("/.kiro"), sandbox::Cover::Kind::link);
  EXPECT_EQ(covers.at("/shared/hooks"), sandbox::Cover::Kind::hide) << "of both, what is hidden stays hidden";
  EXPECT_FALSE(covers.contains("/.kiro/hooks"));
}

TEST(Plan, RootRunsTheAgentAsAUserOfItsOwnShownAsTheWorkspacesOwner) {
  if (::geteuid() != 0)
    return;  // an ordinary user has no choice: config.uid is the caller's, checked below in every run
  Scratch scratch;
  ASSERT_EQ(::chown(scratch.path("repository").c_str(), 61234, 61235), 0);
  LaunchConfig config = std::move(*resolve_config(options(scratch), scratch.environment()));
  const sandbox::SandboxPlan inside = make_plan(config, "/s", "/b/kiro-cli").sandbox;
  EXPECT_EQ(inside.shown_uid, 61234U);
  EXPECT_EQ(inside.shown_gid, 61235U);
  if (inside.idmapped) {
    EXPECT_NE(inside.uid, 61234U);
    EXPECT_NE(inside.uid, 0U);
    EXPECT_EQ(config.uid, 0U) << "what is made for the session stays the launcher's";
  } else {
    EXPECT_EQ(inside.uid, 61234U);
    EXPECT_EQ(config.uid, 61234U);
  }
}

TEST(Home, IsFreshPrivateAndKnowsTheCallersGitName) {
  Scratch scratch;
  scratch.write("home/.gitconfig", "[user]\n\tname = A \"quoted\" Name\n\temail = a@b\n[core]\n\tsshCommand = evil\n");
  LaunchConfig config = std::move(*resolve_config(options(scratch), scratch.environment()));
  Fd session = std::move(*open_directory(scratch.path("state")));
  ASSERT_TRUE(make_home(session.get(), config));
  struct stat info {};
  ASSERT_EQ(::stat(scratch.path("state/home").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700U);
  std::string git = scratch.read("state/home/.gitconfig");
  EXPECT_NE(git.find("email = \"a@b\""), std::string::npos) << git;
  EXPECT_NE(git.find(R"(name = "A quoted Name")"), std::string::npos) << git;
  EXPECT_NE(git.find("directory = \"" + config.workspace), std::string::npos) << git;
  EXPECT_EQ(git.find("sshCommand"), std::string::npos) << git;
  EXPECT_TRUE(scratch.exists("state/home/.kiro/agents"));
  EXPECT_FALSE(make_home(session.get(), config)) << "an existing home is never used again";
}

TEST(Home, TheRecorderIsPrivateAndNew) {
  Scratch scratch;
  LaunchConfig config = std::move(*resolve_config(options(scratch), scratch.environment()));
  Fd session = std::move(*open_directory(scratch.path("state")));
  ASSERT_TRUE(make_recorder(session.get(), config));
  struct stat info {};
  ASSERT_EQ(::stat(scratch.path("state/record.jsonl").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  EXPECT_FALSE(make_recorder(session.get(), config));
}

}  // namespace
}  // namespace oncelatch::launcher
