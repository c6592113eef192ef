#include "launcher/host_git.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/digits.h"
#include "base/untrusted.h"
#include "launcher/environment.h"
#include "sandbox/narrow.h"

namespace oncelatch::launcher {

namespace {

constexpr std::size_t kMostOutput = std::size_t{64} << 20;
constexpr std::chrono::minutes kLongest{10};
constexpr std::size_t kMostDrivers = 1000;

// Over those of every file (git-config(1), GIT_CONFIG_COUNT). Reasons: what git would run or follow.
const GitSettings& fixed_settings() {
  static const GitSettings settings{
      {"core.hooksPath", "/dev/null"},          // hooks, also those of checkout and of references
      {"core.fsmonitor", "false"},              // a program that tells what changed
      {"core.untrackedCache", "false"},         // what the work tree's index says of directories
      {"core.sshCommand", "false"},             // transports; GIT_ALLOW_PROTOCOL closes them, too
      {"core.alternateRefsCommand", "false"},   // references of alternates
      {"core.attributesFile", "/dev/null"},     // drivers for every repository
      {"core.pager", "cat"},                    //
      {"core.editor", "false"},                 //
      {"commit.gpgSign", "false"},              // gpg.program
      {"log.showSignature", "false"},           // the same
      {"gc.auto", "0"},                         // maintenance, with a hook of its own
      {"maintenance.auto", "false"},            //
      {"submodule.recurse", "false"},           // submodules have settings of their own
      {"diff.ignoreSubmodules", "all"},         //
      {"status.submoduleSummary", "false"},     //
      {"worktree.useRelativePaths", "false"},   // we compare the paths that git writes
      {"core.quotePath", "false"},              // we escape what we show
      {"advice.addEmbeddedRepo", "false"},      //
      {"advice.graftFileDeprecated", "false"},  //
      {"core.commitGraph", "false"},            // what says of history and of packs what the objects don't
      {"core.multiPackIndex", "false"},         //
      {"core.ignoreStat", "false"},             // files that are taken for unchanged unseen
      {"core.splitIndex", "false"},             // an index in several files
      {"index.sparse", "false"},                //
      {"pack.packSizeLimit", "0"},              // one pack is one file
  };
  return settings;
}

// What switches off this setting of a driver; null: it runs nothing.
const char* replacement(std::string_view key) {
  auto ends = [&](std::string_view end) { return key.ends_with(end); };
  if (key.starts_with("filter.") && (ends(".smudge") || ends(".clean") || ends(".process"))) return "";
  if (key.starts_with("filter.") && ends(".required")) return "false";
  if (key.starts_with("merge.") && ends(".driver")) return "false";
  return nullptr;
}

Result<GitSettings> driver_settings(std::string_view keys) {
  GitSettings settings;
  for (std::size_t start = 0; start < keys.size();) {
    const std::size_t end = std::min(keys.find('\0', start), keys.size());
    const std::string_view key = keys.substr(start, end - start);
    start = end + 1;
    if (const char* value = replacement(key); value != nullptr) settings.emplace_back(key, value);
  }
  if (settings.size() > kMostDrivers)
    return fail("git", "filters and drivers", "the repository's settings name too many", "look into its .git/config");
  return settings;
}

// As git reads a list of paths: one in double quotes may hold every byte.
std::string quoted_path(const std::string& path) {
  std::string text;
  for (const char one : path) text += "\\" + octal(static_cast<unsigned char>(one), 3);
  return text.empty() ? text : "\"" + text + "\"";
}

std::vector<std::string> caller_part(const std::vector<std::string>& environment) {
  std::vector<std::string> all = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                  "LC_ALL=C.UTF-8",
                                  "GIT_ALLOW_PROTOCOL=none",
                                  "GIT_NO_LAZY_FETCH=1",
                                  "GIT_TERMINAL_PROMPT=0",
                                  "GIT_OPTIONAL_LOCKS=0",
                                  "GIT_NO_REPLACE_OBJECTS=1",
                                  "GIT_GRAFT_FILE=/dev/null",
                                  "GIT_LITERAL_PATHSPECS=1",
                                  "GIT_EDITOR=false",
                                  "GIT_PAGER=cat"};
  for (const char* name : {"HOME", "XDG_CONFIG_HOME", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME",
                           "GIT_COMMITTER_EMAIL", "TZ"})
    if (const std::string value = environment_value(environment, name); !value.empty())
      all.push_back(std::string(name) + "=" + value);
  return all;
}

}  // namespace

Result<HostGit> HostGit::open(const std::vector<std::string>& environment, const std::vector<std::string>& writable) {
  HostGit git;
  Result<std::string> program = find_system_program("git");
  if (!program) return fail("git", "git", "is not installed", "install it: a worktree is made by it");
  git.command_ = TRY(sandbox::narrow_git(*program, writable));
  git.environment_ = caller_part(environment);
  return git;
}

Result<Output> HostGit::start(const GitPlace& place, const std::vector<std::string>& arguments,
                              const GitSettings& settings, int input) const {
  Spawn spawn;
  if (input >= 0) spawn.keep.emplace(STDIN_FILENO, input);
  spawn.path = command_.front();
  spawn.argv = command_;
  spawn.argv.emplace_back("--no-pager");
  spawn.argv.insert(spawn.argv.end(), arguments.begin(), arguments.end());
  spawn.environment = environment_;
  auto set = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) spawn.environment.push_back(name + "=" + value);
  };
  set("GIT_DIR", place.git_dir);
  set("GIT_COMMON_DIR", place.common);
  set("GIT_WORK_TREE", place.work_tree);
  set("GIT_INDEX_FILE", place.index);
  set("GIT_OBJECT_DIRECTORY", place.objects);
  set("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted_path(place.more));
  set("GIT_SHALLOW_FILE", place.shallow);
  spawn.environment.push_back("GIT_CONFIG_COUNT=" + std::to_string(settings.size()));
  for (std::size_t i = 0; i < settings.size(); ++i) {
    spawn.environment.push_back("GIT_CONFIG_KEY_" + std::to_string(i) + "=" + settings[i].first);
    spawn.environment.push_back("GIT_CONFIG_VALUE_" + std::to_string(i) + "=" + settings[i].second);
  }
  spawn.directory = place.directory.empty() ? place.work_tree : place.directory;
  return run_bounded(std::move(spawn), kMostOutput, kLongest);
}

// Asked once for each git directory.
Result<GitSettings> HostGit::settings_for(const GitPlace& place) const {
  if (const auto known = settings_.find(place.git_dir); known != settings_.end()) return known->second;
  GitSettings settings = fixed_settings();
  const Output drivers =
      TRY(start(place, {"config", "-z", "--name-only", "--get-regexp", "^(filter|merge)\\..*"}, settings, -1));
  constexpr int kNone = 1;
  if (drivers.status.shell_code() > kNone)
    return fail("git", "settings", escape_for_display(drivers.err, 400), "git config --list shows where");
  for (std::pair<std::string, std::string>& one : TRY(driver_settings(drivers.out))) settings.push_back(std::move(one));
  if (!place.git_dir.empty()) settings_[place.git_dir] = settings;
  return settings;
}

Result<Output> HostGit::run(const GitPlace& place, const std::vector<std::string>& arguments, int input) const {
  return start(place, arguments, TRY(settings_for(place)), input);
}

Result<std::string> HostGit::ask(const GitPlace& place, const std::vector<std::string>& arguments, int input) const {
  Output output = TRY(run(place, arguments, input));
  if (output.status.shell_code() != 0) {
    std::string words = output.err.substr(0, output.err.find('\n'));
    if (words.empty()) words = "ended with " + std::to_string(output.status.shell_code());
    return fail("git", arguments.front(), escape_for_display(words, 400));
  }
  if (output.out.ends_with('\n')) output.out.pop_back();
  return std::move(output.out);
}

}  // namespace oncelatch::launcher
