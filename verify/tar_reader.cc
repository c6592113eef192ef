#include "verify/tar_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/untrusted.h"

namespace oncelatch::verify {

namespace {

// POSIX.1-2017, ustar header: offset, size.
struct Field {
  std::size_t offset;
  std::size_t size;
};
constexpr Field kName{0, 100};
constexpr Field kMode{100, 8};
constexpr Field kSize{124, 12};
constexpr Field kSum{148, 8};
constexpr std::size_t kType = 156;
constexpr Field kLink{157, 100};
constexpr Field kMagic{257, 8};
constexpr Field kPrefix{345, 155};

constexpr std::uint64_t kMostRecordBytes = std::uint64_t{64} << 10;
constexpr std::uint64_t kMostNameBytes = 4096;
constexpr std::uint64_t kMostEndBytes = std::uint64_t{1} << 20;
constexpr std::string_view kUstar(
    "ustar\0"
    "00",
    8);
constexpr std::string_view kGnu("ustar  \0", 8);

Failure refuse(const std::string& object, const std::string& what) {
  return fail("verify", "the archive" + (object.empty() ? "" : ", " + escape_for_display(object, 200)), what,
              "nothing of it was kept; get it again");
}

template <class Block>
std::string_view bytes_of(const Block& block, Field field) {
  return {block.data() + field.offset, field.size};
}

// Up to its first NUL; behind that only NULs may stand.
Result<std::string> text_of(std::string_view bytes, const char* what) {
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  if (bytes.find_first_not_of('\0', end) != std::string_view::npos)
    return refuse({}, std::string(what) + " goes on behind its end");
  return std::string(bytes.substr(0, end));
}

// Octal digits, ended by NUL or a blank; blanks may stand before.
Result<std::uint64_t> number_of(std::string_view bytes, const char* what) {
  const std::size_t start = std::min(bytes.find_first_not_of(' '), bytes.size());
  std::string_view digits = bytes.substr(start);
  digits = digits.substr(0, std::min(digits.find_first_of(std::string_view("\0 ", 2)), digits.size()));
  const std::string_view rest = bytes.substr(start + digits.size());
  std::uint64_t value = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  const bool fits = !digits.empty() && end.ec == std::errc() && end.ptr == digits.data() + digits.size() &&
                    rest.find_first_not_of(std::string_view("\0 ", 2)) == std::string_view::npos;
  if (!fits) return refuse({}, std::string(what) + " isn't a number as this format writes it");
  return value;
}

template <class Block>
bool has_right_sum(const Block& block, std::uint64_t told) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i)
    sum += i >= kSum.offset && i < kSum.offset + kSum.size ? ' ' : static_cast<unsigned char>(block[i]);
  return sum == told;
}

bool is_known_record(std::string_view key) {
  constexpr std::array<std::string_view, 14> kKnown = {
      "path",       "size",       "mtime",        "atime",  "ctime",
      "uid",        "gid",        "uname",        "gname",  "LIBARCHIVE.creationtime",
      "SCHILY.dev", "SCHILY.ino", "SCHILY.nlink", "comment"};
  return std::find(kKnown.begin(), kKnown.end(), key) != kKnown.end();
}

}  // namespace

Result<TarReader::Got> TarReader::read_block(Block& block) {
  for (std::size_t filled = 0; filled < block.size();) {
    const std::size_t got = TRY(bytes_.read(block.data() + filled, block.size() - filled));
    if (got == 0 && filled == 0) return Got::end;
    if (got == 0) return refuse({}, "ends in the middle");
    filled += got;
  }
  return Got::block;
}

Status TarReader::skip(std::uint64_t size) {
  std::array<char, 4096> buffer;
  while (size > 0) {
    const std::size_t got =
        TRY(bytes_.read(buffer.data(), static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), size))));
    if (got == 0) return refuse({}, "ends in the middle");
    size -= got;
  }
  return {};
}

// After one block of zeros: another one, and then nothing else.
Status TarReader::end_archive() {
  Block block;
  std::uint64_t bytes = 0;
  for (bool first = true;; first = false) {
    if (TRY(read_block(block)) == Got::end) return first ? Status(refuse({}, "has no end")) : Status();
    if (std::any_of(block.begin(), block.end(), [](char c) { return c != 0; }))
      return refuse({}, "goes on behind its end");
    bytes += block.size();
    if (bytes > kMostEndBytes) return refuse({}, "has a long tail");
  }
}

Result<std::string> TarReader::read_text(std::uint64_t size, const char* what) {
  const std::uint64_t most = std::strcmp(what, "a long name") == 0 ? kMostNameBytes : kMostRecordBytes;
  if (size > most) return refuse({}, std::string(what) + " is too long");
  std::string text(static_cast<std::size_t>(size), '\0');
  for (std::size_t filled = 0; filled < text.size();) {
    const std::size_t got = TRY(bytes_.read(text.data() + filled, text.size() - filled));
    if (got == 0) return refuse({}, "ends in the middle");
    filled += got;
  }
  TRY(skip((kBlock - size % kBlock) % kBlock));
  return text;
}

// "LENGTH KEY=VALUE\n", where the length counts itself and the line's end.
Status TarReader::take_records(const std::string& text) {
  if (!records_.empty()) return refuse({}, "has two extended headers for one entry");
  for (std::size_t at = 0; at < text.size();) {
    std::uint64_t length = 0;
    const auto end = std::from_chars(text.data() + at, text.data() + text.size(), length);
    const std::size_t digits = static_cast<std::size_t>(end.ptr - text.data()) - at;
    const bool fits = end.ec == std::errc() && digits > 0 && digits < 6 && text[at] != '0' && length > digits + 3 &&
                      length <= text.size() - at && text[at + digits] == ' ' && text[at + length - 1] == '\n';
    if (!fits) return refuse({}, "has an extended header that isn't one");
    const std::string record = text.substr(at + digits + 1, static_cast<std::size_t>(length) - digits - 2);
    const std::size_t equals = record.find('=');
    const std::string key = record.substr(0, equals);
    if (equals == std::string::npos || !is_known_record(key))
      return refuse({}, "has an extended header that isn't taken: " + escape_for_display(key, 80));
    if (record.find('\0') != std::string::npos || !records_.emplace(key, record.substr(equals + 1)).second)
      return refuse({}, "has an extended header that says two things: " + escape_for_display(key, 80));
    at += static_cast<std::size_t>(length);
  }
  if (records_.empty()) return refuse({}, "has an empty extended header");
  return {};
}

Result<ArchiveEntry> TarReader::take_entry(const Block& block) {
  ArchiveEntry entry;
  const char type = block[kType];
  const bool is_ustar = bytes_of(block, kMagic) == kUstar;
  std::string path = TRY(text_of(bytes_of(block, kName), "a name"));
  const std::string prefix = is_ustar ? TRY(text_of(bytes_of(block, kPrefix), "a name's beginning")) : std::string();
  if (!prefix.empty()) path = prefix + "/" + path;
  if (long_name_) path = *long_name_;
  if (const auto found = records_.find("path"); found != records_.end()) path = found->second;
  entry.size = TRY(number_of(bytes_of(block, kSize), "a size"));
  if (const auto found = records_.find("size"); found != records_.end()) {
    const std::string& text = found->second;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), entry.size);
    if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size())
      return refuse(path, "has a size that is no number");
  }
  entry.mode = static_cast<mode_t>(TRY(number_of(bytes_of(block, kMode), "a mode")));
  const bool slash = path.ends_with('/');
  entry.directory = type == '5';
  if (type != '5' && type != '0' && type != '\0') return refuse(path, "is neither a regular file nor a directory");
  if (slash && !entry.directory) return refuse(path, "is a file with a directory's name");
  if (entry.directory && entry.size != 0) return refuse(path, "is a directory with content");
  if (!TRY(text_of(bytes_of(block, kLink), "a link")).empty()) return refuse(path, "leads elsewhere");
  if (slash) path.pop_back();
  if (path.starts_with("./")) path.erase(0, 2);
  entry.path = std::move(path);
  records_.clear();
  long_name_.reset();
  return entry;
}

Result<std::optional<ArchiveEntry>> TarReader::next() {
  TRY(skip(left_));
  TRY(skip(padding_));
  left_ = padding_ = 0;
  for (;;) {
    Block block;
    if (TRY(read_block(block)) == Got::end) return refuse({}, "has no end");
    if (std::all_of(block.begin(), block.end(), [](char c) { return c == 0; })) {
      if (!records_.empty() || long_name_) return refuse({}, "ends with a header for nothing");
      TRY(end_archive());
      return std::optional<ArchiveEntry>();
    }
    const std::string_view magic = bytes_of(block, kMagic);
    if (magic != kUstar && magic != kGnu) return refuse({}, "has a header of an unknown format");
    const std::uint64_t sum = TRY(number_of(bytes_of(block, kSum), "a sum"));
    if (!has_right_sum(block, sum)) return refuse({}, "has a header whose sum is wrong");
    const char type = block[kType];
    const std::uint64_t size = TRY(number_of(bytes_of(block, kSize), "a size"));
    if (type == 'x') {
      const std::string text = TRY(read_text(size, "an extended header"));
      TRY(take_records(text));
    } else if (type == 'L' && magic == kGnu) {
      if (long_name_) return refuse({}, "has two long names for one entry");
      const std::string text = TRY(read_text(size, "a long name"));
      long_name_ = TRY(text_of(text, "a long name"));
    } else {
      ArchiveEntry entry = TRY(take_entry(block));
      left_ = entry.size;
      padding_ = (kBlock - entry.size % kBlock) % kBlock;
      return std::optional<ArchiveEntry>(std::move(entry));
    }
  }
}

Result<std::size_t> TarReader::read(char* into, std::size_t size) {
  if (left_ == 0) return std::size_t{0};
  const std::size_t got = TRY(bytes_.read(into, static_cast<std::size_t>(std::min<std::uint64_t>(size, left_))));
  if (got == 0) return refuse({}, "ends in the middle");
  left_ -= got;
  return got;
}

}  // namespace oncelatch::verify
