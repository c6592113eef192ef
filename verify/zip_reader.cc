#include "verify/zip_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>

#include "base/untrusted.h"

namespace oncelatch::verify {

namespace {

constexpr std::uint32_t kLocal = 0x04034b50;
constexpr std::uint32_t kCentral = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kDescriptor = 0x08074b50;
constexpr std::size_t kLocalSize = 30;
constexpr std::size_t kCentralSize = 46;
constexpr std::size_t kEndSize = 22;
constexpr std::size_t kMostList = std::size_t{4} << 20;
constexpr unsigned kSizesFollow = 1U << 3;  // in a descriptor behind the content
constexpr unsigned kUtf8 = 1U << 11;
constexpr unsigned kSpeed = 3U << 1;  // of the compression, for information
constexpr unsigned kStored = 0;
constexpr unsigned kDeflated = 8;
constexpr unsigned kUnix = 3;
constexpr std::uint32_t kElsewhere = 0xffffffff;  // in ZIP64's extra field
constexpr std::uint64_t kFreeBytes = std::uint64_t{1} << 20;

Failure refuse(const std::string& object, const std::string& what) {
  return fail("verify", "the archive" + (object.empty() ? "" : ", " + escape_for_display(object, 200)), what,
              "nothing of it was kept; get it again");
}

std::uint32_t number(const std::string& bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}
std::uint32_t word(const std::string& bytes, std::size_t at) {
  return number(bytes, at, 2);
}
std::uint32_t longer(const std::string& bytes, std::size_t at) {
  return number(bytes, at, 4);
}

// Fields of their own meaning in extra data: another name, other sizes.
bool has_other_meaning(const std::string& extra) {
  constexpr std::uint32_t kZip64 = 0x0001;
  constexpr std::uint32_t kUnicodePath = 0x7075;
  constexpr std::uint32_t kStrongEncryption = 0x0017;
  constexpr std::uint32_t kAesEncryption = 0x9901;
  for (std::size_t at = 0; at < extra.size();) {
    if (extra.size() - at < 4) return true;
    const std::uint32_t id = word(extra, at);
    if (id == kZip64 || id == kUnicodePath || id == kStrongEncryption || id == kAesEncryption) return true;
    at += 4 + word(extra, at + 2);
    if (at > extra.size()) return true;
  }
  return false;
}

}  // namespace

struct ZipReader::Place {
  std::uint64_t local = 0;
  std::uint64_t content = 0;
  std::uint64_t packed = 0;
  std::uint32_t sum = 0;
  unsigned flags = 0;
  unsigned method = 0;
  std::string name;  // as it stands there
};

struct ZipReader::Inflater {
  Inflater(int from, const ArchiveEntry& what, const Place& where) : file(from), entry(what), place(where) {
    if (place.method == kDeflated) code = inflateInit2(&stream, -MAX_WBITS);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (place.method == kDeflated) inflateEnd(&stream);
  }

  // As much of what is packed as fits.
  Result<std::size_t> fill(char* into, std::size_t size) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(size, place.packed - taken));
    if (most == 0) return most;
    const ssize_t got = ::pread(file, into, most, static_cast<off_t>(place.content + taken));
    if (got < 0) return fail_errno("verify", "the archive", errno, {}, "read");
    if (got == 0) return refuse(entry.path, "ends in the middle");
    taken += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
  }
  Result<std::size_t> inflate_some(char* into, std::size_t size) {
    stream.next_out = reinterpret_cast<Bytef*>(into);
    stream.avail_out = static_cast<uInt>(size);
    while (code == Z_OK && stream.avail_out == size) {
      if (stream.avail_in == 0) {
        stream.avail_in = static_cast<uInt>(TRY(fill(input.data(), input.size())));
        stream.next_in = reinterpret_cast<Bytef*>(input.data());
      }
      const bool starved = stream.avail_in == 0;
      code = ::inflate(&stream, Z_NO_FLUSH);
      if (code == Z_BUF_ERROR && !starved) code = Z_OK;
    }
    if (code != Z_OK && code != Z_STREAM_END) return refuse(entry.path, "is damaged");
    return size - stream.avail_out;
  }

  int file;
  const ArchiveEntry& entry;
  const Place& place;
  z_stream stream{};
  int code = Z_OK;
  std::array<char, std::size_t{1} << 16> input{};
  std::uint64_t taken = 0;
  std::uint64_t made = 0;
  uLong sum = 0;
  bool ended = false;
};

ZipReader::ZipReader(int file, const StreamLimits& limits) : file_(file), limits_(limits) {}
ZipReader::ZipReader(ZipReader&& other) noexcept = default;
ZipReader::~ZipReader() = default;

Result<ZipReader> ZipReader::open(int file, const StreamLimits& limits) {
  ZipReader zip(file, limits);
  struct stat found {};
  if (::fstat(file, &found) != 0) return fail_errno("verify", "the archive", errno);
  zip.file_size_ = static_cast<std::uint64_t>(found.st_size);
  TRY(zip.read_list());
  return zip;
}

Result<std::string> ZipReader::bytes_at(std::uint64_t offset, std::uint64_t size) const {
  if (offset > file_size_ || size > file_size_ - offset) return refuse({}, "ends in the middle");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  for (std::size_t filled = 0; filled < bytes.size();) {
    const ssize_t got =
        ::pread(file_, bytes.data() + filled, bytes.size() - filled, static_cast<off_t>(offset + filled));
    if (got < 0) return fail_errno("verify", "the archive", errno, {}, "read");
    if (got == 0) return refuse({}, "ends in the middle");
    filled += static_cast<std::size_t>(got);
  }
  return bytes;
}

// The end's record is the last of the file, so no other one can be meant.
Status ZipReader::read_list() {
  if (file_size_ < kEndSize) return refuse({}, "isn't in the zip format");
  const std::string end = TRY(bytes_at(file_size_ - kEndSize, kEndSize));
  if (longer(end, 0) != kEnd) return refuse({}, "isn't in the zip format, or has something behind its end");
  const std::uint32_t count = word(end, 10);
  const std::uint64_t size = longer(end, 12);
  const std::uint64_t start = longer(end, 16);
  const bool one_disk = word(end, 4) == 0 && word(end, 6) == 0 && word(end, 8) == count && word(end, 20) == 0;
  if (!one_disk || size > kMostList || start + size != file_size_ - kEndSize)
    return refuse({}, "has a list that doesn't fit");
  const std::string list = TRY(bytes_at(start, size));
  TRY(read_central(list, start));
  if (entries_.size() != count) return refuse({}, "has a list of another length than it says");
  return check_locals(start);
}

Status ZipReader::read_central(const std::string& list, std::uint64_t start) {
  for (std::size_t at = 0; at < list.size();) {
    if (list.size() - at < kCentralSize || longer(list, at) != kCentral) return refuse({}, "has a list that isn't one");
    const std::size_t name_size = word(list, at + 28);
    const std::size_t extra_size = word(list, at + 30);
    const std::size_t comment_size = word(list, at + 32);
    if (list.size() - at - kCentralSize < name_size + extra_size + comment_size)
      return refuse({}, "has a list that isn't one");
    Place place;
    place.name = list.substr(at + kCentralSize, name_size);
    place.flags = word(list, at + 8);
    place.method = word(list, at + 10);
    place.sum = longer(list, at + 16);
    place.packed = longer(list, at + 20);
    place.local = longer(list, at + 42);
    ArchiveEntry entry{
        .path = place.name, .directory = place.name.ends_with('/'), .mode = 0, .size = longer(list, at + 24)};
    if (entry.directory) entry.path.pop_back();
    if (place.name.find('\0') != std::string::npos) return refuse(place.name, "has a name with an end in it");
    const std::uint32_t attributes = longer(list, at + 38);
    const bool from_unix = list[at + 5] == static_cast<char>(kUnix);
    entry.mode = from_unix ? attributes >> 16 & 07777 : entry.directory ? 0755 : 0644;
    const mode_t type = from_unix ? attributes >> 16 & S_IFMT : 0;
    if (type != 0 && type != (entry.directory ? S_IFDIR : S_IFREG))
      return refuse(place.name, "is neither a regular file nor a directory");
    if (from_unix && type == 0) entry.mode = entry.directory ? 0755 : 0644;
    const bool plain = (place.flags & ~(kSizesFollow | kUtf8 | kSpeed)) == 0 && word(list, at + 34) == 0 &&
                       (place.method == kStored || place.method == kDeflated);
    if (!plain) return refuse(place.name, "is encrypted, split, or packed in a way that isn't taken");
    if (place.packed == kElsewhere || entry.size == kElsewhere || place.local == kElsewhere || place.local >= start ||
        has_other_meaning(list.substr(at + kCentralSize + name_size, extra_size)))
      return refuse(place.name, "says its name or sizes in two places");
    if (entry.directory && (entry.size != 0 || place.method != kStored || place.packed != 0))
      return refuse(place.name, "is a directory with content");
    if (place.method == kStored && place.packed != entry.size) return refuse(place.name, "has two sizes");
    entries_.push_back(std::move(entry));
    places_.push_back(std::move(place));
    at += kCentralSize + name_size + extra_size + comment_size;
  }
  return {};
}

// In the order of their places each begins where the one before it ends; the list begins behind the last.
Status ZipReader::check_locals(std::uint64_t list_start) {
  std::vector<std::size_t> order(places_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return places_[a].local < places_[b].local; });
  std::uint64_t at = 0;
  std::uint64_t total = 0;
  for (std::size_t index : order) {
    if (places_[index].local != at) return refuse(places_[index].name, "overlaps another, or has something before it");
    at = TRY(check_local(index, at));
    total += entries_[index].size;
  }
  if (at != list_start) return refuse({}, "has something between its files and its list");
  if (total > limits_.bytes) return refuse({}, fmt::format("unpacks to more than {} bytes", limits_.bytes));
  if (total > kFreeBytes && total / limits_.ratio > file_size_)
    return refuse({}, fmt::format("unpacks to more than {} times its size", limits_.ratio));
  return {};
}

Result<std::uint64_t> ZipReader::check_local(std::size_t index, std::uint64_t at) {
  Place& place = places_[index];
  const ArchiveEntry& entry = entries_[index];
  const std::string head = TRY(bytes_at(at, kLocalSize));
  const std::size_t name_size = word(head, 26);
  const std::size_t extra_size = word(head, 28);
  const std::string rest = TRY(bytes_at(at + kLocalSize, name_size + extra_size));
  const bool follows = (place.flags & kSizesFollow) != 0;
  auto is = [&](std::size_t offset, std::uint64_t told) {
    const std::uint32_t found = longer(head, offset);
    return found == told || (follows && found == 0);
  };
  const bool same = longer(head, 0) == kLocal && word(head, 6) == place.flags && word(head, 8) == place.method &&
                    is(14, place.sum) && is(18, place.packed) && is(22, entry.size) &&
                    rest.compare(0, name_size, place.name) == 0;
  if (!same || has_other_meaning(rest.substr(name_size))) return refuse(place.name, "isn't what the list says");
  place.content = at + kLocalSize + name_size + extra_size;
  const std::uint64_t end = place.content + place.packed;
  if (!follows) return end;
  const std::string descriptor = TRY(bytes_at(end, 16));
  const bool fits = longer(descriptor, 0) == kDescriptor && longer(descriptor, 4) == place.sum &&
                    longer(descriptor, 8) == place.packed && longer(descriptor, 12) == entry.size;
  if (!fits) return refuse(place.name, "isn't what the list says");
  return end + descriptor.size();
}

Status ZipReader::start(std::size_t index) {
  inflater_ = std::make_unique<Inflater>(file_, entries_[index], places_[index]);
  return inflater_->code == Z_OK ? Status() : refuse(entries_[index].path, "can't be unpacked");
}

Result<std::size_t> ZipReader::read(char* into, std::size_t size) {
  Inflater& one = *inflater_;
  if (one.ended) return std::size_t{0};
  const std::size_t got = one.place.method == kStored ? TRY(one.fill(into, size)) : TRY(one.inflate_some(into, size));
  one.made += got;
  one.sum = crc32(one.sum, reinterpret_cast<const Bytef*>(into), static_cast<uInt>(got));
  if (one.made > one.entry.size) return refuse(one.entry.path, "is longer than it says");
  if (got != 0) return got;
  one.ended = true;
  const bool whole = one.made == one.entry.size && one.sum == one.place.sum && one.taken == one.place.packed &&
                     one.stream.avail_in == 0 && (one.place.method == kStored || one.code == Z_STREAM_END);
  if (!whole) return refuse(one.entry.path, "is damaged");
  return std::size_t{0};
}

}  // namespace oncelatch::verify
