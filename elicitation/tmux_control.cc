#include "elicitation/tmux_control.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <csignal>

namespace oncelatch::elicitation {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds round_trip{1000};
constexpr milliseconds first_round_trip{5000};
constexpr std::size_t most_buffered = std::size_t{8} << 20;
constexpr std::size_t most_reply_lines = 10'000;
constexpr std::size_t most_rows = 2000;

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// "%begin 1796053779 260 1" -> "1796053779 260 1"
std::string_view guard_of(std::string_view line) {
  return line.substr(line.find(' ') + 1);
}

}  // namespace

std::string tmux_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
}

std::string tmux_argument(std::string_view text) {
  std::string result(text);
  if (!result.empty() && result.back() == ';') result.insert(result.size() - 1, "\\");
  return result;
}

std::vector<std::string> tmux_environment() {
  return {"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TERM=screen-256color", "PATH=/usr/bin:/bin", "SHELL=/bin/false"};
}

Result<TmuxControl> TmuxControl::connect(std::vector<std::string> command, std::string socket,
                                         std::vector<std::string> first) {
  TmuxControl control(std::move(command), std::move(socket));
  TRY(control.open(first, first_round_trip));
  return control;
}

Status TmuxControl::open(const std::vector<std::string>& first, milliseconds limit) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail_errno("tmux", "control client", errno);
  stream_ = Fd(ends[0]);
  const Fd theirs(ends[1]);
  Spawn spawn;
  spawn.path = command_.front();
  spawn.argv = command_;
  spawn.argv.insert(spawn.argv.end(), {"-N", "-S", socket_, "-f", "/dev/null", "-C"});  // -N: never a server of its own
  spawn.argv.insert(spawn.argv.end(), first.begin(), first.end());
  if (!first.empty()) spawn.argv.emplace_back(";");
  for (const char* word : {"attach-session", "-f", "ignore-size", "-t", "main"}) spawn.argv.emplace_back(word);
  spawn.environment = tmux_environment();
  spawn.keep = {{0, theirs.get()}, {1, theirs.get()}};
  spawn.new_session = true;
  spawn.death_signal = SIGKILL;
  client_ = TRY(oncelatch::start(spawn));
  buffer_.clear();
  taken_ = 0;
  TRY(wait_attached(steady_clock::now() + limit));
  const std::string token = "oncelatch-" + std::to_string(next_token_++);
  TRY(send_line("display-message -p " + token));
  const std::vector<TmuxReply> replies = TRY(collect(token, steady_clock::now() + limit));
  for (const TmuxReply& reply : replies) {
    if (reply.error) return broken(reply.lines.empty() ? "refused a command" : reply.lines.front());
  }
  return {};
}

// A command on standard input may overtake those of the argument list until the client is attached: nothing is sent
// before.
Status TmuxControl::wait_attached(Deadline deadline) {
  std::string before;
  for (;;) {
    std::string line = TRY(next_line(deadline));
    if (starts_with(line, "%session-changed ")) return {};
    if (starts_with(line, "%error ")) return broken(before.empty() ? "refused a command" : before);
    if (starts_with(line, "%exit")) return broken("could not attach");
    before = std::move(line);
  }
}

Status TmuxControl::reopen_if_closed() {
  if (ended_) return fail("tmux", "server", "it has ended");
  if (stream_) return {};
  return open({}, round_trip);
}

void TmuxControl::close() {
  if (client_.running()) (void)client_.signal(SIGKILL);
  client_ = Process();
  stream_.reset();
}

Failure TmuxControl::broken(const std::string& what) {
  close();
  return fail("tmux", "control client", what);
}

Status TmuxControl::send_line(const std::string& line) {
  std::string_view rest = line;
  const std::string whole = line + "\n";
  rest = whole;
  while (!rest.empty()) {
    const ssize_t sent = ::send(stream_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return broken("does not take commands");
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Status TmuxControl::fill(Deadline deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
  pollfd wait{stream_.get(), POLLIN, 0};
  const int ready = ::poll(&wait, 1, static_cast<int>(std::max<long long>(0, left.count() + 1)));
  if (ready < 0 && errno == EINTR) return {};
  if (ready <= 0) return broken("no answer in time");
  char bytes[65536];
  const ssize_t got = ::recv(stream_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (got <= 0) return broken("has ended");
  buffer_.erase(0, taken_);
  taken_ = 0;
  buffer_.append(bytes, static_cast<std::size_t>(got));
  if (buffer_.size() > most_buffered) return broken("sent a line without end");
  return {};
}

Result<std::string> TmuxControl::next_line(Deadline deadline) {
  std::size_t searched = taken_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(taken_, end - taken_);
      taken_ = end + 1;
      return line;
    }
    searched = buffer_.size() - taken_;
    if (steady_clock::now() >= deadline) return broken("no answer in time");
    TRY(fill(deadline));
  }
}

void TmuxControl::note(std::string_view line) {
  if (starts_with(line, "%exit")) {
    ended_ = true;
  } else if (starts_with(line, "%output ") || starts_with(line, "%layout-change") ||
             starts_with(line, "%pane-mode-changed") || starts_with(line, "%window-pane-changed")) {
    changed_ = true;
  }
}

Result<TmuxReply> TmuxControl::next_reply(Deadline deadline, std::optional<std::size_t> raw_rows) {
  std::string line = TRY(next_line(deadline));
  while (!starts_with(line, "%begin ")) {
    note(line);
    if (ended_) return broken("the server has ended");
    line = TRY(next_line(deadline));
  }
  const std::string guard(guard_of(line));
  TmuxReply reply;
  for (;;) {
    line = TRY(next_line(deadline));
    const bool raw = raw_rows && reply.lines.size() < *raw_rows;
    if (!raw && (line == "%end " + guard || line == "%error " + guard)) {
      reply.error = line[1] == 'e' && line[2] == 'r';
      return reply;
    }
    if (raw_rows && !raw) return broken("an answer has another size than announced");
    if (reply.lines.size() >= most_reply_lines) return broken("an answer is too long");
    reply.lines.push_back(std::move(line));
  }
}

// Replies up to the one that echoes `token`.
Result<std::vector<TmuxReply>> TmuxControl::collect(const std::string& token, Deadline deadline) {
  std::vector<TmuxReply> replies;
  for (;;) {
    TmuxReply reply = TRY(next_reply(deadline, std::nullopt));
    if (!reply.error && reply.lines.size() == 1 && reply.lines.front() == token) return replies;
    replies.push_back(std::move(reply));
  }
}

Result<std::vector<TmuxReply>> TmuxControl::ask(const std::string& commands) {
  TRY(reopen_if_closed());
  const std::string token = "oncelatch-" + std::to_string(next_token_++);
  TRY(send_line(commands + "\ndisplay-message -p " + token));
  return collect(token, steady_clock::now() + round_trip);
}

Result<TmuxCapture> TmuxControl::capture(const std::string& facts_format, const std::string& pane) {
  TRY(reopen_if_closed());
  const Deadline deadline = steady_clock::now() + round_trip;
  TRY(send_line("display-message -p -t " + pane + " '" + facts_format + "' ; capture-pane -p -t " + pane));
  const TmuxReply facts = TRY(next_reply(deadline, std::nullopt));
  if (facts.error || facts.lines.size() != 1) return broken("the pane is gone");
  std::size_t rows = 0;
  const std::string& line = facts.lines.front();
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), rows);
  if (parsed.ec != std::errc{} || rows == 0 || rows > most_rows) return broken("the pane has no size");
  TmuxReply screen = TRY(next_reply(deadline, rows));
  if (screen.error) return broken("the pane can't be read");
  return TmuxCapture{line, std::move(screen.lines)};
}

bool TmuxControl::handle_ready() {
  // Bounded, so that a flood of output can't hold the caller's loop.
  for (int rounds = 0; stream_ && rounds < 16; ++rounds) {
    pollfd wait{stream_.get(), POLLIN, 0};
    if (::poll(&wait, 1, 0) <= 0 || !fill(steady_clock::now() + milliseconds(1))) break;
    for (std::size_t end = 0; (end = buffer_.find('\n', taken_)) != std::string::npos; taken_ = end + 1) {
      note(std::string_view(buffer_).substr(taken_, end - taken_));
    }
  }
  return std::exchange(changed_, false);
}

}  // namespace oncelatch::elicitation
