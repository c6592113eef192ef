#include "tests/probes/operation_paths.h"

#include <unistd.h>

#include <utility>

namespace oncelatch::probes {

namespace {

constexpr const char* kNames[] = {"a", "b", "c", "e", "f", "g", "h", "i", "k", "m", "d0", "d1", "d2", "x1"};
constexpr const char* kLinks[] = {"lf", "ld", "la", "ln", "lm", "ll", "l1", "c1", "c2", "lt", "lr", "lv",
                                  "lp", "lq", "me", "up", "lz", "ls", "lg", "lo", "l0", "p0", "s0"};
constexpr const char* kDirectories[] = {"d0", "d1", "d2", "d0/d1", "ld", "la", "me", "e", "ls", "a", "lm"};
constexpr const char* kDevices[] = {"/dev/null",  "/dev/null/", "/dev/full",  "/dev/tty",         "/dev/zero",
                                    "/dev/stdin", "/dev",       "/proc/self", "/proc/self/status"};
constexpr std::size_t kMostShown = 160;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

Paths::Paths(Dice& dice, std::string root)
    : dice_(dice), root_(std::move(root)), process_("/proc/" + std::to_string(::getpid())) {}

std::string Paths::name() {
  if (dice_.once_in(60)) return std::string(255, 'n');
  if (dice_.once_in(80)) return std::string(dice_.once_in(4) ? 300 : 256, 'n');
  return dice_.once_in(3) ? dice_.of(kLinks) : dice_.of(kNames);
}

std::string Paths::directory() {
  return dice_.once_in(5) ? name() : dice_.of(kDirectories);
}

std::string Paths::inside() {
  std::string path = name();
  for (unsigned more = dice_.below(5); more > 2; --more) path = directory() + "/" + path;
  return path;
}

std::string Paths::target() {
  switch (dice_.below(9)) {
    case 0:
      return root_ + "/" + inside();
    case 1:
      return "/tmp/" + name();
    case 2:
      return "../" + inside();
    case 3:
      return any();
    default:
      return inside();
  }
}

std::string Paths::ended(const std::string& path) {
  constexpr const char* kEnds[] = {"/", "//", "/.", "/..", "/./", "/../"};
  return dice_.once_in(9) ? path + dice_.of(kEnds) : path;
}

std::string Paths::through_proc() {
  const std::string number = std::to_string(dice_.once_in(6) ? 0 : 3 + dice_.below(14));
  const std::string start = dice_.once_in(4)   ? process_
                            : dice_.once_in(4) ? std::string("/proc/thread-self")
                                               : std::string("/proc/self");
  switch (dice_.below(9)) {
    case 0:
      return start + "/cwd/" + inside();
    case 1:
      return start + "/root" + root_ + "/" + inside();
    case 2:
      return start + "/fd/" + number + "/" + inside();
    case 3:
      return "/dev/fd/" + number + "/" + inside();
    case 4:
      return "/dev/fd/" + number;
    case 5:
      return start + "/cwd";
    case 6:
      return start + "/fd/../cwd/" + name();
    default:
      return start + "/fd/" + number;
  }
}

std::string Paths::elsewhere() {
  switch (dice_.below(8)) {
    case 0:
      return std::string("/tmp/w/") + inside();
    case 1:
      return std::string("/tmp/") + directory() + "/" + name();
    case 2:
      return std::string("/var/tmp/") + name();
    case 3:
      return std::string("/dev/shm/") + name();
    case 4:
      return std::string("/") + name();
    default:
      return std::string("/tmp/") + name();
  }
}

std::string Paths::long_one() {
  constexpr const char* kParts[] = {"./", "d0/../", "me/../d1/../", "/"};
  const std::size_t size = 4090 + dice_.below(10);
  const std::string last = dice_.once_in(3) ? name() + "/" : name();
  std::string path = dice_.once_in(2) ? root_ + "/" : "./";
  const std::string part = dice_.of(kParts);
  while (path.size() + part.size() + last.size() <= size) path += part;
  while (path.size() + last.size() < size) path += '/';
  return path + last;
}

// Far fewer than the most that one lookup follows, or more. From half of it on the kernel itself says now this, now
// that: it counts twice what it has to look up again. A socket's address is cut off after a few of them.
std::string Paths::many_links() {
  std::string path;
  for (unsigned left = dice_.once_in(2) ? 6 : 41 + dice_.below(4); left > 0; --left) path += ".////me/";
  return path + name();
}

std::string Paths::any() {
  const unsigned chance = dice_.below(100);
  if (chance < 26) return ended(name());
  if (chance < 46) return ended(inside());
  if (chance < 51) return ended("./" + inside());
  if (chance < 57) return ended(directory() + "/../" + name());
  if (chance < 66) return ended(root_ + "/" + inside());
  if (chance < 78) return ended(through_proc());
  if (chance < 88) return ended(elsewhere());
  if (chance < 92) return dice_.of(kDevices);
  if (chance < 93) return long_one();
  if (chance < 95) return many_links();
  constexpr const char* kShort[] = {"", ".", "..", "./", "../", "/", "//", "me", "up", "/tmp", "/tmp/"};
  return chance < 99 ? std::string(dice_.of(kShort)) : root_;
}

std::vector<std::pair<std::string, std::string>> Paths::links() const {
  return {{"a", "lf"},
          {"d0", "ld"},
          {root_ + "/d1", "la"},
          {"none/x", "ln"},
          {"m", "lm"},
          {"ll", "ll"},
          {"l0", "l1"},
          {"l1", "l0"},
          {"c2", "c1"},
          {"c3", "c2"},
          {"b", "c3"},
          {"/tmp/a", "lt"},
          {"/tmp", "lr"},
          {"/var/tmp/b", "lv"},
          {"/proc/self/cwd", "lp"},
          {"/proc/self/fd", "lq"},
          {".", "me"},
          {"..", "up"},
          {"/dev/null", "lz"},
          {"d0/", "ls"},
          {"g/.", "lg"},
          {"/proc/self/fd/4", "lo"},
          {root_, "/tmp/w"},
          {root_ + "/e", "/tmp/k"},
          {root_ + "/d0", "/tmp/d1"},
          {"/tmp/k", "d1/k"}};
}

std::string Paths::shown(std::string text) const {
  replace_all(text, root_, "@");
  replace_all(text, root_.substr(0, root_.rfind('/')), "@/..");
  replace_all(text, process_, "/proc/$");
  const std::size_t size = text.size();
  if (size > kMostShown)
    text = text.substr(0, 12) + "...(" + std::to_string(size) + ")..." + text.substr(size - kMostShown / 4);
  return text.empty() ? "''" : text;
}

}  // namespace oncelatch::probes
