#include "tests/escapes/scene.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/escapes/child.h"
#include "tests/escapes/text.h"

namespace oncelatch::escapes {

namespace {

constexpr int kBacklog = 4096;   // nobody accepts: a full queue would let an attempt hang
constexpr pid_t kHighPid = 400;  // beyond what a fresh pid namespace reaches

std::string own_pid() {
  return std::to_string(::getpid());
}

std::string first_existing(const std::vector<std::string>& paths) {
  for (const std::string& path : paths)
    if (::access(path.c_str(), F_OK) == 0) return path;
  return paths.front();
}

}  // namespace

void leave_the_host() {
  ::syscall(SYS_keyctl, 1 /* JOIN_SESSION_KEYRING */, nullptr, 0, 0, 0);
  ::syscall(SYS_add_key, "user", "oncelatch-canary", "canary", 6, -3);
  if (::geteuid() == 0 && ::unshare(CLONE_NEWNS) == 0) ::mount("", "/", "", MS_REC | MS_PRIVATE, nullptr);
}

Scene::Scene(uid_t uid, const std::string& probe) : uid_(uid), probe_(probe) {
  char name[] = "/var/tmp/oncelatch-escapes-XXXXXX";
  base_ = ::mkdtemp(name);
  ::chmod(base_.c_str(), 0755);
  std::string tail = base_.substr(base_.rfind('-') + 1);
  workspace_ = base_ + "/workspace";
  outside_ = base_ + "/outside";
  canary_ = "canary-" + tail;
  own(base_);
  plant_directory(outside_);
  plant_run();
  plant_abstract("oncelatch-" + tail);
  plant_listener();
  plant_memory();
  plant_terminal();
  plant_outside();
  file_.reset(::open((outside_ + "/secret").c_str(), O_RDONLY | O_CLOEXEC));
  directory_.reset(::open(outside_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  names_.insert({{"{workspace}", workspace_},
                 {"{outside}", outside_},
                 {"{home}", outside_ + "/home"},
                 {"{run}", run_},
                 {"{runtime}", runtime_},
                 {"{tail}", tail},
                 {"{tty}", tty_},
                 {"{probe}", workspace_ + "/probe"},
                 {"{shm}", std::to_string(segment_)},
                 {"{suite}", own_pid()},
                 {"{real-home}", ::getenv("HOME") != nullptr ? ::getenv("HOME") : "/nonexistent"},
                 {"{uid}", std::to_string(uid_)},
                 {"{processors}", std::to_string(::sysconf(_SC_NPROCESSORS_ONLN))},
                 {"{canary}", "canary-:" + tail},
                 {"{canary-value}", canary_},
                 {"{disk}", first_existing({"/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/loop0"})}});
}

Scene::~Scene() {
  end_victim();
  if (segment_ >= 0) ::shmctl(segment_, IPC_RMID, nullptr);
  ::mq_unlink(("/oncelatch-" + names_["{tail}"]).c_str());
  ::umount2((workspace_ + "/mounted").c_str(), MNT_DETACH);
  std::error_code ignored;
  for (auto path = planted_.rbegin(); path != planted_.rend(); ++path) std::filesystem::remove(*path, ignored);
  std::filesystem::remove_all(base_, ignored);
}

void Scene::own(const std::string& path) const {
  if (::geteuid() == 0) (void)!::lchown(path.c_str(), uid_, uid_);
}

void Scene::plant_directory(const std::string& path) const {
  if (exists(path)) return;
  std::size_t slash = path.rfind('/');
  if (slash > 0) plant_directory(path.substr(0, slash));
  ::mkdir(path.c_str(), 0755);
  own(path);
}

void Scene::plant_file(const std::string& path, const std::string& content, mode_t mode) const {
  plant_directory(path.substr(0, path.rfind('/')));
  std::ofstream(path, std::ios::trunc) << content;
  ::chmod(path.c_str(), mode);
  own(path);
}

bool Scene::exists(const std::string& path) const {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

void Scene::plant_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path || exists(path)) return;
  plant_directory(path.substr(0, path.rfind('/')));
  std::memcpy(address.sun_path, path.data(), path.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return;
  ::listen(fd.get(), kBacklog);
  ::chmod(path.c_str(), 0666);
  own(path);
  kept_.push_back(std::move(fd));
  if (path.starts_with("/tmp/")) planted_.push_back(path);
}

void Scene::plant_abstract(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 1);
  ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size);
  ::listen(fd.get(), kBacklog);
  kept_.push_back(std::move(fd));
  names_["{abstract}"] = name;
}

// Sockets of engines, agents, buses and displays, where they usually lie when /run can be had for this. Not the name
// service's: nobody answers here, and the C library of every program would wait for it.
void Scene::plant_run() {
  bool whole = ::geteuid() == 0 && ::mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") == 0;
  mounts_ = whole;
  run_ = whole ? "/run" : outside_ + "/run";
  runtime_ = run_ + "/user/" + std::to_string(uid_);
  plant_directory(runtime_);
  ::chmod(runtime_.c_str(), 0700);
  for (const char* name : {"/docker.sock", "/podman/podman.sock", "/containerd/containerd.sock",
                           "/buildkit/buildkitd.sock", "/dbus/system_bus_socket", "/systemd/private",
                           "/systemd/journal/socket", "/systemd/resolve/io.systemd.Resolve", "/WSL/1_interop"})
    plant_socket(run_ + name);
  for (const char* name : {"/docker.sock", "/podman/podman.sock", "/bus", "/systemd/private", "/keyring/ssh",
                           "/gnupg/S.gpg-agent", "/wayland-0", "/pipewire-0", "/pulse/native", "/.ydotool_socket"})
    plant_socket(runtime_ + name);
  plant_socket(outside_ + "/socket");
  plant_socket(outside_ + "/tmux.sock");
  std::string uid = std::to_string(uid_);
  for (const std::string& directory : {"/tmp/ssh-" + canary_, "/tmp/tmux-" + uid, std::string("/tmp/.X11-unix")})
    if (!exists(directory)) planted_.push_back(directory);
  plant_socket("/tmp/ssh-" + canary_ + "/agent.1");
  plant_socket("/tmp/tmux-" + uid + "/default");
  plant_socket("/tmp/.X11-unix/X77");
}

void Scene::plant_listener() {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size);
  ::listen(fd.get(), kBacklog);
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  names_["{port}"] = std::to_string(::ntohs(address.sin_port));
  kept_.push_back(std::move(fd));
}

void Scene::plant_memory() {
  segment_ = ::shmget(IPC_PRIVATE, 4096, 0666);
  std::string tail = base_.substr(base_.rfind('-') + 1);
  mode_t old = ::umask(0);
  mqd_t queue = ::mq_open(("/oncelatch-" + tail).c_str(), O_RDWR | O_CREAT, 0666, nullptr);
  ::umask(old);
  if (queue >= 0) kept_.emplace_back(static_cast<int>(queue));
  plant_file("/dev/shm/oncelatch-" + tail, "planted\n");
  planted_.push_back("/dev/shm/oncelatch-" + tail);
}

// Numbered beyond what a private devpts reaches.
void Scene::plant_terminal() {
  for (int i = 0; i < 8; ++i) {
    int master = -1;
    int slave = -1;
    char name[PATH_MAX];
    if (::openpty(&master, &slave, name, nullptr, nullptr) != 0) return;
    ::fcntl(master, F_SETFD, FD_CLOEXEC);
    ::fcntl(slave, F_SETFD, FD_CLOEXEC);
    kept_.emplace_back(master);
    kept_.emplace_back(slave);
    tty_ = name;
  }
  own(tty_);
}

void Scene::plant_outside() const {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(outside_, ignored))
    if (entry.path().filename().string().starts_with("new")) std::filesystem::remove_all(entry.path(), ignored);
  plant_file(outside_ + "/secret", "planted\n");
  for (const char* name : {"/github-env", "/github-path", "/github-output", "/github-summary"})
    plant_file(outside_ + name, "");
  plant_file(outside_ + "/start.sh", ": > " + outside_ + "/new-by-shell\n", 0755);
  plant_directory(outside_ + "/target");
  std::string home = outside_ + "/home";
  std::filesystem::remove_all(home + "/.config", ignored);
  std::filesystem::remove_all(home + "/.local", ignored);
  plant_file(home + "/.config/oncelatch/policy.yaml", "version: 1\n", 0600);
  plant_file(home + "/.local/state/oncelatch/audit.db", "planted\n", 0600);
  ::chmod((home + "/.local/state/oncelatch").c_str(), 0700);
  plant_file(home + "/.ssh/id_ed25519", "planted\n", 0600);
}

void Scene::plant_workspace() const {
  std::error_code ignored;
  while (::umount2((workspace_ + "/mounted").c_str(), MNT_DETACH) == 0) continue;
  std::filesystem::remove_all(workspace_, ignored);
  plant_directory(workspace_);
  std::filesystem::copy_file(probe_, workspace_ + "/probe", ignored);
  own(workspace_ + "/probe");
  plant_file(workspace_ + "/file", "x\n");
  plant_file(workspace_ + "/.git/HEAD", "ref: refs/heads/main\n");
  plant_directory(workspace_ + "/.git/objects");
  plant_directory(workspace_ + "/.git/refs");
  plant_file(workspace_ + "/.git/hooks/pre-push.sample", "#!/bin/sh\n", 0755);
  for (const char* name : {"/.git/config", "/.git/modules/m/config", "/a/b/c/.git/config"})
    plant_file(workspace_ + name, "[core]\n\trepositoryformatversion = 0\n");
  for (const char* name : {"/.git/modules/m/hooks", "/a/b/c/.git/hooks"}) plant_directory(workspace_ + name);
  plant_file(workspace_ + "/sub/.git", "gitdir: ../.git/modules/m\n");
  for (const char* name : {"/.oncelatch.yaml", "/.oncelatch/policy.yaml", "/.claude/settings.json",
                           "/.kiro/settings.json", "/.codex/config.toml", "/.srt-settings.json"})
    plant_file(workspace_ + name, "{\"sandbox\": {\"enabled\": false}, \"allowUnsandboxedCommands\": true}\n");
  (void)!::symlink((run_ + "/docker.sock").c_str(), (workspace_ + "/alias.sock").c_str());
  plant_directory(workspace_ + "/mounted");
  if (mounts_ && mount_below_)
    ::mount("tmpfs", (workspace_ + "/mounted").c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755");
}

void Scene::end_victim() {
  if (victim_ <= 0) return;
  spared().erase(victim_);
  ::kill(victim_, SIGKILL);
  ::waitpid(victim_, nullptr, 0);
  victim_ = -1;
}

void Scene::start_victim() {
  if (victim_ > 0 && ::waitpid(victim_, nullptr, WNOHANG) == 0) {
    ::kill(victim_, SIGCONT);
    return;
  }
  spared().erase(victim_);
  victim_ = -1;  // it was reaped
  std::string variable = "SECRET=" + canary_;
  std::string argument = "100000";
  while (victim_ < kHighPid) {
    end_victim();
    victim_ = ::fork();
    if (victim_ != 0) {
      spared().insert(victim_);
      continue;
    }
    if (::geteuid() == 0 && (::setresgid(uid_, uid_, uid_) != 0 || ::setresuid(uid_, uid_, uid_) != 0)) ::_exit(1);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char* argv[] = {canary_.data(), argument.data(), nullptr};
    char* environment[] = {variable.data(), nullptr};
    ::execve("/bin/sleep", argv, environment);
    ::_exit(1);
  }
  names_["{pid}"] = std::to_string(victim_);
  ::usleep(20'000);  // until it has executed
}

void Scene::renew() {
  plant_outside();
  plant_workspace();
  start_victim();
}

std::string Scene::fill(std::string text) const {
  for (const auto& [name, value] : names_) text = replace_all(std::move(text), name, value);
  return text;
}

std::vector<std::string> Scene::environment() const {
  return {
      "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + outside_ + "/home", "USER=somebody", "LANG=C.UTF-8", "TERM=xterm",
      "XDG_RUNTIME_DIR=" + runtime_};
}

}  // namespace oncelatch::escapes
