// The output never holds a raw secret, and a second pass changes nothing. The first bytes choose what is spliced in.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "redact/redactor.h"

namespace {

using oncelatch::Secret;
using oncelatch::redact::Redactor;

constexpr std::string_view kLong = "orchid lamp/+?stone-river";
constexpr std::string_view kPrefix = "orchid lamp";
constexpr std::string_view kShort = "w3e0ny!";

const Redactor& redactor() {
  static const Redactor instance = [] {
    std::vector<Secret> secrets;
    for (std::string_view value : {kPrefix, kLong, kShort}) secrets.push_back(Secret::copy_of(value));
    return Redactor(std::move(secrets));
  }();
  return instance;
}

void check(const std::string& text) {
  std::string once = redactor().text(text);
  for (std::string_view secret : {kLong, kPrefix, kShort}) {
    if (once.find(secret) != std::string::npos) std::abort();
  }
  if (redactor().text(once) != once || redactor().contains_secret(once)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  check(text);
  if (size == 0) return 0;
  std::string_view secret = data[0] % 3 == 0 ? kLong : data[0] % 3 == 1 ? kPrefix : kShort;
  std::size_t at = data[0] % size;
  check(text.substr(0, at) + std::string(secret) + text.substr(at));
  check(std::string(secret.substr(0, at % secret.size())) + text + std::string(secret.substr(at % secret.size())));
  return 0;
}
