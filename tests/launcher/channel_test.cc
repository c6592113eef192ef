#include "launcher/channel.h"

#include <gtest/gtest.h>

namespace oncelatch::launcher {
namespace {

TEST(Channel, CarriesObjectsBothWays) {
  auto [front, back] = std::move(*Channel::pair());
  EXPECT_FALSE(back.receive().body);
  EXPECT_TRUE(front.send({{"kind", "end"}, {"signal", 15}}));
  EXPECT_EQ(back.receive().body->at("signal"), 15);
  EXPECT_TRUE(back.send({{"kind", "running"}}));
  EXPECT_EQ(front.receive().body->at("kind"), "running");
}

TEST(Channel, TellsClosedFromEmpty) {
  auto [front, back] = std::move(*Channel::pair());
  EXPECT_FALSE(back.receive().closed);
  front.close();
  EXPECT_TRUE(back.receive().closed);
  EXPECT_FALSE(back.send({{"kind", "running"}}));
}

// The last word of a peer that left in a hurry, with messages of ours unread, is not lost.
TEST(Channel, TheLastWordSurvivesUnreadMessages) {
  auto [front, back] = std::move(*Channel::pair());
  EXPECT_TRUE(back.send({{"kind", "event"}}));
  EXPECT_TRUE(front.send({{"kind", "detach"}}));
  front.close();
  Channel::Message message = back.receive();
  ASSERT_TRUE(message.body);
  EXPECT_EQ(message.body->at("kind"), "detach");
  EXPECT_TRUE(back.receive().closed);
}

TEST(Channel, RefusesWhatIsTooLargeOrNoObject) {
  auto [front, back] = std::move(*Channel::pair());
  EXPECT_FALSE(front.send({{"text", std::string(70'000, 'x')}}));
  EXPECT_TRUE(front.send(Json::array()));
  EXPECT_FALSE(back.receive().body);
}

}  // namespace
}  // namespace oncelatch::launcher
