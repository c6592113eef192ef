#include "base/yaml.h"

#include <libfyaml.h>

#include <algorithm>
#include <optional>

#include "base/yaml_source.h"

namespace oncelatch {

namespace {

// Builds the tree from parser events with an own stack.
class YamlBuilder {
 public:
  YamlBuilder(const YamlSource& source, const YamlBounds& bounds) : source_(source), bounds_(bounds) {}
  Status event(fy_event* event);
  // An empty stream is an empty scalar.
  YamlNode take() { return root_ ? std::move(*root_) : YamlNode{YamlNode::Kind::scalar, {}, false, 1, 1, {}, {}}; }

 private:
  struct Frame {
    YamlNode node;
    std::optional<YamlNode> key;  // read, its value is still to come
    std::size_t offset;
  };

  Status document(fy_event* event, std::size_t offset);
  Status check_node(fy_event* event, std::size_t offset);
  Status open(YamlNode::Kind kind, std::size_t offset);
  Status close(std::size_t offset);
  Status scalar(fy_event* event, std::size_t offset);
  Status attach(YamlNode node, std::size_t offset);
  Status check_keys(const YamlNode& mapping) const;
  [[nodiscard]] std::size_t offset_of(fy_event* event) const;
  [[nodiscard]] bool wants_key() const {
    return !stack_.empty() && stack_.back().node.kind == YamlNode::Kind::mapping && !stack_.back().key;
  }
  [[nodiscard]] YamlNode node(YamlNode::Kind kind, std::size_t offset) const {
    YamlSource::Position at = source_.position(offset);
    return YamlNode{kind, {}, false, at.line, at.column, {}, {}};
  }

  const YamlSource& source_;
  const YamlBounds& bounds_;
  std::vector<Frame> stack_;
  std::optional<YamlNode> root_;
  std::size_t nodes_ = 0;
  std::size_t documents_ = 0;
  std::size_t offset_ = 0;  // of the event before; an empty value has no place of its own
};

Status YamlBuilder::event(fy_event* event) {
  std::size_t offset = offset_ = offset_of(event);
  switch (event->type) {
    case FYET_DOCUMENT_START:
      return document(event, offset);
    case FYET_ALIAS:
      return source_.failure(offset, "aliases are not allowed", "repeat the text");
    case FYET_SCALAR:
      TRY(check_node(event, offset));
      return scalar(event, offset);
    case FYET_SEQUENCE_START:
      TRY(check_node(event, offset));
      return open(YamlNode::Kind::sequence, offset);
    case FYET_MAPPING_START:
      TRY(check_node(event, offset));
      return open(YamlNode::Kind::mapping, offset);
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END:
      return close(offset);
    default:
      return {};
  }
}

std::size_t YamlBuilder::offset_of(fy_event* event) const {
  bool quoted = event->type == FYET_ALIAS;
  if (event->type == FYET_SCALAR && event->scalar.value != nullptr) {
    fy_scalar_style style = fy_token_scalar_style(event->scalar.value);
    quoted = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
  }
  return source_.offset(fy_event_start_mark(event), offset_, quoted);
}

Status YamlBuilder::document(fy_event* event, std::size_t offset) {
  if (++documents_ > 1) return source_.failure(offset, "a second document", "keep one document in a file");
  fy_document_state* state = event->document_start.document_state;
  if (fy_document_state_version_explicit(state) || fy_document_state_tags_explicit(state)) {
    return source_.failure(0, "directives are not allowed", "leave the lines with % out");
  }
  return {};
}

Status YamlBuilder::check_node(fy_event* event, std::size_t offset) {
  if (fy_token* anchor = fy_event_get_anchor_token(event)) {
    std::size_t at = source_.offset(fy_token_start_mark(anchor), offset, true);
    return source_.failure(at, "anchors are not allowed", "repeat the text");
  }
  if (fy_token* tag = fy_event_get_tag_token(event)) {
    std::size_t at = source_.offset(fy_token_start_mark(tag), offset, false);
    return source_.failure(at, "tags are not allowed", "leave the tag out");
  }
  if (++nodes_ > bounds_.nodes) return source_.failure(offset, "more values than allowed");
  return {};
}

Status YamlBuilder::open(YamlNode::Kind kind, std::size_t offset) {
  if (wants_key()) return source_.failure(offset, "a key must be a plain or quoted string");
  if (stack_.size() >= bounds_.depth) return source_.failure(offset, "nested deeper than allowed");
  stack_.push_back(Frame{node(kind, offset), std::nullopt, offset});
  return {};
}

Status YamlBuilder::close(std::size_t offset) {
  if (stack_.empty()) return source_.failure(offset, "not YAML");
  Frame frame = std::move(stack_.back());
  stack_.pop_back();
  if (frame.node.kind == YamlNode::Kind::mapping) TRY(check_keys(frame.node));
  return attach(std::move(frame.node), frame.offset);
}

Status YamlBuilder::scalar(fy_event* event, std::size_t offset) {
  YamlNode made = node(YamlNode::Kind::scalar, offset);
  if (fy_token* value = event->scalar.value) {
    // libfyaml 0.7 reads past what it wrote for some of them: bytes of our own memory would become text.
    const fy_scalar_style style = fy_token_scalar_style(value);
    if (style == FYSS_LITERAL || style == FYSS_FOLDED) {
      return source_.failure(offset, "block scalars (| and >) are not read", "write the text in quotes");
    }
    std::size_t size = 0;
    const char* text = fy_token_get_text(value, &size);
    if (text == nullptr) return source_.failure(offset, "unreadable scalar");
    made.scalar.assign(text, size);
    if (made.scalar.find('\0') != std::string::npos) return source_.failure(offset, "NUL character in a scalar");
    made.quoted = style != FYSS_PLAIN;
  }
  if (wants_key() && !made.quoted && made.scalar == "<<") {
    return source_.failure(offset, "merge keys are not allowed", "repeat the entries");
  }
  if (wants_key() && !made.quoted && made.scalar.empty()) return source_.failure(offset, "a key is missing");
  return attach(std::move(made), offset);
}

Status YamlBuilder::attach(YamlNode made, std::size_t offset) {
  if (stack_.empty()) {
    if (root_) return source_.failure(offset, "a second document", "keep one document in a file");
    root_ = std::move(made);
    return {};
  }
  Frame& frame = stack_.back();
  if (frame.node.kind == YamlNode::Kind::sequence) {
    frame.node.items.push_back(std::move(made));
  } else if (!frame.key) {
    frame.key = std::move(made);
  } else {
    frame.node.entries.push_back(YamlEntry{std::move(*frame.key), std::move(made)});
    frame.key.reset();
  }
  return {};
}

Status YamlBuilder::check_keys(const YamlNode& mapping) const {
  std::vector<const YamlNode*> keys;
  for (const auto& entry : mapping.entries) keys.push_back(&entry.first);
  std::stable_sort(keys.begin(), keys.end(),
                   [](const YamlNode* a, const YamlNode* b) { return a->scalar < b->scalar; });
  auto twice = std::adjacent_find(keys.begin(), keys.end(),
                                  [](const YamlNode* a, const YamlNode* b) { return a->scalar == b->scalar; });
  if (twice == keys.end()) return {};
  const YamlNode& second = **std::next(twice);
  return source_.failure(source_.offset(second.line, second.column), "duplicate key", "keep one of the two entries");
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const auto& entry : entries) {
    if (entry.first.scalar == key) return &entry.second;
  }
  return nullptr;
}

Result<YamlNode> parse_yaml(std::string_view text, std::string_view origin, const YamlBounds& bounds) {
  YamlSource source(text, origin);
  if (text.size() > bounds.bytes) return fail("yaml", std::string(origin), "more bytes than allowed");
  TRY(source.check_bytes());
  YamlBuilder builder(source, bounds);
  if (text.empty()) return builder.take();
  YamlEvents events = open_events(text);
  if (!events.parser) return fail("yaml", std::string(origin), "the parser could not be made");
  while (fy_event* event = fy_parser_parse(events.parser.get())) {
    Status taken = builder.event(event);
    fy_parser_event_free(events.parser.get(), event);
    if (!taken) return Failure(std::move(taken.error()));
  }
  if (fy_parser_get_stream_error(events.parser.get())) return first_diagnostic(events, origin);
  return builder.take();
}

std::string yaml_place(std::string_view origin, const YamlNode& node) {
  return format_place(origin, node.line, node.column);
}

}  // namespace oncelatch
