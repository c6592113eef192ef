#include "elicitation/mirror_state.h"

#include <algorithm>
#include <utility>

namespace oncelatch::elicitation {

namespace {

using policy::Decider;
using policy::Effect;
using policy::Outcome;
using policy::Verdict;

constexpr std::size_t most_shown = 100;

Outcome outcome_elsewhere(const PromptAnswer& answer) {
  return answer.kind == AnswerKind::selected ? Outcome::elsewhere : Outcome::cancelled;
}

policy::Decision question_decision() {
  policy::Decision decision;
  decision.reasons.push_back({"", Effect::ask, "", "a question, not an approval"});
  decision.floor.emplace_back("question");
  return decision;
}

}  // namespace

// ---- reading ----

void Mirror::State::handle_ready() {
  if (stopped) return;
  if (read_recorder()) handle_events();
  if (!stopped) tick_slot();
}

bool Mirror::State::read_recorder() {
  Result<RecorderRound> round = recorder.read_round();
  if (!round) {
    stop(round.error().message());
    return false;
  }
  take_round(*round);
  return true;
}

void Mirror::State::take_round(const RecorderRound& round) {
  more_to_read = round.more;
  for (const std::string& line : round.lines) {
    RecorderEvent event = read_recorder_line(line);
    if (std::holds_alternative<UnreadableLine>(event))
      record_in_doubt = true;
    else if (!std::holds_alternative<std::monostate>(event))
      events.push_back(std::move(event));
  }
  if (recorder.skipped_lines() > 0) record_in_doubt = true;
}

void Mirror::State::handle_events() {
  while (!events.empty() && !stopped) {
    RecorderEvent event = std::move(events.front());
    events.pop_front();
    if (auto* request = std::get_if<PromptRequest>(&event)) {
      on_request(std::move(*request));
    } else {
      on_answer(std::get<PromptAnswer>(event));
    }
  }
}

bool Mirror::State::answered_in_batch(const PromptRequest& wire) const {
  return std::any_of(events.begin(), events.end(), [&](const RecorderEvent& event) {
    const auto* answer = std::get_if<PromptAnswer>(&event);
    return answer != nullptr && answers(*answer, wire);
  });
}

// ---- requests ----

// The same id again: a repetition is nothing new, another request under it makes the open one doubtful.
void Mirror::State::on_repeated(OpenPrompt* known, const PromptRequest& wire) {
  if (known->id.line_sha256 == wire.line_sha256) return;
  const std::string why = "another request came with the same id";
  if (slot && slot->prompt == known) return end_slot(Outcome::failed, why);
  end(known, Outcome::failed, "", why);
}

void Mirror::State::make_room() {
  while (OpenPrompt* old = prompts.to_evict(slot ? slot->prompt : nullptr)) {
    if (!old->ended) end(old, Outcome::superseded, "", "too many open prompts");
    prompts.remove(old, now());
  }
}

void Mirror::State::on_request(PromptRequest wire) {
  if (OpenPrompt* known = prompts.find(wire)) {
    if (!known->ended) return on_repeated(known, wire);
    prompts.remove(known, now());
  }
  make_room();
  const bool already_answered = answered_in_batch(wire);
  OpenPrompt fresh;
  fresh.id = {wire.id, wire.line_sha256, "p" + std::to_string(next_number++)};
  fresh.wire = std::move(wire);
  fresh.seen_at = now();
  OpenPrompt* prompt = &prompts.add(std::move(fresh));
  if (prompts.forgot()) record_in_doubt = true;
  std::string only_terminal = prompt->wire.only_terminal;
  if (only_terminal.empty() && slot && !already_answered) only_terminal = "another prompt is being answered";
  only_terminal = record_decision(prompt, std::move(only_terminal));
  if (!only_terminal.empty()) return announce(prompt, Decider::nobody, false, only_terminal);
  // Its answer stands in the same batch and ends it; it never takes the slot.
  if (already_answered) return;
  take_slot(prompt);
}

// Returns why the prompt stays with the terminal only, empty when it doesn't.
std::string Mirror::State::record_decision(OpenPrompt* prompt, std::string only_terminal) {
  const bool seen = setup.decisions->request_seen(prompt->id, prompt->wire.request).has_value();
  prompt->decision = prompt->wire.question ? question_decision() : setup.decide(prompt->wire.request);
  Decider decider = Decider::nobody;
  if (only_terminal.empty()) {
    if (prompt->decision.effect != Effect::ask)
      decider = Decider::policy;
    else if (setup.unattended)
      decider = Decider::unattended;
  }
  const bool decided =
      setup.decisions->decided(prompt->id, prompt->wire.request, prompt->decision, decider).has_value();
  if (!seen || !decided) return "the decision could not be recorded";
  return only_terminal;
}

void Mirror::State::take_slot(OpenPrompt* prompt) {
  slot.emplace();
  slot->prompt = prompt;
  slot->deadline = now() + DeliveryTimes{}.appear;
  slot->next_look = now();
  slot->last_why = "the prompt did not appear";
  const bool asks = prompt->decision.effect == Effect::ask;
  if (asks && !setup.unattended) return;
  const Decider decider = asks ? Decider::unattended : Decider::policy;
  const Verdict verdict = prompt->decision.effect == Effect::allow ? Verdict::accept : Verdict::decline;
  start_delivery(verdict, decider, prompt->id.line_sha256);
  announce(prompt, decider, false, "");
}

// ---- answers ----

Outcome Mirror::State::outcome_in_slot(const PromptAnswer& answer) const {
  if (slot->stage != Slot::Stage::confirming || answer.kind != AnswerKind::selected) return outcome_elsewhere(answer);
  const policy::OptionKind kind =
      slot->verdict == Verdict::accept ? policy::OptionKind::allow_once : policy::OptionKind::reject_once;
  for (const policy::PermissionOption& option : slot->prompt->wire.request.options) {
    if (option.id == answer.option_id) return option.kind == kind ? Outcome::confirmed : Outcome::contradicted;
  }
  return Outcome::contradicted;
}

void Mirror::State::on_answer(const PromptAnswer& answer) {
  OpenPrompt* prompt = prompts.find_answered(answer);
  if (prompt == nullptr) return;
  if (!prompt->ended) {
    Outcome outcome = outcome_elsewhere(answer);
    if (slot && slot->prompt == prompt) {
      outcome = outcome_in_slot(answer);
      slot.reset();  // a delivery under way sends no further key
    }
    const std::string detail = answer.kind == AnswerKind::error ? "the agent reports an error" : "";
    end(prompt, outcome, answer.option_id.display(most_shown), detail);
  }
  prompts.remove(prompt, now());
}

// ---- the slot ----

WantedPanel Mirror::State::wanted(const OpenPrompt& prompt) const {
  WantedPanel result{prompt.wire.call, {}, &record_in_doubt};
  for (const policy::PermissionOption& option : prompt.wire.request.options) result.kinds.push_back(option.kind);
  return result;
}

// An answer within 25 ms is the agent's own. A prompt with the same text answered a moment ago may still stand on the
// screen.
Nanoseconds Mirror::State::earliest_key(const OpenPrompt& prompt) const {
  Nanoseconds earliest = prompt.seen_at + std::chrono::milliseconds(25);
  if (const auto same = prompts.same_answered_at(prompt)) {
    earliest = std::max(earliest, *same + std::chrono::seconds(1));
  }
  return earliest;
}

void Mirror::State::tick_slot() {
  if (!slot || within_tick) return;
  within_tick = true;
  switch (slot->stage) {
    case Slot::Stage::appearing:
      watch_for_panel();
      break;
    case Slot::Stage::waiting:
      break;
    case Slot::Stage::delivering:
      drive_delivery();
      break;
    case Slot::Stage::confirming:
      if (now() > slot->deadline) end_slot(Outcome::failed, "no matching answer in the agent's record within 10 s");
      break;
  }
  within_tick = false;
  if (!stopped && !events.empty()) handle_events();
}

void Mirror::State::watch_for_panel() {
  const Nanoseconds time = now();
  if (time > slot->deadline) {
    OpenPrompt* prompt = slot->prompt;
    const std::string why = slot->last_why;
    announce(prompt, Decider::nobody, false, why);
    if (slot && slot->prompt == prompt) end_slot(Outcome::failed, why);
    return;
  }
  const bool fresh = time < slot->prompt->seen_at + std::chrono::milliseconds(500);
  slot->next_look = time + (fresh ? DeliveryTimes{}.cadence : DeliveryTimes{}.slow_cadence);
  if (time < earliest_key(*slot->prompt)) return;
  const Result<ScreenText> text = setup.pane->capture();
  if (!text) return;
  std::string why = check_screen(read_screen(*text), wanted(*slot->prompt));
  if (why.empty()) why = prompts.why_ambiguous(*slot->prompt);
  if (!why.empty()) {
    slot->last_why = why;
    return;
  }
  slot->stage = Slot::Stage::waiting;
  announce(slot->prompt, Decider::nobody, true, "");
}

void Mirror::State::start_delivery(Verdict verdict, Decider decider, const std::string& sha256) {
  slot->stage = Slot::Stage::delivering;
  slot->verdict = verdict;
  slot->decider = decider;
  slot->shown_sha256 = sha256;
  DeliverySetup with;
  with.pane = setup.pane;
  with.gate = setup.gate;
  with.clock = setup.clock;
  with.standing = [this] { return standing(); };
  with.write_down = [this] { return write_down(); };
  slot->delivery =
      std::make_unique<Delivery>(std::move(with), wanted(*slot->prompt), verdict, earliest_key(*slot->prompt));
}

// Asked by the delivery directly before each key: reads the record once more, acts on nothing yet.
Standing Mirror::State::standing() {
  Result<RecorderRound> round = recorder.read_round();
  if (!round) return {Standing::Kind::closed, "the agent's record can't be trusted any more"};
  take_round(*round);
  // What just came is acted on first; the delivery goes on afterwards if it still may.
  if (more_to_read || !events.empty()) return {Standing::Kind::unsure, ""};
  std::string why = prompts.why_ambiguous(*slot->prompt);
  if (!why.empty()) return {Standing::Kind::closed, std::move(why)};
  return {};
}

Status Mirror::State::write_down() {
  return setup.decisions->delivering(slot->prompt->id, slot->verdict, slot->decider, slot->shown_sha256);
}

void Mirror::State::drive_delivery() {
  slot->delivery->tick();
  if (!slot->delivery->finished()) return;
  if (!slot->delivery->pressed()) return end_slot(Outcome::failed, slot->delivery->failure());
  slot->stage = Slot::Stage::confirming;
  slot->deadline = now() + std::chrono::seconds(10);
}

Status Mirror::State::answer(const std::string& local_id, Verdict verdict, Decider decider, const std::string& sha256) {
  if (stopped) return fail("approval", local_id, "mirroring has stopped", "answer in the terminal");
  if (!slot || slot->stage != Slot::Stage::waiting || slot->prompt->id.local_id != local_id) {
    return fail("approval", local_id, "it no longer waits for an answer");
  }
  start_delivery(verdict, decider, sha256);
  return {};
}

// ---- outcomes ----

void Mirror::State::announce(OpenPrompt* prompt, Decider decider, bool waiting, const std::string& only_terminal) {
  if (std::exchange(prompt->announced, true)) return;
  setup.listener->decided(prompt->id, prompt->wire.request, prompt->decision, decider, waiting, only_terminal);
}

void Mirror::State::end(OpenPrompt* prompt, Outcome outcome, const std::string& option_id, const std::string& detail) {
  prompt->ended = true;
  announce(prompt, Decider::nobody, false, "");
  (void)setup.decisions->ended(prompt->id, outcome, option_id, detail);
  setup.listener->ended(prompt->id, outcome, detail);
}

void Mirror::State::end_slot(Outcome outcome, std::string detail) {
  OpenPrompt* prompt = slot->prompt;
  slot.reset();
  end(prompt, outcome, "", detail);
}

void Mirror::State::finish(const std::string& why) {
  stopped = true;
  slot.reset();
  for (OpenPrompt& prompt : prompts.all()) {
    if (!prompt.ended) end(&prompt, Outcome::superseded, "", why);
  }
}

void Mirror::State::stop(const std::string& reason) {
  events.clear();
  finish("mirroring stopped");
  setup.listener->stopped(reason);
}

std::optional<Nanoseconds> Mirror::State::next_deadline() const {
  if (stopped) return std::nullopt;
  if (more_to_read || !events.empty()) return now();
  if (!slot) return std::nullopt;
  switch (slot->stage) {
    case Slot::Stage::appearing:
      return slot->next_look;
    case Slot::Stage::waiting:
      return std::nullopt;
    case Slot::Stage::delivering:
      return slot->delivery->next_tick();
    case Slot::Stage::confirming:
      return slot->deadline;
  }
  return std::nullopt;
}

}  // namespace oncelatch::elicitation
