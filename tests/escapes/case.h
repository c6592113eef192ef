// One case of the catalogue: what is tried under a launcher, which answers count as held, and what must work beside it.
//
//   Case one{.id = "E058", .technique = "io_uring", .attempts = {{.word = "io-uring", .held = kPermission}}};
//
// Ownership: values. Threads: values. Failure: none here; a launch that didn't come to an end is `trouble` of Observed.
// After fork: not used.
#pragma once

#include <string>
#include <vector>

namespace oncelatch::escapes {

// Answers of a kernel or a filter that refuses, as against "it looked at the arguments and didn't like them".
inline constexpr const char* kPermission = "EPERM EACCES ENOSYS";

// A word for the probe program (tests/probes/), with {names} of the scene.
struct Attempt {
  std::string word;
  std::string held = {};  // answers that count as held; empty: every answer but OK. A kill by the filter always does
  bool ours = false;      // stricter than an escape: asked of our own sandbox only
  // Names in the workspace, or whole paths, that have to be as before: the attempt got through where one isn't,
  // whatever it said. "a+b": where neither is. Such an attempt has a workspace and a launch of its own.
  std::string left = {};
};

struct Line {
  std::string label;
  std::string verdict;  // "OK": got through
  bool work = false;    // ordinary work: must be OK
};

struct Observed {
  std::vector<Line> lines = {};
  std::string trouble = {};         // the launch itself failed
  std::string said = {};            // last words of its error output
  std::string not_applicable = {};  // why, where the launcher has nothing like it
};

enum class Scope {
  any,              // the attempt is made without a launcher too, to prove that it can succeed
  launcher_itself,  // asks how the launcher behaves: without one there is nothing to ask
  ours,             // needs something only our launcher has
};

class Stage;
using Procedure = Observed (*)(Stage& stage);

struct Case {
  std::string id = {};
  std::string technique = {};
  std::vector<Attempt> attempts = {};
  std::vector<std::string> work = {};         // words that must be OK, besides the ordinary work of every case
  std::vector<std::string> environment = {};  // of the launcher, besides the scene's
  std::string flags = {};                     // words: terminal limits time loopback ptrace ci toolchains
  Procedure procedure = nullptr;              // instead of one run of the probe
  Scope scope = Scope::any;
  std::string needs = {};  // why it doesn't apply elsewhere (Scope::ours)
};

}  // namespace oncelatch::escapes
