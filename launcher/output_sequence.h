// One control sequence (CSI) of a program's output, read, and the list of those that do no more than draw.
//
//   std::optional<OutputSequence> sequence = read_output_sequence("?25", 'l');
//   if (sequence && only_draws(*sequence)) ...
//
// The list names what passes; what isn't named doesn't: reports and queries of every kind (CSI n, c, x, t, $p, >q ...),
// printing (CSI i), rectangles, margins, tab stops, the scrollback's end (CSI 3 J). Modes and key reports are decided
// where they are remembered (OutputModes, OutputFilter). Ownership: values. Threads: any. Failure: nullopt for more
// parameters, or greater ones, than any program needs (some terminals loop that often). After fork: yes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace oncelatch::launcher {

inline constexpr std::size_t kMostParameters = 32;
inline constexpr std::uint32_t kGreatestParameter = 32'767;
inline constexpr std::uint32_t kMostRepeats = 4'096;

struct OutputSequence {
  char prefix = 0;        // one of < = > ?
  char intermediate = 0;  // space to /
  char final = 0;
  bool subparameters = false;  // a colon
  std::size_t count = 0;
  std::array<std::uint32_t, kMostParameters> values{};  // 0 where nothing stands

  [[nodiscard]] bool is(char its_prefix, char its_intermediate, char its_final) const {
    return prefix == its_prefix && intermediate == its_intermediate && final == its_final;
  }
};

// `collected`: what stands between CSI and the final byte.
[[nodiscard]] std::optional<OutputSequence> read_output_sequence(std::string_view collected, char final);
[[nodiscard]] bool only_draws(const OutputSequence& sequence);

}  // namespace oncelatch::launcher
