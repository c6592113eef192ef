#include "redact/views.h"

#include <set>
#include <utility>

#include "redact/decode.h"

namespace oncelatch::redact {

namespace {

constexpr int kPercentLevels = 4;
constexpr int kViewLevels = 6;
constexpr std::size_t kMostViews = 64;

std::vector<std::string> percent_steps(const std::string& text) {
  std::vector<std::string> steps;
  if (has_percent_escape(text)) steps.push_back(percent_decode(text));
  if (text.find('+') != std::string::npos) steps.push_back(percent_decode(plus_to_space(text)));
  return steps;
}

std::vector<std::string> all_steps(const std::string& text) {
  std::vector<std::string> steps = percent_steps(text);
  if (text.find('\\') != std::string::npos) steps.push_back(json_unescape(text));
  if (text.find('&') != std::string::npos) steps.push_back(html_unescape(text));
  return steps;
}

// Texts reached by `steps` from `start` within `levels`, each once; nullopt beyond `most` of them.
std::optional<std::vector<std::string>> closure(std::string_view start, int levels, std::size_t most,
                                                std::vector<std::string> (*steps)(const std::string&)) {
  std::vector<std::string> fresh = {std::string(start)};
  std::set<std::string> seen(fresh.begin(), fresh.end());
  std::vector<std::string> found;
  for (int level = 0; level < levels && !fresh.empty(); ++level) {
    std::vector<std::string> next;
    for (const std::string& text : fresh) {
      for (std::string& step : steps(text)) {
        if (!seen.insert(step).second) continue;
        if (found.size() + next.size() >= most) return std::nullopt;
        next.push_back(std::move(step));
      }
    }
    found.insert(found.end(), next.begin(), next.end());
    fresh = std::move(next);
  }
  return found;
}

}  // namespace

std::vector<std::string> percent_candidates(std::string_view text) {
  constexpr std::size_t kNoBound = 1 << 16;  // two a text and level: never more than 30
  return closure(text, kPercentLevels, kNoBound, percent_steps).value_or(std::vector<std::string>());
}

std::optional<std::vector<std::string>> decoded_views(std::string_view text) {
  if (text.find_first_of("%+\\&") == std::string_view::npos) return std::vector<std::string>();
  return closure(text, kViewLevels, kMostViews, all_steps);
}

}  // namespace oncelatch::redact
