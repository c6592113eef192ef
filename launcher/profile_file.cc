#include "launcher/profile_file.h"

#include <algorithm>

#include "base/untrusted.h"
#include "base/yaml.h"
#include "launcher/exec/options.h"
#include "launcher/exec/profile.h"
#include "sandbox/guarantees.h"

namespace oncelatch::launcher {
namespace {

constexpr YamlBounds kBounds{std::size_t{64} << 10, 4, 4000};
constexpr std::size_t kMostValue = 4096;
constexpr std::size_t kShown = 80;

using Kind = YamlNode::Kind;

std::string quoted(std::string_view text) {
  return escape_for_display(text, kShown);
}

class Reader {
 public:
  Reader(std::string_view origin, const std::string& home) : origin_(origin), home_(home) {}

  Result<ProfileFile> read(const YamlNode& root) {
    if (root.kind != Kind::mapping) return refuse(root, "a profile is a mapping", "for example: extends: ci");
    TRY(check_keys(root, names_of(kKeys)));
    for (const YamlEntry& entry : root.entries)
      for (const Key& key : kKeys)
        if (key.name == entry.first.scalar) TRY((this->*key.read)(key, entry.second));
    TRY(finish_network(root));
    return std::move(profile_);
  }

 private:
  // One line a key: how it is read and the option it becomes.
  struct Key {
    std::string_view name;
    Status (Reader::*read)(const Key&, const YamlNode&);
    std::string_view option;
  };
  struct Limit {
    std::string_view name;
    std::string_view key;  // of --limit
  };
  static const Key kKeys[19];
  static constexpr Limit kLimits[] = {
      {"memory", "memory"}, {"processes", "processes"}, {"files", "files"}, {"file_size", "file-size"}, {"tmp", "tmp"}};

  template <class Row, std::size_t Count>
  static std::vector<std::string_view> names_of(const Row (&rows)[Count]) {
    std::vector<std::string_view> names;
    for (const Row& row : rows) names.push_back(row.name);
    return names;
  }

  [[nodiscard]] Failure refuse(const YamlNode& node, std::string what, std::string try_next = {}) const {
    return fail("profile", yaml_place(origin_, node), std::move(what), std::move(try_next));
  }

  Status check_keys(const YamlNode& mapping, const std::vector<std::string_view>& known) const {
    for (const YamlEntry& entry : mapping.entries) {
      const std::string& key = entry.first.scalar;
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      std::string near = nearest_word(key, known);
      return refuse(entry.first, "unknown key " + quoted(key),
                    near.empty() ? "docs/PROFILES.md names all keys" : "did you mean " + near + "?");
    }
    return {};
  }

  // The option's own check of its value, told with the place in the file.
  Status add(const YamlNode& node, std::string_view option, Result<std::string> given, const std::string& before = {}) {
    std::string value = before + TRY(std::move(given));
    Result<ExecOptions> checked = parse_exec_options({std::string(option), value, "--", "true"});
    if (!checked) return refuse(node, quoted(value) + ": " + checked.error().what);
    profile_.options.emplace_back(option);
    profile_.options.push_back(value);
    return {};
  }

  [[nodiscard]] Result<std::string> text_of(const YamlNode& node, std::string_view name) const {
    std::string what(name);
    if (node.kind != Kind::scalar || node.is_null()) return refuse(node, what + " must be text");
    if (node.scalar.size() > kMostValue)
      return refuse(node, what + " is longer than " + std::to_string(kMostValue) + " bytes");
    bool control = std::any_of(node.scalar.begin(), node.scalar.end(),
                               [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    if (control) return refuse(node, what + " holds a control character");
    return node.scalar;
  }

  Status expect(const YamlNode& node, Kind kind, std::string_view name, const char* what) const {
    if (node.kind == kind) return {};
    return refuse(node, std::string(name) + " must be " + what);
  }

  Status read_version(const Key&, const YamlNode& node) {
    if (node.kind == Kind::scalar && node.scalar == "1") return {};
    return refuse(node, "version must be 1");
  }

  // Only built-in ones: a chain of files could be changed at any of its links.
  Status read_base(const Key& key, const YamlNode& node) {
    profile_.base = TRY(text_of(node, key.name));
    if (find_profile(profile_.base) != nullptr) return {};
    std::string near = nearest_word(profile_.base, profile_names());
    return refuse(node, quoted(profile_.base) + " is no built-in profile",
                  near.empty() ? "workstation, ci or strict" : "did you mean " + near + "?");
  }

  Status read_text(const Key& key, const YamlNode& node) { return add(node, key.option, text_of(node, key.name)); }

  Status read_list(const Key& key, const YamlNode& node) {
    TRY(expect(node, Kind::sequence, key.name, "a list"));
    for (const YamlNode& item : node.items) TRY(add(item, key.option, text_of(item, key.name)));
    return {};
  }

  Status read_paths(const Key& key, const YamlNode& node) {
    TRY(expect(node, Kind::sequence, key.name, "a list of paths"));
    for (const YamlNode& item : node.items) TRY(add(item, key.option, path_of(item, key.name)));
    return {};
  }

  // A relative path would mean something else in every directory.
  [[nodiscard]] Result<std::string> path_of(const YamlNode& node, std::string_view name) const {
    std::string path = TRY(text_of(node, name));
    if (path.rfind('/', 0) == 0) return path;
    if (path.rfind("~/", 0) != 0) return refuse(node, quoted(path) + " is no absolute path", "write /… or ~/…");
    if (home_.empty()) return refuse(node, "there is no home for " + quoted(path), "set HOME, or write /…");
    return home_ + path.substr(1);
  }

  Status read_network(const Key& key, const YamlNode& node) {
    network_ = &node;
    std::string value = TRY(text_of(node, key.name));
    if (value == "ports") return {};  // with the ports
    if (value != "none" && value != "loopback") return refuse(node, "network must be none, loopback or ports");
    return add(node, key.option, value);
  }

  Status read_ports(const Key& key, const YamlNode& node) {
    TRY(expect(node, Kind::sequence, key.name, "a list of numbers"));
    if (node.items.empty()) return refuse(node, "ports is empty", "for no network write: network: none");
    std::string list;
    for (const YamlNode& item : node.items) list += (list.empty() ? "ports:" : ",") + TRY(text_of(item, key.name));
    return add(node, key.option, list);
  }

  Status finish_network(const YamlNode& root) const {
    const YamlNode* ports = root.find("ports");
    bool wanted = network_ != nullptr && network_->scalar == "ports";
    if (wanted && ports == nullptr) return refuse(*network_, "network: ports needs the ports", "ports: [443]");
    if (ports != nullptr && !wanted) return refuse(*ports, "ports belong to network: ports", "add network: ports");
    return {};
  }

  Status read_environment(const Key& key, const YamlNode& node) {
    TRY(expect(node, Kind::mapping, key.name, "a mapping of names to values"));
    for (const YamlEntry& entry : node.entries) {
      std::string name = TRY(text_of(entry.first, key.name));
      if (name.find('=') != std::string::npos) return refuse(entry.first, quoted(name) + " is no variable's name");
      TRY(add(entry.second, key.option, text_of(entry.second, name), name + "="));
    }
    return {};
  }

  Status read_toolchains(const Key& key, const YamlNode& node) {
    if (node.kind != Kind::sequence) return read_text(key, node);
    std::string list;
    for (const YamlNode& item : node.items) list += (list.empty() ? "" : ",") + TRY(text_of(item, key.name));
    return add(node, key.option, list.empty() ? "none" : list);
  }

  Status read_limits(const Key& key, const YamlNode& node) {
    TRY(expect(node, Kind::mapping, key.name, "a mapping"));
    TRY(check_keys(node, names_of(kLimits)));
    for (const YamlEntry& entry : node.entries)
      for (const Limit& limit : kLimits)
        if (limit.name == entry.first.scalar)
          TRY(add(entry.second, key.option, text_of(entry.second, limit.name), std::string(limit.key) + "="));
    return {};
  }

  Status check_guarantee(const YamlNode& node, const std::string& name) const {
    if (sandbox::is_guarantee(name)) return {};
    return refuse(node, quoted(name) + ": no guarantee has this name", sandbox::guarantee_meant_by(name));
  }

  Status read_losses(const Key& key, const YamlNode& node) {
    TRY(read_list(key, node));
    for (const YamlNode& item : node.items) TRY(check_guarantee(item, item.scalar));
    return {};
  }

  Status read_requirements(const Key& key, const YamlNode& node) {
    TRY(expect(node, Kind::mapping, key.name, "a mapping of guarantees to layers"));
    for (const YamlEntry& entry : node.entries) {
      std::string name = TRY(text_of(entry.first, key.name));
      TRY(check_guarantee(entry.first, name));
      TRY(add(entry.second, key.option, text_of(entry.second, name), name + ":"));
    }
    return {};
  }

  std::string_view origin_;
  const std::string& home_;
  ProfileFile profile_;
  const YamlNode* network_ = nullptr;
};

const Reader::Key Reader::kKeys[19] = {
    {"version", &Reader::read_version, ""},
    {"extends", &Reader::read_base, ""},
    {"workspace_mode", &Reader::read_text, "--workspace-mode"},
    {"network", &Reader::read_network, "--net"},
    {"ports", &Reader::read_ports, "--net"},
    {"read", &Reader::read_paths, "--read"},
    {"write", &Reader::read_paths, "--write"},
    {"deny", &Reader::read_paths, "--deny"},
    {"env", &Reader::read_environment, "--env"},
    {"pass_env", &Reader::read_list, "--pass-env"},
    {"toolchains", &Reader::read_toolchains, "--toolchains"},
    {"allow", &Reader::read_list, "--allow"},
    {"git", &Reader::read_text, "--git"},
    {"limits", &Reader::read_limits, "--limit"},
    {"time", &Reader::read_text, "--time"},
    {"held", &Reader::read_text, "--held"},
    {"fail_on", &Reader::read_list, "--fail-on"},
    {"accept_loss", &Reader::read_losses, "--accept-loss"},
    {"require", &Reader::read_requirements, "--require"},
};

}  // namespace

Result<ProfileFile> parse_profile(std::string_view text, std::string_view origin, const std::string& home) {
  const YamlNode root = TRY(parse_yaml(text, origin, kBounds));
  return Reader(origin, home).read(root);
}

}  // namespace oncelatch::launcher
