// A stand-in for the Kiro CLI: its terminal interface, recorder file, ACP and headless surfaces.
// README.md says what it imitates and how a scenario drives it.

#include "acp.h"
#include "headless.h"
#include "launch_options.h"
#include "scenario.h"
#include "session.h"

#include <cstdio>
#include <cstdlib>

namespace {

using kiro::LaunchOptions;
using kiro::Scenario;

constexpr const char* kHelp =
    "Usage: kiro-cli <COMMAND>\n\nCommands:\n"
    "  chat    Start a conversation\n"
    "  acp     Run as an ACP (Agent Client Protocol) agent over standard input and output\n"
    "  whoami  Print the signed-in account\n\nOptions:\n  -h, --help     Print help\n  -V, --version  Print version\n";
constexpr const char* kChatHelp =
    "Usage: kiro-cli chat [OPTIONS] [INPUT]...\n\nOptions:\n"
    "      --agent <NAME>            --model <ID>          --effort <LEVEL>\n"
    "      --resume-id <ID>          --tui                 --classic\n"
    "      --no-interactive          --trust-tools <LIST>  -a, --trust-all-tools\n"
    "      --agent-engine <v1|v2|v3> --v3                  --list-models --format <FORMAT>\n";
constexpr const char* kAcpHelp =
    "Run Kiro CLI as an ACP (Agent Client Protocol) agent\n\nUsage: kiro-cli acp [OPTIONS]\n\nOptions:\n"
    "      --agent <NAME>\n      --model <ID>\n      --effort <LEVEL>\n      --agent-engine <v1|v2|v3>\n"
    "      --trust-tools <LIST>\n  -a, --trust-all-tools\n  -h, --help\n";
constexpr const char* kModels =
    R"({"models":[{"model_id":"auto","model_name":"auto","description":"chosen for each task",)"
    R"("context_window_tokens":200000,"rate_multiplier":1.0,"rate_unit":"credit"},)"
    R"({"model_id":"claude-sonnet-4.5","model_name":"claude-sonnet-4.5","description":"",)"
    R"("context_window_tokens":200000,"rate_multiplier":1.3,"rate_unit":"credit"}],"default_model":"auto"})";

int print(const std::string& text, int code) {
  std::fputs(text.c_str(), stdout);
  return code;
}

int complain(const std::string& text, int code) {
  std::fputs((text + "\n").c_str(), stderr);
  return code;
}

// The command line wins over KIRO_AGENT_ENGINE, which wins over the scenario (the "setting").
void choose_engine(const LaunchOptions& options, Scenario& scenario) {
  const char* const named = std::getenv("KIRO_AGENT_ENGINE");
  std::string engine = options.engine;
  if (engine.empty() && named != nullptr) engine = named;
  if (engine == "v2") scenario.style.engine = kiro::Engine::V2;
  if (engine == "v3") scenario.style.engine = kiro::Engine::V3;
  if (std::getenv("KIRO_ASCII_MODE") != nullptr) scenario.style.ascii = true;
}

int run_chat(const Scenario& scenario, const LaunchOptions& options) {
  if (options.no_interactive) return kiro::run_headless(scenario, options);
  kiro::Terminal terminal;
  if (!terminal.enter()) {
    return complain("error: the terminal interface needs a terminal on standard input", 1);
  }
  const int code = kiro::Session(scenario, options, terminal).run();
  terminal.leave();
  return code;
}

int run(const Scenario& scenario, const LaunchOptions& options) {
  using What = LaunchOptions::What;
  switch (options.what) {
    case What::Version:
      return print("kiro-cli " + scenario.version + "\n", 0);
    case What::Help:
      return print(kHelp, 0);
    case What::ChatHelp:
      return print(kChatHelp, 0);
    case What::AcpHelp:
      return print(kAcpHelp, 0);
    case What::ListModels:
      return print(std::string(kModels) + "\n", 0);
    case What::WhoAmI:
      return print("{\"account\":null}\n", 1);
    case What::Acp:
      return kiro::run_acp(scenario);
    case What::Chat:
      return run_chat(scenario, options);
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  LaunchOptions options;
  if (!kiro::read_options(argc, argv, options)) {
    return complain(options.error, 2);
  }
  std::string error;
  Scenario scenario = kiro::find_scenario(error);
  if (!error.empty()) {
    return complain(error, 2);
  }
  choose_engine(options, scenario);
  return run(scenario, options);
}
