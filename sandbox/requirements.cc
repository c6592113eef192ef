// Which guarantees a launch needs, and what giving one up means.
#include <algorithm>
#include <cerrno>

#include "base/untrusted.h"
#include "base/yaml.h"
#include "sandbox/guarantees.h"

namespace oncelatch::sandbox {

namespace {

struct GivenUp {
  const char* name;
  const char* sentence;  // of --accept-loss
};

constexpr GivenUp kGivenUp[] = {
    {"write_scope", "fewer layers than required keep it from changing files outside the workspace"},
    {"read_scope", "fewer layers than required keep it from reading your other files"},
    {"deny_inside", "it can read and change what is hidden or protected in the workspace, such as hooks and settings"},
    {"creation_guard", "it can make files in the workspace that the host runs later"},
    {"network", "it may reach addresses and services that were not allowed"},
    {"domain_allowlist", "no rule by host name is kept"},
    {"host_sockets", "it may use this machine's services through their sockets"},
    {"processes", "fewer layers than required keep it from seeing, signalling or tracing your other processes"},
    {"terminal", "it may type into your terminal or answer for you"},
    {"limits", "it may use up this machine's processes, memory or disk"},
    {"explain", "what it was refused isn't explained"},
};

const char* given_up(const std::string& name) {
  for (const GivenUp& row : kGivenUp)
    if (name == row.name) return row.sentence;
  return "";
}

Status check_name(const std::string& name) {
  if (is_guarantee(name)) return {};
  return fail_errno("command line", escape_for_display(name, 64), EINVAL, guarantee_meant_by(name),
                    "no guarantee has this name");
}

const Guarantee* held(const std::vector<Guarantee>& given, const Requirement& requirement) {
  auto found =
      std::find_if(given.begin(), given.end(), [&](const Guarantee& one) { return one.name == requirement.name; });
  return found == given.end() ? nullptr : &*found;
}

bool falls_short(const std::vector<Guarantee>& given, const Requirement& requirement) {
  const Guarantee* guarantee = held(given, requirement);
  return guarantee == nullptr || guarantee->layers.size() < requirement.layers;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "deny_inside (none of 2 layers: the workspace is one piece …)"
std::string describe(const Guarantee& guarantee, unsigned required) {
  std::string text = guarantee.name + " (";
  text += guarantee.layers.empty() ? "none" : std::to_string(guarantee.layers.size());
  text += " of " + std::to_string(required) + (required == 1 ? " layer" : " layers");
  for (const std::string& layer : guarantee.layers)
    text += (&layer == &guarantee.layers.front() ? ", " : " and ") + layer;
  return text + (guarantee.limit.empty() ? "" : ": " + guarantee.limit) + ")";
}

struct Shortfall {
  std::string missing;
  std::string words;  // of --accept-loss
  std::string instead;
};

Shortfall shortfall(const std::vector<Guarantee>& given, const std::vector<Requirement>& required,
                    const std::vector<std::string>& accepted) {
  Shortfall result;
  for (const Requirement& requirement : required) {
    if (!falls_short(given, requirement) || contains(accepted, requirement.name)) continue;
    result.missing += (result.missing.empty() ? "" : ", ") + describe(*held(given, requirement), requirement.layers);
    if (const std::string& instead = held(given, requirement)->instead; !instead.empty())
      result.instead += requirement.name + ": " + instead + ". ";
    result.words += (result.words.empty() ? "" : "; ") + std::string("--accept-loss ") + requirement.name +
                    " gives up: " + given_up(requirement.name);
  }
  return result;
}

std::string one_line(std::string text) {
  for (std::size_t at = text.find("\n\n"); at != std::string::npos; at = text.find("\n\n")) text.replace(at, 2, " ");
  return text;
}

}  // namespace

const std::vector<Requirement>& default_requirements() {
  static const std::vector<Requirement> defaults = {
      {"write_scope", 2},  {"read_scope", 2}, {"deny_inside", 2}, {"creation_guard", 2}, {"network", 1},
      {"host_sockets", 1}, {"processes", 2},  {"terminal", 2},    {"limits", 1},
  };
  return defaults;
}

bool is_guarantee(const std::string& name) {
  return *given_up(name) != 0;
}

std::string guarantee_meant_by(const std::string& name) {
  std::vector<std::string_view> known;
  for (const GivenUp& row : kGivenUp) known.emplace_back(row.name);
  const std::string near = nearest_word(name, known);
  return near.empty() ? "oncelatch doctor lists the guarantees" : "did you mean " + near + "?";
}

Status check_required(const std::vector<Guarantee>& given, const std::vector<Requirement>& required,
                      const std::vector<std::string>& accepted_losses, const HostFacts& facts) {
  for (const Requirement& requirement : required) TRY(check_name(requirement.name));
  for (const std::string& name : accepted_losses) TRY(check_name(name));
  if (facts.tier() == Tier::none) return cannot_confine("this machine", facts);
  Shortfall missing = shortfall(given, required, accepted_losses);
  if (missing.missing.empty()) return {};
  std::string why = one_line(facts.missing());
  std::string paragraph = "Not held as required: " + missing.missing + ". " + why + (why.empty() ? "" : " ") +
                          missing.instead + "To go on without, accept each loss by name: " + missing.words + ".";
  return Failure(Error{.stage = "sandbox",
                       .object = "the " + std::string(tier_name(facts.tier())) + " tier of this machine",
                       .what = "a required guarantee is not available",
                       .try_next = paragraph,
                       .errno_value = ENOTSUP});
}

std::vector<Loss> losses(const std::vector<Guarantee>& given, const std::vector<Requirement>& required,
                         const std::vector<std::string>& accepted_losses) {
  std::vector<Loss> all;
  for (const Requirement& requirement : required) {
    if (!falls_short(given, requirement) || !contains(accepted_losses, requirement.name)) continue;
    Loss loss{.name = requirement.name, .required = requirement.layers, .layers = {}, .limit = {}, .gives_up = {}};
    loss.gives_up = given_up(requirement.name);
    if (const Guarantee* guarantee = held(given, requirement); guarantee != nullptr) {
      loss.layers = guarantee->layers;
      loss.limit = guarantee->limit;
    }
    all.push_back(std::move(loss));
  }
  return all;
}

}  // namespace oncelatch::sandbox
