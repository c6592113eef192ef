// What prepare() refuses, each with a clear error and before anything is started.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>

#include "sandbox/enter.h"
#include "sandbox/prepare.h"
#include "tests/sandbox/must_confine.h"
#include "verify/verify_file.h"

namespace oncelatch::sandbox {

namespace {

std::string long_word(std::size_t size) {
  std::string word;
  while (word.size() < size) word += 'x';
  return word;
}

class Prepare : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/var/tmp/oncelatch-prepare-XXXXXX";
    base_ = ::mkdtemp(name);
    workspace_ = base_ + "/ws";
    ASSERT_EQ(::mkdir(workspace_.c_str(), 0755), 0);
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  SandboxPlan plan() const {
    SandboxPlan plan;
    plan.workspace = workspace_;
    plan.argv = {"true"};
    plan.program_inside = "/bin/true";
    plan.uid = ::getuid();
    plan.gid = ::getgid();
    return plan;
  }
  static HostFacts full() {
    HostFacts facts;
    facts.kernel = "6.18.0";
    facts.landlock_abi = 7;
    facts.facts = {{"all", true, true, "", ""}};
    return facts;
  }
  static Result<PreparedSandbox> try_it(const SandboxPlan& plan, const HostFacts& facts) {
    Result<VerifiedArtifact> artifact = verify::verify_file("/bin/true", std::nullopt);
    EXPECT_TRUE(artifact);
    TRY(check_launch(plan, *artifact, facts));
    return prepare(plan, *artifact, facts, {});
  }
  void refuses(const std::function<void(SandboxPlan&)>& change, int error, const std::string& object) {
    SandboxPlan changed = plan();
    change(changed);
    Result<PreparedSandbox> result = try_it(changed, full());
    ASSERT_FALSE(result) << object;
    EXPECT_EQ(result.error().stage, "sandbox");
    EXPECT_EQ(result.error().errno_value, error) << result.error().message();
    EXPECT_NE(result.error().message().find(object), std::string::npos) << result.error().message();
  }
  std::string base_;
  std::string workspace_;
};

TEST_F(Prepare, AGoodPlan) {
  EXPECT_TRUE(try_it(plan(), full()));
}

TEST_F(Prepare, TierMustBeFull) {
  HostFacts facts = full();
  facts.facts.push_back({"landlock", false, true, "ABI 4", "a newer kernel"});
  Result<PreparedSandbox> result = try_it(plan(), facts);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().stage, "sandbox");
  EXPECT_EQ(result.error().errno_value, ENOTSUP);
  EXPECT_NE(result.error().message().find("lacks landlock (ABI 4)"), std::string::npos);
}

// Never by itself: the plan says that the losses were accepted.
TEST_F(Prepare, TheLandlockTierMustBeAskedFor) {
  HostFacts facts = full();
  facts.facts.push_back({"user-namespace", false, true, "clone3", "allow it"});
  ASSERT_EQ(facts.tier(), Tier::landlock);
  Result<PreparedSandbox> result = try_it(plan(), facts);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().errno_value, ENOTSUP);
  SandboxPlan lower = plan();
  lower.least_tier = Tier::landlock;
  EXPECT_TRUE(try_it(lower, facts));
  lower.network = Network::loopback;
  Result<PreparedSandbox> loopback = try_it(lower, facts);
  ASSERT_FALSE(loopback);
  EXPECT_EQ(loopback.error().errno_value, EOPNOTSUPP);
  lower.network = Network::none;
  lower.workspace = "/home";
  EXPECT_FALSE(try_it(lower, facts));
}

TEST_F(Prepare, Workspace) {
  refuses([](SandboxPlan& p) { p.workspace = "/"; }, EINVAL, "/");
  refuses([](SandboxPlan& p) { p.workspace = "relative"; }, EINVAL, "relative");
  refuses([this](SandboxPlan& p) { p.workspace = base_ + "/./ws"; }, EINVAL, "ws");
  refuses([this](SandboxPlan& p) { p.workspace = base_ + "/absent"; }, ENOENT, "absent");
  refuses([](SandboxPlan& p) { p.workspace = "/etc/passwd"; }, ENOTDIR, "/etc/passwd");
  for (const char* path : {"/home", "/usr", "/etc", "/tmp", "/var"})
    refuses([&](SandboxPlan& p) { p.workspace = path; }, EINVAL, path);
  std::filesystem::create_directory(base_ + "/ws/home");
  refuses([this](SandboxPlan& p) { p.home = base_ + "/ws/home"; }, EINVAL, "would become writable");
  std::filesystem::create_directory_symlink(workspace_, base_ + "/link");
  refuses([this](SandboxPlan& p) { p.workspace = base_ + "/link"; }, ELOOP, "link");
  refuses([this](SandboxPlan& p) { p.workspace = base_ + "/link/sub"; }, ENOENT, "link/sub");
  std::filesystem::create_directory(workspace_ + "/sub");
  refuses([this](SandboxPlan& p) { p.workspace = base_ + "/link/sub"; }, 0, "not its real path");
}

TEST_F(Prepare, Binds) {
  refuses(
      [](SandboxPlan& p) {
        p.binds.push_back({"/nonexistent", "/x", Access::read_only, false, true});
      },
      ENOENT, "/nonexistent");
  refuses([](SandboxPlan& p) { p.binds.push_back({"/usr", "x", Access::read_only, false, true}); }, EINVAL, "x");
  refuses(
      [](SandboxPlan& p) {
        p.binds.push_back({"/usr", "/proc/x", Access::read_only, false, true});
      },
      EINVAL, "/proc/x");
  refuses(
      [](SandboxPlan& p) {
        p.binds.push_back({"/dev/null", "/x", Access::read_only, false, true});
      },
      0, "/dev/null");
  refuses([](SandboxPlan& p) { p.binds.assign(257, {"/usr", "/x", Access::read_only, false, true}); }, E2BIG, "mounts");
  ::mkfifo((base_ + "/fifo").c_str(), 0600);
  refuses(
      [this](SandboxPlan& p) {
        p.binds.push_back({base_ + "/fifo", "/x", Access::read_only, false, true});
      },
      0, "fifo");
  std::filesystem::create_symlink("/usr", base_ + "/tolink");
  refuses(
      [this](SandboxPlan& p) {
        p.binds.push_back({base_ + "/tolink", "/x", Access::read_only, false, true});
      },
      ELOOP, "tolink");
}

TEST_F(Prepare, Covers) {
  refuses([](SandboxPlan& p) { p.covers.push_back({"/etc/passwd", Cover::Kind::hide}); }, EINVAL, "/etc/passwd");
  refuses(
      [this](SandboxPlan& p) {
        p.covers.push_back({workspace_, Cover::Kind::protect});
      },
      EINVAL, "inside the workspace");
  refuses([this](SandboxPlan& p) { p.covers.push_back({workspace_ + "/../x", Cover::Kind::hide}); }, EINVAL, "..");
}

TEST_F(Prepare, Strings) {
  refuses([](SandboxPlan& p) { p.argv.clear(); }, EINVAL, "arguments");
  refuses([](SandboxPlan& p) { p.argv = {std::string("a\0b", 3)}; }, EINVAL, "NUL");
  refuses([](SandboxPlan& p) { p.argv.push_back(long_word(200000)); }, E2BIG, "arguments");
  refuses([](SandboxPlan& p) { p.argv.assign(20, long_word(100000)); }, E2BIG, "arguments");
  refuses([](SandboxPlan& p) { p.argv.assign(70000, "x"); }, E2BIG, "arguments");
  refuses([](SandboxPlan& p) { p.environment = {"NOVALUE"}; }, EINVAL, "environment");
  refuses([](SandboxPlan& p) { p.environment = {"=x"}; }, EINVAL, "environment");
  refuses([](SandboxPlan& p) { p.working_directory = "relative"; }, EINVAL, "relative");
}

TEST_F(Prepare, Numbers) {
  refuses([](SandboxPlan& p) { p.limits.processes = 0; }, EINVAL, "limits");
  refuses([](SandboxPlan& p) { p.connect_ports.assign(65, 1); }, E2BIG, "ports");
  if (::geteuid() != 0) refuses([](SandboxPlan& p) { p.uid = 0; }, EPERM, "uid");
  refuses([](SandboxPlan& p) { p.idmapped = true; }, EINVAL, "uid");
}

// What is planted goes with the session's directory when nobody is left to remove it.
TEST(PlantedTargets, LieBesideTheHomeWhereTheSandboxedUserCouldReachThem) {
  char pattern[] = "/tmp/oncelatch-planted-XXXXXX";
  const std::string session = ::mkdtemp(pattern);
  const uid_t own = ::geteuid();
  {
    Result<std::unique_ptr<Planted>> planted = Planted::make(own, ::getegid(), session, {});
    ASSERT_TRUE(planted) << planted.error().message();
    EXPECT_EQ((*planted)->directory(), session + "/probe");
    EXPECT_TRUE((*planted)->plant());
    EXPECT_EQ(::access((session + "/probe/secret").c_str(), F_OK), 0);
  }
  EXPECT_NE(::access((session + "/probe").c_str(), F_OK), 0) << "removed with its owner";
  for (const std::string& elsewhere : {std::string(), session + "/" + std::string(90, 'x')}) {
    Result<std::unique_ptr<Planted>> planted = Planted::make(own, ::getegid(), elsewhere, {});
    ASSERT_TRUE(planted) << planted.error().message();
    EXPECT_EQ((*planted)->directory().find(session), std::string::npos);
  }
  Result<std::unique_ptr<Planted>> shown = Planted::make(own, ::getegid(), session, {session});
  ASSERT_TRUE(shown) << shown.error().message();
  EXPECT_NE((*shown)->directory(), session + "/probe") << "never where the sandbox shows it";
  EXPECT_EQ(::rmdir(session.c_str()), 0);
}

// Otherwise the self-test's failure to read it would prove a mode and not the view.
TEST(PlantedTargets, CanBeReadByTheSandboxedUserOutside) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root plants for somebody else";
  constexpr uid_t kUser = 0x78001234;
  Result<std::unique_ptr<Planted>> planted = Planted::make(kUser, kUser, {}, {});
  ASSERT_TRUE(planted) << planted.error().message();
  Status there = (*planted)->plant();
  ASSERT_TRUE(there) << there.error().message();
  std::string secret = (*planted)->directory() + "/secret";
  pid_t child = ::fork();
  if (child == 0) {
    bool reads = ::setresgid(kUser, kUser, kUser) == 0 && ::setresuid(kUser, kUser, kUser) == 0 &&
                 ::open(secret.c_str(), O_RDONLY | O_CLOEXEC) >= 0;
    ::_exit(reads ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << secret;
}

TEST(Companion, MissingOneIsNamed) {
  Result<std::string> path = find_companion("oncelatch-absent");
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().errno_value, ENOENT);
}

}  // namespace
}  // namespace oncelatch::sandbox
