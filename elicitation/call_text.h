// Does the panel ask about exactly this request? Compares the text a request must show with the call rows of the panel.
//
//   CallText call = call_text_of_title("Running: ls -la");
//   if (compare_call(panel, call) == CallMatch::same) ...
//
// Blanks inside a row must be equal. A row break may stand for one blank only where the next word had no room, and for
// nothing only where the row is full: otherwise "rm a b" and "rm ab", or a command and its longer twin, would look the
// same. Line breaks, controls and format characters can't be told from wrapping or from nothing, so such a text never
// matches. Ownership: values. Threads: pure. Failure: `different` or `unsure`, both "no key". After fork: allocates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "elicitation/digest.h"
#include "elicitation/screen.h"

namespace oncelatch::elicitation {

struct CallForm {
  std::string tool;  // header word the panel must have; empty: any
  std::string text;  // whole text of the call rows
};

struct CallText {
  Engine engine = Engine::v2;
  std::vector<CallForm> forms;
  std::string source;      // what the request says, for finding requests that could look the same
  std::string unshowable;  // why no screen can prove this text; empty when one can
};

[[nodiscard]] CallText call_text_of_title(std::string_view title);
[[nodiscard]] CallText call_text_of_resource(std::string_view capability, std::string_view resource);

enum class CallMatch { same, different, unsure };
[[nodiscard]] CallMatch compare_call(const Panel& panel, const CallText& call);

// What a text looks like when white space and further lines don't count. Two different texts with a common look could
// stand on a screen as the same rows.
struct CallPrint {
  Digest exact{};
  Digest squeezed{};
  Digest first_line{};
};
[[nodiscard]] CallPrint print_of(const CallText& call);
[[nodiscard]] bool could_look_the_same(const CallPrint& a, const CallPrint& b);

}  // namespace oncelatch::elicitation
