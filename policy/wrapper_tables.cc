#include "policy/wrapper_tables.h"

#include <array>

namespace oncelatch::policy {
namespace {

// name, value letters, flag letters, value options, flag options, text letters, text options, operands, assignments,
// transparent, help
constexpr Wrapper kWrappers[] = {
    {"sudo", "CDgGhpRrTtUu", "ABbEeHiKklNnPSsVv",
     "close-from chdir group host prompt chroot role command-timeout type other-user user",
     "askpass background preserve-env edit set-home login remove-timestamp reset-timestamp list no-update "
     "non-interactive "
     "preserve-groups stdin shell validate",
     "", "", 0, true, false, "runs a command as another user"},
    {"doas", "aCu", "Lns", "", "", "", "", 0, false, false, "runs a command as another user"},
    {"env", "uC", "i0v", "unset chdir block-signal default-signal ignore-signal", "ignore-environment null debug", "S",
     "split-string", 0, true, false, "runs a command in a changed environment"},
    {"nice", "n", "0123456789", "adjustment", "", "", "", 0, false, true, "runs a command with another priority"},
    {"ionice", "cnpPu", "t", "class classdata pid pgid uid", "ignore", "", "", 0, false, true,
     "runs a command with another I/O priority"},
    {"chrt", "TPD", "abdfiormpRv", "sched-runtime sched-period sched-deadline",
     "all-tasks batch deadline fifo idle max other pid rr reset-on-fork verbose", "", "", 1, false, false,
     "runs a command with another scheduling policy"},
    {"taskset", "", "acp", "", "all-tasks cpu-list pid", "", "", 1, false, false, "runs a command on some processors"},
    {"nohup", "", "", "", "", "", "", 0, false, true, "runs a command that ignores hang-up"},
    {"time", "fo", "apqvV", "format output", "append portability quiet verbose", "", "", 0, false, false,
     "measures a command; -o writes a file"},
    {"timeout", "ks", "fpv", "kill-after signal", "foreground preserve-status verbose", "", "", 1, false, true,
     "ends a command after a time"},
    {"xargs", "aEILnPsd", "0eilOoprtx",
     "arg-file delimiter eof replace max-lines max-args max-procs max-chars process-slot-var",
     "null open-tty interactive no-run-if-empty verbose exit show-limits", "", "", 0, false, false,
     "runs a command with arguments from its input"},
    {"stdbuf", "ioe", "", "input output error", "", "", "", 0, false, true, "runs a command with other buffering"},
    {"setsid", "", "cfw", "", "ctty fork wait", "", "", 0, false, false, "runs a command in a new session"},
    {"command", "", "pvV", "", "", "", "", 0, false, false, "runs a program, not a function"},
    {"builtin", "", "", "", "", "", "", 0, false, false, "runs a builtin"},
    {"exec", "a", "cl", "", "", "", "", 0, false, false, "replaces the shell by a command"},
    {"coproc", "", "", "", "", "", "", 0, false, false, "runs a command beside the shell"},
    {"busybox", "", "", "", "list install", "", "", 0, false, false, "runs one of its applets"},
    {"toybox", "", "", "", "", "", "", 0, false, false, "runs one of its applets"},
    {"flock", "EwW", "enosuxF", "conflict-exit-code timeout wait",
     "close nonblock no-fork shared exclusive unlock verbose", "c", "command", 1, false, false,
     "runs a command that holds a lock"},
    {"script", "BEIOTmo", "aefqt", "echo log-in log-out log-io log-timing logging-format output-limit",
     "append return flush force quiet", "c", "command", 1, false, false, "records a command's terminal"},
    {"watch", "nq", "bcdegpPtxw", "interval equexit",
     "beep color differences errexit chgexit precise no-title exec no-wrap", "", "", 0, false, false,
     "runs a command again and again"},
    {"strace", "aEeIObopPsSuUXx", "cCdDfFhiknqrtTvVwyYzZ", "", "", "", "", 0, false, false, "traces a command"},
    {"ltrace", "aADeFlnopsuwx", "bcCfhiLrStTV", "", "", "", "", 0, false, false, "traces a command"},
    {"unshare", "RwSG", "cCfimnpruTU", "root wd setuid setgid map-user map-group propagation kill-child", "", "", "", 0,
     false, false, "runs a command in new namespaces"},
    {"nsenter", "tSGrw", "aCFimnpTUuZ", "target setuid setgid root wd", "", "", "", 0, false, false,
     "runs a command in other namespaces"},
    {"chroot", "", "", "groups userspec", "skip-chdir", "", "", 1, false, false, "runs a command under another root"},
    {"runuser", "gGsuw", "flmPp", "group supp-group shell user whitelist-environment", "", "c",
     "command session-command", 0, false, false, "runs a command as another user"},
    {"su", "gGsw", "flmPp", "group supp-group shell whitelist-environment", "", "c", "command session-command", 1,
     false, false, "runs a shell as another user"},
    {"setpriv", "", "", "", "", "", "", 0, false, false, "runs a command with other privileges"},
    {"prlimit", "p", "", "pid", "", "", "", 0, false, false, "runs a command with other limits"},
    {"fakeroot", "lsifb", "u", "lib faked", "unknown-is-real", "", "", 0, false, false, "runs a command as if root"},
    {"unbuffer", "", "p", "", "", "", "", 0, false, false, "runs a command on a terminal"},
    {"systemd-run", "EGHMptu", "dGPqrSt", "property unit slice description uid gid nice working-directory setenv",
     "user system scope wait pty pipe quiet collect shell", "", "", 0, false, false, "runs a command as a unit"},
    {"parallel", "aIjNnSs", "0kmqtuvXx", "jobs arg-file max-args", "", "", "", 0, false, false,
     "runs a command with many arguments"},
    {"ssh", "BbcDEeFIiJLlmOopQRSWw", "46AaCfGgKkMNnqsTtVvXxYy", "", "", "", "", 1, false, false,
     "runs a command on another machine"},
    {"eatmydata", "", "", "", "", "", "", 0, false, false, "runs a command without fsync"},
    {"firejail", "", "", "", "", "", "", 0, false, false, "runs a command confined"},
    {"caffeinate", "tw", "disu", "", "", "", "", 0, false, false, "runs a command without sleep"},
    {"nocorrect", "", "", "", "", "", "", 0, false, false, "a zsh prefix"},
    {"noglob", "", "", "", "", "", "", 0, false, false, "a zsh prefix"},
};

constexpr std::array<std::string_view, 14> kShells{"sh",   "bash", "rbash", "dash", "ash",  "zsh",  "ksh",
                                                   "mksh", "yash", "fish",  "csh",  "tcsh", "posh", "ksh93"};

constexpr GlobalOptions kGlobalOptions[] = {
    {"git", "Cc", "git-dir work-tree namespace exec-path super-prefix config-env attr-source", "git -C dir push"},
    {"docker", "cHl", "config context host log-level tlscacert tlscert tlskey", "docker -H host rm"},
    {"podman", "cr", "connection root runroot url log-level storage-driver", "podman -r rm"},
    {"kubectl", "ns", "namespace server kubeconfig context cluster user token as", "kubectl -n x delete"},
    {"npm", "Cw", "prefix workspace userconfig globalconfig registry loglevel", "npm --prefix x publish"},
    {"pnpm", "CF", "dir filter", "pnpm -C x publish"},
    {"yarn", "", "cwd", "yarn --cwd x publish"},
    {"cargo", "CZ", "config color manifest-path", "cargo -C x publish"},
    {"gh", "R", "repo", "gh -R x pr merge"},
    {"hg", "R", "repository cwd config", "hg -R x push"},
    {"aws", "", "profile region endpoint-url output query", "aws --profile x s3 rm"},
    {"terraform", "", "chdir", "terraform -chdir=x apply"},
    {"systemctl", "HMpst", "host machine property type", "systemctl -H x stop"},
};

}  // namespace

const Wrapper* find_wrapper(std::string_view program) {
  for (const Wrapper& wrapper : kWrappers) {
    if (wrapper.name == program) return &wrapper;
  }
  return nullptr;
}

bool is_shell(std::string_view program) {
  for (const std::string_view shell : kShells) {
    if (shell == program) return true;
  }
  return false;
}

const GlobalOptions* find_global_options(std::string_view program) {
  for (const GlobalOptions& options : kGlobalOptions) {
    if (options.name == program) return &options;
  }
  return nullptr;
}

bool has_word(std::string_view options, std::string_view word) {
  if (word.empty()) return false;
  for (std::size_t at = options.find(word); at != std::string_view::npos; at = options.find(word, at + 1)) {
    const bool begins = at == 0 || options[at - 1] == ' ';
    const bool ends = at + word.size() == options.size() || options[at + word.size()] == ' ';
    if (begins && ends) return true;
  }
  return false;
}

std::string_view program_name(std::string_view word) {
  const std::size_t slash = word.rfind('/');
  return slash == std::string_view::npos ? word : word.substr(slash + 1);
}

}  // namespace oncelatch::policy
