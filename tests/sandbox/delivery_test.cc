// What oncelatch-exec takes from the plan's socket, and how it refuses what isn't whole: the test stands where the
// launcher stands.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/process.h"
#include "sandbox/plan_writer.h"
#include "sandbox/stage.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {
namespace {

using Descriptors = std::vector<int>;

std::string plan_text(std::uint32_t sources) {
  PlanFields fields;
  fields.sources = sources;
  fields.landlock_abi = 7;
  fields.processes = 64;
  fields.open_files = 64;
  fields.working_directory = "/";
  fields.planted_directory = "/run/oncelatch-probe-0";
  fields.arguments = {"program"};
  return write_plan(fields);
}

Fd memory_with(const std::string& text, bool sealed) {
  Fd memory(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::write(memory.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  if (sealed) {
    EXPECT_EQ(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
  }
  return memory;
}

class Delivery : public testing::TestWithParam<std::uint32_t> {
 protected:
  void SetUp() override {
    REQUIRE_CONFINEMENT();
    sealed_ = memory_with(plan_text(2), true);
    program_ = Fd(::open("/bin/true", O_RDONLY | O_CLOEXEC));
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    plan_ = Fd(ends[0]);
    Fd theirs(ends[1]);
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    status_ = Fd(ends[0]);
    Fd status(ends[1]);
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    Fd lifeline(ends[0]);
    lifeline_ = Fd(ends[1]);
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    limit_ = Fd(ends[0]);
    Fd limit(ends[1]);
    Fd event(::eventfd(0, EFD_CLOEXEC));
    Spawn spawn{};
    spawn.path = ONCELATCH_EXEC;
    spawn.argv = {"oncelatch-exec"};
    spawn.death_signal = SIGKILL;
    spawn.keep = {{kPlanDescriptor, theirs.get()},
                  {kStatusDescriptor, status.get()},
                  {kLifelineDescriptor, lifeline.get()},
                  {kLimitDescriptor, limit.get()},
                  {kMemoryDescriptor, event.get()}};
    Result<Process> started = start(spawn);
    ASSERT_TRUE(started) << started.error().message();
    process_ = std::move(*started);
  }

  void begin(std::uint32_t magic = kPlanMagic, std::size_t size = sizeof(Beginning)) const {
    struct {
      Beginning beginning;
      char more = 0;
    } sent{};
    const uid_t user = ::geteuid() == 0 ? 61234 : ::geteuid();
    const gid_t group = ::geteuid() == 0 ? 61234 : ::getegid();
    sent.beginning = {magic, kPlanVersion, GetParam(), user, group, user, group};
    ASSERT_EQ(::send(plan_.get(), &sent, size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
  }

  void deliver(const Descriptors& descriptors, char word = kDescriptorsWord) const {
    iovec bytes{&word, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostInMessage * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
    }
    ASSERT_EQ(::sendmsg(plan_.get(), &message, MSG_NOSIGNAL), 1);
  }

  // The launcher says no more: what is told, and that both processes end.
  void refuses(Stage stage, int error, const std::string& text) {
    plan_.reset();
    StatusRecord record;
    pollfd told{status_.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&told, 1, 10000), 1) << "nothing was told";
    ASSERT_EQ(::read(status_.get(), &record, sizeof record), static_cast<ssize_t>(sizeof record));
    EXPECT_EQ(record.kind, StatusRecord::failed);
    EXPECT_EQ(record.stage, stage) << kStageNames[static_cast<unsigned>(record.stage)];
    EXPECT_EQ(record.error, error) << std::strerror(record.error);
    EXPECT_EQ(std::string(record.text), text);
    ASSERT_EQ(::poll(&told, 1, 10000), 1) << "somebody is still there";
    EXPECT_EQ(::read(status_.get(), &record, sizeof record), 0) << "somebody is still there";
    Result<ExitStatus> status = process_.wait(std::chrono::seconds(10));
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_EQ(status->shell_code(), 125);
  }

  Fd sealed_;
  Fd program_;
  Fd plan_;
  Fd status_;
  Fd lifeline_;
  Fd limit_;
  Process process_;
};

TEST_P(Delivery, WithoutABeginningNothingBegins) {
  refuses(Stage::plan, EBADMSG, "beginning");
}

TEST_P(Delivery, ABeginningOfAnotherProgram) {
  begin(kPlanMagic + 1);
  refuses(Stage::plan, EBADMSG, "beginning");
}

TEST_P(Delivery, ABeginningThatIsTooLong) {
  begin(kPlanMagic, sizeof(Beginning) + 1);
  refuses(Stage::plan, EBADMSG, "beginning");
}

TEST_P(Delivery, TheLauncherEndsBeforeThePlan) {
  begin();
  refuses(Stage::plan, EPIPE, "descriptors");
}

TEST_P(Delivery, AnotherWord) {
  begin();
  deliver({sealed_.get(), program_.get()}, 'x');
  refuses(Stage::plan, EBADMSG, "descriptors");
}

TEST_P(Delivery, NoDescriptors) {
  begin();
  deliver({});
  refuses(Stage::plan, EBADMSG, "descriptors");
}

TEST_P(Delivery, NoProgram) {
  begin();
  deliver({sealed_.get()});
  refuses(Stage::plan, EBADMSG, "descriptors");
}

// Whoever could still write it could change what was checked.
TEST_P(Delivery, APlanThatIsNotSealed) {
  begin();
  Fd open = memory_with(plan_text(0), false);
  deliver({open.get(), program_.get()});
  refuses(Stage::plan, EPERM, "the plan is not sealed");
}

TEST_P(Delivery, APlanThatIsNoMemory) {
  begin();
  deliver({program_.get(), program_.get()});
  refuses(Stage::plan, EINVAL, "F_GET_SEALS");
}

TEST_P(Delivery, AnEmptyPlan) {
  begin();
  Fd empty = memory_with("", true);
  deliver({empty.get(), program_.get()});
  refuses(Stage::plan, EMSGSIZE, "size of the plan");
}

TEST_P(Delivery, AMalformedPlan) {
  begin();
  Fd malformed = memory_with(plan_text(0) + "x", true);
  deliver({malformed.get(), program_.get()});
  refuses(Stage::plan, EBADMSG, "format");
}

TEST_P(Delivery, MoreSourcesThanThePlanHas) {
  begin();
  deliver({sealed_.get(), program_.get(), program_.get(), program_.get(), program_.get()});
  refuses(Stage::plan, EBADMSG, "descriptors");
}

TEST_P(Delivery, MoreSourcesInALaterMessage) {
  begin();
  deliver({sealed_.get(), program_.get(), program_.get()});
  deliver({program_.get(), program_.get()});
  refuses(Stage::plan, EBADMSG, "descriptors");
}

TEST_P(Delivery, FewerSourcesThanThePlanHas) {
  begin();
  deliver({sealed_.get(), program_.get(), program_.get()});
  refuses(Stage::plan, EPIPE, "descriptors");
}

INSTANTIATE_TEST_SUITE_P(Tiers, Delivery, testing::Values(0U, kPlanLandlockTier), [](const auto& one) {
  return one.param == 0 ? std::string("Full") : std::string("Landlock");
});

}  // namespace
}  // namespace oncelatch::sandbox
