// Hundreds of prompts in a row through everything real: random timing, width (40 to 200 columns) and engine. Wrong is a
// key of ours that the program took while another row than the intended one was focused; the program's own log says so.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "tests/launcher/scratch.h"

namespace oncelatch::test {
namespace {

constexpr const char* kPolicy = R"(rules:
  - {id: yes, capability: shell, match: ["true allowed *"], effect: allow}
  - {id: no, capability: shell, match: ["true denied *"], effect: deny}
)";

// Words that make a command long enough to wrap at most widths.
std::string random_words(std::mt19937& random) {
  std::string words;
  for (auto i = random() % 14; i > 0; --i)
    words += " " + std::string(1 + random() % 17, static_cast<char>('a' + random() % 26));
  return words;
}

// The row that had the focus when the program took an Enter is the one-time row that the prompt's rule asks for. A
// person, who answers after a failed delivery, takes what is focused.
bool is_intended(const Json& key, const std::vector<std::string>& kinds, bool person) {
  const Json& prompt = key.at("prompt");
  const std::string id = prompt.is_string() ? prompt.get<std::string>() : std::string();
  const std::string kind = prompt.is_number_integer() ? kinds.at(prompt.get<std::size_t>() - 1)
                                                      : id.substr(0, id.find_first_of("0123456789"));
  const std::string row = key.value("row", "");
  const bool allows = row.rfind("Yes", 0) == 0 || row == "Allow";
  const bool denies = row.rfind("No", 0) == 0 || row == "Deny";
  return kind == "allowed" ? allows : denies || (person && allows);
}

Json make_scenario(std::mt19937& random, const std::string& engine, int prompts, std::vector<std::string>& kinds) {
  Json steps = Json::array();
  for (int i = 0; i < prompts; ++i) {
    std::string kind = random() % 2 == 0 ? "allowed" : "denied";
    kinds.push_back(kind);
    steps.push_back({{"type", "prompt"},
                     {"tool", "shell"},
                     {"id", engine == "v2" ? Json(kind + std::to_string(i)) : Json("auto")},
                     {"command", "true " + kind + " " + std::to_string(i) + random_words(random)}});
  }
  return {{"engine", engine},
          {"seed", random() % 100000},
          {"frame_ms", {5, 40}},
          {"key_log", "keys.jsonl"},
          {"steps", steps}};
}

std::size_t resident_kib(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::strtoul(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

// The front end's child that is oncelatch itself.
int supervisor_of(int front_end) {
  for (const ProcessLine& one : process_tree(front_end)) {
    if (one.pid != front_end && one.command.rfind("oncelatch run", 0) == 0) return one.pid;
  }
  return 0;
}

class Soak : public ::testing::TestWithParam<std::string> {};

TEST_P(Soak, NoKeyGoesToAWrongRow) {
  const char* given = std::getenv("ONCELATCH_SEED");
  unsigned seed = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
  const char* count = std::getenv("ONCELATCH_SOAK_PROMPTS");
  int prompts = count != nullptr ? std::atoi(count) : 250;
  SCOPED_TRACE("ONCELATCH_SEED=" + std::to_string(seed));
  RecordProperty("seed", static_cast<int>(seed));
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);

  Scratch scratch;
  scratch.write("policy.yaml", kPolicy);
  std::vector<std::string> kinds;
  scratch.scenario(make_scenario(random, GetParam(), prompts, kinds));
  winsize size{static_cast<unsigned short>(24 + random() % 30), static_cast<unsigned short>(40 + random() % 161), 0, 0};
  int keyboard_end = -1;
  int tty_end = -1;
  ASSERT_EQ(::openpty(&keyboard_end, &tty_end, nullptr, nullptr, &size), 0);
  Fd keyboard(keyboard_end);
  Fd tty(tty_end);
  Spawn spawn;
  spawn.path = program("oncelatch");
  spawn.argv = scratch.run_arguments();
  spawn.argv.insert(spawn.argv.begin(), "oncelatch");
  spawn.environment = scratch.environment();
  spawn.directory = scratch.path("repository");
  spawn.keep = {{0, tty.get()}, {1, tty.get()}, {2, tty.get()}};
  spawn.new_session = true;
  Process run = std::move(*start(spawn));
  tty.reset();

  std::string events;
  std::size_t early = 0;
  std::size_t late = 0;
  std::map<std::string, int> outcomes;
  std::size_t seen = 0;
  auto drain = [&] {
    pollfd one{keyboard.get(), POLLIN, 0};
    char buffer[65536];
    while (::poll(&one, 1, 20) > 0 && ::read(keyboard.get(), buffer, sizeof buffer) > 0) {
    }
  };
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(600);
  for (;;) {
    drain();
    Result<std::optional<ExitStatus>> ended = run.poll();
    if (!ended || *ended) break;
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "hangs after " << seen << " prompts\n"
                                                          << scratch.read("events.jsonl");
    std::vector<Json> all = scratch.events();
    std::size_t done = 0;
    outcomes.clear();
    for (const Json& event : all) {
      if (event.value("event", "") != "prompt_ended") continue;
      ++done;
      ++outcomes[event.value("outcome", "")];
    }
    if (done == seen) continue;
    // A prompt whose delivery failed stays for the person: this one takes what is focused.
    if (outcomes["failed"] > 0 && all.back().value("outcome", "") == "failed") (void)!::write(keyboard.get(), "\r", 1);
    seen = done;
    int supervisor = supervisor_of(run.pid());
    if (seen >= 20 && early == 0) early = resident_kib(supervisor);
    if (seen >= 20) late = std::max(late, resident_kib(supervisor));
    if (seen % 3 == 0) {
      size.ws_col = static_cast<unsigned short>(40 + random() % 161);
      ::ioctl(keyboard.get(), TIOCSWINSZ, &size);
    }
  }

  int persistent = 0;
  int decided = 0;
  int enters = 0;
  for (const Json& line : json_lines(scratch.read("repository/keys.jsonl"))) {
    if (line.value("key", "") == "enter" && line.value("screen", "") == "panel") {
      ++enters;
      EXPECT_TRUE(is_intended(line, kinds, outcomes["failed"] > 0)) << line;
    }
    if (!line.contains("decided")) continue;
    ++decided;
    if (line.value("option", "").find("always") != std::string::npos) ++persistent;
  }
  EXPECT_EQ(enters, prompts);
  const Json report = scratch.report();
  for (const Json& prompt : report.at("prompts")) {
    std::string outcome = prompt.value("outcome", "");
    EXPECT_TRUE(outcome == "confirmed" || outcome == "failed" || outcome == "elsewhere") << prompt;
    EXPECT_NE(outcome, "contradicted") << prompt;
  }
  EXPECT_EQ(report.at("prompts").size(), static_cast<std::size_t>(prompts)) << "a prompt was lost";
  EXPECT_EQ(decided, prompts);
  EXPECT_EQ(persistent, 0) << "a key landed on a row that trusts for good";
  EXPECT_GE(outcomes["confirmed"], prompts * 9 / 10) << ::testing::PrintToString(outcomes);
  EXPECT_LE(late, early + early / 4 + 1024) << "memory grows: " << early << " KiB, then " << late << " KiB";
  std::printf("%s: %d prompts, confirmed %d, failed %d, elsewhere %d; supervisor %zu -> %zu KiB\n", GetParam().c_str(),
              prompts, outcomes["confirmed"], outcomes["failed"], outcomes["elsewhere"], early, late);
}
INSTANTIATE_TEST_SUITE_P(Engines, Soak, ::testing::Values("v2", "v3"));

}  // namespace
}  // namespace oncelatch::test
