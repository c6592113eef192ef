// Cases on a terminal, which this program has the other side of.
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "tests/escapes/procedures.h"
#include "tests/escapes/text.h"

namespace oncelatch::escapes {

namespace {

using std::chrono::milliseconds;

struct Sequence {
  const char* label;
  const char* bytes;  // as printf(1) takes them
  const char* raw;    // what must not come out
};

constexpr Sequence kAnswering[] = {
    {"set the clipboard", R"(\033]52;c;aGk=\007)", "\033]52"},
    {"read the clipboard", R"(\033]52;c;?\007)", "\033]52;c;?"},
    {"report the title", R"(\033[21t)", "\033[21t"},
    {"request a setting", R"(\033P$q"p\033\\)", "\033P$q"},
    {"request a capability", R"(\033P+q544e\033\\)", "\033P+q"},
    {"ask by graphics", R"(\033_Gi=1,a=q;AAAA\033\\)", "\033_G"},
    {"download a file", R"(\033]1337;File=name=eA==;inline=0:eA==\007)", "\033]1337"},
    {"ask for a colour", R"(\033]11;?\007)", "\033]11;?"},
    {"ask for the answer-back", R"(\005)", "\005"},
};
constexpr Sequence kLinks[] = {
    {"a link to a file", R"(\033]8;;file:///home/u/x.desktop\033\\https://github.com/org\033]8;;\033\\)",
     "\033]8;;file:"},
    {"a link to another host", R"(\033]8;;https://evil.example/\033\\https://github.com/org\033]8;;\033\\)",
     "\033]8;;https://evil"},
};

struct Mode {
  const char* label;
  const char* set;
  const char* reset;
};
constexpr Mode kModes[] = {
    {"alternate screen left", "\033[?1049h", "\033[?1049l"}, {"mouse reports left", "\033[?1000h", "\033[?1000l"},
    {"bracketed paste left", "\033[?2004h", "\033[?2004l"},  {"focus reports left", "\033[?1004h", "\033[?1004l"},
    {"hidden cursor left", "\033[?25l", "\033[?25h"},
};

template <std::size_t N>
Observed print_all(Stage& stage, const Sequence (&sequences)[N]) {
  std::string script;
  for (const Sequence& sequence : sequences) script += "printf '" + std::string(sequence.bytes) + "-'; ";
  Ended ended = stage.shell(script + "printf '\\033[31mred\\033[0m\\n'");
  Observed observed;
  for (const Sequence& sequence : sequences)
    observed.lines.push_back(got_through(sequence.label, ended.out.find(sequence.raw) != std::string::npos));
  bool colour = ended.out.find("\033[31mred") != std::string::npos;
  observed.lines.push_back({"colours pass", colour ? "OK" : last_words(ended.out), true});
  observed.lines.push_back(stage.ordinary_work());
  return observed;
}

bool same_mode(const termios& a, const termios& b) {
  return a.c_iflag == b.c_iflag && a.c_oflag == b.c_oflag && a.c_lflag == b.c_lflag;
}

// The last word about a mode counts.
bool left_set(const std::string& output, const Mode& mode) {
  std::size_t set = output.rfind(mode.set);
  std::size_t reset = output.rfind(mode.reset);
  return set != std::string::npos && (reset == std::string::npos || reset < set);
}

}  // namespace

Observed inject_input(Stage& stage) {
  ChildPlan plan = stage.plan(stage.probe_command());
  plan.echo = false;  // what is injected would be mixed into the answers
  Child child = Child::start(plan);
  Ended ended = child.finish(kLaunchLimit);
  termios mode{};
  ::tcgetattr(child.terminal(), &mode);
  ::cfmakeraw(&mode);
  ::tcsetattr(child.terminal(), TCSANOW, &mode);
  int waiting = 0;
  ::ioctl(child.terminal(), FIONREAD, &waiting);
  Observed observed = stage.read_verdicts(ended);
  observed.lines.push_back(got_through("bytes wait in the caller's terminal", waiting > 0));
  return observed;
}

Observed print_sequences(Stage& stage) {
  return holds_word(stage.current().flags, "links") ? print_all(stage, kLinks) : print_all(stage, kAnswering);
}

Observed leave_modes(Stage& stage) {
  std::string script = "stty raw -echo; printf '";
  for (const Mode& mode : kModes) script += "\\033" + std::string(mode.set + 1);
  // Announced before the end, so that what came after it is seen to be the launcher's.
  Child child = Child::start(stage.plan({"/bin/sh", "-c", script + "'; echo modes set; sleep 0.2; kill -9 $$"}));
  termios before{};
  ::tcgetattr(child.terminal(), &before);
  Ended ended = child.finish(kLaunchLimit);
  termios after{};
  ::tcgetattr(child.terminal(), &after);
  Observed observed;
  bool came = ended.out.find("modes set") != std::string::npos;
  if (!came) observed.trouble = "code " + std::to_string(ended.code) + ": " + last_words(ended.out);
  observed.lines.push_back(got_through("raw mode left", !same_mode(before, after)));
  for (const Mode& mode : kModes) observed.lines.push_back(got_through(mode.label, left_set(ended.out, mode)));
  observed.lines.push_back(stage.ordinary_work());
  return observed;
}

Observed job_control(Stage& stage) {
  Child child = Child::start(stage.plan({"/bin/bash", "--norc", "--noprofile", "-i"}));
  struct Step {
    const char* label;
    const char* typed;
    const char* expected;
  };
  constexpr Step kSteps[] = {
      {"a shell", "PS1='$ '; echo be''gin\r", "begin"},
      {"job control is on", "case $- in *m*) echo mon''itor;; esac\r", "monitor"},
      {"tty", "tty | sed s/dev/d_e_v/\r", "/d_e_v/"},
      {"a job", "sleep 301; echo out''=$?\r", "sleep 301"},
      {"Ctrl-Z", "\x1a", "topped"},
      {"fg", "fg; echo co''de=$?\r", "sleep 301"},
      {"Ctrl-C", "\x03", "^C"},
      {"the shell goes on", "echo al''ive\r", "alive"},
  };
  Observed observed;
  std::size_t seen = 0;
  for (const Step& step : kSteps) {
    child.type(step.typed);
    bool came = false;
    for (int i = 0; i < 200 && !came; ++i) {
      came = child.seen().find(step.expected, seen) != std::string::npos;
      if (!came && !child.step()) break;
    }
    if (std::string(step.label) == "a job" || std::string(step.label) == "fg")
      for (int i = 0; i < 15; ++i) child.step();  // until it is in the foreground
    observed.lines.push_back({step.label, came ? "OK" : "missing", true});
    seen = child.seen().size();
    if (!came) break;
  }
  child.type("exit 7\r");
  int code = child.finish(milliseconds(3000)).code;
  observed.lines.push_back({"its exit code passes", code == 7 ? "OK" : std::to_string(code), true});
  return observed;
}

}  // namespace oncelatch::escapes
