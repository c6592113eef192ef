#include "sandbox/narrow.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/fd.h"
#include "sandbox/enter.h"
#include "sandbox/narrow_apply.h"

namespace oncelatch::sandbox {

namespace {

using Presence = NarrowRule::Presence;
using Rules = std::vector<NarrowRule>;

// What a program of the system reads to start and to speak the person's language. None of it is a secret.
const Rules& system_rules() {
  static const Rules rules{
      {"read", "/usr/lib", Presence::required, "libraries, locales"},
      {"read", "/lib", Presence::optional, "libraries where /lib is no link, terminal descriptions"},
      {"read", "/usr/lib64", Presence::optional, "libraries"},
      {"read", "/lib64", Presence::optional, "libraries"},
      {"read", "/usr/local/lib", Presence::optional, "libraries"},
      {"read", "/etc/ld.so.cache", Presence::optional, "where libraries lie"},
      {"read", "/etc/nsswitch.conf", Presence::optional, "where users are looked up"},
      {"read", "/etc/passwd", Presence::optional, "the user's name"},
      {"read", "/etc/localtime", Presence::optional, "the time zone"},
      {"read", "/usr/share/locale/locale.alias", Presence::optional, "names of locales"},
      {"read", "/etc/terminfo", Presence::optional, "terminal descriptions"},
      {"read", "/usr/share/terminfo", Presence::optional, "terminal descriptions"},
      {"use", "/dev/null", Presence::required, "input and output of what has none"},
  };
  return rules;
}

bool read_at(int fd, void* into, std::size_t size, std::uint64_t offset) {
  return ::pread(fd, into, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

// The interpreter an ELF program names; none for a static one. A script's is never given: it would be a shell.
std::optional<std::string> interpreter_of(const std::string& program) {
  Fd file(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
  Elf64_Ehdr header{};
  if (!file || !read_at(file.get(), &header, sizeof header, 0)) return std::nullopt;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return std::nullopt;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!read_at(file.get(), &part, sizeof part, header.e_phoff + i * sizeof part)) return std::nullopt;
    if (part.p_type != PT_INTERP || part.p_filesz == 0 || part.p_filesz > PATH_MAX) continue;
    std::string path(part.p_filesz, '\0');
    if (!read_at(file.get(), path.data(), path.size(), part.p_offset)) return std::nullopt;
    path.resize(std::strlen(path.c_str()));
    return path;
  }
  return std::nullopt;
}

void add_program(Rules& rules, const std::string& program, const std::string& why) {
  rules.push_back({"run", program, Presence::required, why});
  if (std::optional<std::string> interpreter = interpreter_of(program))
    rules.push_back({"run", *interpreter, Presence::required, "starts " + program});
}

Result<std::string> real_path(const std::string& path) {
  std::array<char, PATH_MAX> real;
  if (::realpath(path.c_str(), real.data()) == nullptr) return fail_errno("narrow", path, errno);
  return std::string(real.data());
}

// Real paths of what exists.
Result<Rules> resolved(const Rules& rules) {
  Rules all;
  for (const NarrowRule& rule : rules) {
    Result<std::string> path = real_path(rule.path);
    if (!path && rule.presence == Presence::optional) continue;  // one grant less
    if (!path) return Failure(path.error());
    all.push_back({rule.word, *path, rule.presence, rule.why});
  }
  return all;
}

Result<std::vector<std::string>> command_of(const Rules& rules, const std::string& program) {
  std::vector<std::string> command{TRY(find_companion("oncelatch-narrow"))};
  for (const NarrowRule& rule : TRY(resolved(rules))) command.push_back(rule.word + "=" + rule.path);
  command.emplace_back("--");
  command.push_back(program);
  return command;
}

}  // namespace

Result<std::vector<std::string>> narrow_tmux_server(const TmuxPlaces& places) {
  Rules rules = system_rules();
  add_program(rules, places.tmux, "the server");
  add_program(rules, places.relay, "the pane's one program");
  rules.push_back({"serve", places.directory, Presence::required, "its socket, and the relay's way to the supervisor"});
  rules.push_back({"use", "/dev/ptmx", Presence::required, "the pane's terminal"});
  rules.push_back({"use", "/dev/pts", Presence::required, "the pane's terminal"});
  rules.push_back({"use", "/dev/tty", Presence::optional, "the relay's terminal by its other name"});
  return command_of(rules, places.tmux);
}

Result<std::vector<std::string>> narrow_tmux_client(const std::string& tmux, const std::string& directory,
                                                    const std::string& home) {
  Rules rules = system_rules();
  add_program(rules, tmux, "the client");
  rules.push_back({"connect", directory, Presence::required, "the server's socket"});
  if (!home.empty())
    rules.push_back({"read", home + "/.terminfo", Presence::optional, "the person's own terminal descriptions"});
  return command_of(rules, tmux);
}

Result<std::vector<std::string>> narrow_git(const std::string& git, const std::vector<std::string>& writable) {
  Rules rules{{"read", "/", Presence::required, "the repository, its alternates, the user's settings"},
              {"use", "/dev/null", Presence::required, "input and output of what has none"}};
  add_program(rules, git, "git");
  for (const char* own : {"/usr/lib/git-core/git", "/usr/libexec/git-core/git"})
    rules.push_back({"run", own, Presence::optional, "git by the name that its own commands have"});
  for (const std::string& place : writable) rules.push_back({"work", place, Presence::required, "named by the caller"});
  return command_of(rules, git);
}

Result<std::vector<NarrowRule>> supervisor_rules(const SupervisorPlaces& places) {
  Rules rules = system_rules();
  add_program(rules, places.tmux, "a control client in place of a lost one");
  add_program(rules, TRY(find_companion("oncelatch-narrow")), "confines that client");
  rules.push_back(
      {"clear", places.session, Presence::required, "its sockets and the agent's home, removed at the end"});
  rules.push_back({"connect", places.session, Presence::required, "the control client's way to the server"});
  rules.push_back({"empty", places.session + "/..", Presence::required, "the session's own directory at the end"});
  rules.push_back({"keep", places.audit, Presence::required, "the record and its journal"});
  for (const std::string& report : places.reports)
    rules.push_back({"replace", report, Presence::required, "a report, written whole at the end"});
  for (const std::string& place : places.looked_at)
    rules.push_back({"read", place, Presence::required, "what changed in it, looked for at the end"});
  for (const std::string& place : places.put_right)
    rules.push_back({"work", place, Presence::required, "what is put back at the end"});
  for (const std::string& place : places.tidied)
    rules.push_back({"tidy", place, Presence::required, "what is moved aside at the end"});
  return rules;
}

Status narrow_self(const std::vector<NarrowRule>& rules) {
  const Rules real = TRY(resolved(rules));
  std::vector<NarrowGrant> grants;
  for (const NarrowRule& rule : real) grants.push_back({rule.word.c_str(), rule.path.c_str()});
  const NarrowFault fault = apply_narrowing({grants.data(), static_cast<unsigned>(grants.size()), NarrowFor::caller});
  if (fault.error == 0) return {};
  return fail_errno("narrow", std::string(fault.stage) + ": " + fault.object, fault.error,
                    "oncelatch doctor shows what this machine can enforce");
}

}  // namespace oncelatch::sandbox
