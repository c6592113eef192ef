#include "launcher/sarif.h"

#include <sodium/crypto_hash_sha256.h>

#include "base/digits.h"
#include "base/json_text.h"
#include "base/untrusted.h"
#include "launcher/version.h"

namespace oncelatch::launcher {

namespace {

constexpr std::string_view kRoot = "%SRCROOT%";

// In a message "{0}" is a placeholder and "[text](place)" a link (SARIF 3.11.5, 3.11.6).
std::string plain(std::string_view text) {
  std::string all;
  for (char character : text) {
    if (character == '{' || character == '}') all += character;
    if (character == '[' || character == ']') all += '\\';
    all += character;
  }
  return all;
}

void put_message(JsonText& json, std::string_view name, std::string_view text) {
  json.key(name).open('{').key("text").text(plain(text)).close('}');
}

std::string_view level_of(const HostEffect& effect) {
  if (effect.guard == "refused") return "error";
  return effect.guard == "held" ? "warning" : "note";
}

// Relative to the workspace, or empty.
std::string_view path_inside(const HostEffect& effect, const std::string& workspace) {
  const bool inside = !workspace.empty() && effect.path.starts_with(workspace + "/");
  return inside ? std::string_view(effect.path).substr(workspace.size() + 1) : std::string_view();
}

// The same effect in another run, at another line, or in another checkout has the same.
std::string fingerprint(const HostEffect& effect, std::string_view place) {
  std::string text;
  for (std::string_view part : {std::string_view(effect.kind), place, std::string_view(effect.line)}) {
    text += part;
    text += '\0';
  }
  unsigned char digest[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(digest, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  std::string result;
  for (unsigned char byte : digest) result += hexadecimal(byte, 2);
  return result;
}

void put_location(JsonText& json, const HostEffect& effect, std::string_view inside) {
  json.key("locations").open('[').open('{').key("physicalLocation").open('{').key("artifactLocation").open('{');
  if (inside.empty())
    json.key("uri").text("file://" + percent_encoded(effect.path));
  else
    json.key("uri").text(percent_encoded(inside)).key("uriBaseId").text(kRoot);
  json.close('}');
  if (effect.line_number != 0) {
    json.key("region").open('{').key("startLine").number(static_cast<std::int64_t>(effect.line_number));
    json.key("snippet").open('{').key("text").text(effect.line).close('}').close('}');
  }
  json.close('}').close('}').close(']');
}

void put_result(JsonText& json, const HostEffect& effect, const std::string& workspace) {
  const std::string_view inside = path_inside(effect, workspace);
  json.open('{').key("ruleId").text(effect.kind).key("level").text(level_of(effect));
  for (unsigned index = 0; const EffectKind& one : effect_kind_table()) {
    if (effect.kind == one.name) json.key("ruleIndex").number(index);
    ++index;
  }
  put_message(json, "message",
              effect.change + ": " + effect.reason + (effect.line.empty() ? std::string() : ": " + effect.line));
  put_location(json, effect, inside);
  json.key("partialFingerprints").open('{').key("hostEffect/v1");
  json.text(fingerprint(effect, inside.empty() ? std::string_view(effect.path) : inside)).close('}');
  json.key("properties").open('{').key("guard").text(effect.guard).key("change").text(effect.change).close('}');
  json.close('}');
}

void put_driver(JsonText& json) {
  json.key("tool").open('{').key("driver").open('{');
  json.key("name").text("oncelatch").key("semanticVersion").text(kVersion).key("rules").open('[');
  for (const EffectKind& one : effect_kind_table()) {
    json.open('{').key("id").text(one.name);
    put_message(json, "shortDescription", one.description);
    json.close('}');
  }
  json.close(']').close('}').close('}');
}

void put_notification(JsonText& json, std::string_view text) {
  json.open('{').key("level").text("error");
  put_message(json, "message", text);
  json.close('}');
}

void put_invocation(JsonText& json, const SarifRun& run) {
  const bool incomplete = run.seen != nullptr && !run.seen->complete;
  const bool looked = run.seen != nullptr && !incomplete;
  json.key("invocations").open('[').open('{');
  json.key("executionSuccessful").boolean(looked && run.error.empty()).key("exitCode").number(run.exit_code);
  json.key("toolExecutionNotifications").open('[');
  if (!run.error.empty()) put_notification(json, escape_for_display(run.error, 4096));
  if (incomplete)
    put_notification(json, "Not all that may be written could be looked at: nothing says that the rest is clean.");
  json.close(']').close('}').close(']');
}

}  // namespace

std::string percent_encoded(std::string_view path) {
  constexpr std::string_view kUnreserved = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string all;
  for (char character : path) {
    const auto byte = static_cast<unsigned char>(character);
    if (kUnreserved.find(character) != std::string_view::npos)
      all += character;
    else
      (all += '%') += {kDigits[byte >> 4], kDigits[byte & 0xf]};
  }
  return all;
}

std::string sarif_text(const SarifRun& run) {
  JsonText json;
  json.open('{').key("$schema").text("https://json.schemastore.org/sarif-2.1.0.json").key("version").text("2.1.0");
  json.key("runs").open('[').open('{');
  put_driver(json);
  put_invocation(json, run);
  if (!run.workspace.empty()) {
    json.key("originalUriBaseIds").open('{').key(kRoot).open('{');
    json.key("uri").text("file://" + percent_encoded(run.workspace) + "/").close('}').close('}');
  }
  json.key("results").open('[');
  if (run.seen != nullptr)
    for (const HostEffect& effect : run.seen->effects) put_result(json, effect, run.workspace);
  json.close(']').close('}').close(']').close('}');
  return json.take() + "\n";
}

}  // namespace oncelatch::launcher
