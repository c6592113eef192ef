// Profiles of the caller's own: what a file becomes, what is refused with which place, where a file may lie, and that
// the sandbox is really as the file and the options after it say.
#include "launcher/profile_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "launcher/exec/options.h"
#include "tests/launcher/scratch.h"

namespace oncelatch::launcher {
namespace {

using test::Scratch;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<ProfileFile> parse(const std::string& text, const std::string& home = "/home/u") {
  return parse_profile(text, "p.yaml", home);
}

TEST(ProfileFile, KeysBecomeOptions) {
  Result<ProfileFile> profile = parse(
      "version: 1\nextends: ci\nnetwork: ports\nports: [443, 80]\nread: [~/reference, /opt]\nwrite: [/srv/cache]\n"
      "deny: [/opt/key]\nenv: {A: b=c, EMPTY: ''}\npass_env: [CI_*]\ntoolchains: [rust, go]\nallow: [ptrace]\n"
      "limits: {memory: 2G, file_size: 1M}\ntime: 60\nheld: refuse\naccept_loss: [explain]\nrequire: {network: 2}\n");
  ASSERT_TRUE(profile) << profile.error().message();
  EXPECT_EQ(profile->base, "ci");
  EXPECT_THAT(profile->options, ElementsAre("--net", "ports:443,80", "--read", "/home/u/reference", "--read", "/opt",
                                            "--write", "/srv/cache", "--deny", "/opt/key", "--env", "A=b=c", "--env",
                                            "EMPTY=", "--pass-env", "CI_*", "--toolchains", "rust,go", "--allow",
                                            "ptrace", "--limit", "memory=2G", "--limit", "file-size=1M", "--time", "60",
                                            "--held", "refuse", "--accept-loss", "explain", "--require", "network:2"));
}

TEST(ProfileFile, NothingIsNeeded) {
  Result<ProfileFile> profile = parse("{}\n");
  ASSERT_TRUE(profile) << profile.error().message();
  EXPECT_EQ(profile->base, "workstation");
  EXPECT_THAT(profile->options, IsEmpty());
}

struct Mistake {
  const char* text;
  const char* place;
  const char* words;
};

class ProfileMistake : public ::testing::TestWithParam<Mistake> {};

TEST_P(ProfileMistake, IsRefusedWithItsPlace) {
  Result<ProfileFile> profile = parse(GetParam().text);
  ASSERT_FALSE(profile) << GetParam().text;
  EXPECT_EQ(profile.error().object, GetParam().place);
  EXPECT_THAT(profile.error().message(), HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    All, ProfileMistake,
    ::testing::Values(Mistake{"time: 5\nlimits:\n  memroy: 3\n", "p.yaml:3:3", "did you mean memory"},
                      Mistake{"extnds: ci\n", "p.yaml:1:1", "did you mean extends"},
                      Mistake{"extends: ci\nextends: ci\n", "p.yaml:2:1", "duplicate"},
                      Mistake{"extends: strct\n", "p.yaml:1:10", "did you mean strict"},
                      Mistake{"extends: ../other.yaml\n", "p.yaml:1:10", "no built-in profile"},
                      Mistake{"[]\n", "p.yaml:1:1", "mapping"}, Mistake{"read: /opt\n", "p.yaml:1:7", "list of paths"},
                      Mistake{"read: [src]\n", "p.yaml:1:8", "no absolute path"},
                      Mistake{"read: [~other/x]\n", "p.yaml:1:8", "no absolute path"},
                      Mistake{"read: [\"/a\\0b\"]\n", "p.yaml:1:8", "NUL"},
                      Mistake{"read: [\"/a\\nb\"]\n", "p.yaml:1:8", "control character"},
                      Mistake{"network: all\n", "p.yaml:1:10", "none, loopback or ports"},
                      Mistake{"network: ports\n", "p.yaml:1:10", "needs the ports"},
                      Mistake{"ports: [443]\n", "p.yaml:1:8", "network: ports"},
                      Mistake{"network: ports\nports: [70000]\n", "p.yaml:2:8", "65535"},
                      Mistake{"env: [A]\n", "p.yaml:1:6", "mapping"},
                      Mistake{"env: {A: [b]}\n", "p.yaml:1:10", "must be text"},
                      Mistake{"env: {'A=B': c}\n", "p.yaml:1:7", "no variable's name"},
                      Mistake{"env: {A: ~}\n", "p.yaml:1:10", "must be text"},
                      Mistake{"pass_env: ['*']\n", "p.yaml:1:12", "start of names"},
                      Mistake{"allow: [everything]\n", "p.yaml:1:9", "ptrace or loopback"},
                      Mistake{"limits: {memory: lots}\n", "p.yaml:1:18", "memory=NUMBER"},
                      Mistake{"held: ask\n", "p.yaml:1:7", "only oncelatch run asks"},
                      Mistake{"held: [refuse]\n", "p.yaml:1:7", "must be text"},
                      Mistake{"time: soon\n", "p.yaml:1:7", "whole seconds"},
                      Mistake{"require: {network: 0}\n", "p.yaml:1:20", "layers"},
                      Mistake{"require:\n  netwrk: 1\n", "p.yaml:2:3", "did you mean network"},
                      Mistake{"accept_loss: [explain, procesess]\n", "p.yaml:1:24", "did you mean processes"},
                      Mistake{"workspace: /srv\n", "p.yaml:1:1", "unknown key workspace"},
                      Mistake{"report: /x\n", "p.yaml:1:1", "unknown key report"}));

TEST(ProfileFile, TildeNeedsAHome) {
  Result<ProfileFile> profile = parse("read: [~/x]\n", "");
  ASSERT_FALSE(profile);
  EXPECT_THAT(profile.error().message(), HasSubstr("no home"));
}

TEST(WithoutProfile, KeepsEverythingElse) {
  EXPECT_THAT(without_profile({"--profile", "a", "--read", "--profile", "--profile=b", "--", "x", "--profile", "c"}),
              ElementsAre("--read", "--profile", "--", "x", "--profile", "c"));
}

TEST(Require, NameAndLayers) {
  Result<ExecOptions> options = parse_exec_options({"--require", "network", "--require", "processes:2", "--", "true"});
  ASSERT_TRUE(options);
  EXPECT_THAT(options->required, ElementsAre(std::pair<std::string, unsigned>("network", 1),
                                             std::pair<std::string, unsigned>("processes", 2)));
  for (const char* wrong : {":2", "network:", "network:0", "network:10", "network:x"})
    EXPECT_FALSE(parse_exec_options({"--require", wrong, "--", "true"})) << wrong;
}

// Each runs as root (where the tests are) and as an ordinary user.
class ProfileRun : public ::testing::TestWithParam<uid_t> {
 protected:
  static void own(const Scratch& scratch, const std::string& text) {
    for (const char* name : {"home/.config", "home/.config/oncelatch", "home/.config/oncelatch/profiles"})
      scratch.write(std::string(name) + "/.keep", "");
    scratch.write("home/.config/oncelatch/profiles/lab.yaml", text);
  }
};

void expect_refused(const Scratch& scratch, const std::vector<std::string>& arguments,
                    const std::vector<std::string>& words) {
  Output output = scratch.oncelatch(arguments);
  EXPECT_EQ(output.status.shell_code(), 122) << output.err;
  for (const std::string& word : words) EXPECT_THAT(output.err, HasSubstr(word));
}

TEST_P(ProfileRun, ByNameFromTheHome) {
  Scratch scratch(GetParam());
  scratch.write("shown/data", "shown\n", 0644);
  own(scratch, "extends: strict\nread: [" + scratch.path("shown") + "]\nenv: {COLOUR: blue}\nlimits: {files: 100}\n");
  Output output = scratch.oncelatch({"exec", "--profile", "lab", "--", "sh", "-c",
                                     "cat " + scratch.path("shown/data") +
                                         "; echo $COLOUR $CI; ulimit -n; "
                                         "echo x > " +
                                         scratch.path("shown/new") + " || echo refused"});
  EXPECT_EQ(output.status.shell_code(), 0) << output.err;
  EXPECT_THAT(output.out, AllOf(HasSubstr("shown\nblue true\n100\n"), HasSubstr("refused")));
  EXPECT_FALSE(scratch.exists("shown/new"));
}

TEST_P(ProfileRun, OptionsAfterItWin) {
  Scratch scratch(GetParam());
  own(scratch, "limits: {files: 100}\nenv: {A: file}\ntime: 1\n");
  Output output = scratch.oncelatch({"exec", "--profile", "lab", "--limit", "files=200", "--env", "A=option", "--time",
                                     "30", "--", "sh", "-c", "ulimit -n; echo $A"});
  EXPECT_EQ(output.out, "200\noption\n") << output.err;
}

TEST_P(ProfileRun, NeverFromWhatTheCommandCanWrite) {
  Scratch scratch(GetParam());
  scratch.write("repository/evil.yaml", "write: [/srv]\n");
  expect_refused(scratch, {"exec", "--profile", "./evil.yaml", "--", "true"},
                 {"profile:", "which the command may write"});
  scratch.write("other/evil.yaml", "extends: ci\n");
  const std::string other = scratch.path("other/evil.yaml");
  expect_refused(scratch, {"exec", "--write", scratch.path("other"), "--profile", other, "--", "true"},
                 {"may write in"});
  EXPECT_EQ(scratch.oncelatch({"exec", "--profile", other, "--", "true"}).status.shell_code(), 0);
  scratch.write("open.yaml", "extends: ci\n", 0666);
  expect_refused(scratch, {"exec", "--profile", scratch.path("open.yaml"), "--", "true"}, {"others can write it"});
  ASSERT_EQ(::symlink(scratch.path("repository/evil.yaml").c_str(), scratch.path("link.yaml").c_str()), 0);
  expect_refused(scratch, {"exec", "--profile", scratch.path("link.yaml"), "--", "true"}, {"may write in"});
  expect_refused(scratch, {"exec", "--profile", "/dev/null.yaml", "--", "true"}, {"profile:"});
}

TEST_P(ProfileRun, NamesThatDontExist) {
  Scratch scratch(GetParam());
  own(scratch, "extends: ci\n");
  expect_refused(scratch, {"exec", "--profile", "lub", "--", "true"}, {"did you mean lab"});
  expect_refused(scratch, {"exec", "--profile", "strikt", "--", "true"}, {"did you mean strict"});
  expect_refused(scratch, {"exec", "--profile", "../profiles/lab", "--", "true"}, {"no such profile"});
  own(scratch, "network: al\n");
  expect_refused(scratch, {"exec", "--profile", "lab", "--", "true"}, {"lab.yaml:1:10", "none, loopback or ports"});
}

INSTANTIATE_TEST_SUITE_P(Users, ProfileRun, ::testing::ValuesIn(test::users()));

}  // namespace
}  // namespace oncelatch::launcher
