// Hidden and protected parts of the workspace, and that no rename gets around them.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

class Covers : public testing::TestWithParam<Launch> {
 protected:
  void SetUp() override { REQUIRE_CONFINEMENT(); }
};
INSTANTIATE_TEST_SUITE_P(Launches, Covers, testing::ValuesIn(possible_launches()), launch_name);

void fill(const Lab& lab) {
  for (const char* name : {"a", "a/b", "a/b/.git", "a/b/.git/hooks", "other", ".hidden"}) lab.make_directory(name);
  lab.write("a/b/.git/config", "[core]\n");
  lab.write("a/b/free", "free");
  lab.write(".hidden/token", "token");
  lab.write(".env", "KEY=value");
  lab.write("other/file", "x");
}

// A read-only mount, or before it the guard by its names.
const std::set<std::string> kByEither = {"EROFS", "EACCES"};

TEST_P(Covers, ProtectedDirectoryAndItsAncestors) {
  Lab lab(GetParam());
  fill(lab);
  std::string ws = lab.workspace();
  std::map<std::string, std::set<std::string>> expected = {
      {"write=" + ws + "/a/b/.git/new", {"EROFS"}},
      {"append=" + ws + "/a/b/.git/config", kByEither},
      {"truncate=" + ws + "/a/b/.git/config", kByEither},
      {"unlink=" + ws + "/a/b/.git/config", {"EROFS"}},
      {"mkdir=" + ws + "/a/b/.git/hooks/x", kByEither},
      {"chmod-suid=" + ws + "/a/b/.git/config", {"EPERM"}},
      {"rename=" + ws + "/a/b/.git:" + ws + "/a/b/old", {"EBUSY", "EACCES"}},
      {"rename=" + ws + "/a/b:" + ws + "/a/c", {"EBUSY"}},
      {"rename=" + ws + "/a:" + ws + "/c", {"EBUSY"}},
      {"exchange=" + ws + "/a:" + ws + "/other", {"EBUSY", "EXDEV"}},
      {"exchange=" + ws + "/a/b:" + ws + "/a/b/.git", {"EBUSY", "EXDEV", "EINVAL", "EACCES"}},
      {"rename=" + ws + "/a/b/.git/config:" + ws + "/a/b/config", {"EXDEV", "EROFS", "EACCES"}},
      {"rename=" + ws + "/other/file:" + ws + "/a/b/.git/config", {"EXDEV", "EROFS", "EACCES"}},
      {"link=" + ws + "/a/b/.git/config:" + ws + "/a/b/config", {"EXDEV", "EROFS", "EACCES"}},
      {"umount=" + ws + "/a/b/.git", {"EPERM"}},
      {"remount=" + ws + "/a/b/.git", {"EPERM"}},
      {"mount-setattr=" + ws + "/a/b/.git", {"ENOSYS"}},
      {"read=" + ws + "/a/b/.git/config", {"OK"}},
      {"append=" + ws + "/a/b/free", {"OK"}},
      {"write=" + ws + "/a/new", {"OK"}},
      {"rename=" + ws + "/other:" + ws + "/another", {"OK"}},
  };
  std::vector<std::string> words;
  for (const auto& [word, allowed] : expected) words.push_back(word);
  auto seen = lab.attempts(words, {"--protect", ws + "/a/b/.git"});
  for (const auto& [word, allowed] : expected) EXPECT_TRUE(allowed.contains(seen[word])) << word << ": " << seen[word];
}

TEST_P(Covers, HiddenDirectoryAndFile) {
  Lab lab(GetParam());
  fill(lab);
  Seen seen = lab.run({"/bin/sh", "-c",
                       "ls -A .hidden; cat .env; echo x > .hidden/new || echo refused; echo y > .env || echo refused; "
                       "rm -rf .hidden 2>/dev/null || echo kept; mv .env e 2>/dev/null || echo kept"},
                      {"--hide", lab.workspace() + "/.hidden", "--hide", lab.workspace() + "/.env"});
  EXPECT_EQ(seen.out, "refused\nrefused\nkept\nkept\n") << seen.err;
  EXPECT_TRUE(std::filesystem::exists(lab.workspace() + "/.hidden/token"));
  std::ifstream env(lab.workspace() + "/.env");
  std::string line;
  std::getline(env, line);
  EXPECT_EQ(line, "KEY=value");
}

TEST_P(Covers, MissingOnesAreSkippedAndLeaveNoStub) {
  Lab lab(GetParam());
  fill(lab);
  Seen seen =
      lab.run({"/bin/true"}, {"--protect", lab.workspace() + "/absent/.git", "--hide", lab.workspace() + "/a/absent"});
  EXPECT_EQ(seen.code, 0) << seen.err;
  EXPECT_FALSE(std::filesystem::exists(lab.workspace() + "/absent"));
  EXPECT_FALSE(std::filesystem::exists(lab.workspace() + "/a/absent"));
}

TEST_P(Covers, NestedAndManyInAnyOrder) {
  Lab lab(GetParam());
  fill(lab);
  std::string ws = lab.workspace();
  Seen seen = lab.run({"/bin/sh", "-c", "ls -A a/b/.git/hooks; echo x > a/b/.git/new || echo refused; ls -A other"},
                      {"--hide", ws + "/other", "--hide", ws + "/a/b/.git/hooks", "--protect", ws + "/a/b/.git",
                       "--protect", ws + "/a/b/.git", "--hide", ws + "/other/file"});
  EXPECT_EQ(seen.out, "refused\n") << seen.err;
}

TEST_P(Covers, LinkInThePathIsRefused) {
  Lab lab(GetParam());
  fill(lab);
  std::filesystem::create_symlink(lab.outside(), lab.workspace() + "/link");
  Seen seen = lab.run({"/bin/true"}, {"--protect", lab.workspace() + "/link/secret"});
  EXPECT_EQ(seen.code, kRefused);
  EXPECT_NE(seen.err.find("refused ELOOP"), std::string::npos) << seen.err;
}

// B033: a link that is kept leads where it led, and nothing takes its place.
TEST_P(Covers, B033AKeptLinkCantBeReplaced) {
  Lab lab(GetParam());
  fill(lab);
  const std::string ws = lab.workspace();
  const std::pair<const char*, const char*> links[] = {
      {"a/b", "to-directory"}, {".env", "to-file"}, {"nowhere", "broken"}, {"circle", "circle"}, {"/etc", "absolute"}};
  std::vector<std::string> options;
  for (const auto& [target, name] : links) {
    std::filesystem::create_symlink(target, ws + "/" + name);
    options.insert(options.end(), {"--keep-link", ws + "/" + name});
  }
  lab.write("replacement", "x");
  for (const auto& [target, name] : links) {
    const std::string link = ws + "/" + name;
    for (const std::string& word : {"unlink=" + link, "rename=" + link + ":" + ws + "/moved",
                                    "rename=" + ws + "/replacement:" + link, "rename=" + ws + "/other:" + link}) {
      std::string seen = lab.attempts({word}, options)[word];
      EXPECT_TRUE(seen == "EBUSY" || seen == "ENOTDIR") << word << ": " << seen;
    }
    const std::string exchange = "exchange=" + link + ":" + ws + "/replacement";
    std::string seen = lab.attempts({exchange}, options)[exchange];
    EXPECT_TRUE(seen == "EBUSY" || seen == "EXDEV") << exchange << ": " << seen;
    EXPECT_EQ(std::filesystem::read_symlink(link).string(), target);
  }
  Seen used = lab.run({"/bin/sh", "-c",
                       "cat to-directory/free to-file; echo new > to-directory/new; readlink broken; "
                       "cat circle 2>/dev/null || echo round; test -e absolute/passwd && echo through"},
                      options);
  EXPECT_EQ(used.out, "freeKEY=valuenowhere\nround\nthrough\n") << used.err;
  EXPECT_TRUE(std::filesystem::exists(ws + "/a/b/new"));
}

TEST_P(Covers, WhatIsNoLinkIsNotKeptAsOne) {
  Lab lab(GetParam());
  fill(lab);
  for (const auto& [name, refusal] :
       {std::pair{"/a", "refused ESTALE"}, {"/.env", "refused ESTALE"}, {"/absent", "refused ENOENT"}}) {
    Seen seen = lab.run({"/bin/echo", "ran"}, {"--keep-link", lab.workspace() + name});
    EXPECT_EQ(seen.code, kRefused) << name;
    EXPECT_EQ(seen.out, "") << name;
    EXPECT_NE(seen.err.find(refusal), std::string::npos) << seen.err;
  }
}

void expect_each(const Lab& lab, const std::map<std::string, std::set<std::string>>& expected,
                 const std::vector<std::string>& options) {
  std::vector<std::string> words;
  for (const auto& [word, allowed] : expected) words.push_back(word);
  auto seen = lab.attempts(words, options);
  for (const auto& [word, allowed] : expected) EXPECT_TRUE(allowed.contains(seen[word])) << word << ": " << seen[word];
}

const std::set<std::string> kEmpty = {"ENODATA"};

TEST_P(Covers, BelowBindsAndTheHome) {
  Lab lab(GetParam());
  for (const char* name :
       {"data", "data/sub", "more", "more/private", "more/a", "more/a/settings", "more/other", "home"})
    lab.make_directory("../outside/" + std::string(name));
  for (const char* name :
       {"data/sub/secret", "data/sub/open", "more/private/key", "more/a/settings/file", "home/token"})
    lab.write("../outside/" + std::string(name), "content");
  const std::map<std::string, std::set<std::string>> expected = {
      {"read=/data/sub/secret", kEmpty},
      {"append=/data/sub/secret", {"EROFS", "EACCES"}},
      {"rename=/data/sub:/data/x", {"EBUSY", "EROFS", "EACCES"}},
      {"read=/data/sub/open", {"OK"}},
      {"list=/more/private", kEmpty},
      {"read=/more/private/key", {"ENOENT"}},
      {"write=/more/private/new", {"EROFS", "EACCES"}},
      {"rename=/more/private:/more/p", {"EBUSY"}},
      {"exchange=/more/private:/more/other", {"EBUSY", "EXDEV"}},
      {"append=/more/a/settings/file", {"EROFS"}},
      {"read=/more/a/settings/file", {"OK"}},
      {"rename=/more/a/settings:/more/a/old", {"EBUSY"}},
      {"rename=/more/a:/more/b", {"EBUSY"}},
      {"write=/more/a/new", {"OK"}},
      {"rename=/more/other:/more/another", {"OK"}},
      {"read=/home/agent/token", kEmpty},
      {"unlink=/home/agent/token", {"EBUSY"}},
      {"rename=/home/agent/token:/home/agent/t", {"EBUSY"}},
      {"write=/home/agent/new", {"OK"}},
  };
  const std::string& outside = lab.outside();
  expect_each(lab, expected,
              {"--bind", outside + "/data:/data:ro", "--bind", outside + "/more:/more:rw", "--home", outside + "/home",
               "--deny", "/data/sub/secret", "--deny", "/more/private", "--keep", "/more/a/settings", "--deny",
               "/home/agent/token"});
  EXPECT_TRUE(std::filesystem::exists(outside + "/more/private/key"));
}

// However it is spelled, also where the same tree of the host is shown a second time.
TEST_P(Covers, HiddenUnderEverySpelling) {
  Lab lab(GetParam());
  lab.make_directory("sub");
  lab.write("sub/secret", "content");
  lab.write("sub/open", "content");
  const std::string& ws = lab.workspace();
  std::filesystem::create_symlink("sub", ws + "/link");
  for (const char* name : {"secret", "open"}) std::filesystem::create_symlink(ws + "/sub/" + name, ws + "/to-" + name);
  std::filesystem::create_hard_link(ws + "/sub/secret", ws + "/hard");
  std::map<std::string, std::set<std::string>> expected;
  for (const char* directory : {"/sub/", "/./sub//", "/sub/../sub/", "/link/", "/to-"})
    for (const std::string& root : {ws, std::string("."), std::string("/proc/self/cwd"), "/proc/self/root" + ws,
                                    ws + "/../workspace", std::string("/proc/self/cwd/../workspace")})
      for (const char* name : {"secret", "open"})
        expected["read=" + root + directory + name] =
            std::string(name) == "open" ? std::set<std::string>{"OK"} : kEmpty;
  for (const char* place : {"/second/", "/whole/sub/"}) {
    expected["read=" + std::string(place) + "secret"] = kEmpty;
    expected["read=" + std::string(place) + "open"] = {"OK"};
  }
  expected["rename=/whole/sub:/whole/x"] = {"EBUSY"};
  expected["read=" + ws + "/hard"] = {"OK"};  // the limit that SECURITY.md names
  expect_each(lab, expected,
              {"--bind", ws + "/sub:/second:ro", "--bind", ws + ":/whole:rw", "--deny", ws + "/sub/secret"});
}

TEST_P(Covers, ANamedOneThatIsntThereIsRefused) {
  Lab lab(GetParam());
  fill(lab);
  const std::string& ws = lab.workspace();
  std::filesystem::create_symlink(lab.outside(), ws + "/link");
  std::filesystem::create_symlink("a", ws + "/inner");
  const std::pair<std::string, const char*> wrong[] = {
      {ws + "/absent", "refused ENOENT"},
      {ws + "/a/absent/x", "refused ENOENT"},
      {ws + "/.env/x", "refused ENOENT"},
      {ws + "/link/secret", "refused ELOOP"},
      {ws + "/link", "refused ELOOP"},
      {ws + "/inner/b", "refused ELOOP"},
      {"/home/agent/.x", "refused ENOENT"},
      {"/usr/bin/true", "refused EINVAL"},
      {ws, "refused EINVAL"},
      {"/tmp/x", "refused EINVAL"},
  };
  for (const char* option : {"--deny", "--keep"}) {
    for (const auto& [path, refusal] : wrong) {
      Seen seen = lab.run({"/bin/echo", "ran"}, {option, path});
      EXPECT_EQ(seen.code, kRefused) << option << path;
      EXPECT_EQ(seen.out, "") << option << path;
      EXPECT_NE(seen.err.find(refusal), std::string::npos) << option << path << seen.err;
      EXPECT_NE(seen.err.find(path), std::string::npos) << seen.err;
    }
    EXPECT_EQ(lab.run({"/bin/echo", "ran"}, {option, ws + "/a/b"}).out, "ran\n");
  }
}

// An earlier session could have made the link, or another user who owns a directory on the way.
TEST_P(Covers, ABindLeadsThroughNoLink) {
  Lab lab(GetParam());
  fill(lab);
  std::filesystem::create_symlink(lab.outside(), lab.workspace() + "/link");
  Seen seen = lab.run({"/bin/cat", "/data"}, {"--bind", lab.workspace() + "/link/secret:/data:ro"});
  EXPECT_EQ(seen.code, kRefused);
  EXPECT_NE(seen.err.find("refused ELOOP"), std::string::npos) << seen.err;
  EXPECT_EQ(lab.run({"/bin/cat", "/data"}, {"--bind", lab.workspace() + "/a/b/free:/data:ro"}).out, "free");
  std::filesystem::create_symlink(lab.workspace() + "/a/b", lab.outside() + "/b");
  std::vector<std::string> options = {"--bind", lab.outside() + "/b/free:/data:ro"};
  seen = lab.run({"/bin/cat", "/data"}, options);
  EXPECT_EQ(seen.code, kRefused);
  EXPECT_NE(seen.err.find("refused ESTALE"), std::string::npos) << seen.err;
}

TEST_P(Covers, WhatIsShownElsewhereCantBeHidden) {
  Lab lab(GetParam());
  fill(lab);
  const std::string& ws = lab.workspace();
  const std::vector<std::string> wrong[] = {
      {"--bind", ws + "/.hidden/token:/data/token:ro", "--deny", ws + "/.hidden"},
      {"--bind", ws + "/.env:/data/env:ro", "--hide", ws + "/.env"},
      {"--bind", "/usr/lib:/data:ro", "--deny", "/data/os-release"},
      {"--bind", ws + "/.hidden/token:" + ws + "/.hidden/token:ro", "--deny", ws + "/.hidden"},
      {"--bind", lab.outside() + "/secret:" + ws + "/.hidden/token:ro", "--deny", ws + "/.hidden"},
  };
  for (const std::vector<std::string>& options : wrong) {
    Seen seen = lab.run({"/bin/echo", "ran"}, options);
    EXPECT_EQ(seen.code, kRefused) << options[1];
    EXPECT_NE(seen.err.find("is to be hidden and is shown at"), std::string::npos) << seen.err;
  }
  Seen seen = lab.run({"/bin/cat", "/data/token", ".env"},
                      {"--bind", ws + "/.hidden/token:/data/token:ro", "--deny", ws + "/a", "--keep", ws + "/.hidden"});
  EXPECT_EQ(seen.out, "tokenKEY=value") << "read-only it can be shown twice" << seen.err;
}

TEST_P(Covers, ASocketCanBeHidden) {
  Lab lab(GetParam());
  std::vector<std::string> options = {"--bind", lab.outside() + ":/out:rw"};
  EXPECT_EQ(lab.attempts({"unix=/out/socket"}, options)["unix=/out/socket"], "OK");
  options.insert(options.end(), {"--deny", "/out/socket"});
  EXPECT_EQ(lab.attempts({"unix=/out/socket"}, options)["unix=/out/socket"], "ECONNREFUSED");
  options[3] = "/out/secret";
  EXPECT_EQ(lab.attempts({"unix=/out/socket"}, options)["unix=/out/socket"], "OK");
}

// The mount itself can't be renamed, what it lies in can.
TEST_P(Covers, AboveAMountThatLiesInTheWorkspace) {
  Lab lab(GetParam());
  for (const char* name : {"deep", "deep/er", "deep/er/tool", "../outside/x"}) lab.make_directory(name);
  lab.write("../outside/x/key", "content");
  const std::string deep = lab.workspace() + "/deep";
  expect_each(lab,
              {{"read=" + deep + "/er/tool/x/key", {"ENOENT"}},
               {"read=" + deep + "/er/tool/secret", {"OK"}},
               {"rename=" + deep + ":" + deep + "2", {"EBUSY", "EACCES"}},
               {"rename=" + deep + "/er:" + deep + "/est", {"EBUSY", "EACCES"}},
               {"rename=" + deep + "/er/tool:" + deep + "/er/t", {"EBUSY"}},
               {"rename=" + deep + "/er/tool/x:" + deep + "/er/tool/y", {"EBUSY"}},
               {"write=" + deep + "/er/tool/new", {"OK"}},
               {"write=" + deep + "/er/new", {"OK"}}},
              {"--bind", lab.outside() + ":" + deep + "/er/tool:rw", "--deny", deep + "/er/tool/x"});
}

TEST_P(Covers, NamesThatSortBetweenADirectoryAndItsEntries) {
  Lab lab(GetParam());
  for (const char* name : {"a", "a/b", "a-b", "a-b/c"}) lab.make_directory(name);
  lab.write("a/b/f", "content");
  const std::string& ws = lab.workspace();
  Seen seen = lab.run({"/bin/sh", "-c", "ls -A a a-b; echo x > free && cat free"},
                      {"--protect", ws + "/a/b", "--hide", ws + "/a-b", "--protect", ws + "/a", "--hide", ws + "/a"});
  EXPECT_EQ(seen.out, "a:\n\na-b:\nx\n") << seen.err;
}

// The real directory and a link to elsewhere take turns at one name.
class Swapper {
 public:
  Swapper(std::string name, std::string elsewhere)
      : name_(std::move(name)), elsewhere_(std::move(elsewhere)), thread_([this] { swap(); }) {}
  ~Swapper() {
    stop_ = true;
    thread_.join();
  }
  Swapper(const Swapper&) = delete;
  Swapper& operator=(const Swapper&) = delete;

 private:
  void swap() {
    const std::string aside = name_ + ".aside";
    while (!stop_) {
      EXPECT_EQ(::rename(name_.c_str(), aside.c_str()), 0);
      EXPECT_EQ(::symlink(elsewhere_.c_str(), name_.c_str()), 0);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      EXPECT_EQ(::unlink(name_.c_str()), 0);
      EXPECT_EQ(::rename(aside.c_str(), name_.c_str()), 0);
      std::this_thread::sleep_for(std::chrono::microseconds(1000));
    }
  }
  std::string name_;
  std::string elsewhere_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// E002: the planned inode or a refusal, never what the link leads to.
TEST_P(Covers, AComponentThatIsSwappedForALink) {
  const int starts = GetParam() == possible_launches().back() ? 200 : 40;
  Lab lab(GetParam());
  for (const char* name : {".kiro", ".kiro/hooks", ".kiro/settings", "../outside/hooks", "../outside/settings"})
    lab.make_directory(name);
  for (const char* name : {".kiro/hooks/f", "../outside/hooks/f"}) lab.write(name, "original");
  lab.write(".kiro/settings/f", "hidden");
  lab.write("../outside/settings/f", "elsewhere");
  const std::string kiro = lab.workspace() + "/.kiro";
  int ran = 0;
  {
    Swapper swapper(kiro, lab.outside());
    for (int i = 0; i < starts; ++i) {
      Seen seen = lab.run({"/bin/sh", "-c",
                           "for d in .kiro .kiro.aside; do echo changed > $d/hooks/f; echo x > $d/hooks/new; "
                           "cat $d/settings/f; done 2>/dev/null; echo work > work && cat work"},
                          {"--quick", "--keep", kiro + "/hooks", "--deny", kiro + "/settings"});
      bool started = seen.code == 0;
      EXPECT_TRUE(started || seen.code == kRefused) << seen.code << seen.err;
      EXPECT_EQ(seen.out, started ? "work\n" : "") << seen.err;
      ran += started ? 1 : 0;
    }
  }
  std::printf("%d of %d starts went on, the others were refused\n", ran, starts);
  EXPECT_GT(ran, 0);
  for (const std::string& place : {kiro, lab.outside()}) {
    EXPECT_EQ(line_of(place + "/hooks/f"), "original") << place;
    EXPECT_FALSE(std::filesystem::exists(place + "/hooks/new")) << place;
  }
}

}  // namespace
}  // namespace oncelatch::sandbox
