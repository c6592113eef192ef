// The mirror's inside: open prompts, the one slot, and what each event does to them.
//
// seen -> (ask) appearing -> waiting for a person -> delivering -> confirming -> ended; allow, deny and unattended asks
// go straight to delivering. Ownership, threads, failure: as mirror.h.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "elicitation/delivery.h"
#include "elicitation/mirror.h"
#include "elicitation/open_prompts.h"
#include "elicitation/recorder_file.h"

namespace oncelatch::elicitation {

struct Slot {
  enum class Stage { appearing, waiting, delivering, confirming };
  OpenPrompt* prompt = nullptr;
  Stage stage = Stage::appearing;
  Nanoseconds deadline{0};   // of appearing and confirming
  Nanoseconds next_look{0};  // appearing
  std::string last_why;      // appearing: why the screen doesn't show it
  policy::Verdict verdict = policy::Verdict::decline;
  policy::Decider decider = policy::Decider::nobody;
  std::string shown_sha256;
  std::unique_ptr<Delivery> delivery;
};

struct Mirror::State {
  State(MirrorSetup with, RecorderFile file) : setup(std::move(with)), recorder(std::move(file)) {}

  MirrorSetup setup;
  RecorderFile recorder;
  OpenPrompts prompts;
  std::optional<Slot> slot;
  std::deque<RecorderEvent> events;  // read, not yet acted on
  bool more_to_read = false;
  bool record_in_doubt = false;  // a line was unreadable or too long, or a request was forgotten; stays so
  bool stopped = false;
  bool within_tick = false;
  unsigned long next_number = 1;

  [[nodiscard]] Nanoseconds now() const { return setup.clock->monotonic(); }
  void handle_ready();
  void tick_slot();
  Status answer(const std::string& local_id, policy::Verdict verdict, policy::Decider decider,
                const std::string& sha256);
  void finish(const std::string& why);
  [[nodiscard]] std::optional<Nanoseconds> next_deadline() const;

 private:
  bool read_recorder();
  void handle_events();
  void on_request(PromptRequest wire);
  void on_answer(const PromptAnswer& answer);
  void on_repeated(OpenPrompt* known, const PromptRequest& wire);
  [[nodiscard]] bool answered_in_batch(const PromptRequest& wire) const;
  std::string record_decision(OpenPrompt* prompt, std::string only_terminal);
  void take_slot(OpenPrompt* prompt);
  void make_room();

  void watch_for_panel();
  void start_delivery(policy::Verdict verdict, policy::Decider decider, const std::string& sha256);
  void drive_delivery();
  Standing standing();
  Status write_down();
  void take_round(const RecorderRound& round);
  [[nodiscard]] WantedPanel wanted(const OpenPrompt& prompt) const;
  [[nodiscard]] Nanoseconds earliest_key(const OpenPrompt& prompt) const;
  [[nodiscard]] policy::Outcome outcome_in_slot(const PromptAnswer& answer) const;

  void announce(OpenPrompt* prompt, policy::Decider decider, bool waiting, const std::string& only_terminal);
  void end(OpenPrompt* prompt, policy::Outcome outcome, const std::string& option_id, const std::string& detail);
  void end_slot(policy::Outcome outcome, std::string detail);  // by value: it may be of the slot
  void stop(const std::string& reason);
};

}  // namespace oncelatch::elicitation
