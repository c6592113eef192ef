// Lines of Kiro's recorder: whatever the agent writes, reading a line ends, and what comes out is consistent.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "elicitation/recorder_line.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oncelatch::elicitation;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const RecorderEvent event = read_recorder_line(rest.substr(0, end));
    if (const auto* prompt = std::get_if<PromptRequest>(&event)) {
      // A key may be sent only for a request with exactly one of each one-time choice, and a text the screen can prove.
      int allow = 0;
      int reject = 0;
      for (const auto& option : prompt->request.options) {
        allow += option.kind == oncelatch::policy::OptionKind::allow_once ? 1 : 0;
        reject += option.kind == oncelatch::policy::OptionKind::reject_once ? 1 : 0;
      }
      if (prompt->only_terminal.empty() && (allow != 1 || reject != 1 || !prompt->call.unshowable.empty()))
        std::abort();
      if (prompt->request.subject_is_whole && prompt->request.subject.empty()) std::abort();
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return 0;
}
