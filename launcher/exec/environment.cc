#include "launcher/exec/environment.h"

#include <algorithm>
#include <map>

#include "base/untrusted.h"

namespace oncelatch::launcher {

namespace {

constexpr std::string_view kPlain[] = {"USER",   "LOGNAME",  "COLORTERM", "NO_COLOR", "LANG",
                                       "LC_ALL", "LC_CTYPE", "TZ",        "TERM"};

constexpr std::string_view kCertificates[] = {
    "SSL_CERT_FILE",     "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",    "AWS_CA_BUNDLE",       "PIP_CERT",           "CARGO_HTTP_CAINFO",
    "NIX_SSL_CERT_FILE", "DENO_CERT",           "NPM_CONFIG_CAFILE",  "npm_config_cafile",
};

// Whole families: what starts so tells a loader, a shell, an interpreter, a build tool or git what to load or run.
constexpr std::string_view kLoading[] = {"LD_",
                                         "DYLD_",
                                         "GLIBC_TUNABLES",
                                         "MALLOC_",
                                         "GCONV_PATH",
                                         "LOCPATH",
                                         "NLSPATH",
                                         "HOSTALIASES",
                                         "BASH_",
                                         "ENV",
                                         "ZDOTDIR",
                                         "PROMPT_",
                                         "PS1",
                                         "PS4",
                                         "SHELLOPTS",
                                         "BASHOPTS",
                                         "CDPATH",
                                         "IFS",
                                         "GLOBIGNORE",
                                         "NODE_",
                                         "npm_config_",
                                         "NPM_CONFIG_",
                                         "BUN_",
                                         "DENO_",
                                         "PYTHON",
                                         "PERL",
                                         "RUBY",
                                         "GEM_",
                                         "BUNDLE_",
                                         "JAVA_",
                                         "_JAVA_",
                                         "JDK_JAVA_",
                                         "DOTNET_",
                                         "CORECLR_",
                                         "COR_",
                                         "LUA_",
                                         "PHP",
                                         "GIT_",
                                         "SSH_",
                                         "GPG_",
                                         "EDITOR",
                                         "VISUAL",
                                         "PAGER",
                                         "LESSOPEN",
                                         "LESSCLOSE",
                                         "MANPAGER",
                                         "BROWSER",
                                         "RUSTC",
                                         "RUSTFLAGS",
                                         "CARGO_BUILD_",
                                         "RUSTC_WRAPPER",
                                         "GOFLAGS",
                                         "CC",
                                         "CXX",
                                         "CFLAGS",
                                         "CXXFLAGS",
                                         "MAKEFLAGS",
                                         "MAKEFILES",
                                         "TMUX",
                                         "DBUS_",
                                         "XDG_",
                                         "DISPLAY",
                                         "WAYLAND_",
                                         "WSL_INTEROP",
                                         "KITTY_",
                                         "HOME",
                                         "PATH",
                                         "TMPDIR",
                                         "SHELL",
                                         "PWD",
                                         "OLDPWD",
                                         "TERMCAP",
                                         "TERMINFO",
                                         "SUDO_",
                                         "GITHUB_ENV",
                                         "GITHUB_PATH",
                                         "GITHUB_OUTPUT",
                                         "GITHUB_STATE",
                                         "GITHUB_STEP_SUMMARY",
                                         "BASH_FUNC_"};

bool starts_with_one_of(std::string_view name) {
  return std::any_of(std::begin(kLoading), std::end(kLoading), [&](std::string_view prefix) {
    bool family = prefix.back() == '_' || prefix == "PYTHON" || prefix == "PERL" || prefix == "RUBY" || prefix == "PHP";
    return family ? name.rfind(prefix, 0) == 0 : name == prefix;
  });
}

struct Variable {
  std::string name;
  std::string value;
};

bool split(const std::string& entry, Variable& variable) {
  std::size_t equals = entry.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  variable = {entry.substr(0, equals), entry.substr(equals + 1)};
  return true;
}

enum class Asked { no, by_pattern, exactly };

Asked asked_for(const ExecOptions& options, const std::string& name) {
  Asked asked = Asked::no;
  for (const std::string& wanted : options.pass_environment) {
    if (wanted == name) return Asked::exactly;
    bool pattern = wanted.back() == '*';
    if (pattern && name.rfind(wanted.substr(0, wanted.size() - 1), 0) == 0) asked = Asked::by_pattern;
  }
  return asked;
}

class Builder {
 public:
  void set(const std::string& name, const std::string& value) {
    values_[name] = value;
    made_.set.push_back(name);
  }

  void consider(const ExecOptions& options, const Variable& variable) {
    const std::string& name = variable.name;
    if (values_.contains(name)) return;  // the first of two wins, as for getenv
    Asked asked = asked_for(options, name);
    bool loading = loads_code(name);
    bool passes = asked == Asked::exactly || (asked == Asked::by_pattern && !loading) || is_plain_variable(name);
    if (!passes || variable.value.empty()) {
      made_.dropped.push_back(name);
      return;
    }
    if (asked == Asked::exactly && loading) warn(name);
    values_[name] = variable.value;
    made_.passed.push_back(name);
  }

  void warn(const std::string& name) {
    made_.warnings.push_back(escape_for_display(name, 100) +
                             " makes programs inside load or run something; passed because you named it");
  }

  CommandEnvironment finish() {
    for (const auto& [name, value] : values_) made_.variables.push_back(name + "=" + value);
    std::erase_if(made_.dropped, [this](const std::string& name) { return values_.contains(name); });
    for (auto* names : {&made_.set, &made_.passed, &made_.dropped}) {
      std::sort(names->begin(), names->end());
      names->erase(std::unique(names->begin(), names->end()), names->end());
    }
    return std::move(made_);
  }

 private:
  std::map<std::string, std::string> values_;
  CommandEnvironment made_;
};

}  // namespace

bool is_plain_variable(std::string_view name) {
  return std::find(std::begin(kPlain), std::end(kPlain), name) != std::end(kPlain);
}

bool names_certificates(std::string_view name) {
  return std::find(std::begin(kCertificates), std::end(kCertificates), name) != std::end(kCertificates);
}

bool loads_code(std::string_view name) {
  return starts_with_one_of(name);
}

std::string value_of(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment)
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.compare(0, name.size(), name) == 0)
      return entry.substr(name.size() + 1);
  return {};
}

Result<CommandEnvironment> command_environment(const std::vector<std::string>& caller, const ExecOptions& options,
                                               const CommandPlaces& places) {
  Builder builder;
  Variable variable;
  for (const std::string& entry : caller)
    if (split(entry, variable)) builder.consider(options, variable);
  if (value_of(caller, "LANG").empty() && value_of(caller, "LC_ALL").empty()) builder.set("LANG", "C.UTF-8");
  if (value_of(caller, "TERM").empty()) builder.set("TERM", "dumb");
  builder.set("HOME", places.home);
  builder.set("PATH", places.path);
  builder.set("SHELL", "/bin/sh");
  builder.set("TMPDIR", "/tmp");
  if (places.ci) builder.set("CI", "true");
  for (const std::string& entry : places.toolchain_variables)
    if (split(entry, variable)) builder.set(variable.name, variable.value);
  for (const auto& [name, value] : options.set_environment) {
    if (value.find('\0') != std::string::npos) return fail("command line", "--env " + name, "holds a NUL byte");
    if (loads_code(name) && name != "PATH" && name != "HOME" && name != "TMPDIR") builder.warn(name);
    builder.set(name, value);
  }
  return builder.finish();
}

}  // namespace oncelatch::launcher
