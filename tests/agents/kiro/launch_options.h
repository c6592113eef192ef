// The command line of the stand-in.
//
//   LaunchOptions options;
//   if (!read_options(argc, argv, options)) return fail(options.error);
//
// Plain values. Unknown flags, missing values and conflicting flags are errors.
#pragma once

#include <string>
#include <vector>

namespace kiro {

struct LaunchOptions {
  enum class What { Help, Version, Chat, Acp, AcpHelp, ChatHelp, ListModels, WhoAmI };
  What what = What::Help;
  bool tui = false;
  bool no_interactive = false;
  bool trust_all = false;
  bool classic = false;
  std::string resume_id;
  std::string model = "auto";
  std::string effort;
  std::string agent = "kiro_default";
  std::string engine;  // empty: not given
  std::string prompt;
  std::string error;
};

bool read_options(int argc, char** argv, LaunchOptions& options);

}  // namespace kiro
