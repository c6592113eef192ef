// Screen rows as tmux can search for them.
//
// A POSIX extended expression for one whole row, in which every ASCII byte but letters, digits and blank is '.', so
// that nothing in it is special to the expression, to tmux's formats or to its command language. It also matches rows
// that differ in punctuation only. Ownership: values. Threads: pure. Failure: none. After fork: allocates.
#pragma once

#include <string>
#include <string_view>

namespace oncelatch::elicitation {

[[nodiscard]] std::string row_expression(std::string_view row);
// Would the expression of `expressed` match `row`?
[[nodiscard]] bool row_expression_matches(std::string_view expressed, std::string_view row);

}  // namespace oncelatch::elicitation
