#include "tests/escapes/aftermath.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/escapes/text.h"

namespace oncelatch::escapes {

namespace {

constexpr const char* kNothing = "nothing";
constexpr const char* kBeside = "sh=echo x > {workspace}/beside";  // what may be promoted, so that something is

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string state_of(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return kNothing;
  std::string state = std::to_string(found.st_mode);
  char target[PATH_MAX] = {};
  if (S_ISLNK(found.st_mode) && ::readlink(path.c_str(), target, sizeof target - 1) > 0) return state + target;
  return S_ISREG(found.st_mode) ? state + " " + text_of(path) : state;
}

// One alternative of `left`: names joined by "+", of which all have to be different.
using Names = std::vector<std::string>;

std::vector<Names> names_left(const Scene& scene, const std::string& left) {
  std::vector<Names> all;
  for (const std::string& word : split_words(scene.fill(left))) {
    Names names;
    std::istringstream parts(word);
    for (std::string part; std::getline(parts, part, '+');)
      names.push_back(part.starts_with("/") ? part : scene.workspace() + "/" + part);
    all.push_back(names);
  }
  return all;
}

std::vector<Names> states_of(const std::vector<Names>& all) {
  std::vector<Names> states = all;
  for (Names& names : states)
    for (std::string& one : names) one = state_of(one);
  return states;
}

// What was only removed got through where nothing more was tried.
bool got_through(const std::vector<Names>& before, const std::vector<Names>& after, bool done) {
  auto differs = [&](const std::string& was, const std::string& is) { return is != was && (done || is != kNothing); };
  for (std::size_t i = 0; i < before.size(); ++i)
    if (std::equal(before[i].begin(), before[i].end(), after[i].begin(), differs)) return true;
  return false;
}

// `oncelatch changes apply` as the person would: 0 and 1 say that everything, or a part, is promoted.
std::string promote(const Stage& stage) {
  ChildPlan plan = stage.plan({});
  plan.argv = {"oncelatch", "changes", "apply"};
  Ended ended = Child::start(plan).finish(kLaunchLimit);
  return ended.code == 0 || ended.code == 1 ? "" : "changes apply: " + last_words(ended.err);
}

std::string change_sets(const Scene& scene) {
  return scene.fill("{home}") + "/.local/state/oncelatch/changes";
}

std::string place_in_workspace(const Stage& stage, const std::string& name) {
  const std::string place = stage.scene().workspace() + "/" + name;
  if (!stage.launcher().overlays() || stage.scene().exists(place)) return place;
  std::error_code ignored;
  for (const auto& set : std::filesystem::directory_iterator(change_sets(stage.scene()), ignored)) {
    std::string kept = set.path().string() + "/layers/upper/" + name;
    if (stage.scene().exists(kept)) return kept;
  }
  return place;
}

}  // namespace

Line try_alone(const Stage& stage, const Attempt& attempt) {
  Scene& scene = stage.scene();
  scene.renew();
  const bool overlays = stage.launcher().overlays();
  Case one = stage.current();
  one.attempts = {attempt};
  one.work = overlays ? std::vector<std::string>{kBeside} : std::vector<std::string>{};
  Stage alone(scene, stage.launcher(), one);
  const std::vector<Names> names = names_left(scene, attempt.left);
  const std::vector<Names> before = states_of(names);
  const Observed observed = alone.attempt_at_once();
  const std::string said = observed.lines.front().verdict;
  const bool done = said == "OK";
  auto open = [&](const std::string& why) { return Line{why + ": " + attempt.word, "OK", false}; };
  for (const Line& line : observed.lines)
    if (line.work && line.verdict != "OK") return open(line.label + " " + line.verdict);
  if (got_through(before, states_of(names), done)) return {attempt.word, "OK", false};
  if (!overlays) return {attempt.word, done && stage.launcher().is_none() ? "UNCHANGED" : said, false};
  if (std::string why = promote(alone); !why.empty()) return open(why);
  if (!scene.exists(scene.workspace() + "/beside")) return open("nothing is promoted");
  if (got_through(before, states_of(names), done)) return {attempt.word, "OK", false};
  return {attempt.word, done ? "UNPROMOTED" : said, false};
}

std::string state_of_tree(const std::string& directory) {
  struct stat top {};
  if (::lstat(directory.c_str(), &top) != 0) return kNothing;
  std::vector<std::string> lines;
  std::error_code ignored;
  for (std::filesystem::recursive_directory_iterator at(directory, ignored), end; at != end; at.increment(ignored)) {
    struct stat found {};
    const std::string path = at->path();
    if (::lstat(path.c_str(), &found) != 0) continue;
    if (found.st_dev != top.st_dev) at.disable_recursion_pending();
    const std::string identity = std::to_string(found.st_ino) + " " + std::to_string(found.st_uid) + " " +
                                 std::to_string(found.st_ctim.tv_sec) + "." + std::to_string(found.st_ctim.tv_nsec);
    lines.push_back(path + " " + identity + " " + (S_ISREG(found.st_mode) ? "" : state_of(path)));
  }
  std::sort(lines.begin(), lines.end());
  std::string state;
  for (const std::string& line : lines) state += line + "\n";
  return state;
}

bool made_in_workspace(const Stage& stage, const std::string& name) {
  return stage.scene().exists(place_in_workspace(stage, name));
}

std::size_t size_in_workspace(const Stage& stage, const std::string& name) {
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(place_in_workspace(stage, name), failed);
  return failed ? 0 : static_cast<std::size_t>(size);
}

}  // namespace oncelatch::escapes
