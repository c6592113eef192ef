// The private tmux server and the guarded key, with a real tmux. Every test ends its own server.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "elicitation/delivery.h"
#include "elicitation/row_expression.h"
#include "elicitation/tmux_control.h"
#include "elicitation/tmux_server.h"

namespace oncelatch::elicitation {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class Tmux : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_tmux()) GTEST_SKIP() << "no tmux on this machine";
    char name[] = "/tmp/oncelatch-tmux-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override {
    server_.reset();
    if (directory_.empty()) return;
    EXPECT_NE(::access((directory_ + "/tmux.sock").c_str(), F_OK), 0) << "the socket was left behind";
    for (const char* file : {"/keys.log", "/pid"}) ::unlink((directory_ + file).c_str());
    EXPECT_EQ(::rmdir(directory_.c_str()), 0);
  }
  void start(std::vector<std::string> pane_argv, int columns = 80, int rows = 24) {
    TmuxSetup setup;
    setup.directory = directory_;
    setup.pane_argv = std::move(pane_argv);
    setup.status_text = "oncelatch 100% #{pane_id} C-] d detaches;";
    setup.columns = columns;
    setup.rows = rows;
    Result<TmuxServer> server = TmuxServer::start(setup);
    ASSERT_TRUE(server) << server.error().message();
    server_ = std::make_unique<TmuxServer>(std::move(*server));
  }
  void start_panel(const std::string& command, const std::string& above = "") {
    std::vector<std::string> argv{"/usr/bin/python3", std::string(ONCELATCH_SOURCE_DIR) + "/tests/elicitation/panel.py",
                                  directory_, command};
    if (!above.empty()) argv.push_back(above);
    start(std::move(argv));
    ASSERT_TRUE(wait_for([this] { return screen().kind == ScreenKind::approval; }));
  }
  Screen screen() { return read_screen(pane().capture().value_or(ScreenText{})); }
  Pane& pane() { return server_->pane(); }
  template <class Condition>
  static bool wait_for(Condition condition, milliseconds most = milliseconds(10000)) {
    for (const auto end = steady_clock::now() + most; steady_clock::now() < end;
         std::this_thread::sleep_for(milliseconds(5))) {
      if (condition()) return true;
    }
    return condition();
  }
  std::string file(const std::string& name) const {
    std::ifstream in(directory_ + "/" + name);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  // A command from a second client, as a person at a shell would.
  std::string tmux(std::vector<std::string> words) const {
    Spawn spawn;
    spawn.path = find_tmux().value().path;
    spawn.argv = {"tmux", "-S", directory_ + "/tmux.sock"};
    spawn.argv.insert(spawn.argv.end(), words.begin(), words.end());
    spawn.environment = tmux_environment();
    Result<Output> output = run_bounded(std::move(spawn), 1 << 20, std::chrono::seconds(10));
    return output ? output->out + output->err : "";
  }

  std::string directory_;
  std::unique_ptr<TmuxServer> server_;
};

TEST_F(Tmux, CapturesTheScreenAsItIs) {
  start_panel("pwd");
  const ScreenText text = pane().capture().value();
  EXPECT_EQ(text.columns, 80U);
  EXPECT_EQ(text.rows.size(), 24U);
  EXPECT_EQ(text.rows[1], "\u2193 Shell pwd");
  EXPECT_EQ(text.rows[9], "");
  EXPECT_FALSE(text.in_mode);
}

TEST_F(Tmux, RowsThatImitateTheProtocolAreRows) {
  start({"/bin/sh", "-c",
         "printf '%%end 1 2 1\\n%%error 3 4 1\\n%%exit\\n%%begin 1 1 1\\n'; for i in $(seq 0 2000); do :; done; exec "
         "sleep 1000"});
  ASSERT_TRUE(wait_for([this] { return pane().capture().value().rows[3] == "%begin 1 1 1"; }));
  EXPECT_EQ(pane().capture().value().rows[0], "%end 1 2 1");
  EXPECT_TRUE(server_->alive());
}

TEST_F(Tmux, KeysArriveOneByOne) {
  start_panel("pwd");
  const std::vector<std::string> header{" shell requires approval"};
  std::size_t focus = 0;
  for (const Key key : {Key::down, Key::down, Key::up, Key::enter}) {
    ASSERT_TRUE(wait_for([&] {
      const Screen seen = screen();
      return seen.panel && seen.panel->focused == focus;
    }));
    EXPECT_TRUE(pane().send_key_if(header, key).value());
    focus = key == Key::down ? focus + 1 : focus - 1;
  }
  EXPECT_TRUE(wait_for([this] { return file("keys.log").size() == 14; }));
  EXPECT_EQ(file("keys.log"), "\033[B|\033[B|\033[A|\r|");
  EXPECT_TRUE(wait_for([this] { return pane().capture().value().rows[1].substr(0, 11) == "chose Trust"; }));
}

TEST_F(Tmux, TheGuardRefusesAnotherText) {
  start_panel("pwd");
  const Screen seen = screen();
  const std::vector<std::string> rows = must_show(*seen.panel);
  // The prompt changes between the capture and the key.
  ASSERT_EQ(::kill(std::stoi(file("pid")), SIGUSR1), 0);
  ASSERT_TRUE(wait_for([this] {
    return tmux({"capture-pane", "-p", "-t", "main"}).find("Shell date") != std::string::npos;
  }));
  EXPECT_FALSE(pane().send_key_if(rows, Key::enter).value());
  EXPECT_FALSE(pane().send_key_if({"not there"}, Key::enter).value());
  EXPECT_FALSE(pane().send_key_if({}, Key::enter).value());
  EXPECT_EQ(file("keys.log"), "");
}

TEST_F(Tmux, TheGuardTakesEveryByteOfARow) {
  const std::string odd = R"(a'b"c#{pane_id},d}e;f\g$HOME `id` [x]*?^.|(y) ~ é 漢字 #(touch x) %1)";
  start_panel(odd);
  const std::vector<std::string> rows = must_show(*screen().panel);
  EXPECT_THAT(rows, ::testing::Contains("\u2193 Shell " + odd));
  EXPECT_TRUE(pane().send_key_if(rows, Key::down).value());
  EXPECT_TRUE(wait_for([this] { return file("keys.log") == "\033[B|"; }));
}

TEST_F(Tmux, CopyModeRefuses) {
  start_panel("pwd");
  tmux({"copy-mode", "-t", "main"});
  const ScreenText text = pane().capture().value();
  EXPECT_TRUE(text.in_mode);
  EXPECT_FALSE(pane().send_key_if({" shell requires approval"}, Key::enter).value());
  tmux({"send-keys", "-t", "main", "-X", "cancel"});
  const std::vector<std::string> rows = must_show(*screen().panel);
  tmux({"copy-mode", "-t", "main"});  // after the capture
  EXPECT_FALSE(pane().send_key_if(rows, Key::enter).value());
  EXPECT_EQ(file("keys.log"), "");
}

TEST_F(Tmux, OurKeysPassWhileAPersonsAreHeld) {
  start_panel("pwd");
  ASSERT_TRUE(pane().set_person_input(false));
  tmux({"send-keys", "-t", "main", "x"});
  (void)pane().capture();
  EXPECT_TRUE(pane().send_key_if({" shell requires approval"}, Key::down).value());
  EXPECT_TRUE(wait_for([this] { return file("keys.log") == "\033[B|"; }));
  tmux({"send-keys", "-t", "main", "y"});
  ASSERT_TRUE(pane().set_person_input(true));
  tmux({"send-keys", "-t", "main", "z"});
  EXPECT_TRUE(wait_for([this] { return file("keys.log") == "\033[B|z|"; })) << file("keys.log");
}

TEST_F(Tmux, TheControlClientDoesNotResize) {
  start({"/bin/sleep", "1000"}, 133, 41);
  const ScreenText text = pane().capture().value();
  EXPECT_EQ(text.columns, 133U);
  EXPECT_EQ(text.rows.size(), 41U);
  ASSERT_TRUE(server_->resize(90, 30));
  EXPECT_EQ(pane().capture()->columns, 90U);
  EXPECT_EQ(pane().capture()->rows.size(), 30U);
  EXPECT_THAT(tmux({"show-options", "-w", "-v", "-t", "main", "window-size"}), ::testing::HasSubstr("latest"));
}

TEST_F(Tmux, NothingIsBoundButDetach) {
  start({"/bin/sleep", "1000"});
  EXPECT_EQ(tmux({"list-keys", "-T", "root"}), "");
  EXPECT_THAT(tmux({"list-keys", "-T", "copy-mode"}), ::testing::HasSubstr("doesn't exist"));
  EXPECT_THAT(tmux({"list-keys", "-T", "copy-mode-vi"}), ::testing::HasSubstr("doesn't exist"));
  const std::string prefix = tmux({"list-keys", "-T", "prefix"});
  EXPECT_THAT(prefix, ::testing::HasSubstr("detach-client"));
  EXPECT_EQ(std::count(prefix.begin(), prefix.end(), '\n'), 1);
  for (const char* option : {"set-clipboard", "allow-passthrough", "allow-rename", "set-titles", "mouse"}) {
    const std::string value = tmux({"show-options", "-A", "-gv", option}) + tmux({"show-options", "-sv", option}) +
                              tmux({"show-options", "-gwv", option});
    EXPECT_THAT(value, ::testing::HasSubstr("off")) << option;
  }
}

TEST_F(Tmux, TheStatusTextIsShownLiterally) {
  start({"/bin/sleep", "1000"});
  EXPECT_EQ(tmux({"display-message", "-p", "-t", "main", "#{T:status-left}"}),
            "oncelatch 100% #{pane_id} C-] d detaches;\n");
}

TEST_F(Tmux, ANoticeComesAndGoes) {
  start({"/bin/sleep", "1000"});
  const std::string notice = "it's 1%d #(touch x); waits";
  ASSERT_TRUE(server_->show_notice(notice));
  EXPECT_EQ(tmux({"display-message", "-p", "-t", "main", "#{T:status-right}"}), notice + "\n");
  ASSERT_TRUE(server_->show_notice(""));
  EXPECT_EQ(tmux({"display-message", "-p", "-t", "main", "#{T:status-right}"}), "\n");
}

TEST_F(Tmux, AOneWordProgramIsNotGivenToAShell) {
  start({"/usr/bin/yes"});
  EXPECT_TRUE(wait_for([this] { return pane().capture().value().rows[0] == "y"; }));
  EXPECT_TRUE(wait_for([this] { return server_->handle_ready(); }));
}

TEST_F(Tmux, AnEndedServerIsNoticed) {
  start({"/bin/sleep", "1000"});
  EXPECT_TRUE(server_->alive());
  ASSERT_TRUE(server_->process().signal(SIGKILL));
  EXPECT_TRUE(wait_for([this] {
    (void)server_->handle_ready();
    return !server_->alive();
  }));
  EXPECT_FALSE(pane().capture());
  EXPECT_FALSE(pane().send_key_if({"x"}, Key::enter).value_or(false));
}

TEST_F(Tmux, TheServerEndsWithItsProgram) {
  start({"/bin/sleep", "0.3"});
  EXPECT_TRUE(wait_for([this] {
    (void)server_->handle_ready();
    return !server_->alive();
  }));
}

TEST_F(Tmux, AStoppedServerIsAnErrorWithinASecond) {
  start_panel("pwd");
  ASSERT_TRUE(server_->process().signal(SIGSTOP));
  const auto began = steady_clock::now();
  EXPECT_FALSE(pane().capture());
  EXPECT_LT(steady_clock::now() - began, milliseconds(3000));
  ASSERT_TRUE(server_->process().signal(SIGCONT));
  EXPECT_TRUE(wait_for([this] { return pane().capture().has_value(); }));  // a new client was started
}

TEST_F(Tmux, AWorkingSetupIsRequired) {
  TmuxSetup setup;
  setup.directory = directory_;
  setup.pane_argv = {"sleep", "1"};
  EXPECT_FALSE(TmuxServer::start(setup).has_value());
  setup.pane_argv = {"/bin/sleep", "1"};
  setup.directory = directory_ + std::string(120, 'x');
  EXPECT_FALSE(TmuxServer::start(setup).has_value());
}

TEST_F(Tmux, AConfiningProgramStandsInFront) {
  const std::string tmux = find_tmux().value().path;
  TmuxSetup setup;
  setup.directory = directory_;
  setup.pane_argv = {"/bin/sleep", "1000"};
  setup.server_command = {"/bin/sh", "-c", "echo server > \"$0\"; exec \"$@\"", directory_ + "/pid", tmux};
  setup.client_command = {"/bin/sh", "-c", "echo client >> \"$0\"; exec \"$@\"", directory_ + "/pid", tmux};
  Result<TmuxServer> server = TmuxServer::start(setup);
  ASSERT_TRUE(server) << server.error().message();
  server_ = std::make_unique<TmuxServer>(std::move(*server));
  EXPECT_TRUE(pane().capture().has_value());
  EXPECT_EQ(file("pid"), "server\nclient\n");
}

TEST_F(Tmux, WithoutItsConfinementNoServerStarts) {
  TmuxSetup setup;
  setup.directory = directory_;
  setup.pane_argv = {"/bin/sleep", "1000"};
  setup.server_command = {"/bin/sh", "-c", "exit 125", find_tmux().value().path};
  const Result<TmuxServer> server = TmuxServer::start(setup);
  ASSERT_FALSE(server.has_value());
  EXPECT_THAT(server.error().message(), ::testing::HasSubstr("could not be confined"));
}

// Neither the control client nor the person's becomes a server where there is none.
TEST_F(Tmux, AClientNeverStartsAServer) {
  const std::string socket = directory_ + "/tmux.sock";
  EXPECT_FALSE(TmuxControl::connect({find_tmux().value().path}, socket, {"new-session", "-d"}).has_value());
  EXPECT_NE(::access(socket.c_str(), F_OK), 0);
  const std::vector<std::string> attach = attach_argv(find_tmux().value(), directory_);
  EXPECT_THAT(attach, ::testing::Contains("-N"));
}

class FreeGate final : public InputGate {
 public:
  [[nodiscard]] Nanoseconds last_person_input() const override { return Nanoseconds(0); }
  [[nodiscard]] bool quiet() override { return true; }
  void expect_own_key(Key) override {}
  void own_key_not_sent(Key) override {}
};

TEST_F(Tmux, DeliversAcceptAndDecline) {
  for (const policy::Verdict verdict : {policy::Verdict::accept, policy::Verdict::decline}) {
    start_panel("git status -s");
    FreeGate gate;
    const SystemClock clock;
    DeliverySetup setup;
    setup.pane = &pane();
    setup.gate = &gate;
    setup.clock = &clock;
    setup.standing = [] { return Standing{}; };
    setup.write_down = [] { return Status(); };
    const WantedPanel wanted{
        call_text_of_title("Running: git status -s"),
        {policy::OptionKind::allow_once, policy::OptionKind::allow_always, policy::OptionKind::reject_once}};
    Delivery delivery(setup, wanted, verdict, clock.monotonic());
    while (!delivery.finished()) {
      delivery.tick();
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_TRUE(delivery.pressed()) << delivery.failure();
    const std::string row =
        verdict == policy::Verdict::accept ? "chose Yes, single permission" : "chose No (Tab to edit)";
    EXPECT_TRUE(wait_for([&] { return pane().capture().value().rows[1] == row; }));
    server_.reset();
    ::unlink((directory_ + "/keys.log").c_str());
  }
}

TEST(TmuxText, AttachKeepsCountedVariablesOnly) {
  EXPECT_THAT(attach_environment({"TERM=xterm", "SECRET=1", "LANG=", "HOME=/h", "odd"}),
              ::testing::ElementsAre("TERM=xterm", "HOME=/h"));
  EXPECT_THAT(attach_argv({"/usr/bin/tmux", 3, 3, "3.3a"}, "/run/s"),
              ::testing::IsSupersetOf({"/usr/bin/tmux", "/run/s/tmux.sock", "attach-session"}));
}

TEST(TmuxText, RowExpressions) {
  EXPECT_EQ(row_expression(" \u276f Yes, single"), "^ \u276f Yes. single$");
  EXPECT_TRUE(row_expression_matches("a,b", "a;b"));
  EXPECT_TRUE(row_expression_matches("a,b", "a\u00e9b"));
  EXPECT_FALSE(row_expression_matches("a,b", "a;bc"));
  EXPECT_FALSE(row_expression_matches("a,bc", "a;b"));
}

}  // namespace
}  // namespace oncelatch::elicitation
