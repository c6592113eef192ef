// The reader of git's index: nothing crashes, and every name that it gives stays in the work tree.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launcher/git_index.h"
#include "launcher/git_state.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oncelatch::launcher;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (std::size_t hash_size : {std::size_t{20}, std::size_t{32}}) {
    IndexNames names(bytes, hash_size);
    std::size_t count = 0;
    for (std::string_view name; names.next(name); ++count) {
      require(name.empty() || name.front() != '/');
      require(name.find("../") != 0 && name.find("/../") == std::string_view::npos);
    }
    require(count <= size);
    require((judge_git_file("index", bytes, hash_size) == nullptr) == !names.failed());
  }
  for (const char* path : {"MERGE_RR", "sequencer/opts", "rebase-merge/msgnum", "ORIG_HEAD", "rebase-merge/strategy"})
    (void)judge_git_file(path, bytes, 20);
  return 0;
}
