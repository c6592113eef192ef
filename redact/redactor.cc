#include "redact/redactor.h"

#include <algorithm>

#include "redact/decode.h"
#include "redact/forms.h"
#include "redact/views.h"

namespace oncelatch::redact {

namespace {

constexpr std::size_t kShort = 8;                           // units; below it an occurrence takes the whole string
constexpr std::size_t kGateUnits = 4;                       // units; below it the last gate would refuse everything
constexpr std::size_t kMostDecoded = std::size_t{1} << 20;  // bytes of one string whose candidates are made
constexpr std::size_t kMostDepth = 512;
constexpr std::size_t kWindow = std::size_t{1} << 18;
constexpr std::size_t kGrowth = 16;  // encoded text to literal, six percent levels deep

std::vector<Secret> longest_first(std::vector<Secret> secrets) {
  std::vector<Secret> kept;
  for (Secret& secret : secrets) {
    bool known =
        std::any_of(kept.begin(), kept.end(), [&](const Secret& each) { return each.reveal() == secret.reveal(); });
    if (secret.size() > 0 && !known) kept.push_back(std::move(secret));
  }
  std::stable_sort(kept.begin(), kept.end(), [](const Secret& a, const Secret& b) { return a.size() > b.size(); });
  return kept;
}

}  // namespace

Redactor Redactor::from_environment(const std::vector<std::string>& environment, std::string marker) {
  std::vector<Secret> secrets;
  for (std::string_view variable : environment) {
    std::size_t equals = variable.find('=');
    if (equals == std::string_view::npos || !is_credential_name(variable.substr(0, equals))) continue;
    secrets.push_back(Secret::copy_of(variable.substr(equals + 1)));
  }
  return Redactor(std::move(secrets), std::move(marker));
}

Redactor::Redactor(std::vector<Secret> secrets, std::string marker) : marker_(std::move(marker)) {
  std::vector<LiteralSet::Entry> entries;
  for (const Secret& secret : longest_first(std::move(secrets))) {
    Forms forms = Forms::of(secret);
    Owner owner{utf16_units(secret.reveal()), {}};
    for (WipedText& form : forms.rule) {
      if (owner.units >= kShort && marker_.find(form.view()) != std::string::npos) marker_ = "[***]";
      owner.literals.push_back(entries.size());
      entries.push_back({std::move(form), owners_.size(), true});
    }
    for (WipedText& form : forms.extended) entries.push_back({std::move(form), owners_.size(), false});
    owners_.push_back(std::move(owner));
  }
  literals_ = LiteralSet(std::move(entries));
}

Redactor::Hits Redactor::find(std::string_view text) const {
  Hits hits{std::vector<bool>(owners_.size()), std::vector<bool>(owners_.size()), true};
  auto note = [this](std::string_view where, std::vector<bool>& found) {
    [[maybe_unused]] bool stopped = literals_.any(where, [&found](const LiteralSet::Match& match) {
      if (match.rule) found[match.owner] = true;
      return false;
    });
  };
  note(text, hits.direct);
  bool has_candidates = text.find('+') != std::string_view::npos || has_percent_escape(text);
  if (!has_candidates) return hits;
  hits.bounded = text.size() <= kMostDecoded;
  if (!hits.bounded) return hits;
  for (const std::string& candidate : percent_candidates(text)) note(candidate, hits.equivalent);
  return hits;
}

std::string Redactor::replaced(std::string text, const Owner& owner) const {
  for (std::size_t index : owner.literals) {
    std::string_view form = literals_.literal(index);
    std::size_t at = text.find(form);
    if (at == std::string::npos) continue;
    std::string out;
    std::size_t from = 0;
    for (; at != std::string::npos; at = text.find(form, from)) {
      out.append(text, from, at - from);
      out += marker_;
      from = at + form.size();
    }
    out.append(text, from);
    text = std::move(out);
  }
  return text;
}

std::string Redactor::leaf_rule(std::string_view input) const {
  std::string text(input);
  Hits hits = find(text);
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    if (!hits.bounded) return marker_;
    if (!hits.direct[i] && !hits.equivalent[i]) continue;
    if (hits.equivalent[i] || owners_[i].units < kShort) return marker_;
    text = replaced(std::move(text), owners_[i]);
    hits = find(text);
  }
  return text;
}

std::string Redactor::text(std::string_view input) const {
  if (owners_.empty()) return std::string(input);
  std::string result = leaf_rule(input);
  if (result == marker_) return result;
  return holds(result, 0) ? marker_ : result;
}

Json Redactor::value(const Json& input) const {
  return scrub(input, 0);
}

Json Redactor::scrub(const Json& input, std::size_t depth) const {
  if (depth > kMostDepth) return marker_;
  if (input.is_string()) return text(input.get_ref<const std::string&>());
  if (input.is_array()) {
    Json copy = Json::array();
    for (const Json& item : input) copy.push_back(scrub(item, depth + 1));
    return copy;
  }
  if (!input.is_object()) return input;
  Json copy = Json::object();
  for (const auto& [key, item] : input.items()) {
    if (is_credential_name(key) || text(key) != key) continue;
    copy.emplace(key, scrub(item, depth + 1));
  }
  return copy;
}

bool Redactor::contains_secret(std::string_view bytes) const {
  return holds(bytes, kGateUnits);
}

// Windows overlap by more than the longest encoded literal, so that memory stays bounded however long the text is.
bool Redactor::holds(std::string_view text, std::size_t least_units) const {
  if (owners_.empty()) return false;
  std::size_t overlap = std::max(literals_.longest(), marker_.size()) * kGrowth;
  for (std::size_t at = 0;; at += kWindow) {
    if (window_holds(text.substr(at, kWindow + overlap), least_units)) return true;
    if (text.size() - at <= kWindow + overlap) return false;
  }
}

bool Redactor::window_holds(std::string_view window, std::size_t least_units) const {
  if (literal_hit(window, least_units)) return true;
  std::optional<std::vector<std::string>> views = decoded_views(window);
  if (!views) return true;
  return std::any_of(views->begin(), views->end(),
                     [&](const std::string& view) { return literal_hit(view, least_units); });
}

bool Redactor::literal_hit(std::string_view text, std::size_t least_units) const {
  return literals_.any(text, [&](const LiteralSet::Match& match) {
    return owners_[match.owner].units >= least_units && !inside_marker(text, match.at, match.size);
  });
}

bool Redactor::inside_marker(std::string_view text, std::size_t at, std::size_t size) const {
  if (size > marker_.size()) return false;
  std::size_t most = std::min(at, marker_.size() - size);
  for (std::size_t back = 0; back <= most; ++back) {
    if (text.substr(at - back, marker_.size()) == marker_) return true;
  }
  return false;
}

}  // namespace oncelatch::redact
