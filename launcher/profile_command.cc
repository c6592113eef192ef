#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/untrusted.h"
#include "base/yaml.h"
#include "launcher/environment.h"
#include "launcher/errors.h"
#include "launcher/exec/options.h"
#include "launcher/exec/profile.h"
#include "launcher/exec/workspace.h"
#include "launcher/own_file.h"
#include "launcher/profile_file.h"
#include "launcher/report_file.h"
#include "sandbox/enter.h"

namespace oncelatch::launcher {
namespace {

constexpr std::size_t kMostProfileBytes = std::size_t{64} << 10;
constexpr std::size_t kMostListed = 256;
constexpr std::string_view kSuffix = ".yaml";

std::string shown(const std::string& text) {
  return escape_for_display(text, 400);
}

std::string profile_directory(const std::vector<std::string>& environment) {
  std::string base = environment_value(environment, "XDG_CONFIG_HOME");
  std::string home = environment_value(environment, "HOME");
  if (home.empty()) home = find_home(environment);
  if (base.rfind('/', 0) != 0) base = home.rfind('/', 0) == 0 ? home + "/.config" : std::string();
  return base.empty() ? base : base + "/oncelatch/profiles";
}

// Names of the profiles that lie there.
std::vector<std::string> own_names(const std::string& directory) {
  std::vector<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory.c_str()), ::closedir);
  while (listing && names.size() < kMostListed) {
    const dirent* entry = ::readdir(listing.get());
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (name.size() > kSuffix.size() && name.ends_with(kSuffix))
      names.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  return names;
}

Failure no_such_profile(const std::string& name, const std::string& directory) {
  std::vector<std::string_view> known = profile_names();
  std::vector<std::string> own = own_names(directory);
  known.insert(known.end(), own.begin(), own.end());
  std::string near = nearest_word(name, known);
  return fail("profile", shown(name),
              near.empty() ? "no such profile" : "no such profile; did you mean " + shown(near) + "?",
              "workstation, ci or strict are built in; others are " +
                  (directory.empty() ? std::string("files that end in .yaml") : shown(directory) + "/NAME.yaml"));
}

// What the confined side can write must not say how it is confined: not the workspace, and nothing given with --write.
Status check_place(const std::string& path, const ExecOptions& options, const std::string& home) {
  std::string real = real_path(path);
  std::vector<std::string> writable = {TRY(find_workspace(options.workspace, home)).path};
  for (const std::string& given : options.write) writable.push_back(real_path(given));
  for (const std::string& directory : writable)
    if (!directory.empty() && is_or_contains(directory, real))
      return fail("profile", shown(path), "lies in " + shown(directory) + ", which the command may write in",
                  "keep it outside, for example in ~/.config/oncelatch/profiles/");
  return {};
}

Result<std::vector<std::string>> arguments_with_profile(std::vector<std::string> arguments,
                                                        const std::vector<std::string>& environment) {
  ExecOptions options = TRY(parse_exec_options(arguments));
  if (options.help || options.profile.empty() || find_profile(options.profile) != nullptr) return arguments;
  std::string home = find_home(environment);
  std::string path = TRY(find_profile_file(options.profile, environment));
  std::string text = TRY(read_own_file(path, {"profile", "name a profile with --profile NAME", kMostProfileBytes}));
  ProfileFile profile = TRY(parse_profile(text, shown(path), home));
  std::vector<std::string> all = {"--profile", profile.base};
  all.insert(all.end(), profile.options.begin(), profile.options.end());
  all.insert(all.end(), {"--profile-file", path});
  std::vector<std::string> own = without_profile(arguments);
  all.insert(all.end(), own.begin(), own.end());
  ExecOptions together = TRY(parse_exec_options(all));
  TRY(check_place(path, together, home));
  return all;
}

}  // namespace

Result<std::string> find_profile_file(const std::string& named, const std::vector<std::string>& environment) {
  if (named.ends_with(kSuffix)) return named;
  std::string directory = profile_directory(environment);
  bool plain = named.find('/') == std::string::npos && named.rfind('.', 0) != 0;
  std::string path = directory + "/" + named + std::string(kSuffix);
  if (!plain || directory.empty() || ::access(path.c_str(), F_OK) != 0) return no_such_profile(named, directory);
  return path;
}

int become_oncelatch(int argc, const char* const* argv, const std::vector<std::string>& environment) {
  const std::vector<std::string> given(argv + 2, argv + argc);
  Result<std::vector<std::string>> arguments = arguments_with_profile(given, environment);
  if (!arguments) return refuse_with_report(given, arguments.error());
  Result<std::string> program = sandbox::find_companion("oncelatch");
  if (!program) return report_error(program.error());
  std::vector<char*> words = {const_cast<char*>("oncelatch"), const_cast<char*>(argv[1])};
  for (std::string& word : *arguments) words.push_back(word.data());
  words.push_back(nullptr);
  ::execv(program->c_str(), words.data());
  return report_error(fail_errno("oncelatch", *program, errno, "install oncelatch again").value());
}

}  // namespace oncelatch::launcher
