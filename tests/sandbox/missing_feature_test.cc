// A machine that lacks something refuses with one clear paragraph; nothing runs.
#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

struct Lack {
  const char* deny;    // argument of deny_syscall
  const char* name;    // of the fact
  const char* phrase;  // of its advice
};

constexpr Lack kLacks[] = {
    {"user-namespaces", "user-namespace", "user namespaces"},
    {"landlock", "landlock", "6.12"},
    {"seccomp:1", "seccomp-filter", "CONFIG_SECCOMP_FILTER"},
    {"open_tree:38", "user-namespace", "Docker"},
    {"mount:1", "user-namespace", "Docker"},
    {"fsopen:38", "user-namespace", "Docker"},
    {"move_mount:1", "user-namespace", "Docker"},
    {"pivot_root:1", "user-namespace", "Docker"},
    {"umount2:1", "user-namespace", "Docker"},
    {"sethostname:1", "user-namespace", "Docker"},
    {"openat2:38", "openat2", "outer"},
    {"pidfd_open:38", "pidfd", "5.3"},
};

Seen run_without(const Lab& lab, const std::string& deny, const std::vector<std::string>& options) {
  Spawn spawn;
  spawn.path = tool("deny_syscall");
  spawn.argv = {"deny_syscall", deny, tool("sandbox_runner")};
  std::vector<std::string> rest = lab.command(options, {"/bin/echo", "ran"});
  spawn.argv.insert(spawn.argv.end(), rest.begin() + 1, rest.end());
  return run_program(spawn);
}

TEST(MissingFeature, IsRefusedAndExplained) {
  REQUIRE_CONFINEMENT();
  for (Launch launch : possible_launches()) {
    Lab lab(launch);
    for (const Lack& lack : kLacks) {
      Seen seen = run_without(lab, lack.deny, {});
      EXPECT_EQ(seen.code, kRefused) << lack.deny;
      EXPECT_EQ(seen.out, "") << lack.deny;
      EXPECT_NE(seen.err.find("refused EOPNOTSUPP sandbox: "), std::string::npos) << lack.deny << seen.err;
      // A kernel with Landlock has openat2: it is an outer sandbox that hides it.
      const std::string words =
          std::string(lack.name) == "openat2" ? "needs: openat2" : "lacks " + std::string(lack.name);
      EXPECT_NE(seen.err.find(words), std::string::npos) << lack.deny << seen.err;
      EXPECT_NE(seen.err.find(lack.phrase), std::string::npos) << lack.deny << seen.err;
    }
  }
}

// With the quick probe the kernel's refusal comes while entering; the answer is the same.
TEST(MissingFeature, IsRefusedWhileEnteringToo) {
  REQUIRE_CONFINEMENT();
  Lab lab(possible_launches().back());
  const std::pair<const char*, const char*> refused[] = {{"user-namespaces", "namespaces: clone3"},
                                                         {"sethostname:1", "host-name: sethostname"},
                                                         {"pivot_root:1", "pivot: pivot_root"},
                                                         {"umount2:1", "pivot: umount of the old root"}};
  for (const auto& [deny, step] : refused) {
    Seen seen = run_without(lab, deny, {"--quick"});
    EXPECT_EQ(seen.code, kRefused) << deny;
    EXPECT_EQ(seen.out, "") << deny;
    EXPECT_NE(seen.err.find("refused EOPNOTSUPP sandbox: " + std::string(step)), std::string::npos) << seen.err;
    EXPECT_NE(seen.err.find("lacks user-namespace"), std::string::npos) << seen.err;
  }
}

// Each system call of the set-up fails once: the launch is refused with the stage's name, nothing runs.
TEST(MissingFeature, AnyFailingStepAborts) {
  REQUIRE_CONFINEMENT();
  Lab lab(possible_launches().back());
  for (const char* deny : {"setsid:1", "capset:1", "sethostname:1", "pivot_root:1", "umount2:1", "fsopen:1",
                           "move_mount:1", "mount_setattr:1", "landlock_restrict_self:1", "landlock_add_rule:22",
                           "symlinkat:1", "mkdirat:1", "execveat:13", "fchdir:1"}) {
    Seen seen = run_without(lab, deny, {"--quick"});
    EXPECT_EQ(seen.code, kRefused) << deny << seen.err;
    EXPECT_EQ(seen.out, "") << deny;
    EXPECT_NE(seen.err.find("sandbox: "), std::string::npos) << deny << seen.err;
  }
}

// A layer that only seems to be there (the call answers success and does nothing) is found by the self-test.
TEST(MissingFeature, SelfTestFindsALayerThatIsNotThere) {
  REQUIRE_CONFINEMENT();
  const std::pair<const char*, const char*> fakes[] = {{"seccomp:0", "self-test: "},
                                                       {"landlock_restrict_self:0", "self-test: landlock"}};
  for (Launch launch : possible_launches()) {
    Lab lab(launch);
    for (const auto& [fake, named] : fakes) {
      Seen guarded = run_without(lab, fake, {"--quick"});
      EXPECT_EQ(guarded.code, kRefused) << fake;
      EXPECT_EQ(guarded.out, "") << fake;
      Seen seen = run_without(lab, fake, {"--quick", "--no-guard", "--accept-loss", "creation_guard"});
      EXPECT_EQ(seen.code, kRefused) << fake;
      EXPECT_EQ(seen.out, "") << fake;
      EXPECT_NE(seen.err.find(named), std::string::npos) << fake << seen.err;
      EXPECT_NE(seen.err.find("an attempt that must fail succeeded"), std::string::npos) << fake << seen.err;
    }
  }
}

}  // namespace
}  // namespace oncelatch::sandbox
