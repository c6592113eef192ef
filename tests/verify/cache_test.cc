// The managed cache: what is installed is whole, what is started is what was installed, and nobody else has a say.
#include "verify/cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/beneath.h"
#include "verify/cache_place.h"

namespace oncelatch::verify {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kA(64, 'a');
const std::string kB(64, 'b');

class ManagedCache : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "oncelatch-cache-XXXXXX";
    home = ::mkdtemp(name.data());
    root = home + "/share/oncelatch/artifacts";
  }
  void TearDown() override {
    const Fd above = *open_directory(fs::path(home).parent_path());
    (void)remove_tree(above.get(), fs::path(home).filename());
  }
  static void write(const std::string& path, const std::string& text, mode_t mode = 0644) {
    std::ofstream(path, std::ios::binary) << text;
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  // As an archive leaves it.
  void fill(const std::string& place, const std::string& text) const {
    fs::create_directories(place + "/kirocli/bin");
    write(place + "/kirocli/README", "read me");
    write(place + "/kirocli/bin/kiro-cli-chat", text, 0755);
    write(place + "/kirocli/bin/kiro-cli", "#!/bin/sh\n" + text, 0755);
  }
  [[nodiscard]] static TreeRecord record_of(const std::string& version, const std::string& digest) {
    return {.version = version,
            .source = "x.tar.xz",
            .archive_sha256 = digest,
            .manifest_sha256 = kB,
            .first_seen = 7,
            .entries = {}};
  }
  Status install(const std::string& version, const std::string& digest = kA, bool downgrade = false) const {
    const Cache cache = TRY(Cache::make(root, "kiro"));
    const CacheLock lock = TRY(cache.lock(std::chrono::seconds(5), {}));
    const std::string name = TRY(cache.stage(lock));
    fill(root + "/kiro/staging/" + name, version);
    return cache.install(lock, name, record_of(version, digest), downgrade);
  }
  [[nodiscard]] std::string place(const std::string& version) const { return root + "/kiro/versions/" + version; }
  [[nodiscard]] std::string refusal(const std::string& version, bool full = false) const {
    const Cache cache = *Cache::open(root, "kiro");
    const Result<ManagedVersion> checked = cache.check(version, full);
    return checked ? "" : checked.error().message();
  }
  [[nodiscard]] std::vector<std::string> installed() const {
    std::vector<std::string> names;
    for (const auto& one : fs::directory_iterator(root + "/kiro/versions")) names.push_back(one.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  void make_writable(const std::string& path) const {
    ASSERT_EQ(::chmod(path.c_str(), fs::is_directory(path) ? 0755 : 0644), 0);
  }
  std::string home, root;
};

TEST_F(ManagedCache, WhatIsInstalledIsStarted) {
  ASSERT_TRUE(install("2.1.0"));
  const Cache cache = *Cache::open(root, "kiro");
  EXPECT_EQ(cache.book()->current, "2.1.0");
  Result<ManagedVersion> version = cache.check("2.1.0", false);
  ASSERT_TRUE(version) << version.error().message();
  EXPECT_EQ(version->place, place("2.1.0"));
  const Result<VerifiedArtifact> program = open_checked(version->tree, "kirocli/bin/kiro-cli-chat", version->place);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->path(), place("2.1.0") + "/kirocli/bin/kiro-cli-chat");
  char text[16] = {};
  EXPECT_EQ(::pread(program->fd(), text, sizeof text, 0), 5);
  EXPECT_STREQ(text, "2.1.0");
  struct stat found {};
  ASSERT_EQ(::stat(program->path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777U, 0555U);
  EXPECT_TRUE(fs::is_empty(root + "/kiro/staging"));
  EXPECT_FALSE(open_checked(version->tree, "kirocli/bin/other", version->place));
}

// B001: size and times kept.
TEST_F(ManagedCache, B001AChangedByteIsFound) {
  ASSERT_TRUE(install("2.1.0"));
  const std::string file = place("2.1.0") + "/kirocli/bin/kiro-cli-chat";
  for (bool sealed : {false, true}) {
    if (sealed) {  // known by its identity, now that a tick has passed
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      ASSERT_EQ(refusal("2.1.0"), "");
    }
    const auto time = fs::last_write_time(file);
    make_writable(file);
    write(file, "2.1.1", 0555);
    fs::last_write_time(file, time);
    EXPECT_THAT(refusal("2.1.0"), AllOf(HasSubstr("kirocli/bin/kiro-cli-chat: SHA-256 is "), HasSubstr(", expected "),
                                        HasSubstr("nothing was started")));
    make_writable(file);
    write(file, "2.1.0", 0555);
    fs::last_write_time(file, time);
    EXPECT_EQ(refusal("2.1.0"), "");
  }
}

// AA-091, and each other way in which a tree differs.
TEST_F(ManagedCache, AA091TheTreeIsExactlyTheVersion) {
  ASSERT_TRUE(install("2.1.0"));
  const std::string tree = place("2.1.0") + "/kirocli";
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"echo x > bin/extra", "is no part of version 2.1.0"},
      {"mkdir bin/extra", "is no part of version"},
      {"echo x > ../extra", "is no part of version"},
      {"ln -s /bin/sh extra", "is no part of version"},
      {"rm README", "README: is missing"},
      {"rm -r bin", "bin: is missing"},
      {"mv README away; ln -s away README", ""},
      {"rm README; mkdir README", "is a directory"},
      {"rm README; mkfifo README", ""},
      {"ln README ../../../../../second", "has another name elsewhere"},
      {"chmod 0755 bin/kiro-cli", "mode is 0755, expected 0555"},
      {"chmod 4555 bin/kiro-cli", "mode is 4555"},
      {"chmod 0755 bin", "mode is 0755"},
      {"chmod u+w README; echo more >> README; chmod 0444 README", "has 12 bytes, expected 7"},
      {"rm -r bin; cp -r /bin/true bin", ""},
      {"mv bin/kiro-cli x; mv bin/kiro-cli-chat bin/kiro-cli; mv x bin/kiro-cli-chat", ""}};
  for (const auto& [change, words] : changes) {
    const std::string script = "cd '" + tree + "' && chmod u+w . .. bin && " + change +
                               "; chmod u-w . 2>/dev/null; test -d bin && "
                               "case '" +
                               change + "' in *'chmod 0755 bin') ;; *) chmod u-w bin;; esac; true";
    ASSERT_EQ(::system(script.c_str()), 0) << change;
    const std::string refused = refusal("2.1.0");
    EXPECT_THAT(refused, AllOf(HasSubstr("verify: "), HasSubstr(words))) << change;
    EXPECT_EQ(refused.find("sandbox"), std::string::npos);
    ASSERT_TRUE(install("2.1.0")) << change;  // puts it right
    ASSERT_EQ(refusal("2.1.0"), "") << change;
    (void)::unlink((home + "/second").c_str());
  }
}

// AA-083, B004's neighbour: one version is one archive, and versions don't go back by themselves.
TEST_F(ManagedCache, AA083VersionsDontChangeOrGoBack) {
  ASSERT_TRUE(install("2.10.0"));
  const Status other = install("2.10.0", kB);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), AllOf(HasSubstr("another archive"), HasSubstr(kA), HasSubstr(kB)));
  const Status older = install("2.9.0");
  ASSERT_FALSE(older);
  EXPECT_THAT(older.error().message(), AllOf(HasSubstr("older than 2.10.0"), HasSubstr("--allow-downgrade")));
  EXPECT_TRUE(install("2.9.0", kB, true));
  EXPECT_EQ(Cache::open(root, "kiro")->book()->current, "2.9.0");
  // Also after its files are gone.
  const Cache cache = *Cache::open(root, "kiro");
  EXPECT_THAT(*cache.collect(*cache.lock(std::chrono::seconds(1), {})), ElementsAre("2.10.0"));
  EXPECT_FALSE(install("2.9.5"));
  EXPECT_FALSE(install("2.10.0", kB, true));
  EXPECT_THAT(installed(), ElementsAre("2.9.0"));
}

TEST_F(ManagedCache, WhatIsInUseIsKept) {
  ASSERT_TRUE(install("2.1.0"));
  const Cache cache = *Cache::open(root, "kiro");
  Result<ManagedVersion> used = cache.check("2.1.0", false);
  ASSERT_TRUE(used);
  ASSERT_TRUE(install("2.2.0"));
  EXPECT_THAT(*cache.collect(*cache.lock(std::chrono::seconds(1), {})), IsEmpty());
  EXPECT_EQ(refusal("2.1.0"), "");
  // Replaced by itself: whoever runs it keeps what they had.
  ASSERT_TRUE(install("2.1.0", kA, true));
  EXPECT_FALSE(fs::is_empty(root + "/kiro/staging"));
  EXPECT_EQ(::faccessat(used->directory.get(), "kirocli/bin/kiro-cli", X_OK, 0), 0);
  used = Failure(Error{});
  EXPECT_THAT(*cache.collect(*cache.lock(std::chrono::seconds(1), {})), ElementsAre("2.2.0"));
  EXPECT_TRUE(fs::is_empty(root + "/kiro/staging"));
}

// AA-092
TEST_F(ManagedCache, AA092PlacesThatOthersChangeAreRefused) {
  const std::string share = home + "/share";
  auto refused = [&] {
    const Result<Cache> made = Cache::make(root, "kiro");
    return made ? std::string() : made.error().message();
  };
  ASSERT_TRUE(install("2.1.0"));
  for (const std::string& part :
       {share, share + "/oncelatch", root, root + "/kiro", root + "/kiro/versions", root + "/kiro/staging"}) {
    for (mode_t mode : {0775U, 0702U, 01777U}) {
      ASSERT_EQ(::chmod(part.c_str(), mode), 0);
      const bool is_as_tmp = mode == 01777 && ::geteuid() == 0 && part.size() < root.size();
      EXPECT_EQ(refused() == "", is_as_tmp) << part << ' ' << mode;
      ASSERT_EQ(::chmod(part.c_str(), 0700), 0);
    }
    fs::rename(part, part + "-real");
    fs::create_symlink(part + "-real", part);
    EXPECT_NE(refused(), "") << part;
    EXPECT_FALSE(Cache::open(root, "kiro")) << part;
    fs::remove(part);
    write(part, "file");
    EXPECT_NE(refused(), "") << part;
    fs::remove(part);
    ASSERT_EQ(::mkfifo(part.c_str(), 0600), 0);
    EXPECT_NE(refused(), "") << part;
    fs::remove(part);
    fs::rename(part + "-real", part);
    if (::geteuid() == 0) {
      ASSERT_EQ(::chown(part.c_str(), 12345, 12345), 0);
      EXPECT_THAT(refused(), HasSubstr("verify: ")) << part;
      ASSERT_EQ(::chown(part.c_str(), 0, 0), 0);
    }
    EXPECT_EQ(refused(), "") << part;
  }
  // The version's directory itself.
  fs::rename(place("2.1.0"), home + "/elsewhere");
  fs::create_symlink(home + "/elsewhere", place("2.1.0"));
  EXPECT_THAT(refusal("2.1.0"), HasSubstr("is not a directory of its own"));
  EXPECT_FALSE(install("2.1.0"));
  EXPECT_TRUE(fs::is_symlink(place("2.1.0")));
}

TEST_F(ManagedCache, TheLockSaysWhoHasIt) {
  const Cache cache = *Cache::make(root, "kiro");
  const pid_t owner = ::fork();
  ASSERT_GE(owner, 0);
  if (owner == 0) {
    const Result<CacheLock> held = cache.lock(std::chrono::seconds(1), {});
    write(home + "/ready", "x");
    for (;;) ::pause();
  }
  for (int i = 0; i < 500 && !fs::exists(home + "/ready"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::string told;
  Result<CacheLock> refused = cache.lock(std::chrono::milliseconds(150), [&](const std::string& text) { told = text; });
  ASSERT_FALSE(refused);
  const std::string words = "process " + std::to_string(owner);
  EXPECT_THAT(refused.error().message(), HasSubstr(words + " works in it"));
  EXPECT_THAT(told, HasSubstr(words));
  ASSERT_EQ(::kill(owner, SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(owner, &status, WUNTRACED), owner);
  refused = cache.lock(std::chrono::milliseconds(1), {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr(words + ", which is stopped,"));
  // A crash frees it at once.
  ASSERT_EQ(::kill(owner, SIGKILL), 0);
  ASSERT_EQ(::waitpid(owner, &status, 0), owner);
  EXPECT_TRUE(cache.lock(std::chrono::milliseconds(1), {}));
}

TEST_F(ManagedCache, LeftoversGoWithTheNextLock) {
  const Cache cache = *Cache::make(root, "kiro");
  fs::create_directories(root + "/kiro/staging/left/deep");
  ASSERT_EQ(::chmod((root + "/kiro/staging/left/deep").c_str(), 0), 0);
  fs::create_directories(place("9.9.9") + "/no-record");
  ASSERT_TRUE(install("2.1.0"));
  EXPECT_TRUE(fs::is_empty(root + "/kiro/staging"));
  EXPECT_THAT(refusal("9.9.9"), HasSubstr("not installed"));
  EXPECT_THAT(*cache.collect(*cache.lock(std::chrono::seconds(1), {})), IsEmpty());
  EXPECT_THAT(installed(), ElementsAre("2.1.0"));
}

TEST_F(ManagedCache, SealsAreOursAlone) {
  ASSERT_TRUE(install("2.1.0"));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  ASSERT_EQ(refusal("2.1.0"), "");
  const std::string seals = root + "/kiro/seals";
  ASSERT_TRUE(fs::exists(seals));
  // A line that was changed, with its file: the sum under the key doesn't fit.
  const std::string file = place("2.1.0") + "/kirocli/README";
  make_writable(file);
  write(file, "REA ME!", 0444);
  struct stat found {};
  ASSERT_EQ(::stat(file.c_str(), &found), 0);
  std::ostringstream text;
  text << std::ifstream(seals).rdbuf();
  std::string forged = text.str();
  const std::size_t line = forged.rfind('\n', forged.find("kirocli/README")) + 1;
  const std::string digest = forged.substr(line, 64);
  const auto time = [](const timespec& at) { return std::to_string(at.tv_sec * 1000000000 + at.tv_nsec); };
  forged.replace(line, forged.find('\n', line) - line,
                 digest + " " + std::to_string(found.st_dev) + " " + std::to_string(found.st_ino) + " 7 " +
                     time(found.st_mtim) + " " + time(found.st_ctim) + " kirocli/README");
  write(seals, forged, 0600);
  EXPECT_THAT(refusal("2.1.0"), HasSubstr("README: SHA-256 is"));
  for (const char* name : {"seals", "../seal.key"}) {
    write(root + "/kiro/" + name, std::string(100, '\0'), 0600);
    EXPECT_THAT(refusal("2.1.0"), HasSubstr("README: SHA-256 is")) << name;
  }
}

TEST_F(ManagedCache, ABookThatIsntOneRefuses) {
  ASSERT_TRUE(install("2.1.0"));
  const std::string book = root + "/kiro/artifacts.lock";
  std::ostringstream text;
  text << std::ifstream(book).rdbuf();
  for (const std::string& other : {std::string("{}"), std::string(), "x" + text.str()}) {
    write(book, other, 0600);
    EXPECT_THAT(refusal("2.1.0"), HasSubstr("artifacts.lock")) << other;
    EXPECT_FALSE(install("2.1.0"));
  }
  fs::remove(book);
  fs::create_symlink("/etc/passwd", book);
  EXPECT_NE(refusal("2.1.0"), "");
}

}  // namespace
}  // namespace oncelatch::verify
