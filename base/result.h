// Errors as values.
//
//   Result<Fd> open_it(const std::string& path) {
//     int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
//     if (fd < 0) return fail_errno("open", path, errno, "check that the file exists");
//     return Fd(fd);
//   }
//   Status use() { Fd fd = TRY(open_it("/x")); return {}; }
//
// Ownership: values own their text. Threads: no shared state. Failure: a Result can't be dropped silently.
// After fork: allocates, so not async-signal-safe; the exec path uses its own status codes (sandbox/stage.h).
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace oncelatch {

// What failed. `stage` is the step ("policy", "verify", "sandbox"), `object` the thing (a path, a key), `what` the
// reason and `try_next` the next step for the reader. `errno_value` is 0 where no system call failed. Text from the
// confined side must be escaped (untrusted.h) before it is put in here.
struct Error {
  std::string stage;
  std::string object;
  std::string what;
  std::string try_next;
  int errno_value = 0;

  // "stage: object: what" then, on a line of its own, "try: ...".
  [[nodiscard]] std::string message() const;
};

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

using Status = Result<void>;
using Failure = tl::unexpected<Error>;

[[nodiscard]] Failure fail(std::string stage, std::string object, std::string what, std::string try_next = {});
// `what` becomes the text of errno_value; an optional `doing` stands before it ("mkdir: Permission denied").
[[nodiscard]] Failure fail_errno(std::string stage, std::string object, int errno_value, std::string try_next = {},
                                 std::string doing = {});

namespace result_detail {
template <class T>
T take(Result<T>&& result) {
  return std::move(*result);
}
inline void take(Status&&) {}
}  // namespace result_detail

}  // namespace oncelatch

// Value of a Result, or return its error from the enclosing function.
#define TRY(expression)                                                            \
  __extension__({                                                                  \
    auto try_result_ = (expression);                                               \
    if (!try_result_) return ::oncelatch::Failure(std::move(try_result_.error())); \
    ::oncelatch::result_detail::take(std::move(try_result_));                      \
  })
