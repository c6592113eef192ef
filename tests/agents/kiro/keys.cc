#include "keys.h"

#include <algorithm>
#include <cstdlib>

namespace kiro {
namespace {

constexpr Micros kEscapeWait = 20'000;
constexpr std::string_view kPasteEnd = "\x1b[201~";

Key control(char byte) {
  switch (byte) {
    case '\r':
    case '\n':
      return {"enter", ""};
    case '\t':
      return {"tab", ""};
    case '\x7f':
    case '\b':
      return {"backspace", ""};
    default:
      break;
  }
  return {std::string("ctrl-") + static_cast<char>(byte + 0x60), ""};
}

Key from_letter(char letter) {
  switch (letter) {
    case 'A':
      return {"up", ""};
    case 'B':
      return {"down", ""};
    case 'C':
      return {"right", ""};
    case 'D':
      return {"left", ""};
    case 'Z':
      return {"shift-tab", ""};
    case 'I':
    case 'O':
      return {"focus", ""};
    default:
      return {"other", ""};
  }
}

// ESC [ code ; modifier u
Key from_codepoint(const std::string& parameters) {
  const long code = std::strtol(parameters.c_str(), nullptr, 10);
  if (code == 27) return {"esc", ""};
  if (code == 13) return {"enter", ""};
  if (code == 9) return {"tab", ""};
  if (code == 127) return {"backspace", ""};
  const bool ctrl = parameters.find(";5") != std::string::npos;
  if (ctrl && code >= 'a' && code <= 'z') return {std::string("ctrl-") + static_cast<char>(code), ""};
  if (code >= 0x20 && code < 0x7F) return {"char", std::string(1, static_cast<char>(code))};
  return {"other", ""};
}

}  // namespace

std::vector<Key> KeyDecoder::feed(std::string_view bytes, Micros now) {
  pending_ += bytes;
  std::vector<Key> keys;
  while (!pending_.empty()) {
    std::optional<Key> key = next();
    if (!key) break;
    keys.push_back(std::move(*key));
  }
  deadline_ = pending_.empty() ? 0 : now + kEscapeWait;
  return keys;
}

std::vector<Key> KeyDecoder::flush(Micros now) {
  if (deadline_ == 0 || now < deadline_) return {};
  deadline_ = 0;
  const bool escape = !pending_.empty() && pending_[0] == '\x1b';
  if (pending_.rfind("\x1b[200~", 0) == 0) {
    deadline_ = now + kEscapeWait;  // a paste ends only with its end mark
    return {};
  }
  pending_.erase(0, 1);
  std::vector<Key> keys = {Key{escape ? "esc" : "other", ""}};
  for (Key& key : feed("", now)) keys.push_back(std::move(key));
  return keys;
}

std::optional<Key> KeyDecoder::next() {
  const char first = pending_[0];
  if (first == '\x1b') return sequence();
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0x20 || byte == 0x7F) {
    pending_.erase(0, 1);
    return control(first);
  }
  const std::size_t size = byte < 0xC0 ? 1U : byte < 0xE0 ? 2U : byte < 0xF0 ? 3U : 4U;
  if (pending_.size() < size) return std::nullopt;
  Key key{"char", pending_.substr(0, size)};
  pending_.erase(0, size);
  return key;
}

std::optional<Key> KeyDecoder::sequence() {
  if (pending_.size() < 2) return std::nullopt;
  if (pending_[1] != '[' && pending_[1] != 'O') {
    pending_.erase(0, 1);
    return Key{"esc", ""};
  }
  std::size_t end = 2;
  while (end < pending_.size() && (pending_[end] < '@' || pending_[end] > '~')) ++end;
  if (end >= pending_.size()) return std::nullopt;
  const std::string parameters = pending_.substr(2, end - 2);
  const char letter = pending_[end];
  if (letter == '~' && parameters == "200") return paste();
  pending_.erase(0, end + 1);
  if (letter == 'u') return from_codepoint(parameters);
  return from_letter(letter);
}

std::optional<Key> KeyDecoder::paste() {
  constexpr std::size_t kStart = 6;  // ESC [ 200 ~
  const std::size_t end = pending_.find(kPasteEnd, kStart);
  if (end == std::string::npos) return std::nullopt;
  Key key{"paste", pending_.substr(kStart, end - kStart)};
  std::replace(key.text.begin(), key.text.end(), '\r', '\n');
  pending_.erase(0, end + kPasteEnd.size());
  return key;
}

}  // namespace kiro
