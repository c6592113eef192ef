// What of a vendor's manifest is taken, and what refuses it.
#include "verify/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/version.h"

namespace oncelatch::verify {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kDigest(64, 'a');

struct Entry {
  std::string download = "2.18.1/kirocli-x86_64-linux.tar.xz";
  std::string os = "linux";
  std::string architecture = "x86_64";
  std::string variant = "headless";
  std::string file_type = "tarXz";
  std::string triple = "x86_64-unknown-linux-gnu";
  std::string sha256 = kDigest;
  [[nodiscard]] std::string text() const {
    return R"({"kind":"deb","os":")" + os + R"(","architecture":")" + architecture + R"(","variant":")" + variant +
           R"(","fileType":")" + file_type + R"(","targetTriple":")" + triple + R"(","download":")" + download +
           R"(","sha256":")" + sha256 + R"(","size":1000,"channel":"stable"})";
  }
};

std::string manifest_of(const std::vector<std::string>& packages, const std::string& version = "2.18.1") {
  std::string text = R"({"version":")" + version + R"(","packages":[)";
  for (const std::string& one : packages) text += (text.back() == '[' ? "" : ",") + one;
  return text + "]}";
}

std::string refusal(const std::string& text) {
  const Result<Manifest> parsed = parse_manifest(text);
  return parsed ? "" : parsed.error().message();
}

const Platform kHere{"linux", "x86_64", Libc::glibc, 2, 36};

Result<Package> chosen(const std::vector<Entry>& entries, const Platform& platform = kHere) {
  std::vector<std::string> texts;
  for (const Entry& one : entries) texts.push_back(one.text());
  const Result<Manifest> parsed = parse_manifest(manifest_of(texts));
  EXPECT_TRUE(parsed) << parsed.error().message();
  return choose_package(*parsed, platform);
}

Entry entry(const std::string& file, const std::string& architecture, const std::string& type,
            const std::string& libc) {
  return {.download = "2.18.1/" + file,
          .architecture = architecture,
          .file_type = type,
          .triple = architecture + "-unknown-linux-" + libc,
          .sha256 = kDigest};
}

TEST(Manifest, TheRealShapeIsRead) {
  Entry image{.download = "2.18.1/Kiro CLI.dmg",
              .os = "macos",
              .architecture = "universal",
              .variant = "full",
              .file_type = "dmg",
              .triple = "universal-apple-darwin"};
  const Result<Manifest> parsed = parse_manifest(manifest_of({Entry().text(), image.text()}));
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->version, "2.18.1");
  ASSERT_EQ(parsed->packages.size(), 2U);
  EXPECT_EQ(parsed->packages[0].size, 1000U);
  EXPECT_EQ(parsed->packages[0].sha256, kDigest);
  EXPECT_EQ(parsed->sha256.size(), 64U);
}

// B003, AA-073
TEST(Manifest, B003DigestsAreWholeOrRefused) {
  for (const char* digest : {"null", "\"\"", "[]", "7", "\"sha256\"", "{}", "true"}) {
    std::string text = manifest_of({Entry().text()});
    text.replace(text.find('"' + kDigest + '"'), 66, digest);
    EXPECT_THAT(refusal(text), HasSubstr("sha256")) << digest;
  }
  std::string missing = manifest_of({Entry().text()});
  missing.replace(missing.find("\"sha256\""), 8, "\"sha512\"");
  EXPECT_THAT(refusal(missing), HasSubstr("sha256: missing"));
  const std::string hex(63, 'a');
  for (const std::string& digest :
       {hex, hex + "g", hex + "aa", "sha256:" + kDigest, kDigest + "\\n", " " + hex, hex + " "})
    EXPECT_THAT(refusal(manifest_of({Entry{.sha256 = digest}.text()})), HasSubstr("64 hexadecimal digits")) << digest;
  const Result<Package> upper = chosen({Entry{.sha256 = std::string(64, 'A')}});
  ASSERT_TRUE(upper);
  EXPECT_EQ(upper->sha256, kDigest);
}

// B004
TEST(Manifest, B004OnlyTheVersionThatHasDigests) {
  const Result<Manifest> parsed = parse_manifest(manifest_of({Entry().text()}));
  ASSERT_TRUE(parsed);
  for (const char* asked : {"", "latest", "2.18.1"}) EXPECT_TRUE(check_version(asked, *parsed)) << asked;
  const Status other = check_version("2.10.0", *parsed);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), AllOf(HasSubstr("digests of 2.18.1 only"), HasSubstr("--version latest")));
  for (const char* asked : {" 2.18.1", "2.18.1 ", "2.18", "../2.18.1", "2.18.1/", "v2.18.1", "2.18.1\n", "LATEST",
                            "latest ", "2.18.1-", "2.18.01", "02.18.1", "2.18.1-x/../y", "stable", "*", "\x1b[2J"}) {
    const Status refused = check_version(asked, *parsed);
    ASSERT_FALSE(refused) << asked;
    EXPECT_THAT(refused.error().message(), Not(HasSubstr("\x1b"))) << asked;
  }
}

// AA-081
TEST(Manifest, AA081VersionsAreNoPaths) {
  for (const char* version : {"../../x", "2.18", "", ".", "..", "2.18.1/x", "/2.18.1", "2.18.1\\\\x", "2.18.1-..",
                              "2.18.1-a..b", "latest", "2.18.1 ", "2.18.1-\xc3\xa9", "12345678901.1.1"})
    EXPECT_THAT(refusal(manifest_of({}, version)), HasSubstr("version")) << version;
  for (const char* version : {"2.18.1", "0.0.0", "2.18.1-beta.1", "10.200.3000-rc_1"})
    EXPECT_EQ(refusal(manifest_of({}, version)), "") << version;
}

// AA-077, AA-079, AA-080
TEST(Manifest, AA077DownloadsAreBelowTheirVersion) {
  for (const char* download : {"https://evil.example/x.tar.xz",
                               "//evil.example/x.tar.xz",
                               "2.21.0/x.tar.xz",
                               "2.18.1/..",
                               "2.18.1/",
                               "2.18.1",
                               "/2.18.1/x",
                               "2.18.1/x.tar.xz?a=/../../etc",
                               "2.18.1/x.tar.xz#a",
                               "2.18.1/%2e%2e/x",
                               "2.18.1/a/b",
                               "2.18.1/../x",
                               "2.18.1/.hidden",
                               "2.18.1/x..y",
                               "2.18.1/x@y",
                               "2.18.1/x:y",
                               "2.18.1\\\\x",
                               "2.18.1/x\\ny",
                               "2.18.1/x ",
                               "2.18.1/-x",
                               "../2.18.1/x",
                               "2.18.1/\xc3\xa9"})
    EXPECT_THAT(refusal(manifest_of({Entry{.download = download}.text()})), HasSubstr("download")) << download;
}

// AA-075, AA-087
TEST(Manifest, AA087OtherJsonIsRefused) {
  const std::string good = manifest_of({Entry().text()});
  std::string twice = good;
  twice.insert(twice.find("\"sha256\""), "\"sha256\":\"" + std::string(64, 'b') + "\",");
  std::string utf16;
  for (char one : good) utf16 += {one, '\0'};
  for (const std::string& text : {twice,
                                  "\xef\xbb\xbf" + good,
                                  utf16,
                                  good + good,
                                  good + "x",
                                  std::string(),
                                  std::string("null"),
                                  std::string("[]"),
                                  std::string("{}"),
                                  std::string(R"({"version":"2.18.1","packages":{}})"),
                                  std::string(R"({"version":2,"packages":[]})"),
                                  std::string(R"({"version":"2.18.1","packages":[7]})"),
                                  std::string(R"({"version":"2.18.1","version":"2.18.1","packages":[]})"),
                                  std::string(R"({"version":"2.18.1\ud800","packages":[]})"),
                                  std::string(R"({"version":"2.18.1","packages":[NaN]})"),
                                  std::string(R"({"version":"2.18.1","packages":[],"x":1e999})"),
                                  std::string(R"({"version":"2.18.1","packages":[],})"),
                                  "// x\n" + good,
                                  good.substr(0, good.size() - 1),
                                  std::string(1 << 21, ' ') + good})
    EXPECT_NE(refusal(text), "") << text.substr(0, 80);
  for (const char* size : {"0", "-1", "1.5", "\"1000\"", "1e3", "99999999999999999999", "null", "4294967297"}) {
    std::string text = good;
    text.replace(text.find("1000"), 4, size);
    EXPECT_THAT(refusal(text), HasSubstr("size")) << size;
  }
  EXPECT_NE(refusal(manifest_of(std::vector<std::string>(257, Entry().text()))), "");
}

// AA-088
TEST(Manifest, AA088SpellingsAreExact) {
  for (const char* word : {"X86_64", " x86_64", "x86_64 ", "x86_64\\n", "", "x86 64",
                           "\xd1\x85"
                           "86_64"})
    EXPECT_NE(refusal(manifest_of({Entry{.architecture = word}.text()})), "") << word;
  for (const char* word : {"Linux", "LINUX", "linux\\u0000"})
    EXPECT_NE(refusal(manifest_of({Entry{.os = word}.text()})), "") << word;
  EXPECT_NE(refusal(manifest_of({Entry{.file_type = "TarXz"}.text()})), "");
  EXPECT_NE(refusal(manifest_of({Entry{.variant = "Headless"}.text()})), "");
}

// B006
TEST(Manifest, B006ExactlyTheOneForThisMachine) {
  const Entry listed = entry("kirocli-x86_64-linux.zip.sbom", "x86_64", "zip", "gnu");
  const Entry musl = entry("kirocli-x86_64-linux-musl.zip", "x86_64", "zip", "musl");
  const Entry gnu = entry("kirocli-x86_64-linux.zip", "x86_64", "zip", "gnu");
  const Entry arm = entry("kirocli-aarch64-linux.zip", "aarch64", "zip", "gnu");
  for (const std::vector<Entry>& order : {std::vector<Entry>{listed, musl, gnu, arm}, {arm, gnu, musl, listed}}) {
    EXPECT_EQ(chosen(order)->download, "2.18.1/kirocli-x86_64-linux.zip");
    EXPECT_EQ(chosen(order, {"linux", "aarch64", Libc::glibc, 2, 39})->download, "2.18.1/kirocli-aarch64-linux.zip");
    EXPECT_EQ(chosen(order, {"linux", "x86_64", Libc::musl, 0, 0})->download, "2.18.1/kirocli-x86_64-linux-musl.zip");
    EXPECT_EQ(chosen(order, {"linux", "x86_64", Libc::glibc, 2, 33})->download, "2.18.1/kirocli-x86_64-linux-musl.zip");
    // Below the floor, and no build for musl: another one isn't tried.
    EXPECT_FALSE(chosen(order, {"linux", "aarch64", Libc::glibc, 2, 36}));
  }
  const Result<Package> none = chosen({arm, musl, listed});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(),
              AllOf(HasSubstr("no archive for linux, x86_64, glibc 2.36"), HasSubstr("kirocli-aarch64-linux.zip"),
                    HasSubstr("kirocli-x86_64-linux-musl.zip")));
}

// AA-076
TEST(Manifest, AA076SeveralAreRefused) {
  Entry second;
  second.sha256 = std::string(64, 'b');
  const Result<Package> several = chosen({Entry(), second});
  ASSERT_FALSE(several);
  EXPECT_THAT(several.error().message(),
              AllOf(HasSubstr("several archives"), HasSubstr("aaaaaaaaaaaa"), HasSubstr("bbbbbbbbbbbb")));
  EXPECT_FALSE(chosen({Entry(), Entry()}));
  second.download = "2.18.1/other-x86_64-linux.tar.xz";
  EXPECT_FALSE(chosen({Entry(), second}));
}

TEST(Manifest, WhatContradictsItselfIsntTaken) {
  for (Entry one : {Entry{.triple = "aarch64-unknown-linux-gnu"}, Entry{.triple = "x86_64-unknown-linux-musl"},
                    Entry{.os = "macos"}, Entry{.file_type = "tarGz"}, Entry{.variant = "full"},
                    Entry{.download = "2.18.1/kirocli-aarch64-linux.tar.xz"},
                    Entry{.download = "2.18.1/kirocli-x86_64-linux-musl.tar.xz"}})
    EXPECT_FALSE(chosen({one})) << one.text();
}

TEST(Manifest, OfSeveralFormatsTheFirstIsTaken) {
  Entry zip = entry("kirocli-x86_64-linux.zip", "x86_64", "zip", "gnu");
  Entry gz = entry("kirocli-x86_64-linux.tar.gz", "x86_64", "tarGz", "gnu");
  EXPECT_EQ(chosen({zip, gz, Entry()})->file_type, "tarXz");
  EXPECT_EQ(chosen({zip, gz})->file_type, "tarGz");
}

TEST(Manifest, WhatItQuotesIsEscaped) {
  const std::string text = refusal(manifest_of({Entry{.os = "\\u001b[2J\\u202ex"}.text()}));
  EXPECT_THAT(text, AllOf(HasSubstr("os"), Not(HasSubstr("\x1b")), Not(HasSubstr("\xe2\x80\xae"))));
}

TEST(Versions, OlderAndNewer) {
  const std::vector<const char*> rising = {
      "0.0.1",        "0.0.2",         "0.1.0",      "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta",
      "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0",       "1.0.10",        "1.2.0",
      "2.9.9",        "2.10.0",        "10.0.0"};
  for (std::size_t i = 0; i < rising.size(); ++i) {
    EXPECT_TRUE(is_version(rising[i])) << rising[i];
    for (std::size_t j = 0; j < rising.size(); ++j) {
      const int order = compare_versions(rising[i], rising[j]);
      EXPECT_EQ(order < 0, i < j) << rising[i] << ' ' << rising[j];
      EXPECT_EQ(order > 0, i > j) << rising[i] << ' ' << rising[j];
    }
  }
}

TEST(Platform, ThisMachineIsKnown) {
  const Result<Platform> here = this_platform();
  ASSERT_TRUE(here);
  EXPECT_EQ(here->os, "linux");
  EXPECT_FALSE(here->architecture.empty());
  if (here->libc == Libc::glibc) {
    EXPECT_GE(here->major, 2U);
  }
}

}  // namespace
}  // namespace oncelatch::verify
