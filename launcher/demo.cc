#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "base/json.h"
#include "base/process.h"
#include "base/untrusted.h"
#include "launcher/attached_client.h"
#include "launcher/commands.h"
#include "launcher/demo_scene.h"
#include "launcher/environment.h"
#include "launcher/errors.h"
#include "launcher/exit_codes.h"
#include "sandbox/enter.h"

namespace oncelatch::launcher {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr milliseconds kLimit{20'000};
constexpr milliseconds kWatchLimit{120'000};

std::string field(const Json& event, const char* key) {
  const std::string* text = json_string(event, key);
  return text != nullptr ? escape_for_display(*text, 300) : std::string();
}

std::string own_program() {
  char buffer[4096];
  ssize_t size = ::readlink("/proc/self/exe", buffer, sizeof buffer);
  return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : std::string();
}

std::string indented(const std::string& text) {
  std::string result;
  for (std::size_t start = 0; start < text.size();) {
    std::size_t end = std::min(text.find('\n', start), text.size());
    result += "      " + text.substr(start, end - start) + "\n";
    start = end + 1;
  }
  return result;
}

// Tells the story as the events come; with a watched terminal it is held back until the agent's screen is gone.
class Story {
 public:
  Story(std::vector<std::string> environment, bool hold) : environment_(std::move(environment)), hold_(hold) {}

  void line(const std::string& text) {
    if (hold_) {
      held_ += text + "\n";
      return;
    }
    fmt::print("{}\n", text);
    std::fflush(stdout);
  }

  void release() {
    hold_ = false;
    fmt::print("{}", held_);
    std::fflush(stdout);
  }

  void on_event(const Json& event) {
    std::string kind = field(event, "event");
    if (kind == "session_started") started(event);
    if (kind == "decided") decided(event);
    if (kind == "waiting_for_permission") waiting(event);
    if (kind == "prompt_ended") ended(event);
  }

  [[nodiscard]] int confirmed() const { return confirmed_; }
  [[nodiscard]] bool session_started() const { return started_; }

  // Runs this program once more, as a person in another terminal would.
  std::string as_person(std::vector<std::string> arguments) {
    Spawn spawn;
    spawn.path = own_program();
    spawn.argv = std::move(arguments);
    spawn.argv.insert(spawn.argv.begin(), "oncelatch");
    spawn.environment = environment_;
    Result<Output> output = run_bounded(std::move(spawn), std::size_t{1} << 20, milliseconds(10'000));
    return output ? output->out + output->err : output.error().message() + "\n";
  }

 private:
  void started(const Json& event) {
    started_ = true;
    line("2. The agent runs, confined, in " + field(event, "workspace") + ".");
    line("   Its terminal can be watched meanwhile: oncelatch attach " + field(event, "session") + "\n");
    line("3. It asks. Each answer is typed into the agent's own prompt, once, after the decision is on the record.");
  }

  void decided(const Json& event) {
    const Json* reasons = json_array(event, "reasons");
    std::string why;
    if (reasons != nullptr && !reasons->empty())
      why = " (rule " + field((*reasons)[0], "rule") + ": " + field((*reasons)[0], "text") + ")";
    line("   " + field(event, "title") + "\n      policy says " + field(event, "decision") + why);
  }

  void waiting(const Json& event) {
    std::string id = field(event, "id");
    line("   " + field(event, "title") + "\n      no rule decides: a person does, from another terminal");
    line("      $ oncelatch approvals list");
    line(indented(as_person({"approvals", "list"})));
    line("      $ oncelatch approvals accept " + id);
    line(indented(as_person({"approvals", "accept", id})));
  }

  void ended(const Json& event) {
    if (field(event, "outcome") == "confirmed") ++confirmed_;
    line("      " + std::string(field(event, "verdict") == "accept" ? "accepted" : "declined") +
         ", and the agent's own record says so: " + field(event, "outcome") + "\n");
  }

  std::vector<std::string> environment_;
  bool hold_;
  std::string held_;
  int confirmed_ = 0;
  bool started_ = false;
};

Result<Process> start_session(const DemoScene& scene, const std::vector<std::string>& environment, bool watch,
                              int events) {
  Fd errors(::open(scene.path("errors.txt").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0600));
  Spawn spawn;
  spawn.path = own_program();
  spawn.argv = {"oncelatch",
                "run",
                "kiro",
                "--cli-path",
                TRY(sandbox::find_companion("oncelatch-demo-agent")),
                "--workspace",
                scene.path("repository"),
                "--policy",
                scene.path("policy.yaml"),
                "--events",
                "fd:3",
                "--report",
                scene.path("report.json")};
  spawn.environment = environment;
  spawn.keep = {{3, events}};
  if (watch) spawn.keep.insert({{0, 0}, {1, 1}, {2, 2}});
  if (!watch) spawn.keep.insert({2, errors.get()});  // the story says it better
  return start(spawn);
}

// Feeds whole lines to the story until the writer closes or the limit passes.
bool follow_events(int fd, Story& story, milliseconds limit) {
  std::string buffer;
  Steady::time_point deadline = Steady::now() + limit;
  for (;;) {
    auto left = std::chrono::duration_cast<milliseconds>(deadline - Steady::now());
    pollfd one{fd, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&one, 1, static_cast<int>(left.count())) == 0) return false;
    char bytes[4096];
    ssize_t count = ::read(fd, bytes, sizeof bytes);
    if (count <= 0) return true;
    buffer.append(bytes, static_cast<std::size_t>(count));
    for (std::size_t end = buffer.find('\n'); end != std::string::npos; end = buffer.find('\n')) {
      Result<Json> event = parse_json(buffer.substr(0, end), {}, "event");
      if (event) story.on_event(*event);
      buffer.erase(0, end + 1);
    }
  }
}

bool tell_what_the_sandbox_stopped(const DemoScene& scene, Story& story) {
  bool key_safe = scene.text("repository/attempt-key.txt").find("made-up private key") == std::string::npos &&
                  scene.exists("repository/attempt-key.txt");
  bool hook_safe = !scene.exists("repository/.git/hooks/post-checkout") && scene.exists("repository/attempt-hook.txt");
  story.line("4. Then it tried two things without asking. The sandbox alone stood in the way:");
  story.line("   read the private key in the home:   " + scene.text("repository/attempt-key.txt"));
  story.line("   plant a git hook in the repository: " + scene.text("repository/attempt-hook.txt"));
  story.line(std::string("   the key was ") + (key_safe ? "not read" : "READ") + ", the hook was " +
             (hook_safe ? "not planted" : "PLANTED") + "\n");
  return key_safe && hook_safe;
}

Result<int> play(bool watch, const std::vector<std::string>& caller) {
  DemoScene scene = TRY(DemoScene::make(watch));
  std::vector<std::string> environment = scene.environment(caller);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("demo", "pipe", errno);
  Fd reading(ends[0]);
  Fd writing(ends[1]);
  Story story(environment, watch);
  story.line("oncelatch demo: an agent that nobody vouches for, in a scratch repository\n");
  story.line("1. The policy: git status and ls are allowed, git push is denied, everything else is asked.\n");
  Process session = TRY(start_session(scene, environment, watch, writing.get()));
  writing.reset();
  bool in_time = follow_events(reading.get(), story, watch ? kWatchLimit : kLimit);
  if (!in_time) (void)session.signal(SIGTERM);
  ExitStatus status = TRY(session.wait(milliseconds(16'000)));
  story.release();
  if (!story.session_started()) {
    story.line("The agent was not started, so nothing was tried. What the launcher said:\n" +
               indented(scene.lines("errors.txt")));
    return status.shell_code() == 0 ? kExitLauncher : status.shell_code();
  }
  if (status.shell_code() != 0) story.line("The session's own words:\n" + indented(scene.lines("errors.txt")));
  bool held = tell_what_the_sandbox_stopped(scene, story);
  story.line("5. The record (oncelatch audit list):");
  story.line(indented(story.as_person({"audit", "list"})));
  bool note = scene.exists("repository/NOTE.md");
  story.line(fmt::format("The agent ended with exit code {}. {} of 3 prompts answered and confirmed; NOTE.md was {}.",
                         status.shell_code(), story.confirmed(), note ? "made, as a person had allowed" : "not made"));
  story.line("Next: oncelatch doctor, then oncelatch run kiro --policy FILE in a repository of yours.");
  return in_time && held && note && story.confirmed() == 3 && status.shell_code() == 0 ? 0 : kExitLauncher;
}

}  // namespace

int demo(bool watch, const std::vector<std::string>& environment) {
  if (watch && !has_terminal())
    return report_error({"demo", "--watch", "needs a terminal", "oncelatch demo without --watch", 0});
  Result<int> code = play(watch, environment);
  return code ? *code : report_error(code.error());
}

}  // namespace oncelatch::launcher
