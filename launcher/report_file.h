// Where --report and --sarif go: a file that is replaced as a whole, or a stream that is written to (a FIFO, a
// character device, an open descriptor as /dev/stdout or /dev/fd/N names it).
//
//   ReportFile file = TRY(ReportFile::open("report.json"));   // before anything is started
//   TRY(file.write(text));
//
// Ownership: holds the directory or the stream open, so nothing that runs later leads the report elsewhere. Threads:
// one. Failure: Error of stage "report" naming the path; a place that can't be written to is found when it is opened; a
// stream whose reader stalls for 5 seconds is given up. After fork: not used. Part of the light program.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch::launcher {

class ReportFile {
 public:
  ReportFile() = default;  // nowhere
  // `option` is what names it, for messages.
  [[nodiscard]] static Result<ReportFile> open(const std::string& path, const std::string& option = "--report");
  // The same; nowhere where the path is empty.
  [[nodiscard]] static Result<ReportFile> open_if_named(const std::string& path, const std::string& option);
  explicit operator bool() const { return static_cast<bool>(directory_) || static_cast<bool>(stream_); }
  // Path of the directory that a file lies in; empty for a stream or nowhere.
  [[nodiscard]] std::string place() const;
  // Escaped, for messages.
  [[nodiscard]] const std::string& shown() const { return shown_; }
  [[nodiscard]] Status write(std::string_view text) const;
  // Two documents in one place would be none: refused under any spelling, and through any link.
  [[nodiscard]] Status check_apart(const ReportFile& other) const;

 private:
  [[nodiscard]] bool is_same(const ReportFile& other) const;
  [[nodiscard]] Status open_beneath(const std::string& directory);
  [[nodiscard]] Status check_replaceable(const struct stat& found) const;
  [[nodiscard]] Status try_to_create() const;

  std::string shown_;
  std::string option_;  // "--report FILE"
  Fd directory_;
  std::string name_;
  Fd stream_;
};

// Tells the error, and writes it into what a refused command line names with its last --report and --sarif before the
// command: what lies there must not tell of another run. The exit code.
int refuse_with_report(const std::vector<std::string>& arguments, const Error& error);

}  // namespace oncelatch::launcher
