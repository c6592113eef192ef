// /etc of the sandbox, by list: nothing that isn't named here.
//
//   add_etc(view, {.user = "agent", .home = "/home/agent", .uid = 1000, .gid = 1000, .host_network = false});
//
// Ownership: none kept. Threads: any. Failure: what the host lacks is left out. After fork: allocates.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "sandbox/view.h"

namespace oncelatch::sandbox {

struct EtcFacts {
  std::string user;
  std::string home;
  uid_t uid = 0;
  gid_t gid = 0;
  bool host_network = false;
};

// The same list as paths of the host, with the files that add_etc() makes up.
[[nodiscard]] std::vector<std::string> etc_paths(bool host_network);

void add_etc(View& view, const EtcFacts& facts);

}  // namespace oncelatch::sandbox
