#include "launcher/git_index.h"

#include <algorithm>

#include "sandbox/guarded_names.h"

namespace oncelatch::launcher {

namespace {

constexpr std::size_t kHeaderSize = 12;
constexpr std::size_t kStatSize = 40;  // times, device, inode, mode, owner, size
constexpr std::size_t kModeAt = 24;
constexpr std::uint32_t kExtended = 0x4000;  // two more bytes of flags
constexpr std::uint32_t kNameMask = 0x0fff;
constexpr std::uint32_t kDirectory = 040000;  // of a sparse index: its name ends with a slash

}  // namespace

bool is_name_in_work_tree(std::string_view name) {
  if (name.empty() || name.find('\0') != std::string_view::npos) return false;
  for (std::size_t start = 0; start <= name.size();) {
    const std::size_t end = std::min(name.find('/', start), name.size());
    const std::string part(name.substr(start, end - start));
    if (part.empty() || part == "." || part == ".." || sandbox::is_git_directory_name(part.c_str())) return false;
    start = end + 1;
  }
  return true;
}

IndexNames::IndexNames(std::string_view bytes, std::size_t hash_size) : bytes_(bytes), hash_size_(hash_size) {
  failed_ = bytes.size() < kHeaderSize + hash_size || bytes.substr(0, 4) != "DIRC";
  if (failed_) return;
  version_ = number(4, 4);
  left_ = number(8, 4);
  at_ = kHeaderSize;
  failed_ = version_ < 2 || version_ > 4;
}

// Of the network's order.
std::uint32_t IndexNames::number(std::size_t at, std::size_t size) const {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(bytes_[at + i]);
  return value;
}

bool IndexNames::next(std::string_view& name) {
  if (failed_) return false;
  if (left_ == 0) {
    failed_ = nameless_ && !has_other_half();
    return false;
  }
  --left_;
  failed_ = !take(name);
  return !failed_;
}

// The extension "link".
bool IndexNames::has_other_half() const {
  const std::size_t end = bytes_.size() - hash_size_;
  for (std::size_t at = at_; end - at >= 8;) {
    if (bytes_.substr(at, 4) == "link") return true;
    const std::size_t size = number(at + 4, 4);
    if (size > end - at - 8) return false;
    at += 8 + size;
  }
  return false;
}

bool IndexNames::take(std::string_view& name) {
  const std::size_t end = bytes_.size() - hash_size_;  // the checksum
  const std::size_t start = at_;
  std::size_t fixed = kStatSize + hash_size_ + 2;
  if (end - at_ < fixed + 1) return false;
  const std::uint32_t mode = number(at_ + kModeAt, 4);
  const std::uint32_t flags = number(at_ + fixed - 2, 2);
  if ((flags & kExtended) != 0) fixed += 2;
  if (((flags & kExtended) != 0 && version_ == 2) || end - at_ < fixed + 1) return false;
  at_ += fixed;
  if (version_ == 4) {  // so many bytes less of the name before, as a variable-width number, and then the rest
    std::size_t less = 0;
    for (bool more = true, first = true; more; first = false) {
      if (at_ >= end || less > (std::size_t{1} << 24)) return false;
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      less = (first ? 0 : less + 1) << 7 | (byte & 0x7fU);
      more = (byte & 0x80U) != 0;
    }
    if (less > name_.size()) return false;
    name_.resize(name_.size() - less);
  } else {
    name_.clear();
  }
  const std::size_t nul = bytes_.substr(0, end).find('\0', at_);
  if (nul == std::string_view::npos) return false;
  name_.append(bytes_.substr(at_, nul - at_));
  at_ = nul + 1;
  if (version_ != 4) at_ = start + (fixed + name_.size() + 8) / 8 * 8;  // one to eight zeros
  const std::uint32_t told = flags & kNameMask;
  if (at_ > end || (told != kNameMask && told != name_.size()) || (told == kNameMask && name_.size() < kNameMask))
    return false;
  const bool sparse = mode == kDirectory && name_.ends_with('/');
  name = name_;
  nameless_ = nameless_ || name.empty();
  return name.empty() || is_name_in_work_tree(sparse ? name.substr(0, name.size() - 1) : name);
}

}  // namespace oncelatch::launcher
