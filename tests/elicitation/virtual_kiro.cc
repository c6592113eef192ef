#include "tests/elicitation/virtual_kiro.h"

#include <algorithm>
#include <fstream>

#include "base/json.h"
#include "base/untrusted.h"
#include "elicitation/row_expression.h"

namespace oncelatch::elicitation::testing {

namespace {

using policy::OptionKind;
using Rows = std::vector<std::string>;

std::string repeated(const std::string& text, std::size_t times) {
  std::string result;
  while (times-- > 0) result += text;
  return result;
}

std::string without_trailing_blanks(std::string row) {
  while (!row.empty() && row.back() == ' ') row.pop_back();
  return row;
}

}  // namespace

std::string request_message(const VirtualPrompt& prompt) {
  Json options = Json::array();
  for (const VirtualRow& row : prompt.rows) {
    options.push_back({{"optionId", std::string(policy::option_kind_name(row.kind))},
                       {"name", row.label},
                       {"kind", std::string(policy::option_kind_name(row.kind))}});
  }
  Json params = {{"sessionId", "s"},
                 {"toolCall", {{"toolCallId", "t-" + prompt.id}, {"title", "Running: " + prompt.command}}},
                 {"options", options}};
  if (prompt.v3) {
    params["toolCall"]["title"] = prompt.command;
    params["_meta"] = {{"kiro",
                        {{"toolId", "run_command"},
                         {"command", prompt.command},
                         {"consent", {{"capability", "shell"}, {"resource", prompt.command}}}}}};
  }
  return Json({{"jsonrpc", "2.0"}, {"id", prompt.id}, {"method", "session/request_permission"}, {"params", params}})
      .dump();
}

VirtualPrompt v2_prompt(const std::string& id, const std::string& command) {
  return {id,
          command,
          false,
          {{"Yes, single permission", OptionKind::allow_once},
           {"Trust, always allow in this session", OptionKind::allow_always},
           {"No (Tab to edit)", OptionKind::reject_once}}};
}

VirtualKiro::VirtualKiro(ManualClock* clock, std::string record_path, std::size_t columns, std::size_t lines)
    : clock_(clock), record_path_(std::move(record_path)), columns_(columns), lines_(lines) {
  draw_now();
}

void VirtualKiro::write_record(const std::string& message, const char* direction) {
  std::ofstream file(record_path_, std::ios::app);
  file << R"({"ts":1,"dir":")" << direction << R"(","msg":)" << message << "}\n";
}

void VirtualKiro::show(const VirtualPrompt& prompt, bool record) {
  open = prompt;
  focus = 0;
  if (record) write_record(request_message(prompt), "in");
  changed();
}

void VirtualKiro::answer_elsewhere(bool record) {
  if (!open) return;
  if (record)
    write_record(R"({"id":")" + open->id + R"(","result":{"outcome":{"outcome":"selected","optionId":"reject_once"}}})",
                 "out");
  transcript.push_back("\u2717 Shell " + open->command.substr(0, 10));
  open.reset();
  changed();
}

void VirtualKiro::cancel() {
  if (!open) return;
  write_record(R"({"id":")" + open->id + R"(","result":{"outcome":{"outcome":"cancelled"}}})", "out");
  open.reset();
  changed();
}

void VirtualKiro::move_focus(int by) {
  if (!open) return;
  const auto last = static_cast<int>(open->rows.size()) - 1;
  focus = static_cast<std::size_t>(std::clamp(static_cast<int>(focus) + by, 0, last));
  changed();
}

void VirtualKiro::take(Key key) {
  if (!open) return;
  if (key == Key::down) return move_focus(1);
  if (key == Key::up) return move_focus(-1);
  const OptionKind kind = open->rows[focus].kind;
  write_record(R"({"id":")" + open->id + R"(","result":{"outcome":{"outcome":"selected","optionId":")" +
                   std::string(policy::option_kind_name(kind)) + "\"}}}",
               "out");
  open.reset();
  changed();
}

void VirtualKiro::changed() {
  frames_.push_back({clock_->monotonic() + times.frame, render()});
}

void VirtualKiro::draw_now() {
  frames_.clear();
  before_ = screen_ = render();
}

void VirtualKiro::resize(std::size_t columns, std::size_t lines) {
  columns_ = columns;
  lines_ = lines;
  draw_now();
}

void VirtualKiro::run() {
  const Nanoseconds now = clock_->monotonic();
  while (!keys_.empty() && keys_.front().due <= now) {
    const Key key = keys_.front().key;
    keys_.pop_front();
    take(key);
  }
  while (!frames_.empty() && frames_.front().due <= now) {
    before_ = std::move(screen_);
    screen_ = std::move(frames_.front().rows);
    drawn_at_ = frames_.front().due;
    const double at = torn_at < 0 ? std::uniform_real_distribution<>(0, 1)(random) : torn_at;
    torn_line_ = static_cast<std::size_t>(at * static_cast<double>(screen_.size()));
    frames_.pop_front();
  }
}

std::optional<Nanoseconds> VirtualKiro::next_event() const {
  std::optional<Nanoseconds> next;
  if (!keys_.empty()) next = keys_.front().due;
  if (!frames_.empty() && (!next || frames_.front().due < *next)) next = frames_.front().due;
  return next;
}

void VirtualKiro::person_types(Key key) {
  if (!person_input) return;  // tmux drops it
  last_person_ = clock_->monotonic();
  keys_.push_back({clock_->monotonic() + times.read_delay, key});
}

Rows VirtualKiro::wrapped(const std::string& first, const std::string& indent, const std::string& text) const {
  const std::size_t width = columns_ - margin;
  Rows rows;
  std::string row = first;
  bool empty = true;  // nothing of the text stands on this row yet
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    const std::size_t need = (empty ? 0 : 1) + display_width(word);
    if (display_width(row) + need > width && !empty) {
      rows.push_back(row);
      row = indent;
      empty = true;
      continue;
    }
    while (display_width(row) + display_width(word) + (empty ? 0 : 1) > width) {
      const std::size_t room = width - display_width(row);
      rows.push_back(row + word.substr(0, room));
      word.erase(0, room);
      row = indent;
    }
    row += (empty ? "" : " ") + word;
    empty = false;
    at = end + 1;
  }
  rows.push_back(row);
  return rows;
}

Rows VirtualKiro::render() const {
  const std::string rule = repeated("\u2500", columns_);
  Rows rows = transcript;
  const auto add = [&](const Rows& more) { rows.insert(rows.end(), more.begin(), more.end()); };
  if (!open) {
    add({rule, "kiro_default \u00b7 auto", "\u203a  ask a question or describe a task \u21b5"});
  } else {
    if (open->v3) {
      add({rule, " Run a command requires approval"});
      add(wrapped(" ", " ", "shell \u2192 " + open->command));
    } else {
      add(wrapped("\u2193 ", "  ", "Shell " + open->command));
      if (call_details) add({"  \u2570 summary=list", "\u2022 Grep title", "  esc to cancel"});
      add({rule_above ? rule : "", " shell requires approval"});
    }
    for (std::size_t i = 0; i < open->rows.size(); ++i) {
      add(wrapped(i == focus ? " \u276f " : "   ", "   ", open->rows[i].label));
    }
    add({rule, " esc to close \u00b7 Tab to edit"});
  }
  if (rows.size() > lines_) rows.erase(rows.begin(), rows.end() - static_cast<std::ptrdiff_t>(lines_));
  rows.resize(lines_);
  std::transform(rows.begin(), rows.end(), rows.begin(), without_trailing_blanks);
  return rows;
}

Rows VirtualKiro::visible() const {
  if (clock_->monotonic() >= drawn_at_ + times.torn || before_.size() != screen_.size()) return screen_;
  Rows torn = screen_;
  std::copy(before_.begin() + static_cast<std::ptrdiff_t>(torn_line_), before_.end(),
            torn.begin() + static_cast<std::ptrdiff_t>(torn_line_));
  return torn;
}

Result<ScreenText> VirtualKiro::capture() {
  run();
  ++captures;
  if (capture_fails) return fail("tmux", "pane", "test");
  seen_ = {visible(), columns_, copy_mode};
  if (after_capture) after_capture();
  return seen_;
}

Result<bool> VirtualKiro::send_key_if(const std::vector<std::string>& must_show, Key key) {
  run();
  if (before_guard) before_guard();
  const Rows now = visible();
  if (copy_mode || now.size() != seen_.rows.size() || columns_ != seen_.columns) return false;
  for (const std::string& row : must_show) {
    const auto matches = [&](const std::string& shown) { return row_expression_matches(row, shown); };
    const auto then_at = std::find_if(seen_.rows.begin(), seen_.rows.end(), matches) - seen_.rows.begin();
    const auto now_at = std::find_if(now.begin(), now.end(), matches) - now.begin();
    if (then_at != now_at || now_at == static_cast<std::ptrdiff_t>(now.size())) return false;
  }
  sent.push_back(key);
  if (before_key) before_key(key);
  if (ignore_keys > 0) {
    --ignore_keys;
  } else if (std::uniform_real_distribution<>(0, 1)(random) >= lose_key) {
    take(key);
  }
  return true;
}

Status VirtualKiro::set_person_input(bool on) {
  person_input = on;
  return {};
}

}  // namespace oncelatch::elicitation::testing
