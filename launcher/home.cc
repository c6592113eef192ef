#include "launcher/home.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/process.h"

namespace oncelatch::launcher {
namespace {

Status give_to(int fd, const LaunchConfig& config, const std::string& name) {
  if (config.uid == ::geteuid() && config.gid == ::getegid()) return {};
  if (::fchown(fd, config.uid, config.gid) != 0) return fail_errno("home", name, errno, {}, "chown");
  return {};
}

// A value for a double-quoted string of git-config(1); control characters end the value.
std::string quoted(const std::string& value) {
  std::string text = "\"";
  for (char c : value) {
    if (static_cast<unsigned char>(c) < 0x20) break;
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

// Read from the caller's global configuration only: cwd is / and no repository is looked at.
std::string global_git_value(const LaunchConfig& config, const std::string& key) {
  Result<std::string> git = find_system_program("git");
  if (!git || config.real_home.empty()) return {};
  Spawn spawn;
  spawn.path = *git;
  spawn.argv = {"git", "config", "--global", "--includes", "--get", key};
  spawn.environment = {"HOME=" + config.real_home, "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C.UTF-8"};
  spawn.directory = "/";
  Result<Output> output = run_bounded(std::move(spawn), 4096, std::chrono::seconds(5));
  if (!output || output->status.shell_code() != 0) return {};
  return output->out.substr(0, output->out.find('\n'));
}

}  // namespace

std::string git_configuration(const LaunchConfig& config) {
  std::string text;
  std::string name = global_git_value(config, "user.name");
  std::string email = global_git_value(config, "user.email");
  if (!name.empty() || !email.empty()) text += "[user]\n";
  if (!name.empty()) text += "\tname = " + quoted(name) + "\n";
  if (!email.empty()) text += "\temail = " + quoted(email) + "\n";
  text += "[safe]\n\tdirectory = " + quoted(config.workspace) + "\n";
  return text;
}

Status make_home(int session, const LaunchConfig& config) {
  Fd home = TRY(make_directory(session, "home", 0700));
  for (std::string_view path : config.agent->home_skeleton) {
    std::size_t slash = path.rfind('/');
    std::string leaf(path.substr(slash == std::string_view::npos ? 0 : slash + 1));
    Fd parent = slash == std::string_view::npos
                    ? Fd(::fcntl(home.get(), F_DUPFD_CLOEXEC, 0))
                    : TRY(open_beneath(home.get(), std::string(path.substr(0, slash)), O_RDONLY | O_DIRECTORY));
    Fd made = TRY(make_directory(parent.get(), leaf, 0700));
    TRY(give_to(made.get(), config, leaf));
  }
  TRY(write_file_atomic(home.get(), ".gitconfig", git_configuration(config), 0600));
  Fd git = TRY(open_beneath(home.get(), ".gitconfig", O_RDONLY));
  TRY(give_to(git.get(), config, ".gitconfig"));
  return give_to(home.get(), config, "home");
}

Status make_temporary(int session, const LaunchConfig& config) {
  Fd made = TRY(make_directory(session, "tmp", 0700));
  return give_to(made.get(), config, "tmp");
}

Result<Fd> make_recorder(int session, const LaunchConfig& config) {
  Fd made = TRY(open_beneath(session, "record.jsonl", O_RDWR | O_CREAT | O_EXCL, 0600));
  if (::fchmod(made.get(), 0600) != 0) return fail_errno("recorder", "record.jsonl", errno, {}, "chmod");
  TRY(give_to(made.get(), config, "record.jsonl"));
  return open_beneath(session, "record.jsonl", O_RDONLY);
}

}  // namespace oncelatch::launcher
