// What the approvals tests share: a sessions root with session directories, raw sockets, and a broker that runs in a
// thread.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "approvals/broker.h"
#include "approvals/message.h"
#include "base/beneath.h"

namespace oncelatch::approvals::test {

constexpr const char* session_one = "20261130-153000-k3f9";
constexpr const char* session_two = "20261130-153001-a1b2";
constexpr const char* session_same_end = "20261130-160000-k3f9";

class SessionsRoot {
 public:
  SessionsRoot() {
    std::string pattern = (std::filesystem::temp_directory_path() / "oncelatch-approvals-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~SessionsRoot() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  SessionsRoot(const SessionsRoot&) = delete;
  SessionsRoot& operator=(const SessionsRoot&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string socket_path(const std::string& session) const {
    return path_ + "/" + session + "/approvals.sock";
  }

  Fd make_session(const std::string& session) const {
    EXPECT_EQ(::mkdir((path_ + "/" + session).c_str(), 0700), 0);
    Result<Fd> directory = open_directory(path_ + "/" + session);
    EXPECT_TRUE(directory);
    return directory ? std::move(*directory) : Fd();
  }

 private:
  std::string path_;
};

inline Broker listen_in(const SessionsRoot& root, const std::string& session, const Clock& clock) {
  const Fd directory = root.make_session(session);
  Result<Broker> broker = Broker::listen(directory.get(), "approvals.sock", session, clock);
  if (!broker) ADD_FAILURE() << broker.error().message();
  return std::move(*broker);
}

inline Card make_test_card(const std::string& local_id, const std::string& subject = "git push") {
  Card card;
  card.local_id = local_id;
  card.agent = "kiro";
  card.capability = "shell";
  card.title = "Run " + subject;
  card.subject = subject;
  card.members = {subject};
  card.reasons = {"ask: no rule"};
  card.working_directory = "/work";
  card.since = "2026-11-30T15:30:00.000000000Z";
  return card;
}

// A client without any manners of its own.
class RawClient {
 public:
  explicit RawClient(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    EXPECT_LT(path.size(), sizeof(address.sun_path));
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    connected_ = ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  // Bytes sent, at most all.
  std::size_t send(std::string_view bytes) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  // What is there now; `closed` tells whether the other end is gone.
  std::string receive() {
    std::string all;
    char bytes[65536];
    for (;;) {
      const ssize_t got = ::recv(socket_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) closed_ = true;
      if (got <= 0) return all;
      all.append(bytes, static_cast<std::size_t>(got));
    }
  }
  [[nodiscard]] bool closed() {
    (void)receive();
    return closed_;
  }
  void half_close() { ::shutdown(socket_.get(), SHUT_WR); }

 private:
  Fd socket_;
  bool connected_ = false;
  bool closed_ = false;
};

// The supervisor's loop, for tests of the blocking client.
class BrokerLoop {
 public:
  explicit BrokerLoop(Broker broker) : broker_(std::move(broker)), thread_([this] { run(); }) {}
  ~BrokerLoop() {
    stop_ = true;
    thread_.join();
  }
  BrokerLoop(const BrokerLoop&) = delete;
  BrokerLoop& operator=(const BrokerLoop&) = delete;
  void offer(Card card) {
    const std::lock_guard<std::mutex> lock(mutex_);
    broker_.offer(std::move(card));
  }
  std::vector<Answer> answers() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return answers_;
  }

 private:
  void run() {
    while (!stop_) {
      std::vector<pollfd> fds;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (Answer& answer : broker_.handle_ready()) answers_.push_back(std::move(answer));
        fds = broker_.poll_fds();
      }
      ::poll(fds.data(), fds.size(), 5);
    }
  }

  std::mutex mutex_;
  Broker broker_;
  std::vector<Answer> answers_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace oncelatch::approvals::test
