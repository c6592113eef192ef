// What a plan says of paths, without a sandbox: places, links, covers, modes. That the kernel says the same is tested
// with `oncelatch why` (tests/launcher/why_test.cc).
#include "sandbox/view_answer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/base/temporary.h"

namespace oncelatch::sandbox {
namespace {

class ViewAnswer : public ::testing::Test {
 protected:
  ViewAnswer() {
    for (const char* name : {"work", "work/closed", "work/kept", "shown", "taken", "away"})
      ::mkdir(temporary_.path(name).c_str(), 0755);
    for (const char* name : {"work/file", "work/closed/key", "work/kept/hook", "shown/data", "taken/data"})
      std::ofstream(temporary_.path(name)) << "x";
    plan_.workspace = temporary_.path("work");
    plan_.uid = ::geteuid();
    plan_.gid = ::getegid();
    plan_.binds.push_back({.source = temporary_.path("shown"), .target = "/shown"});
    plan_.binds.push_back({.source = temporary_.path("taken"), .target = "/taken", .access = Access::read_write});
    plan_.covers.push_back({temporary_.path("work/closed"), Cover::Kind::hide});
    plan_.covers.push_back({temporary_.path("work/kept"), Cover::Kind::protect});
  }

  PathAnswer ask(const std::string& path) const {
    Result<ViewAnswers> answers = ViewAnswers::of(plan_, 7);
    EXPECT_TRUE(answers) << (answers ? "" : answers.error().message());
    return answers ? answers->ask(path) : PathAnswer();
  }
  PathAnswer ask_here(const std::string& name) const { return ask(temporary_.path(name)); }

  TemporaryDirectory temporary_;
  SandboxPlan plan_;
};

void expect(const PathAnswer& answer, Place place, Answer readable, Answer writable) {
  EXPECT_EQ(answer.place, place) << answer.real;
  EXPECT_EQ(answer.readable, readable) << answer.real;
  EXPECT_EQ(answer.writable, writable) << answer.real;
}

TEST_F(ViewAnswer, Places) {
  expect(ask_here("work/file"), Place::workspace, Answer::yes, Answer::yes);
  expect(ask("/shown/data"), Place::bind, Answer::yes, Answer::no);
  expect(ask("/taken/data"), Place::bind, Answer::yes, Answer::yes);
  EXPECT_EQ(ask("/taken/data").bind, 1U);
  expect(ask_here("away"), Place::temporary, Answer::no, Answer::no);  // the view's own /tmp
  expect(ask("/etc/shadow"), Place::nothing, Answer::no, Answer::no);
  expect(ask("/usr/bin/env"), Place::system, Answer::yes, Answer::no);
  EXPECT_EQ(ask("/usr/bin/env").executable, Answer::yes);
  expect(ask("/proc/1/mem"), Place::processes, Answer::depends, Answer::no);
  EXPECT_EQ(ask("/tmp/new").creatable, Answer::yes);
  EXPECT_EQ(ask("/new").creatable, Answer::no);
  EXPECT_EQ(ask("/shown/new").creatable, Answer::no);
}

TEST_F(ViewAnswer, Covers) {
  expect(ask_here("work/closed"), Place::hidden, Answer::yes, Answer::no);
  expect(ask_here("work/closed/key"), Place::hidden, Answer::no, Answer::no);
  EXPECT_EQ(ask_here("work/closed/key").visible, Answer::no);
  expect(ask_here("work/kept/hook"), Place::protection, Answer::yes, Answer::no);
  EXPECT_EQ(ask_here("work/kept").creatable, Answer::no);
  EXPECT_EQ(ask_here("work").creatable, Answer::yes);
}

TEST_F(ViewAnswer, LinksLeadWhereTheViewHasThem) {
  ASSERT_EQ(::symlink("/etc/shadow", temporary_.path("work/out").c_str()), 0);
  ASSERT_EQ(::symlink("../work/file", temporary_.path("work/in").c_str()), 0);
  ASSERT_EQ(::symlink("loop", temporary_.path("work/loop").c_str()), 0);
  EXPECT_EQ(ask_here("work/out").real, "/etc/shadow");
  expect(ask_here("work/out"), Place::nothing, Answer::no, Answer::no);
  expect(ask_here("work/in"), Place::workspace, Answer::yes, Answer::yes);
  EXPECT_NE(ask_here("work/loop").readable, Answer::yes);
  EXPECT_EQ(ask("/bin/sh").real.rfind("/usr/bin/", 0), 0U);
}

TEST_F(ViewAnswer, ModesAreAskedAsTheConfinedUser) {
  ASSERT_EQ(::chmod(temporary_.path("work/file").c_str(), 0400), 0);
  expect(ask_here("work/file"), Place::workspace, Answer::yes, Answer::no);
  EXPECT_TRUE(ask_here("work/file").by_mode);
  plan_.uid = 61234;
  plan_.gid = 61234;
  expect(ask_here("work/file"), Place::workspace, Answer::no, Answer::no);
}

}  // namespace
}  // namespace oncelatch::sandbox
