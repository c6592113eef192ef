#include "headless.h"

#include "prompt.h"
#include "tool.h"

#include <unistd.h>

#include <cstdio>

namespace kiro {
namespace {

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void run_tool(const Prompt& prompt, const Scenario& scenario) {
  if (prompt.writes) write_file(prompt.path, prompt.content, false);
  if (prompt.tool != "shell") return;
  ToolRun run;
  const Micros end = monotonic_micros() + scenario.tool_timeout_ms * 1000;
  if (!run.start(prompt.command, false)) return;
  while (run.running() && monotonic_micros() < end) {
    run.pump();
    usleep(2000);
  }
  print(run.output());
}

// False: the run ends here, as in builds that need --trust-all-tools.
bool do_prompt(const Json& step, const Scenario& scenario, bool trust_all, Source& source) {
  const Prompt prompt = make_prompt(step, scenario.style, source);
  if (trust_all) {
    run_tool(prompt, scenario);
    return true;
  }
  if (scenario.headless_fails) {
    std::fputs(
        "Tool approval required but --no-interactive was specified. Use --trust-all-tools to "
        "automatically approve tools.\n",
        stderr);
    return false;
  }
  print("(denied: " + prompt.title + ")\n");
  return true;
}

}  // namespace

int run_headless(const Scenario& scenario, const LaunchOptions& options) {
  std::string text = options.prompt;
  if (text.empty()) read_all(STDIN_FILENO, text, kOutputLimit);
  Source source(scenario.seed);
  bool answered = false;
  for (const Json& step : scenario.steps) {
    const std::string type = text_of(step, "type");
    if (type == "say") {
      print(text_of(step, "text") + "\n");
      answered = true;
    }
    if (type == "prompt" && !do_prompt(step, scenario, options.trust_all, source)) return 1;
  }
  if (!answered) print("Done: " + text + "\n");
  return scenario.exit_code;
}

}  // namespace kiro
