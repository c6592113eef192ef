#include "tests/escapes/judge.h"

#include <algorithm>
#include <cctype>

#include "tests/escapes/text.h"

namespace oncelatch::escapes {

namespace {

constexpr std::size_t kMostNamed = 4;
constexpr std::size_t kMostOfLabel = 60;

const Line* find(const Observed* observed, const std::string& label) {
  if (observed == nullptr) return nullptr;
  for (const Line& line : observed->lines)
    if (line.label == label) return &line;
  return nullptr;
}

class Judge {
 public:
  Judge(const Case& one, const Observed* without, bool strict) : case_(one), without_(without), strict_(strict) {}

  void see(const Line& line) {
    if (line.work) return see_work(line);
    const Attempt* attempt = attempt_of(line.label);
    if (attempt != nullptr && attempt->ours && !strict_) return;
    ++attempts_;
    const Line* before = find(without_, line.label);
    // SIGSYS (31) comes from a filter only, whatever the kernel would have answered behind it.
    bool filtered = line.verdict == "SIG31" && before != nullptr && before->verdict != line.verdict;
    if (before == nullptr || filtered || (!before->verdict.empty() && through(attempt, before->verdict)))
      ++provable_;
    else
      unprovable_ = line.label + " " + before->verdict + " (here " + line.verdict + ")";
    if (through(attempt, line.verdict))
      open_.push_back(line.label + " " + (line.verdict.empty() ? "didn't answer" : line.verdict));
  }

  [[nodiscard]] Row row() const {
    if (!open_.empty()) return {Verdict::open, named(open_), 0, {}};
    if (!broken_.empty()) return {Verdict::open, "work fails: " + named(broken_), 0, {}};
    if (is_work(case_)) return {Verdict::held, "", 0, {}};
    if (provable_ == 0) return {Verdict::untestable, "fails without a launcher too: " + unprovable_, 0, {}};
    return {Verdict::held,
            std::to_string(provable_) + " of " + std::to_string(attempts_) + " attempts proved possible",
            0,
            {}};
  }

 private:
  // What isn't to be had on this machine isn't the launcher's doing.
  void see_work(const Line& line) {
    const Line* before = find(without_, line.label);
    if (line.verdict == "OK" || (before != nullptr && before->verdict != "OK")) return;
    broken_.push_back(line.label.substr(0, kMostOfLabel) + " " +
                      (line.verdict.empty() ? "didn't answer" : line.verdict));
  }

  [[nodiscard]] const Attempt* attempt_of(const std::string& label) const {
    for (const Attempt& attempt : case_.attempts)
      if (label.ends_with(attempt.word)) return &attempt;
    return nullptr;
  }

  [[nodiscard]] static bool through(const Attempt* attempt, const std::string& verdict) {
    if (verdict.empty() || verdict == "OK" || verdict == "unknown") return true;
    if (attempt == nullptr || attempt->held.empty() || verdict.starts_with("SIG")) return false;
    return !holds_word(attempt->held, verdict);
  }

  [[nodiscard]] static std::string named(const std::vector<std::string>& lines) {
    std::string text;
    for (std::size_t i = 0; i < std::min(lines.size(), kMostNamed); ++i) text += (i == 0 ? "" : ", ") + lines[i];
    if (lines.size() > kMostNamed) text += ", and " + std::to_string(lines.size() - kMostNamed) + " more";
    return text;
  }

  const Case& case_;
  const Observed* without_;
  bool strict_;
  int attempts_ = 0;
  int provable_ = 0;
  std::string unprovable_;
  std::vector<std::string> open_;
  std::vector<std::string> broken_;
};

}  // namespace

namespace {

bool works(const Observed& observed) {
  return observed.trouble.empty() && std::all_of(observed.lines.begin(), observed.lines.end(),
                                                 [](const Line& line) { return !line.work || line.verdict == "OK"; });
}

}  // namespace

bool is_work(const Case& one) {
  return std::islower(static_cast<unsigned char>(one.id[0])) != 0;
}

std::string verdict_name(const Case& one, Verdict verdict) {
  if (verdict == Verdict::held) return is_work(one) ? "works" : "held";
  if (verdict == Verdict::open) return is_work(one) ? "FAILS" : "NOT HELD";
  return verdict == Verdict::not_applicable ? "n/a" : "untestable";
}

Row judge(const Case& one, const Observed& observed, const Observed* without, bool strict) {
  if (!observed.not_applicable.empty()) return {Verdict::not_applicable, observed.not_applicable, 0, {}};
  if (is_work(one) && without != nullptr && !works(*without))
    return {Verdict::untestable, "fails without a launcher too", 0, observed.lines};
  if (!observed.trouble.empty()) return {Verdict::open, "launch: " + observed.trouble, 0, observed.lines};
  Judge judge(one, without, strict);
  for (const Line& line : observed.lines) judge.see(line);
  Row row = judge.row();
  if (row.verdict == Verdict::open && row.detail.starts_with("work fails") && !observed.said.empty())
    row.detail += ": " + observed.said;
  row.lines = observed.lines;
  return row;
}

}  // namespace oncelatch::escapes
