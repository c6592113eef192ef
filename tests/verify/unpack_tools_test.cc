// Zip archives, whose list and headers can disagree, and what the usual tools make of a tree.
#include <signal.h>
#include <sys/resource.h>

#include "base/process.h"
#include "tests/verify/unpack_support.h"

namespace oncelatch::verify {
namespace {

using test::packed_xz;
using test::TarWriter;
using test::ZipEntry;
using test::ZipWriter;
using ::testing::ElementsAre;

class UnpackZip : public UnpackTest {};
class UnpackTools : public UnpackTest {};

TEST_F(UnpackZip, ListsAndHeadersAgree) {
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
TEST_F(UnpackTools, AA097NoRoomIsAnError) {
  TarWriter tar;
  tar.file("a", std::string(100'000, 'a'));
  const std::string archive = packed_xz(tar.end());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{50'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string refused = unpacked(archive, ArchiveFormat::tar_xz);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(refused, ::testing::HasSubstr("File too large"));
}

// What the usual tools make of such a tree.
TEST_F(UnpackTools, ArchivesOfRealTools) {
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
           Tool{"python3 -c \"import tarfile; t = tarfile.open('../archive', 'w:gz', "
                "format=tarfile.GNU_FORMAT); t.add('kirocli'); t.close()\"",
                ArchiveFormat::tar_gz},
           Tool{"python3 -m zipfile -c ../archive kirocli", ArchiveFormat::zip},
           Tool{"7zz a -bd -tzip ../archive.zip kirocli >/dev/null; mv ../archive.zip ../archive", ArchiveFormat::zip},
           Tool{"7zz a -bd -ttar ../a.tar kirocli >/dev/null; xz -c ../a.tar > ../archive; rm ../a.tar",
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
