// Each layer left out in turn, by the test-only build of oncelatch-exec: the self-test refuses and names it; told to go
// on all the same, the attempt still fails by the other layer.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/sandbox/bystander.h"
#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

using Words = std::vector<std::string>;

struct Still {
  std::string attempt;  // {outside}, {place}, {abstract}, {bystander}, {workspace} are filled in
  std::set<std::string> refusals;
};

struct LayerRow {
  const char* name;
  std::vector<Still> attempts;  // that the other layer refuses
};

const std::set<std::string> kByLandlock = {"EACCES"};
const std::set<std::string> kByFilter = {"EPERM"};

// Without no_new_privs the kernel itself refuses Landlock, so that one isn't here.
std::vector<LayerRow> layers() {
  return {
      {"mount-namespace",
       {{"write={place}/new", kByLandlock},
        {"append={place}/secret", kByLandlock},
        {"read={place}/secret", kByLandlock},
        {"write=/usr/new", kByLandlock}}},
      {"landlock",
       {{"write={outside}/new", {"ENOENT"}},
        {"read={outside}/secret", {"ENOENT"}},
        {"write=/usr/new", {"EROFS"}},
        {"write=/new", {"EROFS"}},
        {"write=/etc/new", {"EROFS"}},
        {"write=/dev/new", {"EROFS"}},
        {"abstract={abstract}", {"ECONNREFUSED"}},
        {"tcp=80", {"ENETUNREACH"}},
        {"mount=/tmp", kByFilter},
        {"signal={bystander}", {"ESRCH"}}}},
      {"write-workspace",  // the guard's own Landlock domain: the broker refuses
       {{"write={workspace}/.envrc", kByLandlock},
        {"mkdir={workspace}/.git", kByLandlock},
        {"write={workspace}/.vscode/settings.json", {"ENOENT"}}}},
      {"seccomp",
       {{"unshare-user", {"ENOSPC"}},
        {"clone3-user", {"ENOSPC"}},
        {"mount=/tmp", {"EPERM"}},
        {"chroot=/tmp", {"EPERM"}},
        {"settimeofday", {"EPERM"}},
        {"vm-read=1", {"EPERM"}},
        {"tiocsti", {"EIO", "EPERM", "ENOTTY"}},
        {"mknod-block=/tmp/d", {"EPERM", "EACCES"}},
        {"find-key=oncelatch-layers", {"ENOKEY"}},  // E064: a session key ring of its own
        {"read={outside}/secret", {"ENOENT"}}}},
      {"capabilities",
       {{"mount=/tmp", kByFilter},
        {"umount=/tmp", kByFilter},
        {"chroot=/tmp", kByFilter},
        {"unshare-mount", kByFilter}}},
      {"userns-limit", {{"unshare-user", kByFilter}, {"clone-user", kByFilter}, {"clone3-user", {"ENOSYS"}}}},
      {"pid-namespace", {{"signal={bystander}", kByFilter}, {"vm-read={bystander}", kByFilter}}},
      {"network-namespace",
       {{"tcp=80", kByLandlock}, {"listen-tcp=8080", kByLandlock}, {"abstract={abstract}", kByFilter}}},
      {"init-not-dumpable", {{"vm-read=1", kByFilter}, {"ptrace-attach=1", kByFilter}}},
  };
}

// A directory of the confined user where nothing of a view lies: its rules are about paths that the host has as well
// (/tmp, /var/tmp, /dev/shm, /etc).
class Place {
 public:
  explicit Place(uid_t uid) {
    std::string name = (::geteuid() == 0 ? "/run" : "/run/user/" + std::to_string(uid)) + "/oncelatch-layers-XXXXXX";
    path_ = ::mkdtemp(name.data()) != nullptr ? name : "";
    std::ofstream(path_ + "/secret") << "planted\n";
    for (const std::string& path : {path_, path_ + "/secret"}) {
      if (::geteuid() != 0) continue;
      EXPECT_EQ(::chown(path.c_str(), uid, uid), 0) << path;
    }
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Target {
  const Lab& lab;
  const Bystander& bystander;
  const Place& place;
};

std::string fill(std::string text, const Target& target) {
  const std::pair<std::string, std::string> names[] = {{"{outside}", target.lab.outside()},
                                                       {"{abstract}", target.lab.abstract_name()},

                                                       {"{bystander}", target.bystander.number()},
                                                       {"{place}", target.place.path()},
                                                       {"{workspace}", target.lab.workspace()}};
  for (const auto& [name, value] : names)
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name))
      text.replace(at, name.size(), value);
  return text;
}

Seen run_weakened(const Lab& lab, const std::string& layer, bool go_on, const Words& program) {
  Words options = {"--env", "ONCELATCH_WEAKEN=" + layer, "--quick", "--self-test"};
  // At the same path inside and outside, so that every rule's path exists with either root.
  std::string home = lab.outside() + "-home";
  ::mkdir(home.c_str(), 0755);
  options.insert(options.end(), {"--home", home, "--home-inside", home});
  // Else the self-test's own attempt, which succeeds without the filter, leaves the process traced.
  if (layer == "seccomp" && go_on) options.emplace_back("--ptrace");
  if (go_on) options.insert(options.end(), {"--env", "ONCELATCH_GO_ON=1"});
  Spawn spawn = lab.spawn(options, program);
  spawn.path = ONCELATCH_WEAKENED_RUNNER;
  return run_program(spawn);
}

class Layers : public testing::TestWithParam<Launch> {};
INSTANTIATE_TEST_SUITE_P(Launches, Layers, testing::ValuesIn(possible_launches()), launch_name);

TEST_P(Layers, AMissingOneIsFoundByName) {
  REQUIRE_CONFINEMENT();
  Lab lab(GetParam());
  Seen whole = run_weakened(lab, "none", false, {"/bin/echo", "ran"});
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_EQ(whole.out, "ran\n");
  for (const LayerRow& layer : layers()) {
    Seen seen = run_weakened(lab, layer.name, false, {"/bin/echo", "ran"});
    EXPECT_EQ(seen.code, kRefused) << layer.name << seen.err;
    EXPECT_EQ(seen.out, "") << layer.name;
    EXPECT_NE(seen.err.find("self-test: " + std::string(layer.name) + ": an attempt"), std::string::npos)
        << layer.name << ": " << seen.err;
  }
}

TEST_P(Layers, TheOtherStillRefuses) {
  REQUIRE_CONFINEMENT();
  Lab lab(GetParam());
  Bystander bystander(lab.uid());
  Place place(lab.uid());
  Target target{lab, bystander, place};
  constexpr int kSessionKeyring = -3;
  ASSERT_GT(::syscall(SYS_add_key, "user", "oncelatch-layers", "x", 1, kSessionKeyring), 0);
  for (const LayerRow& layer : layers()) {
    Words program = {lab.probe()};
    for (const Still& still : layer.attempts) program.push_back(fill(still.attempt, target));
    Seen seen = run_weakened(lab, layer.name, true, program);
    EXPECT_EQ(seen.code, 0) << layer.name << seen.err;
    EXPECT_NE(seen.err.find("self-test " + std::string(layer.name) + " 0 "), std::string::npos)
        << layer.name << seen.err;
    std::map<std::string, std::string> verdicts = seen.verdicts();
    for (const Still& still : layer.attempts) {
      std::string verdict = verdicts[fill(still.attempt, target)];
      EXPECT_TRUE(still.refusals.contains(verdict)) << layer.name << " " << still.attempt << ": " << verdict;
    }
  }
}

// The words that leave a layer out are in the test's program and not in the one that ships.
TEST(Weakening, IsNotInTheShippedProgram) {
  auto holds = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_GT(text.str().size(), 10000U) << path;
    return text.str().find("ONCELATCH_WEAKEN") != std::string::npos ||
           text.str().find("ONCELATCH_GO_ON") != std::string::npos;
  };
  std::string weakened = ONCELATCH_WEAKENED_RUNNER;
  EXPECT_TRUE(holds(weakened.substr(0, weakened.rfind('/')) + "/oncelatch-exec"));
  EXPECT_FALSE(holds(ONCELATCH_EXEC));
}

}  // namespace
}  // namespace oncelatch::sandbox
