// Archives that a hostile or careless vendor could ship, by case and by kind: nothing outside of the directory changes,
// and what isn't plain is refused.
#include "tests/verify/unpack_support.h"

namespace oncelatch::verify {
namespace {

using test::packed_gzip;
using test::packed_xz;
using test::packed_zstd;
using test::TarWriter;
using test::ZipWriter;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Unpack : public UnpackTest {};

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

}  // namespace
}  // namespace oncelatch::verify
