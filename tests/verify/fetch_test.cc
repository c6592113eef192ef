// Fetching over HTTPS from a real server that serves well or badly: each fault has its own words, and nothing stays.
#include "verify/fetch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/beneath.h"
#include "tests/support/https_server.h"
#include "verify/verify_file.h"

namespace oncelatch::verify {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Fetch : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string name = ::testing::TempDir() + "oncelatch-fetch-XXXXXX";
    root = ::mkdtemp(name.data());
    server = std::make_unique<test::HttpsServer>(root);
    server->put("file", bytes());
  }
  static void TearDownTestSuite() {
    server.reset();
    std::filesystem::remove_all(root);
  }
  void SetUp() override {
    server->behave({});
    std::filesystem::create_directories(root + "/cache");
    cache = *open_directory(root + "/cache");
  }
  static std::string bytes() {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += static_cast<char>(i * 7 + i / 251);
    return text;
  }
  [[nodiscard]] static FetchRequest request(const std::string& path = "file") {
    return {.url = server->url(path),
            .hosts = {server->place()},
            .ca_file = server->ca_file(),
            .proxy = {},
            .most = 1 << 20,
            .size = {},
            .told = {}};
  }
  [[nodiscard]] std::string refusal(const FetchRequest& asked) const {
    const Result<Fetched> fetched = fetch(asked, cache.get());
    EXPECT_TRUE(std::filesystem::is_empty(root + "/cache"));
    return fetched ? "" : fetched.error().message();
  }
  [[nodiscard]] std::string refusal(const std::string& behaviour) const {
    server->behave({{"/file", behaviour}});
    return refusal(request());
  }
  static std::string root;
  static std::unique_ptr<test::HttpsServer> server;
  Fd cache;
};
std::string Fetch::root;
std::unique_ptr<test::HttpsServer> Fetch::server;

TEST_F(Fetch, WhatIsServedWell) {
  FetchRequest asked = request();
  asked.size = bytes().size();
  std::uint64_t last = 0;
  asked.told = [&](std::uint64_t received, std::uint64_t) { last = received; };
  const Result<Fetched> fetched = fetch(asked, cache.get());
  ASSERT_TRUE(fetched) << fetched.error().message();
  EXPECT_EQ(fetched->size, bytes().size());
  EXPECT_EQ(fetched->sha256, *sha256_of_text(bytes()));
  EXPECT_EQ(*sha256_of(fetched->file.get(), "it"), fetched->sha256);
  EXPECT_EQ(::lseek(fetched->file.get(), 0, SEEK_CUR), 0);
  EXPECT_EQ(fetched->last_modified, 1788256800);
  EXPECT_EQ(last, bytes().size());
  struct stat found {};
  ASSERT_EQ(::fstat(fetched->file.get(), &found), 0);
  EXPECT_EQ(found.st_nlink, 0U);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  EXPECT_TRUE(std::filesystem::is_empty(root + "/cache"));
}

TEST_F(Fetch, EachFaultHasItsWords) {
  EXPECT_THAT(refusal("truncated"), HasSubstr("ended before all of it was there"));
  EXPECT_THAT(refusal("endless"), HasSubstr("longer than the 1048576 bytes"));
  EXPECT_THAT(refusal("forbidden"), HasSubstr("answered 403"));
  EXPECT_NE(refusal("headers"), "");
  EXPECT_THAT(refusal(request("missing")), HasSubstr("answered 404"));
  FetchRequest exact = request();
  exact.size = bytes().size();
  server->behave({{"/file", "longer"}});
  EXPECT_THAT(refusal(exact), HasSubstr("longer than the 100000 bytes"));
  server->behave({{"/file", "shorter"}});
  EXPECT_THAT(refusal(exact), HasSubstr("99993 bytes where 100000 were announced"));
  server->behave({{"/file", "slow"}});
  FetchRequest slow = request();
  slow.patience = std::chrono::seconds(2);
  EXPECT_THAT(refusal(slow), HasSubstr("took too long"));
  slow.longest = std::chrono::seconds(1);
  EXPECT_THAT(refusal(slow), HasSubstr("took too long"));
}

// What is packed stays so: the digest is that of the bytes that came.
TEST_F(Fetch, NothingIsUnpackedOnTheWay) {
  server->behave({{"/file", "gzip"}});
  const Result<Fetched> fetched = fetch(request(), cache.get());
  ASSERT_TRUE(fetched);
  EXPECT_LT(fetched->size, 1U << 20);
}

// AA-085
TEST_F(Fetch, AA085RedirectsAreJudgedAgain) {
  EXPECT_THAT(refusal("redirect http://" + server->place() + "/file"), HasSubstr("which isn't HTTPS"));
  for (const char* target : {"https://localhost/file", "https://127.0.0.1/file", "https://evil.example/file",
                             "//evil.example/file", "https://127.0.0.1:1/file"})
    EXPECT_THAT(refusal(std::string("redirect ") + target), HasSubstr("isn't one of the vendor's hosts")) << target;
  for (const std::string& target : {"https://user@" + server->place() + "/file", std::string("ftp://127.0.0.1/x"),
                                    std::string("file:///etc/passwd"), "https://a:b@" + server->place() + "/x"})
    EXPECT_THAT(refusal("redirect " + target), HasSubstr("isn't HTTPS")) << target;
  EXPECT_THAT(refusal("redirect /file"), HasSubstr("redirected too often"));
  server->put("other", "other");
  server->behave({{"/file", "redirect /other"}});
  const Result<Fetched> fetched = fetch(request(), cache.get());
  ASSERT_TRUE(fetched) << fetched.error().message();
  EXPECT_EQ(fetched->sha256, *sha256_of_text("other"));
}

TEST_F(Fetch, OnlyHttpsFromTheNamedHosts) {
  FetchRequest asked = request();
  for (const char* url : {"http://127.0.0.1/file", "file:///etc/passwd", "", "127.0.0.1/file", "HTTPS://",
                          "https://a@b/", "ftp://127.0.0.1/", "https://127.0.0.1:0x50/"}) {
    asked.url = url;
    EXPECT_NE(refusal(asked), "") << url;
  }
  asked = request();
  asked.hosts = {"127.0.0.1"};
  EXPECT_THAT(refusal(asked), HasSubstr("isn't at one of the vendor's hosts"));
}

TEST_F(Fetch, CertificatesCount) {
  FetchRequest asked = request();
  asked.ca_file.clear();
  EXPECT_THAT(refusal(asked), AllOf(HasSubstr("certificate isn't trusted"), HasSubstr("--ca-file")));
  asked.ca_file = root + "/missing.pem";
  EXPECT_NE(refusal(asked), "");
  // The right authority, another name.
  asked = request();
  asked.url.replace(asked.url.find("127.0.0.1"), 9, "localhost");
  asked.hosts = {"localhost" + server->place().substr(server->place().find(':'))};
  EXPECT_THAT(refusal(asked), HasSubstr("certificate isn't trusted"));
}

// Neither settings in the home nor the environment.
TEST_F(Fetch, NobodysSettingsAreFollowed) {
  const std::string home = root + "/home";
  std::filesystem::create_directories(home);
  std::ofstream(home + "/.netrc") << "machine 127.0.0.1 login a password secret\n";
  std::ofstream(home + "/.curlrc") << "proxy = http://127.0.0.1:1\ninsecure\n";
  for (const char* name : {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
    ::setenv(name, "http://127.0.0.1:1", 1);
  ::setenv("HOME", home.c_str(), 1);
  ::setenv("CURL_CA_BUNDLE", server->ca_file().c_str(), 1);
  ::setenv("SSL_CERT_FILE", server->ca_file().c_str(), 1);
  EXPECT_TRUE(fetch(request(), cache.get()));
  FetchRequest asked = request();
  asked.ca_file.clear();
  EXPECT_THAT(refusal(asked), HasSubstr("certificate isn't trusted"));
  // A proxy that is named counts.
  asked = request();
  asked.proxy = "http://127.0.0.1:1";
  EXPECT_THAT(refusal(asked), HasSubstr("--proxy"));
  for (const char* name : {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "CURL_CA_BUNDLE", "SSL_CERT_FILE"})
    ::unsetenv(name);
}

TEST_F(Fetch, AServerThatIsntThere) {
  FetchRequest asked = request();
  asked.url = "https://127.0.0.1:1/file";
  asked.hosts = {"127.0.0.1:1"};
  EXPECT_THAT(refusal(asked), HasSubstr("try: check the connection"));
}

TEST_F(Fetch, WhatItQuotesIsEscaped) {
  FetchRequest asked = request();
  asked.url = "http://\x1b[2J/";
  EXPECT_THAT(refusal(asked), Not(HasSubstr("\x1b")));
  EXPECT_THAT(refusal("redirect http://x/\x1b[2J"), Not(HasSubstr("\x1b")));
}

// B008
TEST_F(Fetch, B008OnlyRegularFilesOfABoundedSize) {
  const std::string place = root + "/kinds";
  std::filesystem::create_directories(place);
  ASSERT_TRUE(::mkfifo((place + "/pipe").c_str(), 0600) == 0 || errno == EEXIST);
  std::ofstream(place + "/huge").flush();
  ASSERT_EQ(::truncate((place + "/huge").c_str(), off_t{1} << 40), 0);
  std::ofstream(place + "/plain") << "plain";
  for (const char* name : {"pipe", ".", "huge", "missing"})
    EXPECT_FALSE(take_file(place + "/" + name, cache.get(), 1 << 20)) << name;
  EXPECT_FALSE(take_file("/dev/zero", cache.get(), 1 << 20));
  const Result<Fetched> taken = take_file(place + "/plain", cache.get(), 5);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->sha256, *sha256_of_text("plain"));
  EXPECT_FALSE(take_file(place + "/plain", cache.get(), 4));
}

}  // namespace
}  // namespace oncelatch::verify
