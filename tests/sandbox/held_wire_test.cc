// The guard's channel: what comes from inside is bounded and checked, and so is what goes in.
#include "sandbox/held_wire.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "sandbox/held_channel.h"

namespace oncelatch::sandbox {
namespace {

std::string message(HeldKind kind, const std::string& path) {
  HeldHeader header;
  header.magic = kHeldMagic;
  header.kind = kind;
  header.use = HeldUse::write;
  header.ticket = 7;
  header.path_size = static_cast<std::uint16_t>(path.size());
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes + path;
}

// In memory of the exact size, so that the sanitizer sees a read beyond it.
bool reads(const std::string& bytes, HeldMessage& into) {
  const std::vector<unsigned char> exact(bytes.begin(), bytes.end());
  return read_held_message(exact.data(), exact.size(), into);
}

TEST(HeldWire, RoundTrip) {
  HeldMessage read;
  ASSERT_TRUE(reads(message(HeldKind::ask, "/ws/package.json"), read));
  EXPECT_STREQ(read.path, "/ws/package.json");
  EXPECT_EQ(read.ticket, 7U);
  EXPECT_EQ(read.use, HeldUse::write);
  EXPECT_TRUE(reads(message(HeldKind::done, ""), read));
  EXPECT_TRUE(reads(message(HeldKind::refused, "/" + std::string(kMostPath - 1, 'a')), read));
}

TEST(HeldWire, WhatIsMalformedIsRefused) {
  HeldMessage read;
  const std::string good = message(HeldKind::ask, "/ws/x");
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(reads(good.substr(0, size), read)) << size;
  EXPECT_FALSE(reads(good + "y", read));
  for (const char* path : {"", "/", "ws/x", "/ws/../x", "/ws//x", "/ws/."})
    EXPECT_FALSE(reads(message(HeldKind::ask, path), read)) << path;
  EXPECT_FALSE(reads(message(HeldKind::ask, std::string("/a\0b", 4)), read));
  EXPECT_FALSE(reads(message(HeldKind::withdrawn, "/ws/x"), read));
  EXPECT_FALSE(reads(message(HeldKind::ask, "/" + std::string(kMostPath, 'a')), read));
  for (const std::size_t field : {offsetof(HeldHeader, magic), offsetof(HeldHeader, kind), offsetof(HeldHeader, use)}) {
    std::string bad = good;
    bad[field] = '\x09';
    EXPECT_FALSE(reads(bad, read)) << field;
  }
}

TEST(HeldWire, AnswersAreExact) {
  HeldAnswer answer{.magic = kHeldMagic, .ticket = 3, .verdict = HeldVerdict::allowed};
  HeldAnswer read;
  EXPECT_TRUE(read_held_answer(&answer, sizeof answer, read));
  EXPECT_FALSE(read_held_answer(&answer, sizeof answer - 1, read));
  answer.magic = 0;
  EXPECT_FALSE(read_held_answer(&answer, sizeof answer, read));
  answer = {.magic = kHeldMagic, .ticket = 3, .verdict = static_cast<HeldVerdict>(3)};
  EXPECT_FALSE(read_held_answer(&answer, sizeof answer, read));
}

TEST(HeldChannel, DropsWhatItCantReadAndEndsAtTheEnd) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  Fd ours(ends[0]);
  Fd theirs(ends[1]);
  HeldMessage read;
  EXPECT_FALSE(receive_held(ours, read)) << "nothing is there";
  EXPECT_TRUE(ours);
  for (const std::string& bytes : {std::string("junk"), std::string(100'000, 'x'), message(HeldKind::ask, "/ws/x")})
    ASSERT_EQ(::send(theirs.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  ASSERT_TRUE(receive_held(ours, read));
  EXPECT_STREQ(read.path, "/ws/x");
  EXPECT_TRUE(answer_held(ours, 7, HeldVerdict::refused));
  theirs.reset();
  EXPECT_FALSE(receive_held(ours, read));
  EXPECT_FALSE(ours);
  EXPECT_FALSE(answer_held(ours, 7, HeldVerdict::refused));
}

}  // namespace
}  // namespace oncelatch::sandbox
