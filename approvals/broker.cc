#include "approvals/broker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "approvals/message.h"
#include "approvals/session_socket.h"
#include "approvals/waiting_cards.h"
#include "base/beneath.h"
#include "base/fd.h"

namespace oncelatch::approvals {
namespace {

constexpr std::size_t most_clients = 16;
constexpr int most_accepts = 32;   // a round
constexpr int most_requests = 16;  // a client and round
constexpr Nanoseconds patience = std::chrono::seconds(10);

struct Client {
  Fd socket;
  LineReader lines{longest_request};
  std::string out;
  Nanoseconds deadline{0};
  bool last_words = false;  // no further request; dropped once `out` is sent
  bool more = false;        // whole lines may wait in `lines`
  bool dead = false;
};

// Best effort, once, without waiting.
void say_and_drop(const Fd& socket, const std::string& line) {
  (void)!::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

struct Broker::State {
  Fd directory;
  Fd listener;
  std::string name;
  std::string session;
  const Clock* clock;
  WaitingCards cards;
  std::vector<Client> clients;

  State(Fd where, Fd socket, std::string file, std::string session_id, const Clock* time)
      : directory(std::move(where)),
        listener(std::move(socket)),
        name(std::move(file)),
        session(std::move(session_id)),
        clock(time) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { ::unlinkat(directory.get(), name.c_str(), 0); }

  void refuse(Client* client, const std::string& what) {
    client->out += error_line(what, "send one JSON object a line: {\"op\":\"list\"}");
    client->last_words = true;
  }

  void take_line(Client* client, const std::string& line, std::vector<Answer>* answers) {
    const Result<Request> request = parse_request(line);
    if (!request) return refuse(client, request.error().what);
    std::optional<Answer> answer;
    client->out += request->op == Request::Op::list ? cards.list_reply(session) : cards.answer_reply(*request, &answer);
    if (answer) answers->push_back(std::move(*answer));
    client->deadline = clock->monotonic() + patience;
  }

  // True: everything is sent.
  bool flush(Client* client) {
    while (!client->out.empty()) {
      const ssize_t sent =
          ::send(client->socket.get(), client->out.data(), client->out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) {
        client->dead = errno != EAGAIN;
        return false;
      }
      client->out.erase(0, static_cast<std::size_t>(sent));
      client->deadline = clock->monotonic() + patience;
    }
    return true;
  }

  // True: bytes came.
  static bool receive(Client* client) {
    std::array<char, 16384> bytes;  // NOLINT: filled by recv
    const ssize_t got = ::recv(client->socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) client->lines.add(std::string_view(bytes.data(), static_cast<std::size_t>(got)));
    if (got == 0) client->last_words = true;
    if (got < 0 && errno != EAGAIN && errno != EINTR) client->dead = true;
    return got > 0;
  }

  // Reads and answers until the socket is empty, the client doesn't take its reply, or its share of the round is used.
  void serve(Client* client, std::vector<Answer>* answers) {
    client->more = false;
    for (int round = 0; !client->dead; ++round) {
      if (!flush(client)) return;
      if (client->last_words) break;
      if (round == most_requests) {
        client->more = true;
        return;
      }
      const std::optional<std::string> line = client->lines.next();
      if (line)
        take_line(client, *line, answers);
      else if (client->lines.overflowed())
        refuse(client, fmt::format("a line is longer than {} bytes", longest_request));
      else if (!receive(client) && !client->last_words)
        return;
    }
    client->dead = true;
  }

  void accept_clients() {
    for (int round = 0; round < most_accepts; ++round) {
      Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) return;
      if (!same_user(socket.get())) {
        say_and_drop(socket, error_line("this session belongs to another user", "ask its user"));
      } else if (clients.size() >= most_clients) {
        say_and_drop(socket,
                     error_line(fmt::format("{} clients are connected already", most_clients), "close one of them"));
      } else {
        Client client;
        client.socket = std::move(socket);
        client.deadline = clock->monotonic() + patience;
        clients.push_back(std::move(client));
      }
    }
  }

  void drop_dead() {
    clients.erase(std::remove_if(clients.begin(), clients.end(), [](const Client& one) { return one.dead; }),
                  clients.end());
  }

  void drop_idle() {
    for (Client& client : clients) {
      if (clock->monotonic() < client.deadline) continue;
      say_and_drop(client.socket,
                   client.out.empty() ? error_line("no request came for 10 s", "connect again") : std::string());
      client.dead = true;
    }
    drop_dead();
  }
};

Broker::Broker(std::unique_ptr<State> state) : state_(std::move(state)) {}
Broker::Broker(Broker&&) noexcept = default;
Broker& Broker::operator=(Broker&&) noexcept = default;
Broker::~Broker() = default;

Result<Broker> Broker::listen(int session_dir, const std::string& name, std::string session_id, const Clock& clock) {
  if (!valid_session_id(session_id)) return fail("approvals", "session id", "isn't 1 to 64 of a-z, 0-9 and '-'");
  TRY(check_private_directory(session_dir, session_id));
  Fd directory(::fcntl(session_dir, F_DUPFD_CLOEXEC, 3));
  if (!directory) return fail_errno("approvals", session_id, errno, {}, "dup");
  Fd socket = TRY(bind_session_socket(directory.get(), name));
  return Broker(std::make_unique<State>(std::move(directory), std::move(socket), name, std::move(session_id), &clock));
}

void Broker::offer(const Card& card) {
  state_->cards.offer(card);
}

void Broker::withdraw(const std::string& local_id, const std::string& why) {
  state_->cards.withdraw(local_id, why);
}

std::vector<pollfd> Broker::poll_fds() const {
  std::vector<pollfd> fds{{state_->listener.get(), POLLIN, 0}};
  for (const Client& client : state_->clients) {
    const bool writing = !client.out.empty() || client.more;
    fds.push_back({client.socket.get(), static_cast<short>(writing ? POLLOUT : POLLIN), 0});
  }
  return fds;
}

std::vector<Answer> Broker::handle_ready() {
  std::vector<Answer> answers;
  state_->drop_idle();
  state_->accept_clients();
  for (Client& client : state_->clients) state_->serve(&client, &answers);
  state_->drop_dead();
  return answers;
}

}  // namespace oncelatch::approvals
