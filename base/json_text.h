// JSON written piece by piece, without a library: for the light program's report. (Everything else uses base/json.h.)
//
//   JsonText json;
//   json.open('{').key("code").number(0).key("names").open('[').text("a").close(']').close('}');
//   write(json.take());
//
// Ownership: owns the text. Threads: a value. Failure: none; invalid UTF-8 becomes U+FFFD. After fork: allocates.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace oncelatch {

class JsonText {
 public:
  JsonText& open(char bracket);
  JsonText& close(char bracket);
  JsonText& key(std::string_view name);
  JsonText& text(std::string_view value);
  JsonText& number(std::int64_t value);
  JsonText& boolean(bool value);
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void separate();
  void quote(std::string_view value);
  std::string out_;
  bool first_ = true;  // nothing stands before in this bracket
  bool after_key_ = false;
};

}  // namespace oncelatch
