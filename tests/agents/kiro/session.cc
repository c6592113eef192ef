#include "session.h"

#include <algorithm>

namespace kiro {

Session::Session(const Scenario& scenario, const LaunchOptions& options, Terminal& terminal)
    : scenario_(scenario),
      options_(options),
      terminal_(terminal),
      source_(scenario.seed),
      log_(scenario.key_log),
      recorder_(scenario),
      screen_(terminal, scenario.synchronized_output) {}

int Session::run() {
  start();
  while (!exit_code_) {
    advance();
    run_due();
    draw_if_due();
    if (exit_code_) break;
    wait_and_read();
    check_limits();
  }
  tool_.kill();
  return *exit_code_;
}

void Session::start() {
  progress();
  const std::string uuid = source_.uuid();
  session_id_ = options_.resume_id.empty() ? uuid : options_.resume_id;
  if (scenario_.style.engine == Engine::V3 && session_id_.rfind("sess_", 0) != 0) session_id_ = "sess_" + session_id_;
  if (scenario_.traffic) {
    const Json client = {{"name", "kiro-tui"}, {"version", scenario_.version}};
    recorder_.to_agent(request(
        0, "initialize", {{"protocolVersion", 1}, {"clientCapabilities", Json::object()}, {"clientInfo", client}}));
    recorder_.to_client(
        response(0, initialize_result(scenario_.version, scenario_.style.engine), scenario_.style.engine));
    recorder_.to_agent(request(1, "session/new", {{"mcpServers", Json::array()}}));
    recorder_.to_client(response(1, {{"sessionId", session_id_}}, scenario_.style.engine));
  }
  client_id_ = 2;
  if (scenario_.start_at_bottom) screen_.start_at_bottom();
  request_frame();
  after(scenario_.boot_ms, [this] { after_boot(); });
}

void Session::after_boot() {
  request_frame();
  if (options_.trust_all && !trust_all_) {
    picker_step({{"look", "trust_all"},
                 {"title", "Warning: Kiro is running in trust all tools mode"},
                 {"rows", {"No, exit", "Yes, I accept", "Yes, and don't ask again"}},
                 {"footer", "esc to cancel · ↑↓ to navigate · ↵ to select"}});
    return;
  }
  if (scenario_.wait_input && options_.prompt.empty()) {
    state_ = State::Input;
    return submit_waiting();
  }
  begin_turn(scenario_.steps, options_.prompt);
}

void Session::begin_turn(const Json& steps, const std::string& text) {
  steps_ = steps;
  step_at_ = 0;
  rounds_left_ = std::max(0L, scenario_.repeat - 1);
  busy_since_ = monotonic_micros();
  state_ = State::Ready;
  progress();
  if (!text.empty()) emit(wrap_with("> ", text, 2, width(), 0));
  if (!scenario_.traffic) return;
  prompt_id_ = client_id_++;
  const Json block = {{"type", "text"}, {"text", text.empty() ? "go" : text}};
  recorder_.to_agent(
      request(prompt_id_, "session/prompt", {{"sessionId", session_id_}, {"prompt", Json::array({block})}}));
}

// Starts what can be started now; returns when something has to be waited for.
void Session::advance() {
  while (state_ == State::Ready && !exit_code_) {
    progress();
    if (!queue_.empty()) {
      Prompt prompt = queue_.front();
      queue_.pop_front();
      show_panel(std::move(prompt));
    } else if (step_at_ < steps_.size()) {
      start_step(steps_[step_at_++]);
    } else if (rounds_left_ > 0 && !steps_.empty()) {
      --rounds_left_;
      step_at_ = 0;
    } else {
      end_turn();
    }
  }
}

void Session::end_turn() {
  if (scenario_.traffic && !prompt_id_.is_null()) {
    recorder_.to_client(response(prompt_id_, {{"stopReason", "end_turn"}}, scenario_.style.engine));
    prompt_id_ = Json();
  }
  emit({"▸ Credits: 0.06 • Time: " + std::to_string((monotonic_micros() - busy_since_) / 1'000'000) + "s"});
  request_frame();
  const bool more = scenario_.stay || turn_at_ < scenario_.turns.size();
  state_ = more ? State::Input : State::Finished;
  if (more) return submit_waiting();
  after(scenario_.linger_ms, [this] {
    if (state_ == State::Finished) leave(mismatch_ ? 97 : scenario_.exit_code);
  });
}

void Session::after(long milliseconds, std::function<void()> action) {
  deferred_.push_back({monotonic_micros() + std::max(0L, milliseconds) * 1000, std::move(action)});
}

// An action may defer others or end the session, so the list is looked at afresh each time.
void Session::run_due() {
  for (;;) {
    const auto next = std::min_element(deferred_.begin(), deferred_.end(),
                                       [](const Deferred& a, const Deferred& b) { return a.at < b.at; });
    if (exit_code_ || next == deferred_.end() || next->at > monotonic_micros()) return;
    const std::function<void()> action = std::move(next->action);
    deferred_.erase(next);
    action();
    advance();
  }
}

int Session::wait_ms() const {
  constexpr Micros kLongest = 500'000;
  const Micros now = monotonic_micros();
  Micros until = now + kLongest;
  for (const Deferred& entry : deferred_) until = std::min(until, entry.at);
  if (frame_due_ != 0) until = std::min(until, frame_due_);
  if (decoder_.deadline() != 0) until = std::min(until, decoder_.deadline());
  if (state_ == State::Ready) return 0;
  return static_cast<int>((std::max<Micros>(0, until - now) + 999) / 1000);
}

void Session::wait_and_read() {
  const Terminal::Ready ready = terminal_.wait(tool_.fd(), wait_ms());
  if (terminal_.take_resize()) {
    if (scenario_.repaint_on_resize) screen_.repaint(frame());
    request_frame();
  }
  if (ready.input) {
    for (const Key& key : decoder_.feed(terminal_.read(), monotonic_micros())) {
      if (!exit_code_) on_key(key);
    }
  }
  for (const Key& key : decoder_.flush(monotonic_micros())) {
    if (!exit_code_) on_key(key);
  }
  if (state_ != State::Tool) return;
  tool_.pump();
  if (!tool_.running()) finish_tool();
}

void Session::check_limits() {
  if (terminal_.stop_signal() != 0) return leave(128 + terminal_.stop_signal());
  if (terminal_.closed()) return leave(129);
  if (monotonic_micros() - progress_ > scenario_.max_wait_ms * 1000) leave(99);
}

}  // namespace kiro
