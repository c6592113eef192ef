// Cases about how a launcher starts: what it reads, whom it runs, what it says.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <filesystem>

#include "tests/escapes/aftermath.h"
#include "tests/escapes/procedures.h"
#include "tests/escapes/text.h"

namespace oncelatch::escapes {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool any_below(const std::string& directory, const std::string& beginning) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored))
    if (entry.path().filename().string().starts_with(beginning)) return true;
  return false;
}

void append(Observed& observed, const Observed& more) {
  observed.lines.insert(observed.lines.end(), more.lines.begin(), more.lines.end());
}

// Swaps DIRECTORY and a link to TARGET until it is ended.
class Swapper {
 public:
  Swapper(const std::string& directory, const std::string& target) : directory_(directory) {
    pid_ = ::fork();
    if (pid_ != 0) {
      spared().insert(pid_);
      return;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::string aside = directory + ".aside";
    for (;;) {
      ::rename(directory.c_str(), aside.c_str());
      (void)!::symlink(target.c_str(), directory.c_str());
      ::usleep(300);
      ::unlink(directory.c_str());
      ::rename(aside.c_str(), directory.c_str());
      ::usleep(300);
    }
  }
  Swapper(const Swapper&) = delete;
  Swapper& operator=(const Swapper&) = delete;
  ~Swapper() {
    spared().erase(pid_);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  std::string directory_;
  pid_t pid_ = -1;
};

}  // namespace

Observed swap_component(Stage& stage) {
  Scene& scene = stage.scene();
  std::string target = scene.outside() + "/target";
  std::filesystem::remove_all(target + "/marker");
  bool reached = false;
  bool went_on = false;  // at least once: a launcher that refuses every start has shown nothing
  {
    Swapper swapper(scene.workspace() + "/.kiro", target);
    auto end = steady_clock::now() + milliseconds(4000);
    for (int i = 0; i < 200 && !reached && steady_clock::now() < end; ++i) {
      Ended ended =
          stage.shell("echo went on; for i in 1 2 3 4 5 6 7 8; do : > {workspace}/.kiro/marker; done 2>/dev/null");
      went_on = went_on || ended.out.find("went on") != std::string::npos;
      reached = scene.exists(target + "/marker");
    }
  }
  std::filesystem::remove_all(target + "/marker");
  scene.renew();
  return {{got_through("a write outside through the swapped name", reached),
           {"a start beside the swapping", went_on ? "OK" : "ECANCELED", true},
           stage.ordinary_work()},
          {},
          {},
          {}};
}

Observed start_on_pipes_for_files(Stage& stage) {
  Scene& scene = stage.scene();
  Observed observed;
  for (const char* directory : {"", "/.git"}) {
    scene.renew();
    std::string place = scene.workspace() + directory;
    std::filesystem::remove_all(place + "/.kiro");
    if (*directory == '\0') std::filesystem::remove_all(place + "/.git");
    for (const char* name :
         {"/.git", "/.kiro", "/.gitignore", "/.gitmodules", "/.oncelatch.yaml", "/config", "/commondir"}) {
      std::filesystem::remove_all(place + name);
      ::mkfifo((place + name).c_str(), 0666);
    }
    Ended ended = Child::start(stage.plan({"/bin/true"})).finish(milliseconds(10'000));
    observed.lines.push_back(got_through("hangs at FIFOs in {workspace}" + std::string(directory), !ended.in_time));
  }
  scene.renew();
  observed.lines.push_back(stage.ordinary_work());
  return observed;
}

// A command that doesn't exist, whose name would write to the terminal.
Observed hostile_name(Stage& stage) {
  Ended ended =
      stage.run({"/nonexistent/evil\x1b[2K\x1b]0;Allow?\x07\xe2\x80\xae"
                 "name"});
  std::string said = ended.out + ended.err;
  return {{got_through("raw control characters in its message", said.find('\x1b') != std::string::npos),
           got_through("a bidi override in its message", said.find("\xe2\x80\xae") != std::string::npos),
           stage.ordinary_work()},
          {},
          {},
          {}};
}

// Refused as what it is: a message about a file that "doesn't exist" would hold for a good one as well.
bool refuses_profile(const Ended& ended, bool has_line) {
  bool read = ended.err.find("no such profile") == std::string::npos;
  bool place = ended.err.find(".yaml:") != std::string::npos || ended.err.find("line ") != std::string::npos;
  return ended.code == 122 && read && (place || !has_line);
}

constexpr const char* kGoodProfile = "extends: workstation\n";

Observed broken_policy(Stage& stage) {
  struct Broken {
    const char* label;
    const char* content;  // null: a directory
    bool has_line = true;
    mode_t mode = 0644;
  };
  constexpr Broken kBroken[] = {{"an empty profile", "", false},
                                {"an open brace", "{"},
                                {"an open list", "read: [1\n"},
                                {"a wrong type", "read: 7\n"},
                                {"an unknown key", "no-such-key: 1\n"},
                                {"a tab", "\t- x\n"},
                                {"two documents", "extends: ci\n---\nextends: strict\n"},
                                {"a key twice", "extends: ci\nextends: strict\n"},
                                {"a directory", nullptr, false},
                                {"writable by everybody", kGoodProfile, false, 0666}};
  Scene& scene = stage.scene();
  Observed observed;
  std::string file = scene.outside() + "/profile.yaml";
  for (const Broken& broken : kBroken) {
    std::filesystem::remove_all(file);
    if (broken.content == nullptr)
      scene.plant_directory(file);
    else
      scene.plant_file(file, broken.content, broken.mode);
    Ended ended = stage.shell(": > {workspace}/ran");
    bool held = refuses_profile(ended, broken.has_line) && !made_in_workspace(stage, "ran");
    std::string label =
        std::string(broken.label) + " (code " + std::to_string(ended.code) + ": " + last_words(ended.err);
    observed.lines.push_back(got_through(label + ")", !held));
  }
  std::filesystem::remove_all(file);
  scene.plant_file(file, kGoodProfile);
  observed.lines.push_back(stage.ordinary_work());  // with a good one
  return observed;
}

// Nothing may be open that an empty list names: refused, or started without.
Observed with_empty_list(Stage& stage, const std::string& what) {
  Ended ended = stage.run(stage.probe_command());
  Observed observed = stage.read_verdicts(ended);
  if (ended.code == 122 && !observed.trouble.empty()) observed = {{got_through("starts", false, "122")}, {}, {}, {}};
  for (Line& line : observed.lines) line.label = what + ": " + line.label;
  return observed;
}

Observed empty_lists(Stage& stage) {
  Scene& scene = stage.scene();
  scene.plant_file(scene.outside() + "/profile.yaml",
                   "extends: workstation\nread: []\nwrite: []\ndeny: []\npass_env: []\ntoolchains: []\n");
  Observed observed = with_empty_list(stage, "on the command line");
  Case by_file = stage.current();
  by_file.flags = "profile";
  Stage with_file(scene, stage.launcher(), by_file);
  append(observed, with_empty_list(with_file, "in a profile"));
  Case plain = stage.current();
  plain.flags.clear();
  observed.lines.push_back(Stage(scene, stage.launcher(), plain).ordinary_work());
  return observed;
}

Observed provoke_retry(Stage& stage) {
  Scene& scene = stage.scene();
  Ended ended = stage.shell(
      "echo run >> {workspace}/runs; (: > {home}/.config/oncelatch/new-sandbox-off; : > .sandbox-off) 2>/dev/null; "
      "(: > {outside}/new-by-retry) 2>/dev/null; echo 'sandbox: Operation not permitted (EPERM)' >&2; exit 1");
  const std::size_t runs = size_in_workspace(stage, "runs");
  Observed observed{{got_through("a write outside by a second try", scene.exists(scene.outside() + "/new-by-retry")),
                     got_through("the command was run again", runs > 4),
                     {"the command was run", runs > 0 ? "OK" : "no trace", true},
                     {"its own exit code passes", ended.code == 1 ? "OK" : std::to_string(ended.code), true},
                     stage.ordinary_work()},
                    {},
                    {},
                    {}};
  return observed;
}

Observed preload(Stage& stage) {
  std::filesystem::remove(stage.scene().outside() + "/new-preloaded");
  Observed observed = stage.attempt();
  bool loaded = stage.scene().exists(stage.scene().outside() + "/new-preloaded");
  observed.lines.push_back(got_through("a library of the caller's environment runs outside", loaded));
  return observed;
}

Observed shell_start_up(Stage& stage) {
  Scene& scene = stage.scene();
  Observed observed = stage.attempt();
  (void)stage.run({"/bin/bash", "-c", ":"});
  observed.lines.push_back(
      got_through("a start-up file was run outside", scene.exists(scene.outside() + "/new-by-shell")));
  return observed;
}

// A git and helpers of the same name lie in the workspace, which PATH names by "." and an empty entry.
Observed relative_path(Stage& stage) {
  Scene& scene = stage.scene();
  for (const char* name : {"git", "bin/git", "tmux", "bwrap", "socat", "rg", "newuidmap", "newgidmap", "oncelatch-exec",
                           "pasta", "ip", "systemd-run"}) {
    std::string base = std::filesystem::path(name).filename();
    scene.plant_file(
        scene.workspace() + "/" + name,
        "#!/bin/sh\n: > " + scene.workspace() + "/ran-" + base + "\n: > " + scene.outside() + "/new-by-" + base + "\n",
        0755);
  }
  (void)stage.run({"git", "--version"});
  Observed observed{{got_through("the workspace's git was run", made_in_workspace(stage, "ran-git")),
                     got_through("a program of the workspace ran outside", any_below(scene.outside(), "new-by-"))},
                    {},
                    {},
                    {}};
  scene.renew();
  observed.lines.push_back(stage.ordinary_work());
  return observed;
}

// As runners read lines: "::NAME PARAMETERS::VALUE" after spaces, "##vso[…]" and "##[…]" anywhere.
bool is_runner_command(const std::string& line) {
  std::size_t start = line.find_first_not_of(" \t");
  if (start == std::string::npos) return false;
  bool colons = line.compare(start, 2, "::") == 0 && line.find("::", start + 2) != std::string::npos;
  return colons || line.find("##vso[") != std::string::npos || line.find("##[") != std::string::npos;
}

Observed commands_of_the_runner(Stage& stage) {
  constexpr const char* kLines[] = {"::add-mask::secret-word",
                                    "::stop-commands::word-of-mine",
                                    "::set-output name=a::word-b",
                                    "  ::error::indented-word",
                                    "##vso[task.setvariable variable=a]word-v",
                                    "##[command]word-c"};
  Observed observed = stage.attempt();
  std::string script = "echo 'ordinary: text'";
  for (const char* line : kLines) script += "; echo '" + std::string(line) + "'";
  Ended ended = stage.shell(script);
  std::vector<std::string> lines = split_lines(ended.out);
  for (const char* sent : kLines) {
    std::string end = std::string(sent).substr(std::string(sent).rfind("word"));
    bool obeyed = std::any_of(lines.begin(), lines.end(),
                              [&](const std::string& line) { return line.ends_with(end) && is_runner_command(line); });
    observed.lines.push_back(got_through("a line \"" + std::string(sent) + "\" on the output", obeyed));
  }
  bool text = std::find(lines.begin(), lines.end(), "ordinary: text") != lines.end();
  observed.lines.push_back({"ordinary lines pass", text ? "OK" : last_words(ended.err), true});
  return observed;
}

// The same attempts where an outer filter refuses user namespaces, as containers do: as good, or not started.
Observed in_a_container(Stage& stage) {
  Observed observed = stage.attempt();
  char self[PATH_MAX] = {};
  (void)!::readlink("/proc/self/exe", self, sizeof self - 1);
  std::string filter = std::filesystem::path(self).parent_path() / "deny_syscall";
  if (!stage.scene().exists(filter)) return observed;
  ChildPlan plan = stage.plan(stage.probe_command());
  plan.argv[0] = plan.path;
  plan.argv.insert(plan.argv.begin(), {"deny_syscall", "user-namespaces"});
  plan.path = filter;
  Ended ended = Child::start(plan).finish(kLaunchLimit);
  Observed inside = stage.read_verdicts(ended);
  if (!inside.trouble.empty() && ended.code != 0) {
    observed.lines.push_back(got_through("started without user namespaces", false, std::to_string(ended.code)));
    return observed;
  }
  Observed labelled;
  for (Line line : inside.lines) {
    line.label = "without user namespaces: " + line.label;
    labelled.lines.push_back(std::move(line));
  }
  append(observed, labelled);
  return observed;
}

}  // namespace oncelatch::escapes
