// B142: what a container or a runner lacks: a writable root, programs in /tmp, memory, a terminal, variables, tmux. It
// works all the same, or one precise line says why not; nothing is left.
#include <sys/stat.h>

#include "tests/launcher/exec_support.h"

namespace oncelatch::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Surroundings : public Exec {
 protected:
  // A mount namespace where /tmp runs no program, but for the scratch directory and the build, and `more` was done.
  [[nodiscard]] Words where(const std::string& more) const {
    std::string script = "set -e; mount --make-rprivate /; mount --bind /tmp /tmp; mount -o remount,bind,noexec /tmp; ";
    for (const std::string& place : {path(""), std::string(ONCELATCH_BINARY_DIR)})
      script += "mount --bind " + place + " " + place + "; mount -o remount,bind,exec " + place + "; ";
    return {"unshare", "--mount", "sh", "-c", script + more + "; exec \"$@\"", "sh"};
  }
  [[nodiscard]] Output behind(const Words& front, const Words& arguments, const Words& environment) const {
    Spawn spawn = scratch.spawn(arguments);
    spawn.environment = environment;
    spawn.argv[0] = spawn.path;
    spawn.argv.insert(spawn.argv.begin(), front.begin(), front.end());
    spawn.path = "/usr/bin/" + front[0];
    Result<Output> output = run_bounded(std::move(spawn), std::size_t{1} << 20, std::chrono::seconds(60));
    EXPECT_TRUE(output);
    return output ? *output : Output{};
  }
  [[nodiscard]] static std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
};

constexpr const char* kReadOnly = "mount -t tmpfs -o size=1m tmpfs /dev/shm; mount -o remount,bind,ro /";
constexpr const char* kWork =
    "echo x > \"$HOME/x\" && echo x > /tmp/y && echo x > /dev/shm/z && echo x > made && echo works";

TEST_P(Surroundings, B142AReadOnlyRootAndNoProgramsInTmp) {
  if (::geteuid() != 0) return;  // mounting needs root
  const Words path_only = {"PATH=/usr/bin:/bin"};
  for (const Words& environment : {Words{}, path_only, Words{"HOME=/", "TERM="}, scratch.environment()}) {
    SCOPED_TRACE(::testing::PrintToString(environment));
    const Output output = behind(where(kReadOnly), all({}, {"sh", "-c", kWork}), environment);
    EXPECT_EQ(output.out, "works\n") << output.err;
    EXPECT_EQ(output.err, "");
  }
  EXPECT_EQ(scratch.on_host("ls -A"), "made\n");
}

// What this tier keeps on the host has to have a place there.
TEST_P(Surroundings, B142AReadOnlyRootInTheLowerTier) {
  if (::geteuid() != 0) return;
  Words front = where(kReadOnly);
  front.insert(front.end(), kWithoutNamespaces.begin(), kWithoutNamespaces.end());
  const Words arguments = all(kLowerTierLosses, {"sh", "-c", "echo x > \"$HOME/x\" && echo x > made && echo works"});
  const Output with = behind(front, arguments, scratch.environment());
  EXPECT_EQ(with.out, "works\n") << with.err;
  const Output without = behind(front, arguments, {"PATH=/usr/bin:/bin"});
  EXPECT_EQ(without.status.shell_code(), 122) << without.out;
  EXPECT_THAT(without.err, AllOf(HasSubstr("HOME"), HasSubstr("try:")));
  EXPECT_LE(lines(without.err), 2U) << without.err;
  EXPECT_THAT(scratch.session_directories(), IsEmpty());
}

// No terminal, no variables: the agent's TUI goes on in tmux; without tmux one line says so.
TEST_P(Surroundings, B142AnAgentWithoutATerminal) {
  if (::geteuid() != 0) return;
  scratch.scenario({{"steps", Json::array()}, {"exit_code", 6}});
  Words environment = scratch.environment();
  std::erase_if(environment,
                [](const std::string& one) { return one.starts_with("TERM=") || one.starts_with("LANG="); });
  for (const char* term : {"", "TERM=dumb"}) {
    Words with = environment;
    if (*term != '\0') with.emplace_back(term);
    const Output output = behind(where("true"), scratch.run_arguments(), with);
    EXPECT_EQ(output.status.shell_code(), 6) << output.err;
  }
  const Output without = behind(where("mount --bind /dev/null /usr/bin/tmux"), scratch.run_arguments(), environment);
  EXPECT_EQ(without.status.shell_code(), 125) << without.err;
  EXPECT_THAT(without.err, AllOf(HasSubstr("tmux"), HasSubstr("try:"), Not(HasSubstr("terminate"))));
  EXPECT_LE(lines(without.err), 2U) << without.err;
  EXPECT_THAT(scratch.session_directories(), IsEmpty());
  EXPECT_THAT(scratch.processes_left(), IsEmpty());
}
EXEC_USERS(Surroundings);

}  // namespace
}  // namespace oncelatch::test
