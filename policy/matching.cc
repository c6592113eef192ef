#include "policy/matching.h"

#include <algorithm>

#include "policy/wrapper_tables.h"

namespace oncelatch::policy {
namespace {

template <class Matches>
bool matches_and_no_exclude(const Rule& rule, Matches matches) {
  return std::any_of(rule.match.begin(), rule.match.end(), matches) &&
         std::none_of(rule.exclude.begin(), rule.exclude.end(), matches);
}

// A shell command that names its program by a path is that program too.
bool matches_by_name(const TokenPattern& pattern, const Argv& argv) {
  if (match_words(pattern.words, argv)) return true;
  const std::string_view name = program_name(argv.front());
  if (name.size() == argv.front().size()) return false;
  Argv renamed = argv;
  renamed.front() = std::string(name);
  return match_words(pattern.words, renamed);
}

}  // namespace

bool covers(const Rule& rule, Capability capability) {
  return std::find(rule.capabilities.begin(), rule.capabilities.end(), capability) != rule.capabilities.end();
}

bool is_for_all(const Rule& rule) {
  return covers(rule, Capability::unknown);
}

bool command_touched(const Rule& rule, const Argv& argv) {
  if (argv.empty()) {  // only assignments or redirections: the pattern for everything means them too
    return std::any_of(rule.match.begin(), rule.match.end(),
                       [](const TokenPattern& pattern) { return pattern.text == "*"; });
  }
  const bool matched = std::any_of(rule.match.begin(), rule.match.end(),
                                   [&](const TokenPattern& pattern) { return matches_by_name(pattern, argv); });
  return matched && std::none_of(rule.exclude.begin(), rule.exclude.end(),
                                 [&](const TokenPattern& pattern) { return match_words(pattern.words, argv); });
}

bool command_excluded(const Rule& rule, const Argv& argv) {
  return !argv.empty() && std::any_of(rule.exclude.begin(), rule.exclude.end(),
                                      [&](const TokenPattern& pattern) { return matches_by_name(pattern, argv); });
}

Allowing command_allowed(const Rule& rule, const Argv& argv, const WildcardGuard& guard) {
  Allowing best = Allowing::no;
  for (const TokenPattern& pattern : rule.match) {
    if (!match_words(pattern.words, argv)) continue;
    if (match_words(pattern.words, argv, &guard)) return Allowing::yes;
    best = Allowing::but_for_a_risk;
  }
  return best;
}

bool path_touched(const Rule& rule, const PathSubject& path, Case letters) {
  if (is_for_all(rule)) return true;
  return matches_and_no_exclude(rule, [&](const TokenPattern& pattern) {
    return path_matches(pattern.text, path, PathReach::anywhere, letters);
  });
}

bool path_allowed(const Rule& rule, const PathSubject& path) {
  if (is_for_all(rule)) return true;
  const auto matches = [&](const TokenPattern& pattern) {
    return path_matches(pattern.text, path, PathReach::workspace, Case::exact);
  };
  const auto excluded = [&](const TokenPattern& pattern) {
    return path_matches(pattern.text, path, PathReach::anywhere, Case::folded);
  };
  return std::any_of(rule.match.begin(), rule.match.end(), matches) &&
         std::none_of(rule.exclude.begin(), rule.exclude.end(), excluded);
}

bool url_touched(const Rule& rule, const UrlSubject& url) {
  const auto matches = [&](const TokenPattern& pattern) { return url_may_match(pattern.text, url); };
  const auto excluded = [&](const TokenPattern& pattern) { return url_matches(pattern.text, url); };
  return std::any_of(rule.match.begin(), rule.match.end(), matches) &&
         std::none_of(rule.exclude.begin(), rule.exclude.end(), excluded);
}

bool url_allowed(const Rule& rule, const UrlSubject& url) {
  const auto matches = [&](const TokenPattern& pattern) { return url_matches(pattern.text, url); };
  const auto excluded = [&](const TokenPattern& pattern) { return url_may_match(pattern.text, url); };
  return std::any_of(rule.match.begin(), rule.match.end(), matches) &&
         std::none_of(rule.exclude.begin(), rule.exclude.end(), excluded);
}

bool name_matches(const Rule& rule, std::string_view name, Capability capability) {
  return matches_and_no_exclude(rule, [&](const TokenPattern& pattern) {
    if (pattern.text == "*") return true;
    return capability == Capability::mcp ? components_match(pattern.text, name, Case::exact)
                                         : glob_match(pattern.text, name);
  });
}

}  // namespace oncelatch::policy
