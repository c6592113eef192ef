#include "approvals/broker.h"

#include "tests/approvals/support.h"

namespace oncelatch::approvals::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class BrokerTest : public testing::Test {
 protected:
  // One request of a fresh client; handle_ready()'s answers are kept.
  std::string ask(const std::string& line) {
    RawClient client(root_.socket_path(session_one));
    client.send(line);
    for (Answer& answer : broker_.handle_ready()) answers_.push_back(std::move(answer));
    return client.receive();
  }
  std::string answer(const std::string& id, policy::Verdict verdict, const std::string& digest) {
    return ask(answer_line(Request{Request::Op::answer, id, verdict, digest}));
  }
  std::vector<Json> cards() {
    const Result<ListReply> list = parse_list_reply(ask(list_line()));
    if (!list) ADD_FAILURE() << list.error().message();
    return list ? list->cards : std::vector<Json>();
  }

  SessionsRoot root_;
  ManualClock clock_;
  Broker broker_ = listen_in(root_, session_one, clock_);
  std::vector<Answer> answers_;
};

TEST_F(BrokerTest, ListsWhatWaits) {
  EXPECT_THAT(cards(), IsEmpty());
  const Card card = make_test_card("p1");
  broker_.offer(card);
  broker_.offer(make_test_card("p2", "make"));
  const std::vector<Json> found = cards();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0], card.json());
  EXPECT_EQ(found[0]["digest"], card.digest());
  EXPECT_EQ(found[1]["subject"], "make");
}

TEST_F(BrokerTest, AnswerIsHandedOnOnce) {
  const Card card = make_test_card("p1");
  broker_.offer(card);
  EXPECT_EQ(answer("p1", policy::Verdict::accept, card.digest()), queued_line());
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].local_id, "p1");
  EXPECT_EQ(answers_[0].verdict, policy::Verdict::accept);
  EXPECT_EQ(answers_[0].shown_sha256, card.digest());
  EXPECT_THAT(cards(), IsEmpty());
  EXPECT_THAT(answer("p1", policy::Verdict::decline, card.digest()), HasSubstr("answered already"));
  broker_.offer(card);
  EXPECT_THAT(cards(), IsEmpty()) << "an answered prompt can't be offered again";
  EXPECT_THAT(answer("p1", policy::Verdict::accept, card.digest()), HasSubstr("answered already"));
  EXPECT_EQ(answers_.size(), 1U);
}

TEST_F(BrokerTest, TwoAnswersInOneRoundGiveOne) {
  const Card card = make_test_card("p1");
  broker_.offer(card);
  RawClient first(root_.socket_path(session_one));
  RawClient second(root_.socket_path(session_one));
  const std::string line = answer_line(Request{Request::Op::answer, "p1", policy::Verdict::accept, card.digest()});
  first.send(line + line);
  second.send(line);
  EXPECT_EQ(broker_.handle_ready().size(), 1U);
  EXPECT_EQ(broker_.handle_ready().size(), 0U);
  EXPECT_THAT(second.receive(), HasSubstr("answered already"));
}

TEST_F(BrokerTest, DeclineIsHandedOn) {
  const Card card = make_test_card("p1");
  broker_.offer(card);
  EXPECT_EQ(answer("p1", policy::Verdict::decline, card.digest()), queued_line());
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].verdict, policy::Verdict::decline);
}

TEST_F(BrokerTest, DigestOfAnotherCardIsRefused) {
  const Card shown = make_test_card("p1", "git status");
  broker_.offer(shown);
  broker_.offer(make_test_card("p1", "git push --force"));  // the prompt changed
  const std::string reply = answer("p1", policy::Verdict::accept, shown.digest());
  EXPECT_THAT(reply, HasSubstr("the request changed since it was shown"));
  EXPECT_THAT(reply, HasSubstr("\"try\":\"look"));
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_EQ(cards().size(), 1U) << "it still waits";
}

TEST_F(BrokerTest, UnknownIdIsRefused) {
  EXPECT_THAT(answer("p9", policy::Verdict::accept, std::string(64, 'a')), HasSubstr("p9 isn't waiting"));
  EXPECT_THAT(answers_, IsEmpty());
}

TEST_F(BrokerTest, WithdrawnCardCannotBeAnswered) {
  const Card card = make_test_card("p1");
  broker_.offer(card);
  broker_.withdraw("p1", "answered in the terminal");
  broker_.withdraw("p7", "never offered");
  EXPECT_THAT(cards(), IsEmpty());
  EXPECT_THAT(answer("p1", policy::Verdict::accept, card.digest()), HasSubstr("answered in the terminal"));
  EXPECT_THAT(answers_, IsEmpty());
}

TEST_F(BrokerTest, OneConnectionServesSeveralRequests) {
  const Card card = make_test_card("p1");
  broker_.offer(card);
  RawClient client(root_.socket_path(session_one));
  client.send(list_line());
  EXPECT_TRUE(broker_.handle_ready().empty());
  EXPECT_THAT(client.receive(), HasSubstr(card.digest()));
  client.send(answer_line(Request{Request::Op::answer, "p1", policy::Verdict::accept, card.digest()}));
  EXPECT_EQ(broker_.handle_ready().size(), 1U);
  EXPECT_EQ(client.receive(), queued_line());
  EXPECT_FALSE(client.closed());
}

TEST_F(BrokerTest, HalfClosedClientGetsItsReply) {
  RawClient client(root_.socket_path(session_one));
  client.send(list_line());
  client.half_close();
  (void)broker_.handle_ready();
  EXPECT_THAT(client.receive(), HasSubstr("\"ok\":true"));
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(broker_.poll_fds().size(), 1U);
}

TEST_F(BrokerTest, SocketIsPrivateAndGoesWithTheBroker) {
  struct stat info {};
  ASSERT_EQ(::stat(root_.socket_path(session_one).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode, S_IFSOCK | 0600U);
  for (const pollfd& one : broker_.poll_fds()) EXPECT_EQ(::fcntl(one.fd, F_GETFD), FD_CLOEXEC);
  { const Broker gone = std::move(broker_); }
  EXPECT_FALSE(std::filesystem::exists(root_.socket_path(session_one)));
  broker_ = listen_in(root_, session_two, clock_);
}

TEST_F(BrokerTest, ListenRefusesWhatIsNotItsOwn) {
  const Fd open_to_all = root_.make_session("open");
  ASSERT_EQ(::fchmod(open_to_all.get(), 0755), 0);
  EXPECT_FALSE(Broker::listen(open_to_all.get(), "approvals.sock", "open", clock_));
  const Fd fine = root_.make_session("fine");
  EXPECT_FALSE(Broker::listen(fine.get(), "../approvals.sock", "fine", clock_));
  EXPECT_FALSE(Broker::listen(fine.get(), "approvals.sock", "Not An Id", clock_));
  const Result<Broker> first = Broker::listen(fine.get(), "approvals.sock", "fine", clock_);
  ASSERT_TRUE(first);
  EXPECT_FALSE(Broker::listen(fine.get(), "approvals.sock", "fine", clock_));
  EXPECT_TRUE(std::filesystem::exists(root_.socket_path("fine"))) << "the first one's socket stays";
}

TEST_F(BrokerTest, DeepDirectoryIsNoProblem) {
  std::string path = root_.path();
  for (int depth = 0; depth < 10; ++depth) {
    path += "/a-rather-long-directory-name";
    ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  }
  const Fd directory = std::move(*open_directory(path));
  EXPECT_TRUE(Broker::listen(directory.get(), "approvals.sock", "deep", clock_)) << "longer than sun_path";
}

}  // namespace
}  // namespace oncelatch::approvals::test
