#include "elicitation/tmux_pane.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "elicitation/row_expression.h"

namespace oncelatch::elicitation {

namespace {

constexpr std::size_t most_conditions = 28;  // tmux bounds the nesting of formats
const std::string facts_format =
    "#{pane_height} #{pane_width} #{pane_in_mode} #{history_size} #{pane_pid} #{pane_dead} #{window_panes}";

enum Fact : std::size_t { height, width, in_mode, history, pid, dead, panes, fact_count };

std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> result(1);
  for (const char c : line) {
    if (c == ' ') {
      result.emplace_back();
    } else {
      result.back() += c;
    }
  }
  return result;
}

std::size_t number(const std::string& text) {
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string equals(const std::string& left, const std::string& right) {
  return "#{==:" + left + "," + right + "}";
}

std::string both(const std::string& left, const std::string& right) {
  return "#{&&:" + left + "," + right + "}";
}

const char* key_name(Key key) {
  switch (key) {
    case Key::enter:
      return "Enter";
    case Key::up:
      return "Up";
    case Key::down:
      return "Down";
  }
  return "";
}

}  // namespace

Result<TmuxPane> TmuxPane::find(TmuxControl* control) {
  const std::vector<TmuxReply> replies = TRY(control->ask("display-message -p -t main: '#{pane_id} #{pane_pid}'"));
  if (replies.size() != 1 || replies[0].error || replies[0].lines.size() != 1) return fail("tmux", "pane", "not found");
  const std::vector<std::string> facts = words(replies[0].lines[0]);
  if (facts.size() != 2 || facts[0].substr(0, 1) != "%") return fail("tmux", "pane", "not found");
  TmuxPane pane(control);
  pane.id_ = facts[0];
  pane.pid_ = facts[1];
  return pane;
}

Result<ScreenText> TmuxPane::capture() {
  seen_ = ScreenText{};
  TmuxCapture captured = TRY(control_->capture(facts_format, id_));
  const std::vector<std::string> facts = words(captured.facts);
  if (facts.size() != fact_count || facts[pid] != pid_ || facts[dead] != "0" || facts[panes] != "1") {
    return fail("tmux", "pane", "another program runs in it");
  }
  for (std::string& row : captured.rows) {
    while (!row.empty() && row.back() == ' ') row.pop_back();
  }
  seen_.rows = std::move(captured.rows);
  seen_.columns = number(facts[width]);
  seen_.in_mode = facts[in_mode] != "0";
  history_ = facts[history];
  return seen_;
}

// Every wanted row still stands as a whole row where the last capture had it first, and nothing scrolled, resized or
// entered a mode.
std::string TmuxPane::condition(const std::vector<std::string>& must_show) const {
  std::string all = both(equals("#{pane_in_mode}", "0"), equals("#{pane_pid} #{history_size}", pid_ + " " + history_));
  all = both(
      equals("#{pane_width}x#{pane_height}", std::to_string(seen_.columns) + "x" + std::to_string(seen_.rows.size())),
      all);
  for (const std::string& row : must_show) {
    const auto first = std::find_if(seen_.rows.begin(), seen_.rows.end(),
                                    [&](const std::string& shown) { return row_expression_matches(row, shown); });
    const std::string line = std::to_string(first - seen_.rows.begin() + 1);
    all = both(equals("#{C/r:" + row_expression(row) + "}", line), all);
  }
  return all;
}

Result<bool> TmuxPane::send_key_if(const std::vector<std::string>& must_show, Key key) {
  if (must_show.empty() || must_show.size() > most_conditions || seen_.in_mode) return false;
  for (const std::string& row : must_show) {
    if (row.empty() || std::find(seen_.rows.begin(), seen_.rows.end(), row) == seen_.rows.end()) return false;
  }
  std::string keys = std::string("send-keys -t ") + id_ + " " + key_name(key);
  if (!person_input_) keys = "select-pane -e -t " + id_ + " ; " + keys + " ; select-pane -d -t " + id_;
  const std::vector<TmuxReply> replies =
      TRY(control_->ask("if-shell -F -t " + id_ + " '" + condition(must_show) + "' '" + keys +
                        " ; display-message -p sent' 'display-message -p refused'"));
  bool sent = false;
  for (const TmuxReply& reply : replies) {
    if (reply.error) return fail("tmux", "key", "the key command was refused");
    if (reply.lines.size() == 1 && reply.lines[0] == "sent") sent = true;
  }
  return sent;
}

Status TmuxPane::set_person_input(bool on) {
  const std::vector<TmuxReply> replies =
      TRY(control_->ask(std::string("select-pane ") + (on ? "-e" : "-d") + " -t " + id_));
  if (replies.size() != 1 || replies[0].error) return fail("tmux", "pane", "input can't be switched");
  person_input_ = on;
  return {};
}

}  // namespace oncelatch::elicitation
