#include "launcher/exec/toolchains.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/untrusted.h"
#include "base/yaml.h"
#include "launcher/exec/workspace.h"

namespace oncelatch::launcher {

namespace {

struct ToolchainRow {
  std::string_view name;
  std::vector<std::string_view> shown;      // below the home; the first one says whether it is there
  std::vector<std::string_view> path;       // below the home
  std::vector<std::string_view> variables;  // {home}: the real one, {inside}: the private one
};

// Package caches and files with tokens (.cargo/credentials, .npmrc, .config, .local/share/uv/credentials) stay outside.
const std::vector<ToolchainRow>& rows() {
  static const std::vector<ToolchainRow> table = {
      {"rust", {".cargo/bin", ".rustup"}, {".cargo/bin"}, {"RUSTUP_HOME={home}/.rustup", "CARGO_HOME={inside}/.cargo"}},
      {"nvm", {".nvm"}, {}, {"NVM_DIR={home}/.nvm"}},
      {"volta", {".volta/bin", ".volta/tools"}, {".volta/bin"}, {"VOLTA_HOME={home}/.volta"}},
      {"pyenv", {".pyenv"}, {".pyenv/shims", ".pyenv/bin"}, {"PYENV_ROOT={home}/.pyenv"}},
      {"rbenv", {".rbenv"}, {".rbenv/shims", ".rbenv/bin"}, {"RBENV_ROOT={home}/.rbenv"}},
      {"go", {"go/bin", "sdk", ".local/go"}, {"go/bin", ".local/go/bin"}, {}},
      {"asdf", {".asdf"}, {".asdf/shims", ".asdf/bin"}, {"ASDF_DIR={home}/.asdf", "ASDF_DATA_DIR={home}/.asdf"}},
      {"mise", {".local/share/mise"}, {".local/share/mise/shims"}, {"MISE_DATA_DIR={home}/.local/share/mise"}},
      {"bun", {".bun/bin"}, {".bun/bin"}, {}},
      {"deno", {".deno/bin"}, {".deno/bin"}, {}},
      {"sdkman", {".sdkman/candidates"}, {}, {}},
      {"ghcup", {".ghcup/bin", ".ghcup/ghc", ".ghcup/hls", ".ghcup/stack", ".ghcup/cabal"}, {".ghcup/bin"}, {}},
      {"local",
       {".local/bin", ".local/share/pipx", ".local/share/uv/tools", ".local/share/uv/python"},
       {".local/bin"},
       {}},
  };
  return table;
}

bool is_system_path(std::string_view directory) {
  return std::find(std::begin(kSystemPath), std::end(kSystemPath), directory) != std::end(kSystemPath);
}

bool is_directory(const std::string& path) {
  return ::access((path + "/.").c_str(), X_OK) == 0;
}

std::string filled(std::string_view text, const std::string& home, const std::string& inside) {
  std::string result(text);
  const std::pair<std::string_view, const std::string*> marks[] = {{"{home}", &home}, {"{inside}", &inside}};
  for (const auto& [mark, value] : marks)
    if (std::size_t at = result.find(mark); at != std::string::npos) result.replace(at, mark.size(), *value);
  return result;
}

class Finder {
 public:
  Finder(std::string home, std::string inside) : home_(std::move(home)), inside_(std::move(inside)) {}

  bool add(const ToolchainRow& row) {
    if (home_.empty() || !is_directory(home_ + "/" + std::string(row.shown[0]))) return false;
    for (std::string_view directory : row.shown) show(home_ + "/" + std::string(directory));
    for (std::string_view directory : row.path) add_path(home_ + "/" + std::string(directory));
    for (std::string_view variable : row.variables) view_.variables.push_back(filled(variable, home_, inside_));
    view_.names.emplace_back(row.name);
    return true;
  }

  // Of the caller's PATH: what lies in something shown, and tool caches below /opt.
  void keep_path(const std::string& caller_path) {
    for (std::size_t start = 0; start <= caller_path.size();) {
      std::size_t end = std::min(caller_path.find(':', start), caller_path.size());
      const std::string directory = caller_path.substr(start, end - start);
      start = end + 1;
      if (directory.empty() || directory[0] != '/' || is_system_path(directory))
        continue;  // the system's come first anyway
      const std::string real = real_path(directory);
      if (real.empty()) continue;
      if (real.rfind("/opt/", 0) == 0) show(real.substr(0, real.find('/', 5)));
      auto holds = [&](const std::string& shown) { return is_or_contains(shown, real); };
      if (std::any_of(view_.directories.begin(), view_.directories.end(), holds)) add_path(real);
    }
  }

  ToolchainView take() { return std::move(view_); }

 private:
  void show(const std::string& path) {
    std::string real = real_path(path);
    if (real.empty() || is_or_contains(real, home_)) return;  // a link to the home itself shows nothing
    auto& shown = view_.directories;
    if (std::find(shown.begin(), shown.end(), real) == shown.end()) shown.push_back(real);
  }
  void add_path(const std::string& path) {
    std::string real = real_path(path);
    auto& all = view_.path;
    if (!real.empty() && std::find(all.begin(), all.end(), real) == all.end()) all.push_back(real);
  }

  std::string home_;
  std::string inside_;
  ToolchainView view_;
};

}  // namespace

Result<ToolchainView> find_toolchains(Toolchains which, const std::vector<std::string>& names, const std::string& home,
                                      const std::string& home_inside, const std::string& caller_path) {
  Finder finder(home, home_inside);
  if (which == Toolchains::none) return finder.take();
  std::vector<std::string_view> known;
  for (const ToolchainRow& row : rows()) {
    known.push_back(row.name);
    if (which == Toolchains::automatic) (void)finder.add(row);
  }
  for (const std::string& name : names) {
    auto row = std::find_if(rows().begin(), rows().end(), [&](const ToolchainRow& each) { return each.name == name; });
    std::string object = "--toolchains " + escape_for_display(name, 100);
    std::string near = nearest_word(name, known);
    if (row == rows().end())
      return fail("command line", object, near.empty() ? "not known" : "not known; did you mean " + near + "?",
                  "oncelatch exec --explain -- true shows those that were found");
    if (!finder.add(*row)) return fail("command line", object, "isn't in your home", "leave it out");
  }
  finder.keep_path(caller_path);
  return finder.take();
}

}  // namespace oncelatch::launcher
