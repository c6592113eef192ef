#include "sandbox/etc_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>

#include "base/fd.h"

namespace oncelatch::sandbox {

namespace {

constexpr off_t kMostCopied = 16 << 10;  // larger files are bound

struct EtcRow {
  const char* path;
  const char* reason;
  bool often_empty = false;  // then looked into before it is mounted
};

// Never: shadow, gshadow, sudoers, ssh, machine-id, gitconfig, environment, profile, cron, security, ssl/private,
// hostname.
constexpr EtcRow kRows[] = {
    {"/etc/ld.so.cache", "the loader"},
    {"/etc/ld.so.conf", "the loader, ldconfig"},
    {"/etc/ld.so.conf.d", "the loader, ldconfig"},
    {"/etc/ld-musl-x86_64.path", "the loader of musl"},
    {"/etc/ld-musl-aarch64.path", "the loader of musl"},
    {"/etc/alternatives", "Debian: cc, editor, java lead through it"},
    {"/etc/ssl/certs", "certificate authorities"},
    {"/etc/ssl/cert.pem", "certificate authorities, Alpine and others"},
    {"/etc/ssl/openssl.cnf", "OpenSSL refuses to start without it in some builds"},
    {"/etc/ca-certificates", "certificate authorities of the administrator", true},
    {"/etc/pki/tls/certs", "certificate authorities, Fedora"},
    {"/etc/pki/tls/cert.pem", "certificate authorities, Fedora"},
    {"/etc/pki/ca-trust/extracted", "certificate authorities, Fedora"},
    {"/etc/crypto-policies/back-ends", "TLS settings, Fedora"},
    {"/etc/localtime", "the time zone"},
    {"/etc/timezone", "the time zone"},
    {"/etc/os-release", "the distribution's name"},
    {"/etc/lsb-release", "the distribution's name"},
    {"/etc/mime.types", "types of files"},
    {"/etc/terminfo", "terminal descriptions", true},
    {"/etc/services", "names of ports"},
    {"/etc/protocols", "names of protocols"},
    {"/etc/fonts", "headless browsers"},
};

std::string read_small(int fd, off_t size) {
  std::string content(static_cast<std::size_t>(std::min(size, kMostCopied)), '\0');
  ssize_t got = ::read(fd, content.data(), content.size());
  content.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return content;
}

// Debian ships some directories with nothing but a README: each mount costs more than all of that.
bool is_worth_a_mount(int directory) {
  DIR* entries = ::fdopendir(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (entries == nullptr) return true;
  bool found = false;
  for (const dirent* entry = ::readdir(entries); entry != nullptr && !found; entry = ::readdir(entries)) {
    std::string_view name = entry->d_name;
    found = name != "." && name != ".." && name != "README";
  }
  ::closedir(entries);
  return found;
}

constexpr int kOpen = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

void add_object(View& view, const EtcRow& row, Fd fd) {
  const char* path = row.path;
  struct stat found {};
  if (!fd || ::fstat(fd.get(), &found) != 0) return;
  if (S_ISREG(found.st_mode) && found.st_size <= kMostCopied) {
    view.file(path, read_small(fd.get(), found.st_size));
  } else if (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode)) {
    bool directory = S_ISDIR(found.st_mode);
    if (directory && row.often_empty && !is_worth_a_mount(fd.get())) return;
    view.bind_path(path, path, {.read_only = true, .executable = false, .directory = directory}, Rights::none);
  }
}

// A link into /usr stays a link; any other is followed once, here.
void add_link(View& view, const EtcRow& row) {
  const char* path = row.path;
  std::array<char, PATH_MAX> target;
  ssize_t size = ::readlink(path, target.data(), target.size() - 1);
  if (size <= 0) return;
  std::string to(target.data(), static_cast<std::size_t>(size));
  if (to.starts_with("/usr/") || to.starts_with("../usr/")) return view.link(path, to);
  add_object(view, row, Fd(::open(path, kOpen)));
}

void add_row(View& view, const EtcRow& row) {
  Fd fd(::open(row.path, kOpen | O_NOFOLLOW));
  if (fd) return add_object(view, row, std::move(fd));
  if (errno == ELOOP) add_link(view, row);
}

void add_accounts(View& view, const EtcFacts& facts) {
  std::string uid = std::to_string(facts.uid);
  std::string gid = std::to_string(facts.gid);
  std::string passwd =
      facts.uid == 0 ? "root:x:0:0:root:" + facts.home + ":/bin/sh\n" : "root:x:0:0:root:/:/bin/false\n";
  std::string group = "root:x:0:\n";
  if (facts.uid != 0) passwd += facts.user + ":x:" + uid + ":" + gid + "::" + facts.home + ":/bin/sh\n";
  if (facts.gid != 0) group += facts.user + ":x:" + gid + ":\n";
  if (facts.uid != 65534) passwd += "nobody:x:65534:65534:nobody:/:/bin/false\n";
  if (facts.gid != 65534) group += "nogroup:x:65534:\n";
  view.file("/etc/passwd", passwd);
  view.file("/etc/group", group);
}

void add_names(View& view, const EtcFacts& facts) {
  view.file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n");
  view.file("/etc/hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 oncelatch\n");
  view.file("/etc/hostname", "oncelatch\n");
  view.file("/etc/resolv.conf", "");
  view.link("/etc/mtab", "/proc/self/mounts");
  if (!facts.host_network) return;
  for (const char* path : {"/etc/hosts", "/etc/resolv.conf"})
    if (Fd fd(::open(path, O_RDONLY | O_CLOEXEC)); fd) view.file(path, read_small(fd.get(), kMostCopied));
}

}  // namespace

std::vector<std::string> etc_paths(bool host_network) {
  std::vector<std::string> paths = {"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/hostname"};
  for (const EtcRow& row : kRows) paths.emplace_back(row.path);
  if (host_network) paths.emplace_back("/etc/resolv.conf");
  return paths;
}

void add_etc(View& view, const EtcFacts& facts) {
  view.directory("/etc", 0755, Rights::read);
  for (const EtcRow& row : kRows) add_row(view, row);
  add_accounts(view, facts);
  add_names(view, facts);
}

}  // namespace oncelatch::sandbox
