#include "session.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace kiro {
namespace {

constexpr std::array kScripts = {
    "• 我会先查看这个目录，然后再决定下一步。需要批准吗？",
    "• سألقي نظرة على الدليل أولاً ثم أقرر الخطوة التالية.",
    "• Сначала я посмотрю каталог, потом решу. ✓ Готово — ждём.",
    "• ディレクトリを確認します（許可が必要です）。",
    "• Ich prüfe zuerst das Verzeichnis 🚀 e\xCC\x81 naïve ﬁn ∑.",
    "• นี่คือข้อความทดสอบ और यह भी एक परीक्षण है।",
};

}  // namespace

void Session::start_step(const Json& step) {
  const std::string type = text_of(step, "type");
  request_frame();
  if (start_prompt_step(type, step) || start_probe_step(type, step)) return;
  if (type == "say") {
    say(step, text_of(step, "text"));
    pause(number_of(step, "delay_ms", 0));
  } else if (type == "record") {
    record_step(step);
  } else if (type == "sleep") {
    pause(number_of(step, "ms", 100));
  } else if (type == "picker") {
    picker_step(step);
  } else if (type == "resize-noise") {
    const long time = number_of(step, "ms", 300);
    pause(time);
    resize_noise(step, time);
  } else if (type == "crash") {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
  } else if (type == "hang") {
    state_ = State::Hang;
  } else if (type == "exit") {
    exit_step(step);
  }
}

bool Session::start_prompt_step(const std::string& type, const Json& step) {
  if (type == "prompt" || type == "question" || type == "classic") {
    noise_rows();
    queue_prompt(step);
  } else if (type == "batch") {
    for (const Json& entry : member_of(step, "prompts")) queue_prompt(entry);
    if (text_of(step, "show", "fifo") == "lifo") std::reverse(queue_.begin(), queue_.end());
  } else if (type == "auto") {
    auto_step(step);
  } else {
    return false;
  }
  return true;
}

bool Session::start_probe_step(const std::string& type, const Json& step) {
  const std::string path = text_of(step, "path");
  if (type == "read") {
    std::string content;
    const int problem = read_file(path, content);
    probe("read", path, problem, content.size());
  } else if (type == "write") {
    const std::string content = text_of(step, "content", "written by the stand-in\n");
    probe("write", path, write_file(path, content, flag_of(step, "append", false)), content.size());
  } else if (type == "exec") {
    exec_step(step);
  } else {
    return false;
  }
  return true;
}

void Session::pause(long milliseconds) {
  if (milliseconds <= 0) return;
  state_ = State::Pause;
  const long serial = ++serial_;
  after(milliseconds, [this, serial] {
    if (state_ == State::Pause && serial == serial_) state_ = State::Ready;
  });
}

void Session::emit(const Lines& lines) {
  screen_.emit(lines);
  request_frame();
}

// "raw": escape sequences reach the terminal; "bare": neither bullet nor indentation.
void Session::say(const Json& step, const std::string& text) {
  if (scenario_.traffic) recorder_.to_client(session_update(session_id_, message_chunk(text)));
  const std::string shown = flag_of(step, "raw", false) ? text : shown_text(text, scenario_.style);
  const bool bare = flag_of(step, "bare", false);
  emit(wrap_with(bare ? "" : "• ", shown, bare ? 0 : 2, width(), 0));
}

void Session::noise_rows() {
  for (long i = 0; i < scenario_.noise; ++i) {
    const long at = source_.between({0, static_cast<long>(kScripts.size()) - 1});
    emit(wrap_words(kScripts[static_cast<std::size_t>(at)], width()));
  }
}

// {"line": text or object} as it is, or {"dir", "msg"} in the usual wrapper, or {"op": …} on the file.
void Session::record_step(const Json& step) {
  if (has(step, "op")) {
    const std::string operation = text_of(step, "op");
    log_.write({{"record_op", operation}, {"done", recorder_.tamper(operation)}});
  }
  for (long i = 0; i < number_of(step, "repeat", 1); ++i) {
    if (has(step, "msg")) recorder_.wrapped(text_of(step, "dir", "in"), member_of(step, "msg"));
    if (!has(step, "line")) continue;
    const Json& line = member_of(step, "line");
    recorder_.raw((line.is_string() ? line.get<std::string>() : one_line(line)) +
                  (flag_of(step, "newline", true) ? "\n" : ""));
  }
}

void Session::exec_step(const Json& step) {
  const Json asked = {{"command", text_of(step, "command")}, {"id", "exec"}};
  start_tool(make_prompt(asked, scenario_.style, source_), flag_of(step, "tty", false));
}

void Session::probe(const std::string& what, const std::string& path, int problem, std::size_t size) {
  std::string text = "• " + what + " " + path + ": " + errno_name(problem);
  if (problem == 0) text += " (" + std::to_string(size) + " bytes)";
  emit(wrap_with("", text, 0, width(), 0));
  log_.write({{"probe", what}, {"path", path}, {"errno", errno_name(problem)}});
}

void Session::picker_step(const Json& step) {
  Picker picker;
  picker.look = text_of(step, "look");
  picker.title = text_of(step, "title", "Select a model");
  picker.rows = texts_of(step, "rows");
  picker.hotkeys = text_of(step, "hotkeys");
  picker.footer = text_of(step, "footer", "esc to close · ↑↓ to navigate · ↵ to select");
  if (picker.look == "batch") {
    const std::string count = std::to_string(std::max<std::size_t>(1, queue_.size()));
    picker.title = text_of(step, "title", "⚠ " + count + " tool approval(s) pending from subagents");
    picker.hotkeys = "afcx";
    picker.footer.clear();
    picker.rows = {"(a) Approve all pending", "(f) Approve all pending and auto-approve all future requests",
                   "(c) Configure individually (agent monitor)", "(x) Exit (cancel subagents)"};
  }
  picker_ = std::move(picker);
  state_ = State::Picker;
}

// Lays out for another width at every frame, as a storm of size changes does.
void Session::resize_noise(const Json& step, long left_ms) {
  if (left_ms <= 0) {
    width_override_ = 0;
    request_frame();
    return;
  }
  const long widest = static_cast<long>(terminal_.columns());
  const long low = std::clamp(number_of(step, "low", 20), 4L, widest);
  const long high = std::clamp(number_of(step, "high", widest), low, widest);
  width_override_ = source_.between({low, high});
  request_frame();
  constexpr long kEvery = 20;
  after(kEvery, [this, step, left_ms] { resize_noise(step, left_ms - kEvery); });
}

void Session::exit_step(const Json& step) {
  if (flag_of(step, "kill", false)) ::kill(getpid(), SIGKILL);
  leave(static_cast<int>(number_of(step, "code", scenario_.exit_code)));
}

}  // namespace kiro
