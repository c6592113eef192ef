#include "launcher/output_states.h"

#include <array>

namespace oncelatch::launcher {
namespace {

using A = OutputAction;
using S = OutputState;
using Row = std::array<OutputStep, 256>;

constexpr std::uint8_t kCancel = 0x18;
constexpr std::uint8_t kSubstitute = 0x1a;
constexpr std::uint8_t kEscape = 0x1b;
constexpr std::uint8_t kBell = 0x07;

constexpr void fill(Row& row, unsigned first, unsigned last, OutputStep step) {
  for (unsigned byte = first; byte <= last; ++byte) row[byte] = step;
}

// What is the same in every state. `self` takes the C0 controls.
constexpr Row common(S self, A control, OutputStep high) {
  Row row{};
  fill(row, 0x00, 0x1f, {control, self});
  row[0x7f] = {A::none, self};
  fill(row, 0x80, 0xff, high);
  row[kCancel] = row[kSubstitute] = {self == S::ground ? A::none : A::drop, S::ground};
  row[kEscape] = {A::begin, S::escape};
  return row;
}

constexpr Row sequence(S self) {
  return common(self, A::control, {A::reprocess, S::ground});
}

constexpr Row ground_row() {
  Row row = common(S::ground, A::control, {A::text, S::ground});
  fill(row, 0x20, 0x7e, {A::text, S::ground});
  return row;
}

constexpr Row escape_row() {
  Row row = sequence(S::escape);
  fill(row, 0x20, 0x2f, {A::collect, S::escape_intermediate});
  fill(row, 0x30, 0x7e, {A::escape_dispatch, S::ground});
  row['['] = {A::begin, S::csi_start};
  row[']'] = {A::begin, S::osc};
  for (char introducer : {'P', 'X', '^', '_', 'k'}) {
    row[static_cast<unsigned char>(introducer)] = {A::drop, S::ignored_string};
  }
  return row;
}

constexpr Row escape_intermediate_row() {
  Row row = sequence(S::escape_intermediate);
  fill(row, 0x20, 0x2f, {A::collect, S::escape_intermediate});
  fill(row, 0x30, 0x7e, {A::escape_dispatch, S::ground});
  return row;
}

constexpr Row csi_row(S self) {
  const bool takes_parameters = self == S::csi_start || self == S::csi_parameter;
  Row row = sequence(self);
  fill(row, 0x20, 0x2f, {A::collect, S::csi_intermediate});
  fill(row, 0x30, 0x3f, {A::none, S::csi_ignored});
  if (takes_parameters) fill(row, '0', ';', {A::collect, S::csi_parameter});
  if (self == S::csi_start) fill(row, '<', '?', {A::collect, S::csi_parameter});
  fill(row, 0x40, 0x7e, {A::csi_dispatch, S::ground});
  return row;
}

constexpr Row csi_ignored_row() {
  Row row = sequence(S::csi_ignored);
  fill(row, 0x20, 0x3f, {A::none, S::csi_ignored});
  fill(row, 0x40, 0x7e, {A::drop, S::ground});
  return row;
}

constexpr Row osc_row() {
  Row row = common(S::osc, A::none, {A::collect, S::osc});
  fill(row, 0x20, 0x7e, {A::collect, S::osc});
  row[kBell] = {A::osc_dispatch, S::ground};
  row[kEscape] = {A::none, S::osc_escape};
  return row;
}

constexpr Row osc_escape_row() {
  Row row{};
  fill(row, 0x00, 0xff, {A::reprocess, S::escape});
  row['\\'] = {A::osc_dispatch, S::ground};
  return row;
}

constexpr Row ignored_string_row() {
  Row row = common(S::ignored_string, A::none, {A::none, S::ignored_string});
  fill(row, 0x20, 0x7e, {A::none, S::ignored_string});
  row[kCancel] = row[kSubstitute] = {A::none, S::ground};
  return row;
}

constexpr std::array<Row, kOutputStates> kTable = {
    ground_row(),
    escape_row(),
    escape_intermediate_row(),
    csi_row(S::csi_start),
    csi_row(S::csi_parameter),
    csi_row(S::csi_intermediate),
    csi_ignored_row(),
    osc_row(),
    osc_escape_row(),
    ignored_string_row(),
};

}  // namespace

OutputStep output_step(OutputState state, unsigned char byte) {
  return kTable[static_cast<std::uint8_t>(state)][byte];
}

}  // namespace oncelatch::launcher
