#include "verify/cache.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <thread>

#include "base/beneath.h"
#include "base/untrusted.h"
#include "verify/cache_place.h"
#include "verify/listing.h"
#include "verify/version.h"

namespace oncelatch::verify {

namespace {

constexpr const char* kBook = "artifacts.lock";
constexpr const char* kLock = "lock";
constexpr std::chrono::milliseconds kPause{100};
constexpr std::size_t kMostOwner = 64;

std::string shown(const std::string& text) {
  return escape_for_display(text, 400);
}

Result<Fd> open_part(int parent, const std::string& name, const std::string& path, Missing missing) {
  if (missing == Missing::make)
    if (Result<Fd> made = make_directory(parent, name, 0700); made || made.error().errno_value != EEXIST) return made;
  Result<Fd> opened = open_beneath(parent, name, O_RDONLY | O_DIRECTORY);
  if (!opened) {
    const int error = opened.error().errno_value;
    if (error == ENOENT) return fail_errno("verify", shown(path), error, "oncelatch prepare makes it");
    return fail("verify", shown(path), "is not a directory of its own", "move it away");
  }
  if (Status check = check_private_directory(opened->get(), path); !check)
    return fail("verify", shown(path), check.error().what, "make it yours alone: chmod 700");
  return opened;
}

Status flush_directory(int directory, const std::string& path) {
  return ::fsync(directory) == 0 ? Status() : fail_errno("verify", shown(path), errno, {}, "write to disk");
}

// What a process is doing: 'T' for one that was stopped.
char state_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(')');
  return end == std::string::npos || end + 2 >= text.size() ? '?' : text[end + 2];
}

std::string owner_in_words(int file) {
  char text[kMostOwner] = {};
  const ssize_t size = ::pread(file, text, sizeof text - 1, 0);
  std::string pid(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  if (pid.empty() || pid.find_first_not_of("0123456789") != std::string::npos) return "another process";
  const char state = state_of(pid);
  return "process " + pid + (state == 'T' || state == 't' ? ", which is stopped," : "");
}

bool is_in_use(int directory) {
  return ::flock(directory, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace

Result<Cache> Cache::make(const std::string& root, const std::string& agent) {
  Cache cache(root, agent);
  const std::size_t slash = root.rfind('/');
  const Fd above = TRY(open_own_place(root.substr(0, slash), Missing::make));
  cache.directory_ = TRY(open_part(above.get(), root.substr(slash + 1), root, Missing::make));
  cache.agent_ = TRY(open_part(cache.directory_.get(), agent, root + "/" + agent, Missing::make));
  cache.versions_ = TRY(open_part(cache.agent_.get(), "versions", root + "/" + agent + "/versions", Missing::make));
  cache.staging_ = TRY(open_part(cache.agent_.get(), "staging", root + "/" + agent + "/staging", Missing::make));
  return cache;
}

Result<Cache> Cache::open(const std::string& root, const std::string& agent) {
  Cache cache(root, agent);
  const std::size_t slash = root.rfind('/');
  const Fd above = TRY(open_own_place(root.substr(0, slash), Missing::refuse));
  cache.directory_ = TRY(open_part(above.get(), root.substr(slash + 1), root, Missing::refuse));
  cache.agent_ = TRY(open_part(cache.directory_.get(), agent, root + "/" + agent, Missing::refuse));
  cache.versions_ = TRY(open_part(cache.agent_.get(), "versions", root + "/" + agent + "/versions", Missing::refuse));
  cache.staging_ = TRY(open_part(cache.agent_.get(), "staging", root + "/" + agent + "/staging", Missing::refuse));
  return cache;
}

std::string Cache::place_of(const std::string& version) const {
  return root_ + "/" + name_ + "/versions/" + version;
}

Result<CacheLock> Cache::lock(std::chrono::milliseconds patience,
                              const std::function<void(const std::string&)>& waits) const {
  Fd file = TRY(open_beneath(directory_.get(), kLock, O_RDWR | O_CREAT | O_NONBLOCK, 0600));
  struct stat found {};
  if (::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != ::geteuid())
    return fail("verify", shown(root_ + "/" + kLock), "is no file of yours", "move it away");
  const auto end = std::chrono::steady_clock::now() + patience;
  bool told = false;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return fail_errno("verify", shown(root_), errno, {}, "flock");
    const std::string owner = owner_in_words(file.get());
    if (std::chrono::steady_clock::now() >= end)
      return fail("verify", shown(root_), owner + " works in it", "wait for its end, or end it");
    if (!told && waits) waits(owner + " works in " + shown(root_) + ": waiting");
    told = true;
    std::this_thread::sleep_for(kPause);
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  const auto size = static_cast<ssize_t>(pid.size());
  if (::ftruncate(file.get(), 0) != 0 || ::pwrite(file.get(), pid.data(), pid.size(), 0) != size)
    return fail_errno("verify", shown(root_), errno, {}, "write down who works in it");
  return CacheLock(std::move(file));
}

Result<RecordBook> Cache::book() const {
  Result<std::string> text = read_file(agent_.get(), kBook, kMostBookBytes);
  if (!text && text.error().errno_value == ENOENT) return RecordBook{.agent = name_, .current = {}, .records = {}};
  if (!text) return Failure(text.error());
  RecordBook book = TRY(parse_book(*text));
  if (book.agent != name_)
    return fail("verify", shown(root_ + "/" + name_ + "/" + kBook), "is another agent's", "move it away");
  return book;
}

Status Cache::write_book(const RecordBook& book) const {
  TRY(write_file_atomic(agent_.get(), kBook, print_book(book), 0600));
  return flush_directory(agent_.get(), root_ + "/" + name_);
}

// What is in use stays for the next time.
void Cache::clean() const {
  const Result<std::vector<std::string>> names = names_in(staging_.get(), "staging", kMostTreeEntries);
  if (!names) return;
  for (const std::string& name : *names) {
    Result<Fd> directory = open_beneath(staging_.get(), name, O_RDONLY | O_DIRECTORY);
    if (directory && is_in_use(directory->get())) continue;
    (void)remove_tree(staging_.get(), name);
  }
}

Result<std::string> Cache::stage(const CacheLock&) const {
  clean();
  std::string name;
  TRY(make_unique_directory(staging_.get(), "", 0700, &name));
  return name;
}

Result<Fd> Cache::open_staged(const std::string& name) const {
  return open_beneath(staging_.get(), name, O_RDONLY | O_DIRECTORY);
}

void Cache::drop(const CacheLock&, const std::string& name) const {
  (void)remove_tree(staging_.get(), name);
}

Status Cache::may_follow(const RecordBook& book, const std::string& version, const std::string& archive_sha256,
                         bool downgrade) const {
  const TreeRecord* seen = book.find(version);
  if (seen != nullptr && seen->archive_sha256 != archive_sha256)
    return fail("verify", name_ + " " + version,
                "is another archive than the one of this version that was seen first: SHA-256 " + archive_sha256 +
                    ", then " + seen->archive_sha256,
                "ask the vendor why one version has two digests");
  const std::string highest = book.highest();
  if (downgrade || highest.empty() || compare_versions(version, highest) >= 0) return {};
  return fail("verify", name_ + " " + version, "is older than " + highest + ", which was seen before",
              "--allow-downgrade takes it all the same");
}

Status Cache::install(const CacheLock&, const std::string& name, TreeRecord record, bool downgrade) const {
  RecordBook book = TRY(this->book());
  TRY(may_follow(book, record.version, record.archive_sha256, downgrade));
  if (const TreeRecord* seen = book.find(record.version); seen != nullptr) record.first_seen = seen->first_seen;
  const Fd staged = TRY(open_staged(name));
  record.entries = TRY(read_tree(staged.get()));
  if (record.entries.empty()) return fail("verify", name_ + " " + record.version, "holds no file");
  if (::syncfs(staged.get()) != 0) return fail_errno("verify", shown(root_), errno, {}, "write to disk");
  const std::string version = record.version;
  struct stat there {};
  const bool replaces = ::fstatat(versions_.get(), version.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
  if (replaces && (!S_ISDIR(there.st_mode) || there.st_uid != ::geteuid()))
    return fail("verify", shown(place_of(version)), "is no directory of yours", "move it away");
  if (rename_by(staging_.get(), name, versions_.get(), version, replaces ? RENAME_EXCHANGE : RENAME_NOREPLACE) != 0)
    return fail_errno("verify", shown(place_of(version)), errno, {}, "put it in its place");
  TRY(flush_directory(versions_.get(), root_));
  TRY(flush_directory(staging_.get(), root_));
  book.put(std::move(record));
  book.current = version;
  TRY(write_book(book));
  clean();
  return {};
}

Status Cache::choose(const CacheLock&, const std::string& version) const {
  RecordBook book = TRY(this->book());
  if (book.installed(version) == nullptr)
    return fail("verify", name_ + " " + shown(version), "is not installed", "oncelatch prepare " + name_);
  if (book.current == version) return {};
  book.current = version;
  return write_book(book);
}

// Out of the book first: it never names what is gone.
Result<std::vector<std::string>> Cache::collect(const CacheLock&) const {
  RecordBook book = TRY(this->book());
  std::vector<std::string> removed;
  for (TreeRecord& record : book.records) {
    if (record.entries.empty() || record.version == book.current) continue;
    Result<Fd> directory = open_beneath(versions_.get(), record.version, O_RDONLY | O_DIRECTORY);
    if (directory && is_in_use(directory->get())) continue;
    record.entries.clear();
    removed.push_back(record.version);
  }
  if (!removed.empty()) TRY(write_book(book));
  for (const std::string& name : TRY(names_in(versions_.get(), "versions", kMostTreeEntries))) {
    if (book.installed(name) != nullptr) continue;
    Result<Fd> directory = open_beneath(versions_.get(), name, O_RDONLY | O_DIRECTORY);
    if (!directory || !is_in_use(directory->get())) (void)remove_tree(versions_.get(), name);
  }
  clean();
  return removed;
}

Result<ManagedVersion> Cache::check(const std::string& version, bool full) const {
  const RecordBook book = TRY(this->book());
  const TreeRecord* record = book.installed(version);
  if (record == nullptr)
    return fail_errno("verify", name_ + " " + shown(version), ENOENT, "oncelatch prepare " + name_, "not installed");
  ManagedVersion managed{.version = version, .place = place_of(version), .directory = {}, .tree = {}};
  managed.directory = TRY(open_part(versions_.get(), version, managed.place, Missing::refuse));
  if (::flock(managed.directory.get(), LOCK_SH | LOCK_NB) != 0)
    return fail("verify", shown(managed.place), "is being removed", "try again");
  Seals seals = Seals::open(agent_.get(), directory_.get());
  if (full) seals.forget();
  managed.tree = TRY(check_tree(managed.directory.get(), *record, seals));
  seals.save();
  return managed;
}

}  // namespace oncelatch::verify
