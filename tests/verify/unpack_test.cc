// Archives that a hostile or careless vendor could ship, by case and by kind: nothing outside of the directory changes,
// and what isn't plain is refused. Then those that real tools make.
#include "verify/unpack.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/beneath.h"
#include "base/process.h"
#include "tests/support/archive_writer.h"
#include "verify/tree_record.h"

namespace oncelatch::verify {
namespace {

namespace fs = std::filesystem;
using test::packed_gzip;
using test::packed_xz;
using test::packed_zstd;
using test::TarWriter;
using test::ZipEntry;
using test::ZipWriter;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Build = std::function<void(TarWriter&)>;

class Unpack : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "oncelatch-unpack-XXXXXX";
    root = ::mkdtemp(name.data());
    std::ofstream(root + "/SECRET") << "secret";
    std::ofstream(root + "/victim") << "victim";
    fs::create_directories(root + "/OUT");
  }
  void TearDown() override {
    const Fd above = *open_directory(fs::path(root).parent_path());
    (void)remove_tree(above.get(), fs::path(root).filename());
  }
  // Kinds, modes, links, sizes, times and contents of all but what is unpacked.
  [[nodiscard]] std::string outside() const {
    std::ostringstream all;
    for (auto at = fs::recursive_directory_iterator(root); at != fs::recursive_directory_iterator(); ++at) {
      if (at->path() == root + "/staging") at.disable_recursion_pending();
      if (at->path().filename() == "staging" || at->path().filename() == "archive") continue;
      struct stat found {};
      EXPECT_EQ(::lstat(at->path().c_str(), &found), 0);
      all << at->path() << ' ' << found.st_mode << ' ' << found.st_nlink << ' ' << found.st_size << ' ' << found.st_uid
          << ' ' << found.st_mtim.tv_nsec << '\n';
    }
    return all.str();
  }
  [[nodiscard]] std::string unpacked(const std::string& bytes, ArchiveFormat format, UnpackLimits limits = {}) {
    (void)remove_tree(open_directory(root)->get(), "staging");
    fs::create_directory(root + "/staging");
    std::ofstream(root + "/archive", std::ios::binary) << bytes;
    const Fd archive(::open((root + "/archive").c_str(), O_RDONLY));
    const Fd directory = *open_directory(root + "/staging");
    const std::string before = outside();
    const Status done = unpack(archive.get(), format, directory.get(), limits);
    EXPECT_EQ(outside(), before);
    for (const char* name : {"/tmp/ABS", "/tmp/esc"}) EXPECT_FALSE(fs::exists(name));
    for (const auto& one : fs::recursive_directory_iterator(root + "/staging"))
      EXPECT_TRUE(one.is_regular_file() || one.is_directory()) << one.path();
    return done ? "" : done.error().message();
  }
  // In each of the three compressions, since the walk is the same.
  void expect_refused(const char* id, const Build& build, const std::string& words = "verify: the archive") {
    TarWriter tar;
    build(tar);
    const std::string bytes = tar.end();
    EXPECT_THAT(unpacked(packed_xz(bytes), ArchiveFormat::tar_xz), AllOf(HasSubstr(words), Not(HasSubstr("\x1b"))))
        << id;
    EXPECT_NE(unpacked(packed_gzip(bytes), ArchiveFormat::tar_gz), "") << id;
    EXPECT_NE(unpacked(packed_zstd(bytes), ArchiveFormat::tar_zst), "") << id;
  }
  [[nodiscard]] std::string tar_xz(const Build& build) {
    TarWriter tar;
    build(tar);
    return unpacked(packed_xz(tar.end()), ArchiveFormat::tar_xz);
  }
  [[nodiscard]] std::vector<std::string> listed() const {
    std::vector<std::string> all;
    for (const auto& one : fs::recursive_directory_iterator(root + "/staging")) {
      struct stat found {};
      EXPECT_EQ(::lstat(one.path().c_str(), &found), 0);
      EXPECT_EQ(found.st_uid, ::geteuid());
      all.push_back(fs::relative(one.path(), root + "/staging").string() + " " + std::to_string(found.st_mode & 07777));
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  std::string root;
};

TEST_F(Unpack, WhatIsPlainIsUnpacked) {
  EXPECT_EQ(tar_xz([](TarWriter& tar) {
              tar.directory("./");
              tar.directory("./kirocli/", 0775);
              tar.file("./kirocli/README", "read me");
              tar.file("kirocli/bin/kiro-cli", std::string(100'000, 'k'), 0755);
              tar.records({{"mtime", "1700000000.5"}, {"path", "kirocli/bin/kiro-cli-chat"}});
              tar.file("short", "chat", 0700);
            }),
            "");
  EXPECT_THAT(listed(), ElementsAre("kirocli 493", "kirocli/README 420", "kirocli/bin 493", "kirocli/bin/kiro-cli 493",
                                    "kirocli/bin/kiro-cli-chat 493"));
  EXPECT_EQ(fs::file_size(root + "/staging/kirocli/bin/kiro-cli"), 100'000U);
}

TEST_F(Unpack, NamesThatLeadElsewhere) {
  for (const std::string& name : {std::string("../esc"),
                                  std::string("a/../../esc"),
                                  std::string("/tmp/ABS"),
                                  std::string("//tmp/ABS"),
                                  std::string("a/./b"),
                                  std::string("a//b"),
                                  std::string("..\\..\\esc"),
                                  std::string("C:x"),
                                  std::string("\\\\host\\x"),
                                  std::string(".."),
                                  std::string("a/.."),
                                  std::string("./../esc"),
                                  std::string("././x"),
                                  std::string("x -> /etc/passwd"),
                                  std::string("kiro-cli\nx"),
                                  std::string("kiro\x1b[2Jcli"),
                                  std::string("kiro\xff"),
                                  std::string("\xc3\xa9"),
                                  std::string("e\xcc\x81"),
                                  std::string("a\xe2\x80\xae"
                                              "b"),
                                  std::string("~"),
                                  std::string("a b"),
                                  std::string("$x"),
                                  std::string("a/b/c/d/e/f/g/h/i"),
                                  std::string("a:b"),
                                  std::string("*")}) {
    expect_refused("AA-001 AA-003 AA-005 AA-036 AA-040 AA-041 AA-043 AA-047", [&](TarWriter& tar) { tar.file(name); });
    expect_refused("directory", [&](TarWriter& tar) { tar.directory(name); });
    expect_refused("AA-004", [&](TarWriter& tar) {
      tar.records({{"path", name}});
      tar.file("safe");
    });
    expect_refused("prefix", [&](TarWriter& tar) { tar.add({.name = "x", .prefix = name}, "x"); });
    expect_refused("GNU", [&](TarWriter& tar) {
      tar.add({.name = "././@LongLink", .type = 'L', .magic = std::string("ustar  \0", 8)},
              name + std::string(1, '\0'));
      tar.add({.name = "safe", .magic = std::string("ustar  \0", 8)}, "x");
    });
    ZipWriter zip;
    zip.add({.name = name, .content = "x"});
    EXPECT_NE(unpacked(zip.end(), ArchiveFormat::zip), "") << name;
  }
  expect_refused("AA-007", [](TarWriter& tar) { tar.file(""); });
  expect_refused("AA-008", [](TarWriter& tar) { tar.file("kiro-cli/"); });
  expect_refused("AA-044", [](TarWriter& tar) {
    tar.records({{"path", std::string("kiro-cli\0/../x", 14)}});
    tar.file("safe");
  });
  expect_refused("AA-044", [](TarWriter& tar) { tar.file(std::string("kiro-cli\0/../x", 14)); });
  expect_refused("AA-045", [](TarWriter& tar) {
    tar.records({{"path", std::string(300, 'a')}});
    tar.file("safe");
  });
}

TEST_F(Unpack, LinksDevicesAndOtherKinds) {
  const std::vector<std::pair<const char*, Build>> cases = {
      {"AA-009",
       [this](TarWriter& tar) {
         tar.link("d", root + "/OUT", true);
         tar.file("d/esc");
       }},
      {"AA-011", [](TarWriter& tar) { tar.link("kirocli/bin/kiro-cli", "/bin/sh", true); }},
      {"AA-012", [](TarWriter& tar) { tar.link("kirocli/bin/kiro-cli", "../../../bin/sh", true); }},
      {"AA-013", [](TarWriter& tar) { tar.link("a", "a", true); }},
      {"AA-015",
       [](TarWriter& tar) {
         tar.link("x", "y", true);
         tar.file("y");
       }},
      {"AA-016", [this](TarWriter& tar) { tar.link("h", root + "/SECRET", false); }},
      {"AA-017", [](TarWriter& tar) { tar.link("h", "../SECRET", false); }},
      {"AA-019",
       [](TarWriter& tar) {
         tar.link("d", "..", true);
         tar.link("h", "d/SECRET", false);
       }},
      {"AA-020",
       [](TarWriter& tar) {
         tar.link("door/escaped", "victim", false);
         tar.file("victim");
         tar.link("door", "../OUT", true);
       }},
      {"AA-021",
       [](TarWriter& tar) {
         tar.file("a", "one");
         tar.add({.name = "b", .type = '1', .link = "a"}, "two");
       }},
      {"AA-023", [](TarWriter& tar) { tar.add({.name = "sda", .type = '4'}); }},
      {"character device", [](TarWriter& tar) { tar.add({.name = "null", .type = '3'}); }},
      {"AA-024", [](TarWriter& tar) { tar.add({.name = "kirocli/bin/kiro-cli", .type = '6'}); }},
      {"AA-025", [](TarWriter& tar) { tar.add({.name = "x", .type = 'Z'}); }},
      {"contiguous", [](TarWriter& tar) { tar.add({.name = "x", .type = '7'}, "x"); }},
      {"sparse",
       [](TarWriter& tar) { tar.add({.name = "x", .type = 'S', .magic = std::string("ustar  \0", 8)}, "x"); }},
      {"dump directory",
       [](TarWriter& tar) { tar.add({.name = "x", .type = 'D', .magic = std::string("ustar  \0", 8)}, "x"); }},
      {"long link",
       [](TarWriter& tar) { tar.add({.name = "x", .type = 'K', .magic = std::string("ustar  \0", 8)}, "x"); }},
      {"a file that leads elsewhere", [](TarWriter& tar) { tar.add({.name = "x", .link = "/etc/passwd"}, "x"); }},
      {"a directory with content", [](TarWriter& tar) { tar.add({.name = "x/", .type = '5'}, "x"); }},
      {"AA-027", [](TarWriter& tar) { tar.file("kiro-cli", "x", 04755); }},
      {"set-group-id", [](TarWriter& tar) { tar.file("kiro-cli", "x", 02755); }},
      {"AA-028", [](TarWriter& tar) { tar.directory("d", 02777); }},
      {"AA-029", [](TarWriter& tar) { tar.file("f", "x", 01777); }},
      {"everybody writes", [](TarWriter& tar) { tar.file("f", "x", 0666); }},
      {"AA-031",
       [](TarWriter& tar) {
         tar.directory("d", 0);
         tar.file("d/f");
       }},
      {"AA-032",
       [](TarWriter& tar) {
         tar.records({{"SCHILY.xattr.security.capability", "cap_sys_admin+ep"}});
         tar.file("kiro-cli");
       }},
      {"access list",
       [](TarWriter& tar) {
         tar.records({{"SCHILY.acl.access", "user::rwx"}});
         tar.file("kiro-cli");
       }},
      {"link by record",
       [](TarWriter& tar) {
         tar.records({{"linkpath", "/etc"}});
         tar.file("x");
       }},
      {"sparse by record",
       [](TarWriter& tar) {
         tar.records({{"GNU.sparse.major", "1"}});
         tar.file("x");
       }},
      {"AA-055",
       [](TarWriter& tar) {
         tar.records({{"path", "../esc"}}, 'g');
         tar.file("x");
       }},
      {"AA-056",
       [](TarWriter& tar) {
         tar.add({.name = "p", .type = 'x'}, TarWriter::record("comment", std::string(1 << 17, 'x')));
         tar.file("x");
       }},
  };
  for (const auto& [id, build] : cases) expect_refused(id, build);
  for (std::uint32_t mode :
       {0120777U, 0020666U, 0060666U, 0010644U, 0140755U, 0104755U, 0102755U, 0101777U, 0100666U, 0100000U}) {
    ZipWriter zip;
    zip.add({.name = "x", .content = "x", .mode = mode});
    EXPECT_NE(unpacked(zip.end(), ArchiveFormat::zip), "") << mode;
  }
}

// AA-033
TEST_F(Unpack, AA033TheOwnerIsTheCaller) {
  EXPECT_EQ(tar_xz([](TarWriter& tar) {
              tar.add({.name = "f", .uid = 1234}, "x");
              tar.records({{"uid", "1234"}, {"uname", "root"}, {"gid", "0"}});
              tar.file("g");
            }),
            "");
  EXPECT_THAT(listed(), ElementsAre("f 420", "g 420"));
}

TEST_F(Unpack, OneNameIsOneThing) {
  const std::vector<std::pair<const char*, Build>> cases = {
      {"AA-035",
       [](TarWriter& tar) {
         tar.file("Kiro-cli");
         tar.file("kiro-cli");
       }},
      {"case of a directory",
       [](TarWriter& tar) {
         tar.file("bin/a");
         tar.file("BIN/b");
       }},
      {"case, file and directory",
       [](TarWriter& tar) {
         tar.file("bin");
         tar.directory("Bin");
       }},
      {"AA-037",
       [](TarWriter& tar) {
         tar.file("kiro-cli");
         tar.link("kiro-cli", "/bin/sh", true);
       }},
      {"twice",
       [](TarWriter& tar) {
         tar.file("a");
         tar.file("a");
       }},
      {"twice, spelled otherwise",
       [](TarWriter& tar) {
         tar.file("a");
         tar.file("./a");
       }},
      {"directory twice",
       [](TarWriter& tar) {
         tar.directory("a");
         tar.directory("a/");
       }},
      {"AA-039",
       [](TarWriter& tar) {
         tar.file("x");
         tar.file("x/y");
       }},
      {"file in place of a directory",
       [](TarWriter& tar) {
         tar.file("x/y");
         tar.file("x");
       }},
      {"directory in place of a file",
       [](TarWriter& tar) {
         tar.file("x");
         tar.directory("x");
       }},
  };
  for (const auto& [id, build] : cases) expect_refused(id, build);
}

TEST_F(Unpack, HeadersAreWholeAndMeanOneThing) {
  TarWriter first;
  first.file("a");
  TarWriter second;
  second.file("evil");
  const std::string zeros(512, '\0');
  const std::string one = first.bytes;
  const std::vector<std::pair<const char*, std::string>> cases = {
      {"AA-048", one + zeros + second.bytes + zeros + zeros},
      {"AA-049", one + zeros + zeros + second.bytes + zeros + zeros},
      {"no end", one},
      {"one block at the end", one + zeros},
      {"garbage behind the end", one + zeros + zeros + std::string(512, 'x')},
      {"a part of a block", one + zeros + zeros + "x"},
      {"cut in the content", one.substr(0, 700)},
      {"cut in the header", one.substr(0, 300)},
      {"nothing", ""},
      {"no tar", std::string(2048, 'x')},
      {"a long tail", one + std::string(4 << 20, '\0')},
  };
  for (const auto& [id, bytes] : cases) EXPECT_NE(unpacked(packed_xz(bytes), ArchiveFormat::tar_xz), "") << id;
  using Headers = std::pair<const char*, Build>;
  for (const auto& [id, build] : {
           Headers{"AA-051", [](TarWriter& tar) { tar.add({.name = "x", .wrong_sum = true}, "x"); }},
           Headers{"AA-052", [](TarWriter& tar) { tar.add({.name = "x", .size = std::string(12, '\xff')}, "x"); }},
           Headers{"base-256",
                   [](TarWriter& tar) {
                     tar.add({.name = "x", .size = std::string("\x80\0\0\0\0\0\0\0\0\0\0\1", 12)}, "x");
                   }},
           Headers{"AA-053", [](TarWriter& tar) { tar.add({.name = "x", .size = "77777777777"}); }},
           Headers{"minus", [](TarWriter& tar) { tar.add({.name = "x", .size = "-0000000001"}, "x"); }},
           Headers{"no digits", [](TarWriter& tar) { tar.add({.name = "x", .size = std::string(11, ' ')}, "x"); }},
           Headers{"decimal", [](TarWriter& tar) { tar.add({.name = "x", .size = "00000000009"}, "x"); }},
           Headers{"digits behind the end",
                   [](TarWriter& tar) {
                     tar.add({.name = "x",
                              .size = std::string("1\0"
                                                  "2345678901",
                                                  12)},
                             "x");
                   }},
           Headers{"no format", [](TarWriter& tar) { tar.add({.name = "x", .magic = std::string(8, '\0')}, "x"); }},
           Headers{"other format", [](TarWriter& tar) { tar.add({.name = "x", .magic = "ustar\0000"}, "x"); }},
           Headers{"size in two places",
                   [](TarWriter& tar) {
                     tar.records({{"size", "1"}, {"size", "2"}});
                     tar.file("x");
                   }},
           Headers{"a size that is none",
                   [](TarWriter& tar) {
                     tar.records({{"size", "1x"}});
                     tar.file("x");
                   }},
           Headers{"a negative size",
                   [](TarWriter& tar) {
                     tar.records({{"size", "-1"}});
                     tar.file("x");
                   }},
           Headers{"two extended headers",
                   [](TarWriter& tar) {
                     tar.records({{"mtime", "1"}});
                     tar.records({{"mtime", "1"}});
                     tar.file("x");
                   }},
           Headers{"two long names",
                   [](TarWriter& tar) {
                     for (int i = 0; i < 2; ++i)
                       tar.add({.name = "L", .type = 'L', .magic = std::string("ustar  \0", 8)}, "y");
                     tar.file("x");
                   }},
           Headers{"a header for nothing",
                   [](TarWriter& tar) {
                     tar.records({{"mtime", "1"}});
                   }},
           Headers{"records that aren't",
                   [](TarWriter& tar) {
                     tar.add({.name = "p", .type = 'x'}, "10 path=x");
                     tar.file("x");
                   }},
           Headers{"a length that lies",
                   [](TarWriter& tar) {
                     tar.add({.name = "p", .type = 'x'}, "999 path=xx\n");
                     tar.file("x");
                   }},
           Headers{"a length with a zero",
                   [](TarWriter& tar) {
                     tar.add({.name = "p", .type = 'x'}, "012 path=xxx\n");
                     tar.file("x");
                   }},
           Headers{"no key",
                   [](TarWriter& tar) {
                     tar.add({.name = "p", .type = 'x'}, "5 ab\n");
                     tar.file("x");
                   }},
           Headers{"nothing in it",
                   [](TarWriter& tar) {
                     tar.add({.name = "p", .type = 'x'}, "");
                     tar.file("x");
                   }},
       })
    expect_refused(id, build);
}

TEST_F(Unpack, CompressedStreamsAreOneAndBounded) {
  TarWriter tar;
  tar.file("a", std::string(3000, 'a'));
  const std::string good = tar.end();
  TarWriter other;
  other.file("evil");
  const std::string evil = other.end();
  EXPECT_EQ(unpacked(packed_xz(good), ArchiveFormat::tar_xz), "");
  EXPECT_EQ(unpacked(packed_xz(good, LZMA_CHECK_NONE), ArchiveFormat::tar_xz), "");  // AA-064: its digest is known
  for (auto pack : {+[](const std::string& bytes) { return packed_xz(bytes); },
                    +[](const std::string& bytes) { return packed_gzip(bytes); },
                    +[](const std::string& bytes) { return packed_zstd(bytes); }}) {
    const std::string packed = pack(good);
    const ArchiveFormat format = packed[0] == '\xfd'   ? ArchiveFormat::tar_xz
                                 : packed[0] == '\x1f' ? ArchiveFormat::tar_gz
                                                       : ArchiveFormat::tar_zst;
    EXPECT_EQ(unpacked(packed, format), "");
    EXPECT_THAT(unpacked(packed + pack(evil), format), HasSubstr("behind its end")) << "AA-061";
    EXPECT_NE(unpacked(packed + "x", format), "");
    EXPECT_NE(unpacked(packed + std::string(4, '\0'), format), "");
    EXPECT_NE(unpacked("x" + packed, format), "");
    for (std::size_t cut : {std::size_t{0}, std::size_t{1}, std::size_t{5}, packed.size() / 2, packed.size() - 1})
      EXPECT_NE(unpacked(packed.substr(0, cut), format), "") << "AA-063 " << cut;
    std::string damaged = packed;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x10);
    EXPECT_NE(unpacked(damaged, format), "");
    // AA-059
    TarWriter bomb;
    bomb.file("zeros", std::string(64 << 20, '\0'));
    EXPECT_THAT(unpacked(pack(bomb.end()), format), HasSubstr("times its size"));
    EXPECT_NE(unpacked(packed, format == ArchiveFormat::tar_xz ? ArchiveFormat::tar_gz : ArchiveFormat::tar_xz), "")
        << "AA-065";
    EXPECT_NE(unpacked(packed, ArchiveFormat::zip), "") << "AA-065";
  }
  EXPECT_THAT(unpacked(packed_xz(good, LZMA_CHECK_CRC64, 1U << 30), ArchiveFormat::tar_xz),
              HasSubstr("needs more than 256 MiB"))
      << "AA-060";
  EXPECT_NE(unpacked("Rar!\x1a\x07", ArchiveFormat::tar_xz), "") << "AA-065";
  EXPECT_NE(unpacked("7z\xbc\xaf\x27\x1c", ArchiveFormat::tar_xz), "") << "AA-065";
}

TEST_F(Unpack, CountsAndSizesAreBounded) {
  expect_refused("AA-057", [](TarWriter& tar) {
    for (int i = 0; i < 5000; ++i) tar.file("f" + std::to_string(i), "");
  });
  TarWriter tar;
  tar.file("a", std::string(600, 'a'));
  tar.file("b", std::string(600, 'b'));
  EXPECT_THAT(unpacked(packed_xz(tar.end()), ArchiveFormat::tar_xz, {.bytes = 1000}),
              HasSubstr("more than 1000 bytes"));
  EXPECT_EQ(unpacked(packed_xz(tar.bytes), ArchiveFormat::tar_xz, {.bytes = 1200, .ratio = 1000}), "");
}

TEST_F(Unpack, ZipListsAndHeadersAgree) {
  auto zip_of = [](const std::vector<ZipEntry>& entries) {
    ZipWriter zip;
    for (const ZipEntry& one : entries) zip.add(one);
    return zip;
  };
  const ZipEntry plain{.name = "kirocli/bin/kiro-cli", .content = std::string(1000, 'k'), .mode = 0100755};
  EXPECT_EQ(unpacked(zip_of({{.name = "kirocli/", .content = "", .deflated = false, .mode = 040755},
                             plain,
                             {.name = "kirocli/README", .content = "read", .deflated = false},
                             {.name = "kirocli/x", .content = "data", .descriptor = true}})
                         .end(),
                     ArchiveFormat::zip),
            "");
  EXPECT_THAT(listed(), ElementsAre("kirocli 493", "kirocli/README 420", "kirocli/bin 493", "kirocli/bin/kiro-cli 493",
                                    "kirocli/x 420"));
  const std::string good = zip_of({plain}).end();
  std::vector<std::pair<const char*, std::string>> cases = {
      {"AA-067", zip_of({{.name = "kirocli/kiro-cli", .content = "x", .local_name = "../../../evil/xx"}}).end()},
      {"AA-067, as long",
       zip_of({{.name = "kirocli/kiro-cli", .content = "x", .local_name = "kirocli/kiro-clX"}}).end()},
      {"AA-068", zip_of({{.name = "kiro-cli", .content = "first"}, {.name = "kiro-cli", .content = "second"}}).end()},
      {"AA-072", zip_of({{.name = "x", .content = "x", .listed_size = 1U << 30, .descriptor = true}}).end()},
      {"AA-072", zip_of({{.name = "x", .content = "x", .descriptor = true, .descriptor_size = 1U << 30}}).end()},
      {"two sizes", zip_of({{.name = "x", .content = "xxxx", .local_size = 3}}).end()},
      {"longer than it says", zip_of({{.name = "x", .content = "xxxx", .local_size = 3, .listed_size = 3}}).end()},
      {"shorter than it says", zip_of({{.name = "x", .content = "xxxx", .local_size = 5, .listed_size = 5}}).end()},
      {"a wrong sum", zip_of({{.name = "x", .content = "xxxx", .wrong_sum = true}}).end()},
      {"encrypted", zip_of({{.name = "x", .content = "x", .flags = 1}}).end()},
      {"strongly", zip_of({{.name = "x", .content = "x", .flags = 1U << 6}}).end()},
      {"masked", zip_of({{.name = "x", .content = "x", .flags = 1U << 13}}).end()},
      {"another method", zip_of({{.name = "x", .content = "x", .method = 12}}).end()},
      {"another name in it",
       zip_of(
           {{.name = "x", .content = "x", .extra = ZipWriter::number(0x7075, 2) + ZipWriter::number(6, 2) + "\1....y"}})
           .end()},
      {"ZIP64", zip_of({{.name = "x",
                         .content = "x",
                         .extra = ZipWriter::number(1, 2) + ZipWriter::number(8, 2) + std::string(8, '\1')}})
                    .end()},
      {"an extra field that is cut", zip_of({{.name = "x", .content = "x", .extra = "abc"}}).end()},
      {"a comment", zip_of({plain}).end({}, "PK\5\6")},
      {"something between", zip_of({plain}).end("between")},
      {"behind the end", good + "x"},
      {"cut", good.substr(0, good.size() - 1)},
      {"half", good.substr(0, good.size() / 2)},
      {"a directory with content", zip_of({{.name = "d/", .content = "x", .deflated = false, .mode = 040755}}).end()},
      {"a directory as a file", zip_of({{.name = "d/", .content = "", .deflated = false, .mode = 0100644}}).end()},
      {"a file as a directory", zip_of({{.name = "d", .content = "", .deflated = false, .mode = 040755}}).end()},
      {"a bomb", zip_of({{.name = "x", .content = std::string(64 << 20, '\0')}}).end()},
  };
  ZipWriter before("bytes before");
  before.add(plain);
  cases.emplace_back("AA-069", before.end());
  // AA-071: a second entry of the list that leads into the first one's content.
  ZipWriter overlapping;
  overlapping.add({.name = "outer",
                   .content = zip_of({{.name = "inner", .content = "x", .deflated = false}}).bytes,
                   .deflated = false});
  const std::size_t inner = overlapping.bytes.find("PK\3\4", 4);
  overlapping.add({.name = "inner", .content = "x", .deflated = false});
  const std::size_t second = overlapping.bytes.rfind("PK\3\4");
  overlapping.list.replace(overlapping.list.size() - 9, 4, ZipWriter::number(inner, 4));
  overlapping.bytes.erase(second);
  cases.emplace_back("AA-071", overlapping.end());
  for (const auto& [id, bytes] : cases) EXPECT_NE(unpacked(bytes, ArchiveFormat::zip), "") << id;
}

// AA-097: no room is a clear end.
TEST_F(Unpack, AA097WhatCantBeWrittenIsAnError) {
  fs::create_directory(root + "/staging");
  if (::geteuid() == 0) GTEST_SKIP() << "root writes where nobody may";
  ASSERT_EQ(::chmod((root + "/staging").c_str(), 0500), 0);
  std::ofstream(root + "/archive", std::ios::binary) << [] {
    TarWriter tar;
    tar.file("a");
    return packed_xz(tar.end());
  }();
  const Fd archive(::open((root + "/archive").c_str(), O_RDONLY));
  const Fd directory = *open_directory(root + "/staging");
  EXPECT_FALSE(unpack(archive.get(), ArchiveFormat::tar_xz, directory.get(), {}));
  ASSERT_EQ(::chmod((root + "/staging").c_str(), 0700), 0);
}

// What the usual tools make of such a tree.
TEST_F(Unpack, ArchivesOfRealTools) {
  const std::string make =
      "set -e; cd '" + root +
      "'; umask 022; mkdir -p tree/kirocli/bin; cd tree; "
      "head -c 200000 /bin/sh > kirocli/bin/kiro-cli; echo chat > kirocli/bin/kiro-cli-chat; chmod 755 kirocli/bin/*; "
      "echo read > kirocli/README; chmod 644 kirocli/README; ";
  struct Tool {
    const char* command;
    ArchiveFormat format;
  };
  for (const Tool& tool : {
           Tool{"tar -cJf ../archive kirocli", ArchiveFormat::tar_xz},
           Tool{"tar -cJf ../archive .", ArchiveFormat::tar_xz},
           Tool{"tar --format=posix -cJf ../archive kirocli", ArchiveFormat::tar_xz},
           Tool{"tar --format=ustar --owner=0 --group=0 -czf ../archive kirocli", ArchiveFormat::tar_gz},
           Tool{"tar --format=gnu -cf - kirocli | zstd -q -c > ../archive", ArchiveFormat::tar_zst},
           Tool{"bsdtar -cJf ../archive kirocli", ArchiveFormat::tar_xz},
           Tool{"bsdtar --format pax -czf ../archive ./kirocli", ArchiveFormat::tar_gz},
           Tool{"bsdtar --format ustar --zstd -cf ../archive kirocli", ArchiveFormat::tar_zst},
           Tool{"bsdtar --format zip -cf ../archive kirocli", ArchiveFormat::zip},
           Tool{"python3 -c \"import tarfile; t = tarfile.open('../archive', 'w:xz'); t.add('kirocli'); t.close()\"",
                ArchiveFormat::tar_xz},
           Tool{"python3 -c \"import tarfile; tarfile.open('../archive', 'w:gz', "
                "format=tarfile.GNU_FORMAT).add('kirocli')\"",
                ArchiveFormat::tar_gz},
           Tool{"python3 -m zipfile -c ../archive kirocli", ArchiveFormat::zip},
           Tool{"7z a -bd -tzip ../archive.zip kirocli >/dev/null; mv ../archive.zip ../archive", ArchiveFormat::zip},
           Tool{"7z a -bd -ttar ../a.tar kirocli >/dev/null; xz -c ../a.tar > ../archive; rm ../a.tar",
                ArchiveFormat::tar_xz},
           Tool{"zip -q -r ../archive.zip kirocli; mv ../archive.zip ../archive", ArchiveFormat::zip},
       }) {
    Spawn spawn;
    spawn.path = "/bin/sh";
    spawn.argv = {"sh", "-c", make + tool.command};
    spawn.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
    const Result<Output> made = run_bounded(std::move(spawn), 1 << 16, std::chrono::seconds(30));
    ASSERT_TRUE(made && made->status.shell_code() == 0) << tool.command << made->err;
    std::ostringstream bytes;
    bytes << std::ifstream(root + "/archive", std::ios::binary).rdbuf();
    EXPECT_EQ(unpacked(bytes.str(), tool.format), "") << tool.command;
    EXPECT_THAT(listed(), ElementsAre("kirocli 493", "kirocli/README 420", "kirocli/bin 493",
                                      "kirocli/bin/kiro-cli 493", "kirocli/bin/kiro-cli-chat 493"))
        << tool.command;
    EXPECT_EQ(fs::file_size(root + "/staging/kirocli/bin/kiro-cli"),
              fs::file_size(root + "/tree/kirocli/bin/kiro-cli"));
    fs::remove_all(root + "/tree");
    fs::remove(root + "/archive");
  }
}

}  // namespace
}  // namespace oncelatch::verify
