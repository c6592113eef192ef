#include "approvals/client.h"

#include <fstream>

#include "tests/approvals/support.h"

namespace oncelatch::approvals::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class ClientTest : public testing::Test {
 protected:
  std::vector<Waiting> list() {
    Result<std::vector<Waiting>> waiting = list_waiting(root_.path());
    if (!waiting) ADD_FAILURE() << waiting.error().message();
    return waiting ? *waiting : std::vector<Waiting>();
  }
  std::string refusal(const std::string& id) {
    const Status status = answer(root_.path(), id, policy::Verdict::accept);
    EXPECT_FALSE(status) << id;
    return status ? "" : status.error().message();
  }
  // A listening socket that isn't a broker.
  Fd listen_raw(const std::string& session) {
    (void)root_.make_session(session);
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = root_.socket_path(session);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(socket.get(), 4), 0);
    return socket;
  }

  SessionsRoot root_;
  SystemClock clock_;
};

TEST_F(ClientTest, NoSessionsIsAnEmptyList) {
  EXPECT_THAT(list(), IsEmpty());
  EXPECT_FALSE(list_waiting(root_.path() + "/missing"));
}

TEST_F(ClientTest, ListsTwoSessionsAndAnswersEach) {
  BrokerLoop one(listen_in(root_, session_one, clock_));
  BrokerLoop two(listen_in(root_, session_two, clock_));
  one.offer(make_test_card("p1"));
  one.offer(make_test_card("p2", "make"));
  two.offer(make_test_card("p1", "ls"));
  const std::vector<Waiting> waiting = list();
  ASSERT_EQ(waiting.size(), 3U);
  EXPECT_EQ(waiting[0].id, "k3f9-p1");
  EXPECT_EQ(waiting[1].id, "k3f9-p2");
  EXPECT_EQ(waiting[2].id, "a1b2-p1");
  EXPECT_EQ(waiting[2].session, session_two);
  EXPECT_EQ(*json_string(waiting[2].card, "subject"), "ls");

  EXPECT_TRUE(answer(root_.path(), "k3f9-p2", policy::Verdict::accept));
  EXPECT_TRUE(answer(root_.path(), std::string(session_two) + "/p1", policy::Verdict::decline));
  ASSERT_EQ(one.answers().size(), 1U);
  EXPECT_EQ(one.answers()[0].local_id, "p2");
  EXPECT_EQ(one.answers()[0].verdict, policy::Verdict::accept);
  EXPECT_EQ(one.answers()[0].shown_sha256, make_test_card("p2", "make").digest());
  ASSERT_EQ(two.answers().size(), 1U);
  EXPECT_EQ(two.answers()[0].verdict, policy::Verdict::decline);
  EXPECT_THAT(refusal("k3f9-p2"), HasSubstr("may have been answered"));
  EXPECT_EQ(list().size(), 1U);
}

TEST_F(ClientTest, SharedShortIdIsAmbiguousAndTheFullFormIsNot) {
  BrokerLoop one(listen_in(root_, session_one, clock_));
  BrokerLoop other(listen_in(root_, session_same_end, clock_));
  one.offer(make_test_card("p1"));
  const std::string message = refusal("k3f9-p1");
  EXPECT_THAT(message, HasSubstr("several running sessions"));
  EXPECT_THAT(message, HasSubstr(std::string(session_one) + "/p1"));
  EXPECT_THAT(one.answers(), IsEmpty());
  ASSERT_EQ(list().size(), 1U);
  EXPECT_EQ(list()[0].id, std::string(session_one) + "/p1") << "the list gives the form that works";
  EXPECT_TRUE(answer(root_.path(), list()[0].id, policy::Verdict::accept));
  EXPECT_EQ(one.answers().size(), 1U);
}

TEST_F(ClientTest, BadAndUnknownIdsAreErrorsWithANextStep) {
  BrokerLoop one(listen_in(root_, session_one, clock_));
  for (const char* id : {"", "p1", "-", "k3f9-", "-p1", "/p1", "../k3f9/p1", "k3f9-p1\n", "K3F9-p1", "toolong-p1",
                         "\x1b[2J-p1", "20261130-153000-k3f9/p1/p2"})
    EXPECT_THAT(refusal(id), HasSubstr("isn't an id")) << id;
  EXPECT_EQ(refusal("\x1b[2J").find('\x1b'), std::string::npos);
  EXPECT_THAT(refusal("zzzz-p1"), HasSubstr("no running session"));
  EXPECT_THAT(refusal("20200101-000000-zzzz/p1"), HasSubstr("no running session"));
  EXPECT_THAT(refusal("k3f9-p1"), HasSubstr("nothing with this id"));
  EXPECT_THAT(refusal("k3f9-p1"), HasSubstr("try:"));
}

TEST_F(ClientTest, StaleSocketsAndOtherEntriesAreSkipped) {
  {
    const Fd stale = listen_raw("20261130-100000-dead");  // closed: ECONNREFUSED
  }
  ASSERT_TRUE(std::filesystem::exists(root_.socket_path("20261130-100000-dead")));
  (void)root_.make_session("20261130-100001-nosk");
  std::ofstream(root_.path() + "/file") << "x";
  (void)root_.make_session("Upper_Case");
  BrokerLoop one(listen_in(root_, session_one, clock_));
  one.offer(make_test_card("p1"));
  ASSERT_EQ(::symlink(session_one, (root_.path() + "/linked").c_str()), 0);
  const Fd planted = root_.make_session("planted");
  ASSERT_EQ(::symlinkat(root_.socket_path(session_one).c_str(), planted.get(), "approvals.sock"), 0);
  EXPECT_EQ(list().size(), 1U) << "links lead nowhere";
}

TEST_F(ClientTest, DirectoryOpenToOthersIsSkipped) {
  BrokerLoop one(listen_in(root_, session_one, clock_));
  one.offer(make_test_card("p1"));
  ASSERT_EQ(::chmod((root_.path() + "/" + session_one).c_str(), 0755), 0);
  EXPECT_THAT(list(), IsEmpty());
}

TEST_F(ClientTest, SilentBrokerIsAnErrorWithinItsLimit) {
  const Fd silent = listen_raw(session_one);
  const Nanoseconds start = clock_.monotonic();
  const Result<std::vector<Waiting>> waiting = list_waiting(root_.path());
  const Nanoseconds took = clock_.monotonic() - start;
  ASSERT_FALSE(waiting);
  EXPECT_EQ(waiting.error().errno_value, ETIMEDOUT);
  EXPECT_THAT(waiting.error().message(), HasSubstr(session_one));
  EXPECT_GE(took, std::chrono::milliseconds(4900));
  EXPECT_LT(took, std::chrono::milliseconds(20000));
}

TEST_F(ClientTest, LyingBrokersAreErrors) {
  const Fd listener = listen_raw(session_one);
  Card forged = make_test_card("p1");
  Json wrong_digest = forged.json();
  wrong_digest["subject"] = "git status";
  const Json other_name{{"ok", true}, {"session", session_two}, {"waiting", Json::array()}};
  const Json wrong{{"ok", true}, {"session", session_one}, {"waiting", Json::array({wrong_digest})}};
  for (const std::string& reply : {dump_json(other_name) + "\n", dump_json(wrong) + "\n", std::string("garbage\n"),
                                   std::string(), std::string(longest_reply + 1, 'x')}) {
    std::thread broker([&] {
      const Fd peer(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::size_t sent = 0;
      while (sent < reply.size()) {
        const ssize_t got = ::send(peer.get(), reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
        if (got <= 0) return;
        sent += static_cast<std::size_t>(got);
      }
    });
    EXPECT_FALSE(list_waiting(root_.path())) << reply.substr(0, 60);
    broker.join();
  }
}

TEST_F(ClientTest, LargeCardTravelsWhole) {
  BrokerLoop one(listen_in(root_, session_one, clock_));
  one.offer(make_test_card("p1", std::string(250'000, 'x')));
  ASSERT_EQ(list().size(), 1U);
  EXPECT_EQ(json_string(list()[0].card, "subject")->size(), 250'000U);
  EXPECT_TRUE(answer(root_.path(), "k3f9-p1", policy::Verdict::accept));
}

}  // namespace
}  // namespace oncelatch::approvals::test
