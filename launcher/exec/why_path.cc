#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/untrusted.h"
#include "launcher/exec/origins.h"
#include "launcher/exec/why_answer.h"
#include "sandbox/plan_checks.h"

namespace oncelatch::launcher {

namespace {

using sandbox::Answer;
using sandbox::PathAnswer;
using sandbox::Place;

constexpr std::string_view kSecretNames[] = {
    ".ssh",        ".aws",    ".gnupg",           ".kube",  ".docker",         ".config", ".netrc",
    ".npmrc",      ".pypirc", ".git-credentials", ".azure", ".password-store", "shadow",  "gshadow",
    "credentials", ".cargo",  ".mozilla",         ".env"};

std::string shown(const std::string& text) {
  return escape_for_display(text, 400);
}

std::string octal(mode_t mode) {
  std::string digits;
  for (int shift = 9; shift >= 0; shift -= 3) digits += static_cast<char>('0' + (mode >> shift & 7));
  return digits;
}

bool below(const char* directory, const std::string& path) {
  return is_or_contains(directory, path);
}

bool holds_secrets(const std::string& path) {
  for (std::size_t start = 0; start < path.size();) {
    std::size_t end = std::min(path.find('/', start), path.size());
    std::string_view name = std::string_view(path).substr(start, end - start);
    if (std::find(std::begin(kSecretNames), std::end(kSecretNames), name) != std::end(kSecretNames)) return true;
    start = end + 1;
  }
  return false;
}

std::string inside_of(const PathAnswer& answer) {
  return answer.real == answer.holder ? std::string() : " (it lies in " + shown(answer.holder) + ")";
}

const sandbox::Cover* cover_at(const sandbox::SandboxPlan& plan, const std::string& path) {
  for (const sandbox::Cover& cover : plan.covers)
    if (cover.path == path) return &cover;
  return nullptr;
}

std::string rule_of_cover(const PathAnswer& answer, const WhyCase& about) {
  Origins origins(about.options, about.plan, about.environment);
  const sandbox::Cover* cover = cover_at(about.plan.sandbox, answer.holder);
  std::string why = cover == nullptr ? std::string() : origins.of_cover(*cover);
  const bool stand_in = answer.place == Place::hidden && answer.real == answer.holder;
  return (answer.place == Place::hidden ? "hidden: " : "protected, read-only: ") + why +
         (stand_in ? "; an empty stand-in is shown" : inside_of(answer));
}

std::string rule_of_nothing(const PathAnswer& answer) {
  if (below("/etc", answer.real)) return "nothing shows it: of /etc the sandbox has a list of its own";
  if (below("/sys", answer.real)) return "nothing shows it: the sandbox has no /sys";
  return "nothing shows it: the sandbox has only what its rules name";
}

struct Permission {
  struct stat found {};
  bool exists = false;
  std::string host;
};

// What stands on the host under this name, whatever the view shows.
Permission on_host(const PathAnswer& answer, const std::string& path) {
  Permission there;
  there.host = answer.host.empty() ? real_path(path) : answer.host;
  there.exists = !there.host.empty() && ::stat(there.host.c_str(), &there.found) == 0;
  return there;
}

std::string parent_of(const std::string& path) {
  return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
}

void no_option(WhyAnswer& why, std::string reason) {
  why.permits.push_back("no option opens this: " + std::move(reason));
}

// Directories that no option shows, or shows writable; empty: it can be had.
std::string never(const std::string& path, bool writable) {
  if (below("/proc", path) || below("/dev", path) || below("/sys", path)) return "the sandbox has its own, or none";
  if (writable && sandbox::is_system_place(path)) return "the system is never writable";
  return path == "/" ? "the whole file system is never shown" : "";
}

std::string extent(const Permission& there, bool writable) {
  std::string text =
      S_ISDIR(there.found.st_mode) ? "this directory and everything below it, now and later" : "this file";
  text += writable ? ", to read, change and remove: also what this machine runs or trusts from there" : ", read-only";
  if (S_ISDIR(there.found.st_mode)) text += "; sockets in it can be connected to";
  return text;
}

}  // namespace

std::string rule_of(const PathAnswer& answer, const WhyCase& about) {
  switch (answer.place) {
    case Place::nothing:
      return rule_of_nothing(answer);
    case Place::skeleton:
      return "made for the sandbox, read-only";
    case Place::temporary:
      return "private to this sandbox, empty at the start, gone at the end" + inside_of(answer);
    case Place::system:
      return below("/etc", answer.real) ? "built in: the list of /etc"
                                        : "built in: the system, read-only" + inside_of(answer);
    case Place::workspace:
      return "the workspace" + inside_of(answer) +
             (about.plan.sandbox.overlay ? ", under an overlay: what is written is kept apart" : "");
    case Place::home:
      return "the private home" + inside_of(answer);
    case Place::bind:
      return Origins(about.options, about.plan, about.environment).of_bind(answer.bind) + inside_of(answer);
    case Place::hidden:
    case Place::protection:
      return rule_of_cover(answer, about);
    case Place::devices:
      return "built in: a private /dev with null, zero, full, random, urandom, tty and terminals of its own";
    case Place::processes:
      return "built in: /proc of its own processes, nothing there is written";
  }
  return {};
}

void add_change(WhyAnswer& why, const PathAnswer& answer, const std::string& path, bool writable,
                const WhyCase& about) {
  const Permission there = on_host(answer, path);
  if (answer.place == Place::hidden) {
    why.change.emplace_back("leave out --deny " + shown(answer.holder));
    why.permits.emplace_back("all of " + shown(answer.holder) + ", as what it lies in is shown");
    return;
  }
  if (writable && answer.held != nullptr && answer.guarded != nullptr) {
    why.change.emplace_back("--held report");
    why.permits.emplace_back("every name of its kind, told after the run: what is written there acts outside later");
    return;
  }
  if (answer.place == Place::protection || (writable && answer.guarded != nullptr))
    return no_option(why, "what stands there acts outside; change it outside");
  if (writable && answer.linked)
    return no_option(why, "another of its names may be a file outside; a copy in its place can be written");
  if (!there.exists) {
    why.permits.emplace_back("there is no such file on this machine either");
    return;
  }
  if (std::string reason = never(there.host, writable); !reason.empty()) return no_option(why, reason);
  const bool plain = S_ISREG(there.found.st_mode) || S_ISDIR(there.found.st_mode);
  const std::string object = plain ? there.host : parent_of(there.host);
  if (object == "/" || is_or_contains(object, about.plan.sandbox.workspace))
    return no_option(why, "the workspace lies in " + shown(object));
  const bool in_writable =
      answer.place == Place::workspace || answer.place == Place::temporary ||
      (answer.place == Place::bind && about.plan.sandbox.binds[answer.bind].access == sandbox::Access::read_write);
  if (answer.exists && (in_writable || !writable)) return no_option(why, "its own mode or owner refuses it");
  why.change.push_back((writable ? "--write " : "--read ") + shown(object));
  why.permits.push_back(plain ? extent(there, writable)
                              : "everything below " + shown(object) +
                                    ", read-only, and every socket in it: whatever a "
                                    "server behind one does for you, it does for what runs inside");
  if (holds_secrets(there.host))
    why.permits.emplace_back(
        "it looks like keys or tokens: what runs inside can read them and, with a network, send them");
}

namespace {

// To write in a directory, or a file that isn't there, is to create; to create what is there is to write it.
std::string_view asked_of(const PathAnswer& answer, std::string_view use) {
  if (use == "writable" && (answer.directory || !answer.exists)) return "creatable";
  if (use == "creatable" && answer.exists && !answer.directory) return "writable";
  return use;
}

// What the attempt leaves out of an object that is there.
std::string why_not_tried(const PathAnswer& answer) {
  if (answer.directory) return "it is a directory";
  return answer.other ? "it would wait for another process" : "it doesn't apply";
}

void add_rows(WhyAnswer& why, const PathAnswer& answer, const LiveProbe& probe, std::string_view asked) {
  const std::pair<const char*, Answer> all[] = {{"visible", answer.visible},
                                                {"readable", answer.readable},
                                                {"writable", answer.writable},
                                                {"executable", answer.executable},
                                                {"creatable", answer.creatable}};
  for (const auto& [name, says] : all) {
    WhyRow row{.what = name, .plan = says, .tried = probe.error_of(name), .asked = asked == name};
    row.excused = {ETXTBSY, ENOSPC, EDQUOT, EMFILE};
    if (row.what == "executable") row.excused.insert(row.excused.end(), {EINVAL, ENOEXEC});  // kernels before 6.14
    const bool shut_off = row.what == "executable" && row.tried == EINVAL;
    if (shut_off) row.not_tried = "this kernel can't check it without running it";
    if (shut_off) row.tried.reset();
    if (!row.tried && row.not_tried.empty() && !row.asked) continue;  // doesn't apply
    if (!row.tried && row.not_tried.empty()) {
      const std::optional<int> seen = probe.error_of("visible");
      if (seen.value_or(0) != 0)
        row.tried = seen;
      else
        row.not_tried = why_not_tried(answer);
    }
    why.rows.push_back(std::move(row));
  }
}

bool is_refused(const WhyAnswer& why) {
  return std::any_of(why.rows.begin(), why.rows.end(), [](const WhyRow& row) {
    return row.asked && (row.plan == Answer::no || row.tried.value_or(0) != 0);
  });
}

void explain_modes(WhyAnswer& why, const PathAnswer& answer) {
  if (answer.held != nullptr)
    why.rules.push_back("and the workspace guard holds this name: " + std::string(answer.held->reason) +
                        (answer.guarded != nullptr ? "; it is refused here" : "; it is told after the run"));
  else if (answer.guarded != nullptr)
    why.rules.push_back("and the workspace guard keeps this name: " + std::string(answer.guarded->reason));
  if (answer.linked)
    why.rules.emplace_back(
        "and it has more than one name (hard links): the workspace guard doesn't open it for writing");
  if (answer.by_mode && answer.exists)
    why.rules.push_back("and its own mode " + octal(answer.mode) + " of user " + std::to_string(answer.owner) +
                        ", or that of a directory above, refuses something");
  if (answer.by_host_mount) why.rules.emplace_back("and this machine mounted it read-only or noexec");
}

}  // namespace

Result<WhyAnswer> why_path(const PathQuestion& question, const WhyCase& about) {
  sandbox::ViewAnswers answers = TRY(sandbox::ViewAnswers::of(about.plan.sandbox, about.facts.landlock_abi));
  PathAnswer answer = answers.ask(question.path);
  WhyAnswer why;
  why.object = shown(question.path) + (answer.real == question.path ? "" : " -> " + shown(answer.real));
  why.rules.push_back(rule_of(answer, about));
  explain_modes(why, answer);
  LiveProbe probe = TRY(probe_live(about.plan.sandbox, "/proc/self/exe", {"path", answer.real}, about.facts));
  const std::string_view asked = asked_of(answer, question.use);
  add_rows(why, answer, probe, asked);
  if (!is_refused(why)) return why;
  if (asked == "executable" && answer.directory) {
    no_option(why, "it is a directory");
    return why;
  }
  const bool to_write = asked == "writable" || asked == "creatable";
  const bool absent = to_write && answer.guarded == nullptr && !on_host(answer, question.path).exists;
  add_change(why, answer, absent ? parent_of(question.path) : question.path, to_write, about);
  return why;
}

}  // namespace oncelatch::launcher
