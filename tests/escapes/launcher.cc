#include "tests/escapes/launcher.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <sstream>

#include "tests/escapes/text.h"

namespace oncelatch::escapes {

namespace {

std::size_t closing(const std::string& line, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < line.size(); ++i) {
    if (line[i] == '{') ++depth;
    if (line[i] == '}' && --depth == 0) return i;
  }
  return std::string::npos;
}

// {FLAG:WORDS} becomes WORDS or nothing.
std::string choose(std::string line, const std::string& flags) {
  for (std::size_t open = line.find('{'); open != std::string::npos; open = line.find('{', open)) {
    std::size_t close = closing(line, open);
    std::size_t colon = line.find(':', open);
    if (close == std::string::npos) break;
    if (colon == std::string::npos || colon > close) {
      open = close;
      continue;
    }
    bool wanted = holds_word(flags, line.substr(open + 1, colon - open - 1));
    std::string words = wanted ? line.substr(colon + 1, close - colon - 1) : std::string();
    line.replace(open, close - open + 1, words);
  }
  return line;
}

}  // namespace

Result<std::string> find_in_path(const std::string& name) {
  char real[PATH_MAX];
  if (name.find('/') != std::string::npos) {
    if (::realpath(name.c_str(), real) != nullptr && ::access(real, X_OK) == 0) return std::string(real);
    return fail("launcher", name, "isn't an executable file", "name a program that exists");
  }
  const char* path = std::getenv("PATH");
  std::istringstream places(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string place; std::getline(places, place, ':');) {
    std::string file = place + "/" + name;
    if (place.starts_with("/") && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return fail("launcher", name, "isn't in PATH", "name it by its path");
}

Result<Launcher> Launcher::parse(const std::string& line) {
  std::vector<std::string> words = split_words(line);
  if (words.empty()) return fail("launcher", line, "is empty", "--launcher 'CMD {}'");
  Launcher launcher;
  launcher.line_ = line;
  launcher.path_ = TRY(find_in_path(words[0]));
  launcher.name_ = words[0].substr(words[0].rfind('/') + 1);
  launcher.ours_ = launcher.name_ == "oncelatch";
  launcher.overlays_ = launcher.ours_ && line.find("--workspace-mode overlay") != std::string::npos;
  if (launcher.overlays_) launcher.name_ += " (overlay)";
  return launcher;
}

Launcher Launcher::none() {
  Launcher launcher;
  launcher.line_ = "env {}";
  launcher.path_ = "/usr/bin/env";
  launcher.name_ = "none";
  launcher.none_ = true;
  return launcher;
}

std::vector<std::string> Launcher::command(const std::string& workspace, const std::string& flags,
                                           const std::vector<std::string>& program) const {
  std::vector<std::string> argv;
  bool placed = false;
  for (const std::string& word : split_words(choose(line_, flags))) {
    if (word == "{}") {
      argv.insert(argv.end(), program.begin(), program.end());
      placed = true;
    } else {
      argv.push_back(replace_all(word, "{workspace}", workspace));
    }
  }
  if (!placed) argv.insert(argv.end(), program.begin(), program.end());
  return argv;
}

}  // namespace oncelatch::escapes
