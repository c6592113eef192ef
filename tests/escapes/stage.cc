#include "tests/escapes/stage.h"

#include <algorithm>
#include <map>

#include "base/untrusted.h"
#include "tests/escapes/aftermath.h"
#include "tests/escapes/text.h"

namespace oncelatch::escapes {

std::string last_words(const std::string& text) {
  std::string last;
  for (const std::string& line : split_lines(text))
    if (!line.empty() && line.find("try: ") == std::string::npos) last = line;
  return escape_for_display(last, 120);
}

Line got_through(const std::string& label, bool through, const std::string& refusal) {
  return {label, through ? "OK" : refusal, false};
}

std::vector<std::string> Stage::environment() const {
  std::vector<std::string> all = scene_.environment();
  for (const std::string& entry : case_.environment) {
    std::string filled = scene_.fill(entry);
    std::string name = filled.substr(0, filled.find('=') + 1);
    std::erase_if(all, [&](const std::string& other) { return other.starts_with(name); });
    all.push_back(filled);
  }
  return all;
}

ChildPlan Stage::plan(const std::vector<std::string>& program, const std::string& workspace) const {
  std::string place = workspace.empty() ? scene_.workspace() : workspace;
  ChildPlan plan;
  plan.path = launcher_.path();
  plan.argv = launcher_.command(place, case_.flags, program);
  for (std::string& word : plan.argv) word = scene_.fill(word);
  plan.environment = environment();
  plan.directory = place;
  plan.uid = scene_.uid();
  plan.terminal = holds_word(case_.flags, "terminal");
  plan.controlling = !launcher_.knows("terminal");
  if (holds_word(case_.flags, "leak")) plan.keep = scene_.leaked();
  return plan;
}

Ended Stage::run(const std::vector<std::string>& program) const {
  return Child::start(plan(program)).finish(kLaunchLimit);
}

Ended Stage::shell(const std::string& script) const {
  return run({"/bin/sh", "-c", scene_.fill(script)});
}

std::vector<std::string> Stage::probe_command() const {
  std::vector<std::string> command = {scene_.workspace() + "/probe"};
  for (const Attempt& attempt : case_.attempts) command.push_back(scene_.fill(attempt.word));
  for (const std::string& word : case_.work) command.push_back(scene_.fill(word));
  command.push_back(scene_.fill(kOrdinaryWork));
  return command;
}

Observed Stage::read_verdicts(const Ended& ended) const {
  std::map<std::string, std::string> said;
  for (const std::string& line : split_lines(ended.out)) {
    std::size_t space = line.rfind(' ');
    if (space != std::string::npos) said[line.substr(0, space)] = line.substr(space + 1);
  }
  auto answer = [&](const std::string& word) {
    auto found = said.find(word);
    return found == said.end() ? std::string() : found->second;
  };
  Observed observed;
  for (const Attempt& attempt : case_.attempts)
    observed.lines.push_back({attempt.word, answer(scene_.fill(attempt.word)), false});
  for (const std::string& word : case_.work) observed.lines.push_back({word, answer(scene_.fill(word)), true});
  observed.lines.push_back({"ordinary work", answer(scene_.fill(kOrdinaryWork)), true});
  observed.said = last_words(ended.err);
  if (!ended.in_time) observed.trouble = "not ended after 20 s";
  bool silent =
      std::all_of(observed.lines.begin(), observed.lines.end(), [](const Line& line) { return line.verdict.empty(); });
  if (silent && ended.in_time)
    observed.trouble = "code " + std::to_string(ended.code) + ": " + last_words(ended.err + ended.out);
  return observed;
}

Observed Stage::attempt() const {
  Case rest = case_;
  std::erase_if(rest.attempts, [](const Attempt& one) { return !one.left.empty(); });
  Observed observed = Stage(scene_, launcher_, rest).attempt_at_once();
  for (const Attempt& one : case_.attempts)
    if (!one.left.empty()) observed.lines.push_back(try_alone(*this, one));
  return observed;
}

Observed Stage::attempt_at_once() const {
  const std::string before = launcher_.overlays() ? state_of_tree(scene_.workspace()) : "";
  Observed observed = read_verdicts(run(probe_command()));
  if (launcher_.overlays()) {
    const bool same = state_of_tree(scene_.workspace()) == before;
    observed.lines.push_back({"the workspace stays as it is", same ? "OK" : "CHANGED", true});
  }
  return observed;
}

Line Stage::ordinary_work() const {
  Ended ended = run({scene_.workspace() + "/probe", scene_.fill(kOrdinaryWork)});
  bool done = ended.out.find(scene_.fill(kOrdinaryWork) + " OK") != std::string::npos;
  return {"ordinary work", done ? "OK" : last_words(ended.err), true};
}

}  // namespace oncelatch::escapes
