// Runs the escape cases under one launcher or several, and prints what held.
//
//   oncelatch-escapes                                              our own launcher
//   oncelatch-escapes --launcher 'bwrap --unshare-all … {}'        any other; several times: side by side
//
// Exit code: 0 when everything that applies held (or, with --expect-open, exactly what was named didn't) and what
// --testable names could be tried; 1 otherwise; 2 for a mistake on the command line; 77 (skipped) where --as needs
// root.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <set>

#include "tests/escapes/catalogue.h"
#include "tests/escapes/stage.h"
#include "tests/escapes/table.h"

namespace oncelatch::escapes {

namespace {

using std::chrono::steady_clock;

constexpr const char* kOurs =
    " --workspace {workspace} {profile:--profile {outside}/profile.yaml} {ci:--profile ci} "
    "{loopback:--net loopback} {empty:--net ports:} {ptrace:--allow ptrace} {time:--time 3} {swap:--deny "
    "{workspace}/.kiro} "
    "{limits:--limit memory=256M --limit processes=256 --limit file-size=64M --limit tmp=64M} -- {}";
constexpr double kMostSeconds = 118;

struct Options {
  std::vector<std::string> launchers;
  std::vector<std::string> only;
  std::vector<std::string> expect_open;
  std::vector<std::string> testable;
  uid_t as = ::geteuid();
  bool json = false;
  bool list = false;
  bool strict = false;
  bool overlay = false;
  std::string ours = "oncelatch";
};

std::string beside_this_program(const std::string& name) {
  char self[PATH_MAX] = {};
  (void)!::readlink("/proc/self/exe", self, sizeof self - 1);
  return std::filesystem::path(self).parent_path() / name;
}

void declare(CLI::App& app, Options& options) {
  app.add_option(
      "--launcher", options.launchers,
      "command line of a launcher; {} is the confined command, {workspace} the workspace, {FLAG:WORDS} stands "
      "for WORDS in cases with the flag (terminal, loopback, ptrace, ci, time, limits, toolchains, swap). "
      "Limits: at most 256 MiB, 256 processes, files of 64 MiB");
  app.add_option("--ours", options.ours, "where our launcher is (default: in PATH); used when no --launcher is named");
  app.add_option("--only", options.only, "cases by id")->delimiter(',');
  app.add_option("--expect-open", options.expect_open,
                 "cases that are known not to hold: any other answer is a failure")
      ->delimiter(',');
  app.add_option("--testable", options.testable, "cases that this machine must be able to try: a failure otherwise")
      ->delimiter(',');
  app.add_option("--as", options.as, "the user to launch as (root only)");
  app.add_flag("--json", options.json, "results for programs");
  app.add_flag("--list", options.list, "the cases, without running any");
  app.add_flag("--overlay", options.overlay,
               "our launcher once more, with --workspace-mode overlay: the workspace stays as it is, and of what is "
               "promoted nothing gets through");
  app.add_flag("--strict", options.strict, "count what only our sandbox promises for every launcher");
}

volatile std::sig_atomic_t interrupted = 0;

void stop_soon(int) {
  interrupted = 1;
}

std::vector<Case> chosen(const Options& options) {
  std::vector<Case> cases = catalogue();
  if (options.only.empty()) return cases;
  std::set<std::string> wanted(options.only.begin(), options.only.end());
  std::erase_if(cases, [&](const Case& one) { return !wanted.contains(one.id); });
  return cases;
}

Row try_case(Scene& scene, const Launcher& launcher, const Case& one, const Observed* without, bool strict,
             Observed& observed) {
  if (one.scope == Scope::ours && !launcher.ours()) return {Verdict::not_applicable, one.needs, 0, {}};
  if (one.scope != Scope::any && launcher.is_none())
    return {Verdict::not_applicable, "asks how a launcher behaves", 0, {}};
  auto start = steady_clock::now();
  scene.mount_below(!launcher.overlays() || scene.uid() == 0);
  scene.renew();
  Stage stage(scene, launcher, one);
  observed = one.procedure != nullptr ? one.procedure(stage) : stage.attempt();
  sweep();
  Row row = judge(one, observed, without, strict || launcher.ours());
  row.seconds = std::chrono::duration<double>(steady_clock::now() - start).count();
  return row;
}

Results run_all(Scene& scene, const Options& options, const std::vector<Launcher>& launchers) {
  auto start = steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(steady_clock::now() - start).count(); };
  Results results;
  results.cases = chosen(options);
  results.user = "uid " + std::to_string(scene.uid());
  Launcher none = Launcher::none();
  results.columns.push_back({none.name(), true, {}});
  for (const Launcher& launcher : launchers) results.columns.push_back({launcher.name(), false, {}});
  for (const Case& one : results.cases) {
    Observed without;
    results.columns[0].rows.push_back(interrupted == 0 ? try_case(scene, none, one, nullptr, false, without) : Row{});
    bool comparable = one.scope == Scope::any && without.not_applicable.empty();
    for (std::size_t i = 0; i < launchers.size(); ++i) {
      Observed observed;
      Row row{Verdict::open, "no time was left", 0, {}};
      if (interrupted == 0 && elapsed() < kMostSeconds * static_cast<double>(launchers.size()))
        row = try_case(scene, launchers[i], one, comparable ? &without : nullptr, options.strict, observed);
      results.columns[i + 1].rows.push_back(std::move(row));
    }
    if (!options.json && ::isatty(2) == 1) std::fprintf(stderr, "\r%s ", one.id.c_str());
  }
  results.seconds = elapsed();
  return results;
}

bool as_expected(const Results& results, const Options& options) {
  std::set<std::string> expected(options.expect_open.begin(), options.expect_open.end());
  std::set<std::string> testable(options.testable.begin(), options.testable.end());
  bool good = true;
  for (const Column& column : results.columns) {
    for (std::size_t i = 0; i < results.cases.size() && !column.none; ++i) {
      bool open = column.rows[i].verdict == Verdict::open;
      bool wanted = expected.contains(results.cases[i].id);
      if (!open && wanted)
        std::fprintf(stderr, "%s: %s was expected not to hold, but: %s\n", column.launcher.c_str(),
                     results.cases[i].id.c_str(), verdict_name(results.cases[i], column.rows[i].verdict).c_str());
      bool untried = column.rows[i].verdict == Verdict::untestable && testable.contains(results.cases[i].id);
      if (untried)
        std::fprintf(stderr, "%s: %s must be testable here, but: %s\n", column.launcher.c_str(),
                     results.cases[i].id.c_str(), column.rows[i].detail.c_str());
      good = good && open == wanted && !untried;
    }
  }
  return good;
}

std::vector<std::string> unknown_cases(const Options& options) {
  std::set<std::string> known;
  for (const Case& one : catalogue()) known.insert(one.id);
  std::vector<std::string> unknown;
  for (const std::vector<std::string>* ids : {&options.only, &options.expect_open, &options.testable})
    for (const std::string& id : *ids)
      if (!known.contains(id)) unknown.push_back(id);
  return unknown;
}

int list(const Options& options) {
  for (const Case& one : chosen(options)) std::printf("%s %s\n", one.id.c_str(), one.technique.c_str());
  return 0;
}

int run(Options options) {
  if (options.list) return list(options);
  for (const std::string& id : unknown_cases(options)) {
    std::fprintf(stderr, "escapes: %s: isn't a case\ntry: --list names them\n", id.c_str());
    return 2;
  }
  std::vector<Launcher> launchers;
  std::set<std::string> names;
  if (options.launchers.empty()) options.launchers.push_back(options.ours + " exec" + kOurs);
  if (options.overlay) options.launchers.push_back(options.ours + " exec --workspace-mode overlay" + kOurs);
  for (const std::string& line : options.launchers) {
    Result<Launcher> launcher = Launcher::parse(line);
    if (!launcher) {
      std::fprintf(stderr, "%s\n", launcher.error().message().c_str());
      return 2;
    }
    while (!names.insert(launcher->name()).second) launcher->rename(launcher->name() + "'");
    launchers.push_back(std::move(*launcher));
  }
  ::signal(SIGINT, stop_soon);
  ::signal(SIGTERM, stop_soon);
  leave_the_host();
  become_subreaper();
  Scene scene(options.as, beside_this_program("probe"));
  std::error_code ignored;
  std::filesystem::copy_file(beside_this_program("libescapes_preload.so"), scene.outside() + "/preload.so", ignored);
  Results results = run_all(scene, options, launchers);
  std::fputs((options.json ? as_json(results) : as_table(results)).c_str(), stdout);
  return as_expected(results, options) ? 0 : 1;
}

}  // namespace
}  // namespace oncelatch::escapes

namespace {

// In a young container our number is low, and a sandbox has a process with that number, too: a signal to it would prove
// nothing. There a child with a higher one does the work; its exit code, or -1 in the child itself.
int hand_to_a_telling_number() {
  constexpr pid_t kTelling = 1024;
  const pid_t parent = ::getpid();
  for (int tries = 0; parent < kTelling && tries < 2 * kTelling; ++tries) {
    const pid_t child = ::fork();
    if (child < 0) return 2;
    if (child == 0) {
      if (::getpid() < kTelling) ::_exit(0);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(2);
      return -1;
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child >= kTelling) return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
  }
  return -1;
}

}  // namespace

int main(int argc, char** argv) {
  if (int code = hand_to_a_telling_number(); code >= 0) return code;
  oncelatch::escapes::Options options;
  CLI::App app("Tries to leave a sandbox, and to work in it: the escape cases under any launcher.",
               "oncelatch-escapes");
  oncelatch::escapes::declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.as != ::geteuid() && ::geteuid() != 0) {
    std::fprintf(stderr, "escapes: --as: only root can become another user\ntry: leave it away\n");
    return 77;
  }
  return oncelatch::escapes::run(std::move(options));
}
