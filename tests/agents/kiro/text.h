// Text measuring and breaking as an ink application does it, and the clocks.
//
//   for (const std::string& row : wrap_words("a long text", 20)) draw(row);
//
// Widths are terminal columns of UTF-8 text (wide East Asian and emoji characters count two,
// combining and format characters none). Pure functions; nothing fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiro {

using Lines = std::vector<std::string>;
using Micros = std::int64_t;  // microseconds of the monotonic clock

Micros monotonic_micros();
std::int64_t epoch_millis();
std::string iso_time();  // 2026-06-25T00:00:00Z

std::size_t display_width(std::string_view text);
std::string repeated(std::string_view unit, std::size_t count);
Lines split_lines(std::string_view text);

// Breaks at blanks, keeps the blank at the end of the broken row, and breaks a word that is wider
// than the row itself. (The quirk of ink's wrapping is kept: when a word ends exactly at the edge,
// the next row starts with the blank.)
Lines wrap_words(std::string_view text, std::size_t columns);

// `prefix` on the first row, blanks of width `indent` on the others.
Lines wrap_with(std::string_view prefix, std::string_view text, std::size_t indent, std::size_t width,
                std::size_t pad_right);

// Without escape sequences and control characters (line feeds stay, tabs become blanks).
std::string without_controls(std::string_view text);

}  // namespace kiro
