#include "base/result.h"

#include <cstring>

namespace oncelatch {

std::string Error::message() const {
  std::string text = stage;
  if (!object.empty()) text += ": " + object;
  if (!what.empty()) text += ": " + what;
  if (!try_next.empty()) text += "\n  try: " + try_next;
  return text;
}

Failure fail(std::string stage, std::string object, std::string what, std::string try_next) {
  return Failure(Error{std::move(stage), std::move(object), std::move(what), std::move(try_next), 0});
}

Failure fail_errno(std::string stage, std::string object, int errno_value, std::string try_next, std::string doing) {
  std::string what = doing.empty() ? std::string() : doing + ": ";
  what += std::strerror(errno_value);
  return Failure(Error{std::move(stage), std::move(object), std::move(what), std::move(try_next), errno_value});
}

}  // namespace oncelatch
