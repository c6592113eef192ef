// Clients that do everything wrong.
#include <sys/wait.h>

#include "tests/approvals/support.h"

namespace oncelatch::approvals::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class BrokerLimitsTest : public testing::Test {
 protected:
  RawClient connect() { return RawClient(root_.socket_path(session_one)); }
  void rounds(int count) {
    for (int round = 0; round < count; ++round) EXPECT_THAT(broker_.handle_ready(), IsEmpty());
  }
  std::size_t clients() const { return broker_.poll_fds().size() - 1; }
  void expect_serving() {
    RawClient client = connect();
    client.send(list_line());
    rounds(1);
    EXPECT_THAT(client.receive(), HasSubstr("\"ok\":true"));
  }

  SessionsRoot root_;
  ManualClock clock_;
  Broker broker_ = listen_in(root_, session_one, clock_);
};

TEST_F(BrokerLimitsTest, GarbageIsDroppedWithAnErrorLine) {
  for (const std::string& bytes :
       {std::string("\x00\xff\x1b[2J\n", 8), std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\n"),
        std::string("[]\n"), std::string("{\"op\":\"quit\"}\n"), std::string(30000, '[') + "\n",
        std::string("{\"op\":\"list\",\"op\":\"list\"}\n"), std::string("{\"op\":\"list\"} x\n"),
        std::string("{\"op\":\"answer\",\"id\":\"p1\",\"verdict\":\"allow_always\",\"shown_sha256\":\"") +
            std::string(64, 'a') + "\"}\n"}) {
    RawClient client = connect();
    client.send(bytes);
    rounds(2);
    const std::string reply = client.receive();
    EXPECT_THAT(reply, HasSubstr("\"ok\":false"));
    EXPECT_EQ(reply.find('\x1b'), std::string::npos);
    EXPECT_TRUE(client.closed());
  }
  expect_serving();
}

TEST_F(BrokerLimitsTest, OversizeLineIsDropped) {
  for (const char* end : {"", "\n"}) {
    RawClient client = connect();
    const std::string bytes = "{\"op\":\"" + std::string(longest_request, 'x') + "\"}" + end;
    std::size_t sent = 0;
    for (int round = 0; round < 100 && sent < bytes.size() && clients() + 1 > 0; ++round) {
      sent += client.send(std::string_view(bytes).substr(sent));
      rounds(1);
    }
    EXPECT_THAT(client.receive(), HasSubstr("longer than"));
    EXPECT_TRUE(client.closed());
  }
  expect_serving();
}

TEST_F(BrokerLimitsTest, LineInPiecesIsUnderstood) {
  RawClient client = connect();
  for (const char letter : list_line()) {
    client.send(std::string(1, letter));
    rounds(1);
  }
  EXPECT_THAT(client.receive(), HasSubstr("\"ok\":true"));
}

TEST_F(BrokerLimitsTest, SlowClientDoesNotHoldUpOthers) {
  broker_.offer(make_test_card("p1", std::string(200'000, 'x')));
  RawClient slow = connect();
  std::string many;
  for (int count = 0; count < 200; ++count) many += list_line();
  slow.send(many);  // 100 MB of replies, none read
  rounds(50);
  expect_serving();
  EXPECT_EQ(clients(), 2U);
  clock_.advance(std::chrono::seconds(11));
  expect_serving();
  EXPECT_TRUE(slow.closed());
}

TEST_F(BrokerLimitsTest, PipelinedRequestsAreAllAnsweredAcrossRounds) {
  RawClient client = connect();
  std::string many;
  for (int count = 0; count < 100; ++count) many += list_line();
  client.send(many);
  std::string replies;
  for (int round = 0; round < 20; ++round) {
    std::vector<pollfd> fds = broker_.poll_fds();
    if (::poll(fds.data(), fds.size(), 0) == 0) break;  // nothing may be left when poll() sees nothing to do
    rounds(1);
    replies += client.receive();
  }
  EXPECT_EQ(std::count(replies.begin(), replies.end(), '\n'), 100);
}

TEST_F(BrokerLimitsTest, SeventeenthClientIsTurnedAway) {
  std::vector<RawClient> sixteen;
  for (int count = 0; count < 16; ++count) sixteen.push_back(connect());
  rounds(1);
  EXPECT_EQ(clients(), 16U);
  RawClient one_more = connect();
  rounds(1);
  EXPECT_THAT(one_more.receive(), HasSubstr("16 clients"));
  EXPECT_TRUE(one_more.closed());
  sixteen.front().send(list_line());
  rounds(1);
  EXPECT_THAT(sixteen.front().receive(), HasSubstr("\"ok\":true"));
  sixteen.pop_back();
  rounds(1);
  expect_serving();
}

TEST_F(BrokerLimitsTest, IdleClientsAreDroppedAndMakeRoom) {
  std::vector<RawClient> sixteen;
  for (int count = 0; count < 16; ++count) sixteen.push_back(connect());
  rounds(1);
  clock_.advance(std::chrono::seconds(9));
  sixteen.front().send(list_line());             // not idle
  for (RawClient& one : sixteen) one.send(" ");  // a byte now and then is no request
  rounds(1);
  clock_.advance(std::chrono::seconds(2));
  expect_serving();
  EXPECT_FALSE(sixteen.front().closed());
  EXPECT_TRUE(sixteen.back().closed());
}

TEST_F(BrokerLimitsTest, ClientThatVanishesIsForgotten) {
  {
    RawClient client = connect();
    client.send("{\"op\":");
    rounds(1);
    EXPECT_EQ(clients(), 1U);
  }
  rounds(1);
  EXPECT_EQ(clients(), 0U);
}

TEST_F(BrokerLimitsTest, HugeCardIsListedAsAStubAndCannotBeAnswered) {
  broker_.offer(make_test_card("p1", std::string(longest_card, 'x')));
  RawClient client = connect();
  client.send(list_line());
  rounds(1);
  const Result<ListReply> list = parse_list_reply(client.receive());
  ASSERT_TRUE(list) << list.error().message();
  ASSERT_EQ(list->cards.size(), 1U);
  EXPECT_THAT(*json_string(list->cards[0], "title"), HasSubstr("too large"));
  client.send(answer_line(Request{Request::Op::answer, "p1", policy::Verdict::accept, card_digest(list->cards[0])}));
  rounds(1);
  EXPECT_THAT(client.receive(), HasSubstr("answer it in the terminal"));
}

TEST_F(BrokerLimitsTest, ManyLargeCardsStayWithinOneReply) {
  for (int count = 0; count < 12; ++count)
    broker_.offer(make_test_card("p" + std::to_string(count), std::string(300'000, 'x')));
  RawClient client = connect();
  client.send(list_line());
  std::string reply;
  for (int round = 0; round < 1000 && (reply.empty() || reply.back() != '\n'); ++round) {
    rounds(1);
    reply += client.receive();
  }
  EXPECT_LT(reply.size(), longest_reply);
  const Result<ListReply> list = parse_list_reply(reply);
  ASSERT_TRUE(list) << list.error().message();
  EXPECT_EQ(list->cards.size(), 12U);
}

// The file's mode is one layer; the peer's uid is the other, tested with the first one taken away.
TEST_F(BrokerLimitsTest, PeerOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const Card card = make_test_card("p1");
  broker_.offer(card);
  ASSERT_EQ(::chmod(root_.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((root_.path() + "/" + session_one).c_str(), 0755), 0);
  ASSERT_EQ(::chmod(root_.socket_path(session_one).c_str(), 0666), 0);
  int report[2];
  ASSERT_EQ(::pipe2(report, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    RawClient client = connect();
    if (!client.connected()) ::_exit(3);
    client.send(answer_line(Request{Request::Op::answer, "p1", policy::Verdict::accept, card.digest()}));
    pollfd ready{client.fd(), POLLIN, 0};
    ::poll(&ready, 1, 5000);
    const std::string reply = client.receive();
    (void)!::write(report[1], reply.data(), reply.size());
    ::poll(&ready, 1, 5000);  // the end comes a moment after the reply
    ::_exit(client.closed() ? 0 : 4);
  }
  ::close(report[1]);
  int status = -1;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    EXPECT_THAT(broker_.handle_ready(), IsEmpty());
    ::poll(nullptr, 0, 5);
  }
  EXPECT_EQ(status, 0);
  char bytes[512];
  const ssize_t got = ::read(report[0], bytes, sizeof(bytes));
  ::close(report[0]);
  EXPECT_THAT(std::string(bytes, got > 0 ? static_cast<std::size_t>(got) : 0), HasSubstr("another user"));
  EXPECT_EQ(clients(), 0U);
}

}  // namespace
}  // namespace oncelatch::approvals::test
