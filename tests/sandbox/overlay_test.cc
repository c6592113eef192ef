// The workspace under an overlay: what is written goes into the layer, what lies below stays, and each of the two
// layers keeps it so by itself.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

class Overlay : public testing::TestWithParam<Launch> {
 protected:
  void SetUp() override {
    lab.write("a", "before\n");
    lab.make_directory("d");
    lab.write("d/b", "before\n");
    layers = lab.outside() + "-layers";
    for (const char* name : {"", "/upper", "/work"}) {
      ASSERT_EQ(::mkdir((layers + name).c_str(), 0700), 0) << name;
      if (::geteuid() == 0) {
        ASSERT_EQ(::chown((layers + name).c_str(), lab.uid(), lab.uid()), 0);
      }
    }
  }
  void TearDown() override {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(layers, ignored))
      if (entry.is_directory()) std::filesystem::permissions(entry.path(), std::filesystem::perms(0700), ignored);
    std::filesystem::remove_all(layers, ignored);
  }
  [[nodiscard]] Seen run(const Words& program, Words options = {}) const {
    options.insert(options.end(), {"--overlay", layers, "--no-guard"});
    return lab.run(program, options);
  }
  [[nodiscard]] Seen run_weakened(const std::string& layer, const Words& program) const {
    Spawn spawn = lab.spawn(
        {"--overlay", layers, "--no-guard", "--env", "ONCELATCH_WEAKEN=" + layer, "--env", "ONCELATCH_GO_ON=1"},
        program);
    spawn.path = ONCELATCH_WEAKENED_RUNNER;
    Result<Output> output = run_bounded(std::move(spawn), 65536, std::chrono::seconds(30));
    EXPECT_TRUE(output);
    return output ? Seen{output->status.shell_code(), output->out, output->err} : Seen{};
  }
  [[nodiscard]] std::string at(const std::string& name) const { return lab.workspace() + "/" + name; }
  void expect_untouched() const {
    EXPECT_TRUE(std::filesystem::exists(at("d/b")));
    EXPECT_EQ(std::filesystem::file_size(at("a")), 7U);
    EXPECT_FALSE(std::filesystem::exists(at("new")));
  }
  Lab lab{GetParam()};
  std::string layers;
};
INSTANTIATE_TEST_SUITE_P(Launches, Overlay, testing::ValuesIn(possible_launches()), launch_name);

TEST_P(Overlay, ChangesGoIntoTheLayer) {
  REQUIRE_CONFINEMENT();
  const Seen seen = run({"/bin/sh", "-c",
                         "echo after > a && rm -r d && mkdir d && echo x > new && cat a new && ls -d d/* 2>/dev/null; "
                         "ls -A /.overlay; id -u"});
  EXPECT_THAT(seen.out, HasSubstr("after\nx\n")) << seen.err;
  EXPECT_EQ(seen.out.find("d/b"), std::string::npos);
  expect_untouched();
  EXPECT_TRUE(std::filesystem::exists(layers + "/upper/new"));
}

// Covers lie over it, and are told from what lies below.
TEST_P(Overlay, CoversHold) {
  REQUIRE_CONFINEMENT();
  lab.write("secret", "planted\n");
  const Seen seen =
      run({"/bin/sh", "-c", "cat secret; echo x > d/b || echo READ-ONLY; mv d e || echo PINNED; rm -rf d; cat d/b"},
          {"--deny", at("secret"), "--keep", at("d/b")});
  EXPECT_THAT(seen.out, HasSubstr("READ-ONLY\nPINNED\nbefore\n")) << seen.err;
  EXPECT_EQ(seen.out.find("planted"), std::string::npos);
}

// One layer is gone: what lies below is in reach, with a mount that can be written. Landlock refuses.
TEST_P(Overlay, LandlockAloneKeepsWhatLiesBelow) {
  REQUIRE_CONFINEMENT();
  const Seen seen = run_weakened(
      "overlay", {lab.probe(), "write=/.lower/new", "append=/.lower/a", "unlink=/.lower/a", "write=" + at("other")});
  const auto verdicts = Seen(seen).verdicts();
  EXPECT_EQ(seen.code, 0) << seen.err;
  for (const char* name : {"write=/.lower/new", "append=/.lower/a"})
    EXPECT_EQ(verdicts.count(name) == 0 ? "" : verdicts.at(name), "EACCES") << name << seen.out << seen.err;
  expect_untouched();
}

// The other one: without Landlock the overlay keeps it.
TEST_P(Overlay, TheOverlayAloneKeepsWhatLiesBelow) {
  REQUIRE_CONFINEMENT();
  const Seen seen = run_weakened("landlock", {"/bin/sh", "-c", "echo x > new; echo x > a; rm d/b; cat new"});
  EXPECT_EQ(seen.out, "x\n") << seen.err;
  expect_untouched();
}

TEST_P(Overlay, LayersThatCantBeOneAreRefused) {
  REQUIRE_CONFINEMENT();
  std::filesystem::remove(layers + "/work");
  const Seen seen = run({"/bin/true"});
  EXPECT_EQ(seen.code, kRefused);
  EXPECT_THAT(seen.err, HasSubstr("overlay"));
  EXPECT_THAT(seen.err, HasSubstr("XDG_STATE_HOME"));
}

TEST_P(Overlay, NothingCanBeMountedInIt) {
  const Seen seen = run({"/bin/true"}, {"--bind", lab.outside() + ":" + at("d") + ":ro"});
  EXPECT_EQ(seen.code, kRefused);
  EXPECT_THAT(seen.err, HasSubstr("nothing can be mounted in a workspace under an overlay"));
}

}  // namespace

}  // namespace oncelatch::sandbox
