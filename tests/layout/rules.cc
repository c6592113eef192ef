#include "tests/layout/rules.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

namespace oncelatch::layout {
namespace {

constexpr std::size_t kMostLines = 500;

std::string place(const SourceFile& file, std::size_t index) {
  return file.path + ":" + std::to_string(index + 1) + ": ";
}

// The path of an #include line in either form, or empty.
std::string included_path(const std::string& line) {
  static const std::regex pattern(R"(^\s*#\s*include(?:_next)?\s*["<]([^">]+)[">])");
  std::smatch match;
  return std::regex_search(line, match, pattern) ? match[1].str() : std::string();
}

std::string first_component(const std::string& path) {
  const std::size_t slash = path.find('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

// The comment lines before the first other line, as one text in lower case.
std::string opening_comment(const SourceFile& file) {
  std::string text;
  for (const std::string& line : file.lines) {
    if (!line.starts_with("//")) break;
    text += line + "\n";
  }
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

Findings check_folders(const ArrowTable& table, const SourceTree& tree) {
  Findings findings;
  for (const std::string& folder : tree.folders) {
    if (!table.folders.contains(folder)) findings.push_back(folder + ": folder without a row in the table");
  }
  for (const auto& [folder, row] : table.folders) {
    if (!tree.folders.contains(folder)) findings.push_back(folder + ": row of the table without a folder");
  }
  return findings;
}

Findings check_includes(const ArrowTable& table, const SourceTree& tree) {
  Findings findings;
  for (const SourceFile& file : tree.files) {
    if (!file.is_code() || !table.folders.contains(file.folder)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string path = included_path(file.lines[i]);
      const std::string target = first_component(path);
      // A room may not include from beside the rooms either; tests may include each other.
      const bool checked = table.is_room(file.folder) ? table.folders.contains(target) : table.is_room(target);
      if (("/" + path).find("/../") != std::string::npos) {
        findings.push_back(place(file, i) + "include that climbs: " + path);
      } else if (checked && !table.allows(file.folder, target)) {
        findings.push_back(place(file, i) + "arrow not in the table: " + file.folder + " -> " + target);
      }
    }
  }
  return findings;
}

Findings check_links(const ArrowTable& table, const SourceTree& tree) {
  static const std::regex link(R"(\broom(?:::|_)([a-z]+)\b)");
  Findings findings;
  for (const SourceFile& file : tree.files) {
    if (!file.is_cmake() || !table.is_room(file.folder)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string line = file.lines[i].substr(0, file.lines[i].find('#'));
      for (auto match = std::sregex_iterator(line.begin(), line.end(), link); match != std::sregex_iterator();
           ++match) {
        const std::string target = (*match)[1].str();
        if (!table.allows(file.folder, target)) {
          findings.push_back(place(file, i) + "link not in the table: " + file.folder + " -> " + target);
        }
      }
    }
  }
  return findings;
}

Findings check_lengths(const SourceTree& tree) {
  Findings findings;
  for (const SourceFile& file : tree.files) {
    if (file.lines.size() > kMostLines) {
      findings.push_back(file.path + ": " + std::to_string(file.lines.size()) + " lines, the most is " +
                         std::to_string(kMostLines));
    }
  }
  return findings;
}

Findings check_headers(const ArrowTable& table, const SourceTree& tree) {
  Findings findings;
  for (const SourceFile& file : tree.files) {
    if (!file.is_header() || !table.is_room(file.folder)) continue;
    const std::string comment = opening_comment(file);
    for (const char* word : {"ownership", "threads", "failure"}) {
      if (comment.find(word) == std::string::npos) {
        findings.push_back(file.path + ":1: header whose opening comment doesn't tell: " + word);
      }
    }
  }
  return findings;
}

Findings check_unfinished(const SourceTree& tree) {
  // Written in two halves so that this file doesn't find itself.
  static const std::regex mark(
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X|HA"
      "CK)\\b");
  Findings findings;
  for (const SourceFile& file : tree.files) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (std::regex_search(file.lines[i], mark)) findings.push_back(place(file, i) + "mark of unfinished work");
    }
  }
  return findings;
}

namespace {

// String literals of at least four characters, without includes and comments.
std::set<std::string> literals_below(const SourceTree& tree, const std::string& prefix) {
  std::set<std::string> found;
  for (const SourceFile& file : tree.files) {
    if (!file.is_code() || file.path.rfind(prefix, 0) != 0) continue;
    for (const std::string& line : file.lines) {
      if (line.rfind("#include", 0) == 0 || line.rfind("//", 0) == 0) continue;
      for (std::size_t start = line.find('"'); start != std::string::npos; start = line.find('"', start)) {
        std::size_t end = start + 1;
        while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
        if (end >= line.size()) break;
        if (end - start > 4) found.insert(line.substr(start + 1, end - start - 1));
        start = end + 1;
      }
    }
  }
  return found;
}

bool is_wire_name(const std::string& text) {
  const auto first = static_cast<unsigned char>(text[0]);
  return (std::islower(first) != 0 || first == '_' || first == '-') &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '/' || c == '-'; });
}

}  // namespace

Findings check_shared_words(const SourceTree& tree) {
  Findings findings;
  const std::set<std::string> stand_in = literals_below(tree, "tests/agents/");
  for (const std::string& word : literals_below(tree, "elicitation/")) {
    const bool number = word.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (stand_in.count(word) != 0 && !is_wire_name(word) && !number && word[0] != '/') {
      findings.push_back("in both elicitation/ and tests/agents/: \"" + word + "\"");
    }
  }
  return findings;
}

}  // namespace oncelatch::layout
