// The terminal session: does the scenario's steps, draws frames, takes keys.
//
//   Session session(scenario, options, terminal);
//   return session.run();                       // the exit code
//
// Single-threaded event loop. Borrows scenario, options and terminal, which must live longer; owns
// everything else. Every wait ends: `max_wait_ms` without progress makes the exit code 99. 97 means
// that an `expect` of a prompt was not met. Implementation: session.cc (loop, turns), session_steps.cc
// (steps), session_prompts.cc (requests and answers), session_keys.cc (keys), session_draw.cc (frames).
#pragma once

#include "key_log.h"
#include "launch_options.h"
#include "panel.h"
#include "recorder.h"
#include "screen.h"
#include "terminal.h"
#include "tool.h"
#include "view.h"
#include "wire.h"

#include <deque>
#include <functional>
#include <optional>

namespace kiro {

class Session {
 public:
  Session(const Scenario& scenario, const LaunchOptions& options, Terminal& terminal);
  int run();

 private:
  enum class State { Boot, Ready, Pause, Panel, Tool, Picker, Input, Hang, Finished };
  struct Deferred {
    Micros at = 0;
    std::function<void()> action;
  };

  // The loop and the turns.
  void start();
  void after_boot();
  void advance();
  void begin_turn(const Json& steps, const std::string& text);
  void end_turn();
  void run_due();
  void wait_and_read();
  void check_limits();
  [[nodiscard]] int wait_ms() const;
  void after(long milliseconds, std::function<void()> action);
  void progress() { progress_ = monotonic_micros(); }
  void leave(int code) { exit_code_ = code; }

  // Steps.
  void start_step(const Json& step);
  bool start_prompt_step(const std::string& type, const Json& step);
  bool start_probe_step(const std::string& type, const Json& step);
  void pause(long milliseconds);
  void say(const Json& step, const std::string& text);
  void emit(const Lines& lines);
  void record_step(const Json& step);
  void exec_step(const Json& step);
  void probe(const std::string& what, const std::string& path, int problem, std::size_t size);
  void picker_step(const Json& step);
  void resize_noise(const Json& step, long left_ms);
  void exit_step(const Json& step);
  void noise_rows();

  // Requests and answers.
  void queue_prompt(const Json& step);
  void record_request(const Prompt& prompt);
  void show_panel(Prompt prompt);
  void arm_panel(const Json& step);
  void run_during(const Json& action);
  void auto_step(const Json& step);
  void swap_panel();
  void withdraw(const std::string& how);
  void decide(Answer answer);
  void record_answer(const Prompt& prompt, const Answer& answer);
  void check_expectation(const Prompt& prompt, const Answer& answer);
  void carry_out(const Prompt& prompt, bool allowed);
  bool start_tool(const Prompt& prompt, bool with_terminal);
  void finish_tool();
  void show_outcome(const Prompt& prompt, bool ok, const Lines& output);
  void cancel_outstanding();
  static Answer answer_named(const std::string& how);

  // Keys.
  void on_key(const Key& key);
  void panel_key(const Key& key);
  void picker_key(const Key& key);
  void composer_key(const Key& key);
  void choose_picker(std::size_t row);
  void submit_typed();
  void submit_waiting();
  void submit(const std::string& text);
  void interrupt();
  void log_key(const Key& key, const char* screen);

  // Frames.
  [[nodiscard]] std::size_t width() const;
  [[nodiscard]] Lines frame() const;
  [[nodiscard]] Composer composer() const;
  [[nodiscard]] bool panel_visible() const;
  void request_frame();
  void draw_if_due();
  void draw_now();
  bool draw_torn();
  void after_frame();

  const Scenario& scenario_;
  const LaunchOptions& options_;
  Terminal& terminal_;
  Source source_;
  KeyLog log_;
  Recorder recorder_;
  Screen screen_;
  KeyDecoder decoder_;
  ToolRun tool_;

  State state_ = State::Boot;
  std::optional<int> exit_code_;
  std::string session_id_;
  Json steps_ = Json::array();
  std::size_t step_at_ = 0;
  long rounds_left_ = 0;
  std::size_t turn_at_ = 0;
  long client_id_ = 0;  // the next id of a client request
  Json prompt_id_;      // the open session/prompt
  bool mismatch_ = false;
  bool trust_all_ = false;

  std::deque<Prompt> queue_;  // recorded, not yet answered
  std::optional<Panel> panel_;
  std::optional<Prompt> running_;  // whose tool runs
  std::optional<Picker> picker_;
  std::vector<Deferred> deferred_;
  std::string typed_;                // the composer's text
  std::deque<std::string> waiting_;  // what was submitted while a turn ran
  long serial_ = 0;                  // counts panels and pauses
  long width_override_ = 0;

  Micros progress_ = 0;
  Micros busy_since_ = 0;
  Micros frame_due_ = 0;  // 0: nothing to draw
  bool torn_ = false;
};

}  // namespace kiro
