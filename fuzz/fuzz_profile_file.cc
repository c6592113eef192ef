// The reader of profile files: nothing crashes, an error names a place, and what it gives is options that the command
// line takes, on top of a built-in profile, with no way to another file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launcher/exec/options.h"
#include "launcher/exec/profile.h"
#include "launcher/profile_file.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oncelatch;
  using namespace oncelatch::launcher;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<ProfileFile> profile = parse_profile(text, "profile.yaml", "/home/u");
  if (!profile) {
    require(!profile.error().what.empty() && profile.error().object.rfind("profile.yaml", 0) == 0);
    return 0;
  }
  require(find_profile(profile->base) != nullptr && profile->options.size() % 2 == 0);
  std::vector<std::string> arguments = profile->options;
  for (const std::string& one : arguments) require(one.find('\0') == std::string::npos);
  arguments.insert(arguments.end(), {"--", "true"});
  const Result<ExecOptions> options = parse_exec_options(arguments);
  require(static_cast<bool>(options));
  require(options->profile.empty() && options->workspace.empty() && options->report.empty());
  require(options->command == std::vector<std::string>{"true"} && without_profile(arguments) == arguments);
  for (const auto* paths : {&options->read, &options->write, &options->deny})
    for (const std::string& path : *paths) require(path.rfind('/', 0) == 0);
  return 0;
}
