#include "verify/version.h"

#include <algorithm>

namespace oncelatch::verify {

namespace {

constexpr std::size_t kLongest = 64;
constexpr std::size_t kMostDigits = 9;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_alphanumeric(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// Up to the separator, which goes too.
std::string_view take(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

// Of any length, without leading zeros.
int compare_numbers(std::string_view one, std::string_view other) {
  one.remove_prefix(std::min(one.find_first_not_of('0'), one.size()));
  other.remove_prefix(std::min(other.find_first_not_of('0'), other.size()));
  if (one.size() != other.size()) return one.size() < other.size() ? -1 : 1;
  return one.compare(other);
}

int compare_identifiers(std::string_view one, std::string_view other) {
  const bool number = is_number(one);
  if (number != is_number(other)) return number ? -1 : 1;
  return number ? compare_numbers(one, other) : one.compare(other);
}

}  // namespace

bool is_version(std::string_view text) {
  if (text.size() > kLongest || text.find("..") != std::string_view::npos) return false;
  const std::size_t dash = text.find('-');
  std::string_view core = text.substr(0, dash);
  for (int group = 0; group < 3; ++group) {
    const bool last = core.find('.') == std::string_view::npos;
    const std::string_view part = take(core, '.');
    if (!is_number(part) || part.size() > kMostDigits || last != (group == 2)) return false;
  }
  if (dash == std::string_view::npos) return true;
  const std::string_view rest = text.substr(dash + 1);
  auto fits = [](char c) { return is_alphanumeric(c) || c == '.' || c == '-' || c == '_'; };
  return !rest.empty() && is_alphanumeric(rest.front()) && is_alphanumeric(rest.back()) &&
         std::all_of(rest.begin(), rest.end(), fits);
}

int compare_versions(std::string_view one, std::string_view other) {
  std::string_view left = take(one, '-');
  std::string_view right = take(other, '-');
  while (!left.empty() && !right.empty())
    if (const int order = compare_numbers(take(left, '.'), take(right, '.')); order != 0) return order;
  // Without a pre-release it's the newer one.
  if (one.empty() || other.empty()) return one.empty() == other.empty() ? 0 : one.empty() ? 1 : -1;
  while (!one.empty() && !other.empty())
    if (const int order = compare_identifiers(take(one, '.'), take(other, '.')); order != 0) return order;
  return one.empty() == other.empty() ? 0 : one.empty() ? -1 : 1;
}

}  // namespace oncelatch::verify
