#include "base/yaml_source.h"

#include <fmt/format.h>
#include <libfyaml.h>
#include <utf8proc.h>

#include <algorithm>

#include "base/untrusted.h"

namespace oncelatch {

namespace {

void print_nothing(fy_diag*, void*, const char*, std::size_t) {}

bool is_printable(utf8proc_int32_t c) {
  return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c <= 0x7E) || c == 0x85 || (c >= 0xA0 && c <= 0xFFFD) ||
         c >= 0x10000;
}

}  // namespace

YamlSource::YamlSource(std::string_view text, std::string_view name) : text_(text), name_(name), starts_{0} {
  for (std::size_t at = 0; at < text.size(); ++at) {
    bool lone_return = text[at] == '\r' && (at + 1 == text.size() || text[at + 1] != '\n');
    if (text[at] == '\n' || lone_return) starts_.push_back(at + 1);
  }
}

YamlSource::Position YamlSource::position(std::size_t offset) const {
  auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  return {static_cast<std::size_t>(after - starts_.begin()), offset - *std::prev(after) + 1};
}

std::size_t YamlSource::offset(const fy_mark* mark, std::size_t otherwise, bool signed_before) const {
  if (mark == nullptr) return otherwise;
  std::size_t at = std::min(mark->input_pos, text_.size());
  return signed_before && at > 0 ? at - 1 : at;
}

Failure YamlSource::failure(std::size_t offset, std::string what, std::string try_next) const {
  Position at = position(offset);
  return fail("yaml", format_place(name_, at.line, at.column), std::move(what), std::move(try_next));
}

Status YamlSource::check_bytes() const {
  for (std::size_t at = 0; at < text_.size();) {
    utf8proc_int32_t c = -1;
    utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text_.data() + at),
                                               static_cast<utf8proc_ssize_t>(text_.size() - at), &c);
    if (length <= 0) return failure(at, "invalid UTF-8");
    if (!is_printable(c)) return failure(at, "control character", "write it as an escape in double quotes");
    at += static_cast<std::size_t>(length);
  }
  return {};
}

std::string format_place(std::string_view name, std::size_t line, std::size_t column) {
  return fmt::format("{}:{}:{}", name, line, column);
}

void CloseDiagnostics::operator()(fy_diag* diagnostics) const {
  fy_diag_destroy(diagnostics);
}

void CloseParser::operator()(fy_parser* parser) const {
  fy_parser_destroy(parser);
}

YamlEvents open_events(std::string_view text) {
  fy_diag_cfg quiet{};
  fy_diag_cfg_default(&quiet);
  quiet.fp = nullptr;
  quiet.output_fn = print_nothing;
  quiet.colorize = false;
  YamlEvents events;
  events.diagnostics.reset(fy_diag_create(&quiet));
  if (!events.diagnostics) return events;
  fy_diag_set_collect_errors(events.diagnostics.get(), true);
  fy_parse_cfg config{};
  config.search_path = "";
  config.flags = static_cast<fy_parse_cfg_flags>(FYPCF_QUIET | FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE);
  config.diag = events.diagnostics.get();
  events.parser.reset(fy_parser_create(&config));
  if (events.parser && fy_parser_set_string(events.parser.get(), text.data(), text.size()) != 0) events.parser.reset();
  return events;
}

Failure first_diagnostic(const YamlEvents& events, std::string_view name) {
  void* previous = nullptr;
  const fy_diag_error* error = fy_diag_errors_iterate(events.diagnostics.get(), &previous);
  if (error == nullptr) return fail("yaml", std::string(name), "not YAML");
  auto from_one = [](int number) { return static_cast<std::size_t>(std::max(number, 1)); };
  return fail("yaml", format_place(name, from_one(error->line), from_one(error->column)),
              escape_for_display(error->msg, 200));
}

}  // namespace oncelatch
