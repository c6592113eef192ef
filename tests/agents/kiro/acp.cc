#include "acp.h"

#include "key_log.h"
#include "prompt.h"
#include "tool.h"
#include "wire.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <optional>

namespace kiro {
namespace {

void put(const Json& message) {
  const std::string text = one_line(message) + "\n";
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t count = write(STDOUT_FILENO, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) _exit(0);
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

void put_error(const Json& id, int code, const std::string& what) {
  put({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", what}}}});
}

class Agent {
 public:
  explicit Agent(const Scenario& scenario) : scenario_(scenario), source_(scenario.seed), log_(scenario.key_log) {}

  int run() {
    while (const std::optional<Json> message = next()) handle(*message);
    return timed_out_ ? 99 : 0;
  }

 private:
  std::optional<Json> next();
  bool fill();
  void handle(const Json& message);
  void open_session(const Json& id, const Json& params, bool fresh);
  void prompt(const Json& id, const Json& params);
  bool step(const Json& entry);
  bool ask(const Json& entry);
  Json wait_for(const Json& id);
  void act(const Prompt& prompt, bool allowed);
  void update(const Json& body) { put(session_update(session_id_, body)); }

  const Scenario& scenario_;
  Source source_;
  KeyLog log_;
  std::string buffer_;
  std::string session_id_;
  std::deque<Json> later_;  // messages that arrived while an answer was awaited
  bool cancelled_ = false;
  bool timed_out_ = false;
};

bool Agent::fill() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const int ready = poll(&input, 1, static_cast<int>(scenario_.max_wait_ms));
  if (ready == 0) timed_out_ = true;
  if (ready <= 0) return ready < 0 && errno == EINTR;
  std::array<char, 4096> bytes{};
  const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count <= 0) return false;
  buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  return true;
}

std::optional<Json> Agent::next() {
  for (;;) {
    const std::size_t end = buffer_.find('\n');
    if (end == std::string::npos) {
      if (!fill()) return std::nullopt;
      continue;
    }
    const std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    if (line.find_first_not_of(" \r\t") == std::string::npos) continue;
    Json message = Json::parse(line, nullptr, false);
    if (message.is_object()) return message;
    put_error(nullptr, -32700, "Parse error");
  }
}

void Agent::handle(const Json& message) {
  const std::string method = text_of(message, "method");
  const Json& id = member_of(message, "id");
  const Json& params = member_of(message, "params");
  if (method == "initialize") {
    put(response(id, initialize_result(scenario_.version, scenario_.style.engine), scenario_.style.engine));
  } else if (method == "session/new") {
    open_session(id, params, true);
  } else if (method == "session/load") {
    open_session(id, params, false);
  } else if (method == "session/prompt") {
    prompt(id, params);
  } else if (method == "session/cancel") {
    cancelled_ = true;
  } else if (method == "session/set_config_option" || method == "session/set_mode") {
    put(response(id, Json::object(), scenario_.style.engine));
  } else if (!method.empty() && has(message, "id")) {
    put_error(id, -32601, "Method not found");
  }
}

void Agent::open_session(const Json& id, const Json& params, bool fresh) {
  if (text_of(params, "cwd").rfind('/', 0) != 0) return put_error(id, -32602, "cwd must be an absolute path");
  const std::string made = (scenario_.style.engine == Engine::V3 ? "sess_" : "") + source_.uuid();
  session_id_ = fresh ? made : text_of(params, "sessionId", made);
  if (chdir(text_of(params, "cwd").c_str()) != 0) return put_error(id, -32602, "cwd cannot be entered");
  put(response(id, fresh ? Json{{"sessionId", session_id_}} : Json::object(), scenario_.style.engine));
}

void Agent::prompt(const Json& id, const Json& params) {
  if (session_id_.empty() || text_of(params, "sessionId") != session_id_) {
    return put_error(id, -32602, "Unknown session");
  }
  if (!has(params, "prompt")) return put_error(id, -32602, "missing field `prompt`");
  cancelled_ = false;
  for (const Json& entry : scenario_.steps) {
    if (cancelled_ || !step(entry)) break;
  }
  const char* const reason = cancelled_ ? "cancelled" : "end_turn";
  put(response(id, {{"stopReason", reason}}, scenario_.style.engine));
  while (!later_.empty()) {
    const Json message = later_.front();
    later_.pop_front();
    handle(message);
  }
}

bool Agent::step(const Json& entry) {
  const std::string type = text_of(entry, "type");
  if (type == "say") update(message_chunk(text_of(entry, "text")));
  if (type == "sleep") usleep(static_cast<useconds_t>(number_of(entry, "ms", 100)) * 1000);
  if (type == "prompt" || type == "question") return ask(entry);
  if (type == "batch") {
    for (const Json& one : member_of(entry, "prompts")) {
      if (!ask(one)) return false;
    }
  }
  if (type == "exit") _exit(static_cast<int>(number_of(entry, "code", 0)));
  if (type == "crash") abort();
  return true;
}

bool Agent::ask(const Json& entry) {
  const Prompt prompt = make_prompt(entry, scenario_.style, source_);
  update(tool_call(prompt));
  put(permission_request(prompt, scenario_.style.engine, session_id_));
  log_.write({{"shown", prompt.id}});
  const Json reply = wait_for(prompt.id);
  if (reply.is_null()) return false;
  const Json& outcome = member_of(member_of(reply, "result"), "outcome");
  Answer answer;
  answer.option_id = text_of(outcome, "optionId");
  if (text_of(outcome, "outcome") != "selected") answer.how = Answer::How::Cancelled;
  const bool allowed = allows(prompt, answer);
  const std::string option = answer.how == Answer::How::Selected ? answer.option_id : "cancelled";
  log_.write({{"decided", prompt.id}, {"option", option}, {"ran", allowed && prompt.runs}});
  act(prompt, allowed && prompt.runs && !cancelled_);
  return true;
}

// The reply to our request `id`; null at the end of input.
Json Agent::wait_for(const Json& id) {
  while (std::optional<Json> message = next()) {
    if (!has(*message, "method") && member_of(*message, "id") == id) return *message;
    if (text_of(*message, "method") == "session/cancel") {
      cancelled_ = true;
    } else if (has(*message, "method")) {
      later_.push_back(*message);
    }
  }
  return {};
}

void Agent::act(const Prompt& prompt, bool allowed) {
  if (allowed && prompt.tool == "shell") {
    ToolRun run;
    const Micros end = monotonic_micros() + scenario_.tool_timeout_ms * 1000;
    if (run.start(prompt.command, false)) {
      while (run.running() && monotonic_micros() < end) {
        run.pump();
        usleep(2000);
      }
    }
    update(message_chunk(run.output()));
  }
  if (allowed && prompt.writes) write_file(prompt.path, prompt.content, false);
  update(tool_done(prompt, allowed));
}

}  // namespace

int run_acp(const Scenario& scenario) {
  return Agent(scenario).run();
}

}  // namespace kiro
