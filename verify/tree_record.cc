#include "verify/tree_record.h"

#include <algorithm>

#include "base/digits.h"
#include "base/json.h"
#include "base/untrusted.h"
#include "verify/version.h"

namespace oncelatch::verify {

namespace {

constexpr const char* kBook = "artifacts.lock";
constexpr std::int64_t kFormat = 1;
constexpr std::size_t kMostRecords = 256;
constexpr std::size_t kMostName = 128;
constexpr std::size_t kMostSource = 1024;
constexpr mode_t kFileMode = 0444;
constexpr mode_t kProgramMode = 0555;

Failure refuse(const std::string& object, const std::string& what) {
  return fail("verify", std::string(kBook) + (object.empty() ? "" : ", " + object), what,
              "oncelatch cache verify says more; oncelatch prepare makes a new one once it is out of the way");
}

bool is_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_agent(std::string_view text) {
  return !text.empty() && text.size() <= 32 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos;
}

// An object that has exactly these members.
class Members {
 public:
  Members(const Json& value, std::string object) : value_(value), object_(std::move(object)) {}

  Status are(std::initializer_list<const char*> names) const {
    if (!value_.is_object() || value_.size() != names.size()) return refuse(object_, "has other members than expected");
    for (const char* name : names)
      if (!value_.contains(name)) return refuse(object_, std::string(name) + ": missing");
    return {};
  }
  template <class Check>
  Result<std::string> text(const char* name, Check check) const {
    const std::string* found = json_string(value_, name);
    if (found != nullptr && check(*found)) return *found;
    return refuse(object_, std::string(name) + ": " +
                               (found == nullptr ? "no text" : "unfit: " + escape_for_display(*found, 120)));
  }
  Result<std::int64_t> number(const char* name) const {
    const std::optional<std::int64_t> found = json_integer(value_, name);
    if (found && *found >= 0) return *found;
    return refuse(object_, std::string(name) + ": no number");
  }
  Result<const Json*> list(const char* name, std::size_t most) const {
    const Json* found = json_array(value_, name);
    if (found != nullptr && found->size() <= most) return found;
    return refuse(object_, std::string(name) + (found == nullptr ? ": no list" : ": too many"));
  }

 private:
  const Json& value_;
  std::string object_;
};

// A file is {"path", "mode", "size", "sha256"}, a directory {"path", "mode"}.
Result<TreeEntry> parse_entry(const Json& value, const std::string& object) {
  const Members members(value, object);
  TreeEntry entry;
  entry.directory = !value.contains("sha256");
  TRY(entry.directory ? members.are({"path", "mode"}) : members.are({"path", "mode", "size", "sha256"}));
  entry.path = TRY(members.text("path", is_entry_path));
  const std::string mode = TRY(members.text(
      "mode", [&](const std::string& text) { return text == "0555" || (text == "0444" && !entry.directory); }));
  entry.mode = mode == "0555" ? kProgramMode : kFileMode;
  if (entry.directory) return entry;
  entry.size = static_cast<std::uint64_t>(TRY(members.number("size")));
  entry.sha256 = TRY(members.text("sha256", is_digest));
  return entry;
}

// In order, and each in a directory that comes before it.
Status check_entries(const std::vector<TreeEntry>& entries, const std::string& object) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string& path = entries[i].path;
    if (i != 0 && entries[i - 1].path >= path) return refuse(object, "entries: not in order");
    const std::size_t slash = path.rfind('/');
    const auto parent =
        slash == std::string::npos
            ? entries.end()
            : std::lower_bound(entries.begin(), entries.end(), path.substr(0, slash),
                               [](const TreeEntry& one, const std::string& name) { return one.path < name; });
    const bool known = slash == std::string::npos ||
                       (parent != entries.end() && parent->path == path.substr(0, slash) && parent->directory);
    if (!known) return refuse(object, "entries: a file whose directory isn't one: " + path);
  }
  return {};
}

Result<TreeRecord> parse_record(const Json& value, std::size_t number) {
  const std::string object = "record " + std::to_string(number);
  const Members members(value, object);
  TRY(members.are({"version", "source", "archive_sha256", "manifest_sha256", "first_seen", "entries"}));
  TreeRecord record;
  record.version = TRY(members.text("version", [](const std::string& text) { return is_version(text); }));
  record.source = TRY(members.text("source", [](const std::string& text) { return text.size() <= kMostSource; }));
  record.archive_sha256 = TRY(members.text("archive_sha256", is_digest));
  record.manifest_sha256 = TRY(members.text("manifest_sha256", is_digest));
  record.first_seen = TRY(members.number("first_seen"));
  const Json* entries = TRY(members.list("entries", kMostTreeEntries));
  for (const Json& entry : *entries) record.entries.push_back(TRY(parse_entry(entry, object)));
  TRY(check_entries(record.entries, object));
  return record;
}

Json print_record(const TreeRecord& record) {
  Json entries = Json::array();
  for (const TreeEntry& one : record.entries) {
    Json entry = {{"path", one.path}, {"mode", "0" + octal(one.mode, 3)}};
    if (!one.directory) {
      entry["size"] = one.size;
      entry["sha256"] = one.sha256;
    }
    entries.push_back(std::move(entry));
  }
  return {{"version", record.version},
          {"source", record.source},
          {"archive_sha256", record.archive_sha256},
          {"manifest_sha256", record.manifest_sha256},
          {"first_seen", record.first_seen},
          {"entries", std::move(entries)}};
}

}  // namespace

bool is_entry_path(std::string_view path) {
  constexpr std::string_view kFit = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
  for (std::size_t depth = 0; depth < kMostTreeDepth; ++depth) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    if (name.empty() || name.size() > kMostName || name == "." || name == "..") return false;
    if (name.find_first_not_of(kFit) != std::string_view::npos) return false;
    if (end == path.size()) return true;
    path.remove_prefix(end + 1);
  }
  return false;
}

const TreeRecord* RecordBook::find(std::string_view version) const {
  for (const TreeRecord& one : records)
    if (one.version == version) return &one;
  return nullptr;
}

const TreeRecord* RecordBook::installed(std::string_view version) const {
  const TreeRecord* found = find(version);
  return found == nullptr || found->entries.empty() ? nullptr : found;
}

std::string RecordBook::highest() const {
  std::string highest;
  for (const TreeRecord& one : records)
    if (highest.empty() || compare_versions(one.version, highest) > 0) highest = one.version;
  return highest;
}

void RecordBook::put(TreeRecord record) {
  const auto at =
      std::lower_bound(records.begin(), records.end(), record.version,
                       [](const TreeRecord& one, const std::string& version) { return one.version < version; });
  if (at != records.end() && at->version == record.version)
    *at = std::move(record);
  else
    records.insert(at, std::move(record));
}

Result<RecordBook> parse_book(std::string_view text) {
  constexpr std::size_t kMostNodes = 10 * kMostRecords * kMostTreeEntries;
  Result<Json> parsed = parse_json(text, {.bytes = kMostBookBytes, .depth = 8, .nodes = kMostNodes}, kBook);
  if (!parsed) return refuse({}, "isn't JSON: " + parsed.error().what);
  const Members members(*parsed, {});
  TRY(members.are({"format", "agent", "current", "records"}));
  if (TRY(members.number("format")) != kFormat) return refuse({}, "is of another program version");
  RecordBook book;
  book.agent = TRY(members.text("agent", is_agent));
  book.current = TRY(members.text("current", [](const std::string& name) { return name.empty() || is_version(name); }));
  const Json* records = TRY(members.list("records", kMostRecords));
  for (const Json& value : *records) {
    TreeRecord record = TRY(parse_record(value, book.records.size()));
    if (!book.records.empty() && book.records.back().version >= record.version)
      return refuse({}, "records: not in order");
    book.records.push_back(std::move(record));
  }
  if (!book.current.empty() && book.installed(book.current) == nullptr) return refuse({}, "current: isn't installed");
  return book;
}

std::string print_book(const RecordBook& book) {
  Json records = Json::array();
  for (const TreeRecord& one : book.records) records.push_back(print_record(one));
  return dump_json(
             {{"format", kFormat}, {"agent", book.agent}, {"current", book.current}, {"records", std::move(records)}}) +
         "\n";
}

}  // namespace oncelatch::verify
