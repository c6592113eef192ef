// The states in which a terminal reads a program's output, and what each byte does in each: one table, after the
// well-known DEC parser.
//
//   OutputStep step = output_step(OutputState::escape, '[');  // {none, csi_start}
//
// What differs from a terminal's own: bytes from 0x80 are UTF-8 text and never controls, so they end an escape or
// control sequence; a string (OSC, DCS, SOS, PM, APC, the screen title ESC k) ends only at ESC, CAN or SUB, an OSC also
// at BEL. A terminal that sees other ends is none the worse: no string is ever passed on as it came. Ownership: values.
// Threads: any; the table is a constant. Failure: none, every byte has a step in every state. After fork: yes.
#pragma once

#include <cstdint>

namespace oncelatch::launcher {

enum class OutputState : std::uint8_t {
  ground,
  escape,
  escape_intermediate,
  csi_start,
  csi_parameter,
  csi_intermediate,
  csi_ignored,
  osc,
  osc_escape,  // ESC within an OSC: its end, or another sequence
  ignored_string,
};
inline constexpr std::uint8_t kOutputStates = 10;

enum class OutputAction : std::uint8_t {
  none,
  text,
  control,          // a C0 control, wherever it stands
  begin,            // forget what was collected
  collect,          // the byte belongs to the sequence
  escape_dispatch,  // the sequence is complete
  csi_dispatch,
  osc_dispatch,
  drop,       // the sequence is complete, or broken, and can't be understood
  reprocess,  // drop what was collected and take the byte again in the next state
};

struct OutputStep {
  OutputAction action = OutputAction::none;
  OutputState next = OutputState::ground;
};

[[nodiscard]] OutputStep output_step(OutputState state, unsigned char byte);

}  // namespace oncelatch::launcher
