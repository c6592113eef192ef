#include "session.h"

#include <unistd.h>

#include <algorithm>

namespace kiro {
namespace {

constexpr std::size_t kShownLines = 20;

Lines bounded_output(const std::string& text) {
  Lines lines = split_lines(without_controls(text));
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (lines.size() <= kShownLines) return lines;
  const std::string more = "… " + std::to_string(lines.size() - kShownLines) + " more lines";
  lines.resize(kShownLines);
  lines.push_back(more);
  return lines;
}

std::string outcome_name(const Answer& answer) {
  switch (answer.how) {
    case Answer::How::Selected:
      return answer.option_id;
    case Answer::How::Cancelled:
      return "cancelled";
    case Answer::How::Error:
      return "error";
    case Answer::How::Nothing:
      break;
  }
  return "none";
}

}  // namespace

// "cancelled", "error", "none", or the id of an option
Answer Session::answer_named(const std::string& how) {
  Answer answer;
  answer.how = how == "cancelled" ? Answer::How::Cancelled
               : how == "error"   ? Answer::How::Error
               : how == "none"    ? Answer::How::Nothing
                                  : Answer::How::Selected;
  if (answer.how == Answer::How::Selected) answer.option_id = how;
  return answer;
}

void Session::queue_prompt(const Json& step) {
  Prompt prompt = make_prompt(step, scenario_.style, source_);
  if (trust_all_ && prompt.kind == PromptKind::Approval) return carry_out(prompt, true);
  const long delay = number_of(step, "record_delay_ms", 0);
  if (delay > 0) {
    after(delay, [this, prompt] { record_request(prompt); });
  } else {
    record_request(prompt);
  }
  queue_.push_back(std::move(prompt));
}

void Session::record_request(const Prompt& prompt) {
  if (prompt.kind == PromptKind::Classic) return;
  if (scenario_.traffic) recorder_.to_client(session_update(session_id_, tool_call(prompt)));
  recorder_.to_client(permission_request(prompt, scenario_.style.engine, session_id_));
}

void Session::show_panel(Prompt prompt) {
  Panel panel;
  panel.show_at = monotonic_micros() + std::max(0L, number_of(prompt.step, "delay_ms", 0)) * 1000;
  panel.serial = ++serial_;
  panel.prompt = std::move(prompt);
  panel_ = std::move(panel);
  state_ = State::Panel;
  arm_panel(panel_->prompt.step);
}

// What happens while the panel waits. Each action checks that it is still the same panel.
void Session::arm_panel(const Json& step) {
  const long serial = panel_->serial;
  after(number_of(step, "delay_ms", 0), [this] { request_frame(); });
  const long withdraw_ms = number_of(step, "withdraw_after_ms", -1);
  if (withdraw_ms >= 0) {
    const std::string how = text_of(step, "withdraw", "cancelled");
    after(withdraw_ms, [this, serial, how] {
      if (panel_ && panel_->serial == serial) withdraw(how);
    });
  }
  for (const Json& action : member_of(step, "during")) {
    after(number_of(action, "after_ms", 0), [this, serial, action] {
      if (panel_ && panel_->serial == serial) run_during(action);
    });
  }
}

void Session::run_during(const Json& action) {
  if (has(action, "say")) say(action, text_of(action, "say"));
  if (has(action, "record")) record_step(member_of(action, "record"));
  if (has(action, "resize_noise_ms")) resize_noise(action, number_of(action, "resize_noise_ms", 0));
}

// Answered by Kiro's own rules: the answer follows within a millisecond, no panel.
void Session::auto_step(const Json& step) {
  const Prompt prompt = make_prompt(step, scenario_.style, source_);
  record_request(prompt);
  const long gap = std::clamp(number_of(step, "gap_ms", source_.between({0, 1})), 0L, 1000L);
  if (gap > 0) usleep(static_cast<useconds_t>(gap) * 1000);
  const std::string first = prompt.options.empty() ? "cancelled" : prompt.options.front().id;
  Answer answer = answer_named(text_of(step, "answer", first));
  Prompt plain = prompt;
  plain.consent_echo = flag_of(step, "consent_echo", false);
  if (answer.how != Answer::How::Nothing) recorder_.to_agent(permission_answer(plain, answer, scenario_.style.engine));
  log_.write({{"auto", prompt.id}, {"option", outcome_name(answer)}});
  carry_out(prompt, allows(prompt, answer));
}

// Another request takes the panel's place; with `keep_focus` the focus stays on its row.
void Session::swap_panel() {
  const Json plan = member_of(panel_->prompt.step, "swap");
  const Prompt old = panel_->prompt;
  const std::size_t row = flag_of(plan, "keep_focus", false) ? panel_->wanted.row : 0;
  const Answer answer = answer_named(text_of(plan, "record", "cancelled"));
  if (answer.how != Answer::How::Nothing) recorder_.to_agent(permission_answer(old, answer, scenario_.style.engine));
  Prompt next = make_prompt(member_of(plan, "to"), scenario_.style, source_);
  record_request(next);
  log_.write({{"swapped", old.id}, {"to", next.id}});
  show_panel(std::move(next));
  if (row < panel_->prompt.options.size()) panel_->wanted.row = row;
  torn_ = false;
  draw_now();
}

void Session::withdraw(const std::string& how) {
  log_.write({{"withdrawn", panel_->prompt.id}});
  decide(answer_named(how));
}

void Session::record_answer(const Prompt& prompt, const Answer& answer) {
  if (prompt.kind == PromptKind::Classic) return;
  const std::string wanted = text_of(prompt.step, "answer");
  const Answer recorded = wanted.empty() || wanted == "normal" ? answer : answer_named(wanted);
  if (recorded.how == Answer::How::Nothing) return;
  const Json message = permission_answer(prompt, recorded, scenario_.style.engine);
  const long delay = number_of(prompt.step, "answer_delay_ms", 0);
  if (delay <= 0) return recorder_.to_agent(message);
  after(delay, [this, message] { recorder_.to_agent(message); });
}

void Session::check_expectation(const Prompt& prompt, const Answer& answer) {
  const std::string expected = text_of(prompt.step, "expect");
  if (expected.empty() || expected == outcome_name(answer)) return;
  mismatch_ = true;
  log_.write({{"mismatch", prompt.id}, {"expected", expected}, {"got", outcome_name(answer)}});
}

void Session::decide(Answer answer) {
  const Prompt prompt = panel_->prompt;
  panel_.reset();
  torn_ = false;
  record_answer(prompt, answer);
  const bool allowed = allows(prompt, answer);
  Json entry = {{"decided", prompt.id}, {"option", outcome_name(answer)}, {"ran", allowed && prompt.runs}};
  if (!answer.text.empty()) entry["feedback"] = answer.text;
  if (!answer.trust.is_null()) entry["trust"] = text_of(answer.trust, "label");
  log_.write(entry);
  check_expectation(prompt, answer);
  progress();
  request_frame();
  state_ = State::Ready;
  carry_out(prompt, allowed);
  if (answer.how == Answer::How::Cancelled && scenario_.esc_ends_turn) cancel_outstanding();
}

void Session::carry_out(const Prompt& prompt, bool allowed) {
  if (!allowed || prompt.kind == PromptKind::Question || !prompt.runs) {
    return show_outcome(prompt, allowed, {});
  }
  if (prompt.tool == "shell" && !prompt.command.empty() && start_tool(prompt, false)) return;
  std::string text;
  int problem = 0;
  if (prompt.writes) problem = write_file(prompt.path, prompt.content, false);
  if (prompt.tool == "read") problem = read_file(prompt.path, text);
  show_outcome(prompt, problem == 0, problem == 0 ? bounded_output(text) : Lines{errno_name(problem)});
}

bool Session::start_tool(const Prompt& prompt, bool with_terminal) {
  if (!tool_.start(prompt.command, with_terminal)) return false;
  running_ = prompt;
  state_ = State::Tool;
  const long serial = ++serial_;
  after(scenario_.tool_timeout_ms, [this, serial] {
    if (state_ == State::Tool && serial == serial_) tool_.kill();
  });
  return true;
}

void Session::finish_tool() {
  const Prompt prompt = *running_;
  running_.reset();
  state_ = State::Ready;
  Lines output = bounded_output(tool_.output());
  if (tool_.status() != 0) output.push_back("exit status " + std::to_string(tool_.status()));
  log_.write({{"tool", prompt.id}, {"status", tool_.status()}});
  show_outcome(prompt, tool_.status() == 0, output);
}

void Session::show_outcome(const Prompt& prompt, bool ok, const Lines& output) {
  const bool ascii = scenario_.style.ascii;
  Lines rows = call_rows(ok ? (ascii ? "+" : "✓") : (ascii ? "x" : "✗"), prompt, scenario_.style, width());
  if (ok) append(rows, prompt.diff);
  for (const std::string& line : output) append(rows, wrap_with("  ", line, 2, width(), 0));
  if (scenario_.traffic) recorder_.to_client(session_update(session_id_, tool_done(prompt, ok)));
  emit(rows);
}

// Everything that is still open ends as cancelled, and so does the turn.
void Session::cancel_outstanding() {
  for (const Prompt& prompt : queue_) {
    Answer answer;
    answer.how = Answer::How::Cancelled;
    record_answer(prompt, answer);
    log_.write({{"decided", prompt.id}, {"option", "cancelled"}, {"ran", false}});
  }
  queue_.clear();
  step_at_ = steps_.size();
  rounds_left_ = 0;
}

}  // namespace kiro
