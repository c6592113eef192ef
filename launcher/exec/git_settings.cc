#include "launcher/exec/git_settings.h"

#include <algorithm>

namespace oncelatch::launcher {

namespace {

constexpr std::size_t kMostPaths = 64;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

std::string lower(std::string_view text) {
  std::string copy(text);
  for (char& c : copy)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return copy;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<NamedPath> take() {
    while (at_ < text_.size() && paths_.size() < kMostPaths) {
      while (at_ < text_.size() && (is_blank(text_[at_]) || text_[at_] == '\n')) ++at_;
      if (at_ == text_.size()) break;
      if (text_[at_] == '[')
        take_section();
      else if (text_[at_] == '#' || text_[at_] == ';')
        skip_line();
      else
        take_variable();
    }
    return std::move(paths_);
  }

 private:
  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  // "[core]", or "[includeIf \"gitdir:x\"]": what stands in quotes makes no difference here.
  void take_section() {
    const std::size_t start = ++at_;
    bool quoted = false;
    for (; at_ < text_.size() && text_[at_] != '\n' && (quoted || text_[at_] != ']'); ++at_) {
      if (text_[at_] == '\\' && quoted && at_ + 1 < text_.size())
        ++at_;
      else if (text_[at_] == '"')
        quoted = !quoted;
    }
    const std::string_view whole = text_.substr(start, at_ - start);
    section_ = lower(whole.substr(0, std::min(whole.find_first_of(" \t\"."), whole.size())));
    if (at_ < text_.size() && text_[at_] == ']') ++at_;
  }

  void take_variable() {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != '=' && text_[at_] != '\n' && !is_blank(text_[at_])) ++at_;
    const std::string key = section_ + "." + lower(text_.substr(start, at_ - start));
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    if (at_ == text_.size() || text_[at_] != '=') return skip_line();
    ++at_;
    take(key, value());
  }

  // To the line's end, or further behind a backslash; quotes and comments as git has them.
  std::string value() {
    std::string text;
    std::size_t kept = 0;  // without blanks at the end
    bool quoted = false;
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      const char c = text_[at_];
      if (!quoted && (c == '#' || c == ';')) {
        skip_line();
        break;
      }
      if (c == '"') {
        quoted = !quoted;
        continue;
      }
      if (c == '\\' && at_ + 1 < text_.size()) {
        const char next = text_[++at_];
        if (next == '\n') continue;
        text += next == 'n' ? '\n' : next == 't' ? '\t' : next == 'b' ? '\b' : next;
        kept = text.size();
        continue;
      }
      text += c;
      if (quoted || !is_blank(c)) kept = text.size();
    }
    text.resize(kept);
    return text;
  }

  void take(const std::string& key, std::string value) {
    if (value.empty() || value[0] == '~') return;
    using From = NamedPath::From;
    if (key == "core.hookspath")
      paths_.push_back({std::move(value), From::work_tree, "core.hooksPath", false});
    else if (key == "core.attributesfile")
      paths_.push_back({std::move(value), From::work_tree, "core.attributesFile", false});
    else if (key == "include.path" || key == "includeif.path")
      paths_.push_back({std::move(value), From::settings, "include.path", true});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string section_;
  std::vector<NamedPath> paths_;
};

}  // namespace

std::vector<NamedPath> paths_in_settings(std::string_view text) {
  return Reader(text).take();
}

}  // namespace oncelatch::launcher
