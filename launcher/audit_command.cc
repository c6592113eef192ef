#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>

#include "audit/log.h"
#include "audit/print.h"
#include "base/untrusted.h"
#include "launcher/commands.h"
#include "launcher/errors.h"
#include "launcher/supervisor.h"

namespace oncelatch::launcher {
namespace {

// Path of the record, or empty after saying that there is none.
std::string existing_record(const std::vector<std::string>& environment, int* code) {
  Result<std::string> path = audit_path(environment);
  *code = path ? 0 : report_error(path.error());
  if (!path) return {};
  if (::access(path->c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    fmt::print(stderr, "oncelatch: nothing is recorded yet ({})\n", escape_for_display(*path, 400));
    return {};
  }
  return *path;
}

}  // namespace

int audit_list(bool json, const std::string& session, std::size_t most, const std::vector<std::string>& environment) {
  int code = 0;
  std::string path = existing_record(environment, &code);
  if (path.empty()) return code;
  Result<std::vector<audit::Row>> rows = audit::list_rows(path, {session, most});
  if (!rows) return report_error(rows.error());
  fmt::print("{}", json ? audit::rows_as_json_lines(*rows) : audit::format_rows(*rows));
  if (rows->size() == most) {
    fmt::print(stderr,
               "oncelatch: older rows are not shown; the newest {} are\n  try: oncelatch audit list --most {}\n", most,
               most * 10);
  }
  return 0;
}

int audit_verify(const std::vector<std::string>& environment) {
  int code = 0;
  std::string path = existing_record(environment, &code);
  if (path.empty()) return code;
  Result<audit::VerifyReport> report = audit::verify_rows(path);
  if (!report) return report_error(report.error());
  if (!report->altered_at.empty()) {
    fmt::print("altered at {} ({} rows read)\n", report->altered_at, report->rows);
    return 4;
  }
  for (const std::string& one : report->incomplete_sessions)
    fmt::print("incomplete: {} has no session_end (running, or cut)\n", one);
  fmt::print("{} rows, every chain fits\n", report->rows);
  return report->incomplete_sessions.empty() ? 0 : 2;
}

}  // namespace oncelatch::launcher
