#include "launcher/exec/program.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/untrusted.h"
#include "launcher/exec/workspace.h"

namespace oncelatch::launcher {

namespace {

constexpr std::size_t kHead = 4096;  // bytes looked at

std::string shown(const std::string& text) {
  return escape_for_display(text, 400);
}

bool is_visible(const std::string& real, const std::vector<std::string>& visible) {
  return std::any_of(visible.begin(), visible.end(),
                     [&](const std::string& path) { return is_or_contains(path, real); });
}

std::string directory_of(const std::string& path) {
  return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
}

std::string read_head(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::string head(kHead, '\0');
  ssize_t got = file ? ::read(file.get(), head.data(), head.size()) : -1;
  head.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return head;
}

// Words of a script's first line: interpreter and its one argument.
std::vector<std::string> script_words(const std::string& head) {
  if (head.rfind("#!", 0) != 0) return {};
  std::string line = head.substr(2, std::min(head.find('\n'), head.size()) - 2);
  std::vector<std::string> words;
  for (std::size_t at = line.find_first_not_of(" \t"); at != std::string::npos;
       at = line.find_first_not_of(" \t", at)) {
    std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// PT_INTERP of a 64-bit ELF file, empty for a static one.
std::string elf_interpreter(const std::string& head) {
  Elf64_Ehdr header{};
  if (head.size() < sizeof header || std::memcmp(head.data(), ELFMAG, SELFMAG) != 0) return {};
  std::memcpy(&header, head.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) return {};
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    std::size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr part{};
    if (at > head.size() || head.size() - at < sizeof part) return {};
    std::memcpy(&part, head.data() + at, sizeof part);
    if (part.p_type != PT_INTERP) continue;
    if (part.p_offset > head.size() || part.p_filesz > head.size() - part.p_offset) return {};
    std::string name = head.substr(part.p_offset, part.p_filesz);
    return name.substr(0, name.find('\0'));
  }
  return {};
}

Failure hidden(const std::string& path, const std::string& what, const std::string& real) {
  return fail_errno("command", shown(path), ENOENT, "add --read " + shown(directory_of(real)), what);
}

Status check_interpreter(const CommandFile& file, const std::vector<std::string>& directories,
                         const std::vector<std::string>& visible) {
  std::string head = read_head(file.real);
  std::vector<std::string> words = script_words(head);
  std::string interpreter = words.empty() ? elf_interpreter(head) : words[0];
  if (interpreter.empty()) return {};
  std::string real = real_path(interpreter);
  if (real.empty())
    return fail_errno("command", shown(file.path), ENOENT, "install it",
                      "its interpreter " + shown(interpreter) + " is missing");
  if (!is_visible(real, visible))
    return hidden(file.path, "its interpreter " + shown(interpreter) + " isn't visible in the sandbox", real);
  bool by_path = words.size() > 1 && real.substr(real.rfind('/') + 1) == "env" && words[1][0] != '-' &&
                 words[1].find('=') == std::string::npos;
  if (!by_path) return {};
  Result<CommandFile> program = find_command(words[1], "/", directories, visible);
  if (program || program.error().errno_value != ENOENT) return {};
  return fail_errno("command", shown(file.path), ENOENT, program.error().try_next,
                    "its interpreter " + shown(words[1]) + " isn't in the sandbox's PATH");
}

Result<std::string> look_up(const std::string& name, const std::vector<std::string>& directories) {
  bool found = false;
  for (const std::string& directory : directories) {
    std::string path = directory + "/" + name;
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (::access(path.c_str(), X_OK) == 0) return path;
    found = true;
  }
  std::string where;
  for (const std::string& directory : directories) where += (where.empty() ? "" : ":") + directory;
  if (found) return fail_errno("command", shown(name), EACCES, "chmod u+x it", "not executable");
  return fail_errno("command", shown(name), ENOENT,
                    "install it, give its path, or show its directory with --read DIR and --env PATH=…",
                    "not found in the sandbox's PATH (" + shown(where) + ")");
}

}  // namespace

Result<CommandFile> find_command(const std::string& name, const std::string& working_directory,
                                 const std::vector<std::string>& directories, const std::vector<std::string>& visible) {
  CommandFile file;
  if (name.find('/') == std::string::npos) {
    file.path = TRY(look_up(name, directories));
  } else {
    file.path = name[0] == '/' ? name : working_directory + "/" + name;
  }
  file.real = real_path(file.path);
  struct stat info {};
  if (file.real.empty() || ::stat(file.real.c_str(), &info) != 0)
    return fail_errno("command", shown(name), ENOENT, "check the path");
  if (S_ISDIR(info.st_mode)) return fail_errno("command", shown(name), EACCES, "name a program", "is a directory");
  if (!is_visible(file.real, visible))
    return hidden(name, shown(file.real) + " isn't visible in the sandbox", file.real);
  if (::access(file.real.c_str(), X_OK) != 0)
    return fail_errno("command", shown(name), EACCES, "chmod u+x it", "not executable");
  TRY(check_interpreter(file, directories, visible));
  return file;
}

}  // namespace oncelatch::launcher
