#include "verify/seals.h"

#include <fcntl.h>
#include <sodium/core.h>
#include <sodium/crypto_generichash.h>
#include <sodium/randombytes.h>
#include <sodium/utils.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <sstream>

#include "base/beneath.h"
#include "base/digits.h"
#include "verify/tree_record.h"

namespace oncelatch::verify {

namespace {

constexpr const char* kSeals = "seals";
constexpr const char* kKey = "seal.key";
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kMacDigits = 64;
constexpr std::size_t kMostBytes = std::size_t{2} << 20;
constexpr std::int64_t kNanoseconds = 1'000'000'000;

std::string random_key() {
  std::string key(kKeyBytes, '\0');
  randombytes_buf(key.data(), key.size());
  return key;
}

// A file of ours alone, or nothing.
std::string read_private(int directory, const char* name, std::size_t most) {
  Result<Fd> file = open_beneath(directory, name, O_RDONLY | O_NONBLOCK);
  struct stat found {};
  if (!file || ::fstat(file->get(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != ::geteuid() ||
      (found.st_mode & 077U) != 0)
    return {};
  Result<std::string> text = read_whole(file->get(), name, most);
  return text ? *text : std::string();
}

std::string key_in(int directory) {
  std::string key = read_private(directory, kKey, kKeyBytes);
  if (key.size() == kKeyBytes) return key;
  key = random_key();
  if (!write_file_atomic(directory, kKey, key, 0600)) return {};
  return read_private(directory, kKey, kKeyBytes);  // somebody else's, perhaps, who was faster
}

template <class Number>
bool take_number(std::istringstream& words, Number& into) {
  std::string word;
  if (!(words >> word)) return false;
  const auto end = std::from_chars(word.data(), word.data() + word.size(), into);
  return end.ec == std::errc() && end.ptr == word.data() + word.size();
}

}  // namespace

std::int64_t Seals::clock_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now.tv_sec * kNanoseconds + now.tv_nsec;
}

Seals Seals::open(int directory, int key_directory) {
  Seals seals;
  if (::sodium_init() < 0) return seals;
  seals.directory_ = directory;
  seals.key_ = key_in(key_directory);
  if (!seals.key_.empty()) seals.read(read_private(directory, kSeals, kMostBytes));
  return seals;
}

bool Seals::knows(const std::string& path, const FileIdentity& identity, const std::string& sha256) const {
  const auto found = seals_.find(path);
  return found != seals_.end() && found->second.identity == identity && found->second.sha256 == sha256;
}

void Seals::add(const std::string& path, const FileIdentity& identity, const std::string& sha256,
                std::int64_t started) {
  if (key_.empty() || identity.changed >= started || identity.modified >= started) return;
  seals_[path] = {identity, sha256};
  changed_ = true;
}

// A line each: digest, device, inode, size, times, path.
std::string Seals::text() const {
  std::string text;
  for (const auto& [path, seal] : seals_) {
    text += seal.sha256;
    for (std::uint64_t number :
         {static_cast<std::uint64_t>(seal.identity.device), static_cast<std::uint64_t>(seal.identity.inode),
          static_cast<std::uint64_t>(seal.identity.size)})
      text += " " + std::to_string(number);
    for (std::int64_t time : {seal.identity.modified, seal.identity.changed}) text += " " + std::to_string(time);
    text += " " + path + "\n";
  }
  return text;
}

std::string Seals::mac_of(const std::string& text) const {
  std::array<unsigned char, kMacDigits / 2> mac{};
  crypto_generichash(mac.data(), mac.size(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                     reinterpret_cast<const unsigned char*>(key_.data()), key_.size());
  std::string digits;
  for (unsigned char one : mac) digits += hexadecimal(one, 2);
  return digits;
}

void Seals::read(const std::string& bytes) {
  if (bytes.size() <= kMacDigits || bytes[kMacDigits] != '\n') return;
  const std::string body = bytes.substr(kMacDigits + 1);
  const std::string mac = mac_of(body);
  if (sodium_memcmp(mac.data(), bytes.data(), kMacDigits) != 0) return;
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Seal seal;
    std::string path;
    words >> seal.sha256;
    const bool fits = take_number(words, seal.identity.device) && take_number(words, seal.identity.inode) &&
                      take_number(words, seal.identity.size) && take_number(words, seal.identity.modified) &&
                      take_number(words, seal.identity.changed) && (words >> path);
    if (fits && seals_.size() < kMostTreeEntries) seals_[path] = seal;
  }
}

void Seals::save() {
  if (!changed_ || key_.empty()) return;
  const std::string body = text();
  if (write_file_atomic(directory_, kSeals, mac_of(body) + "\n" + body, 0600)) changed_ = false;
}

}  // namespace oncelatch::verify
