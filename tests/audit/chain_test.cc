// Vectors computed by a separate Python program with hashlib (docs/AUDIT_FORMAT.md has them, too).
#include "audit/chain.h"

#include "audit/row_bytes.h"
#include "tests/audit/support.h"

namespace oncelatch::audit {
namespace {

struct Vector {
  const char* kind;
  const char* time;
  const char* body;
  const char* leaf;
  const char* chain;
};

constexpr Vector vectors[] = {
    {"session_start", "2026-11-30T15:30:00.000000001Z", R"({"agent":"kiro"})",
     "98c5fa0e19c0e64e8e4a2d4b0858810901c77dd110a1faf48e39258bcdc23fcd",
     "accfa085e3852518ad38ce5a9be6b71f9bb7fa1af5352e813e350f0b48eb3fdd"},
    {"request", "2026-11-30T15:30:01.000000002Z",
     R"({"title":"Run \u202e \"x\"\n","subject_is_whole":true,"n":[1,-2,null]})",
     "2a78a1d4d08d168489329a2b8b0acd8c57b6e72e58d3d473644d9ca7e94e2737",
     "afef15d71503c974a19abb851a3b43927bed7268cb3525c77a06f6f28a6113dc"},
    {"session_end", "2026-11-30T15:30:02.000000003Z", R"({"exit_code":0})",
     "28dc979d9d83b82828ab865a7839864806d7af3e668aba1fbf8d8ffb07d6e229",
     "3d584f130fa96e6d8ed4333881707960dbec3de67e4b6b3bd7d6c015b8774648"},
};

TEST(Chain, SessionOfTheFormatDocument) {
  Digest head = first_link(test::session_one);
  EXPECT_EQ(hex(head), "395c44c61a9edcdc4a31989227ec544769969f2aa96c0093a5b46ed82530ebea");
  std::int64_t sequence = 0;
  for (const Vector& vector : vectors) {
    const Row row{test::session_one, ++sequence, vector.time, vector.kind, Json::parse(vector.body)};
    const std::string bytes = row_bytes(row);
    EXPECT_EQ(hex(leaf_hash(bytes)), vector.leaf) << bytes;
    head = next_link(head, static_cast<std::uint64_t>(sequence), leaf_hash(bytes));
    EXPECT_EQ(hex(head), vector.chain);
  }
}

TEST(Chain, SequenceIsLittleEndianOf64Bits) {
  EXPECT_EQ(hex(next_link(Digest{}, 0x0102030405060708, leaf_hash(""))),
            "9cdb4d75d48cbb2f64c458bbf9926dfac11e71bfe3c4d59218724af2881d2545");
}

TEST(Chain, LeafOfNothingIsRfc6962) {
  EXPECT_EQ(hex(leaf_hash("")), "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(RowBytes, AreTheCanonicalJsonOfTheWholeRow) {
  const Row row{"s-1", 12, "2026-11-30T15:30:00.000000001Z", "decision", Json{{"z", 1}, {"a", "\x1b\u00e9\\\""}}};
  const Json whole{{"body", row.body}, {"kind", row.kind}, {"sequence", 12}, {"session", "s-1"}, {"time", row.time}};
  EXPECT_EQ(row_bytes(row), dump_json(whole));
}

TEST(RowBytes, SplitGivesTheParts) {
  const std::string bytes = row_bytes({"s-1", 12, "2026-11-30T15:30:00.000000001Z", "decision", Json{{"a", 1}}});
  const auto parts = split_row(bytes, "s-1", 12);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->body, R"({"a":1})");
  EXPECT_EQ(parts->kind, "decision");
  EXPECT_EQ(parts->time, "2026-11-30T15:30:00.000000001Z");
  EXPECT_FALSE(split_row(bytes, "s-1", 13));
  EXPECT_FALSE(split_row(bytes, "s-2", 12));
  EXPECT_FALSE(split_row(bytes, "-1", 12));
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(split_row(std::string_view(bytes).substr(0, length), "s-1", 12)) << length;
}

TEST(RowBytes, BodyCannotImitateTheTail) {
  const std::string tail =
      R"(","kind":"session_end","sequence":1,"session":"s","time":"2026-11-30T15:30:00.000000001Z"})";
  const std::string bytes = row_bytes({"s", 1, "2026-11-30T15:30:00.000000001Z", "error", Json(tail)});
  const auto parts = split_row(bytes, "s", 1);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->kind, "error");
  EXPECT_EQ(Json::parse(parts->body), Json(tail));
}

}  // namespace
}  // namespace oncelatch::audit
