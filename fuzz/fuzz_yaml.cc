// A parsed tree keeps the promises of yaml.h: unique scalar keys, places inside the text, bounds.
#include <cstdint>
#include <cstdlib>
#include <set>

#include "base/untrusted.h"
#include "base/yaml.h"

namespace {

void check(const oncelatch::YamlNode& node, std::size_t size, std::size_t depth) {
  using Kind = oncelatch::YamlNode::Kind;
  if (node.line == 0 || node.column == 0 || node.line > size + 1 || node.column > size + 1 || depth > 17) std::abort();
  if (!oncelatch::valid_utf8(node.scalar) || node.scalar.find('\0') != std::string::npos) std::abort();
  for (const oncelatch::YamlNode& item : node.items) check(item, size, depth + 1);
  std::set<std::string> keys;
  for (const oncelatch::YamlEntry& entry : node.entries) {
    if (entry.first.kind != Kind::scalar || !keys.insert(entry.first.scalar).second) std::abort();
    check(entry.first, size, depth + 1);
    check(entry.second, size, depth + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oncelatch;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  YamlBounds bounds;
  bounds.bytes = std::size_t{1} << 14;
  bounds.depth = 16;
  Result<YamlNode> root = parse_yaml(text, "input", bounds);
  if (root) check(*root, size, 0);
  if (!root && root.error().message().find('\x1b') != std::string::npos) std::abort();
  return 0;
}
