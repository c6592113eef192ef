#include "elicitation/open_prompts.h"

#include <algorithm>

namespace oncelatch::elicitation {

namespace {

std::size_t text_bytes(const OpenPrompt& prompt) {
  const policy::PermissionRequest& request = prompt.wire.request;
  std::size_t bytes =
      3 * (request.title.bytes().size() + request.subject.bytes().size()) + prompt.wire.call.source.size();
  for (const policy::PermissionOption& option : request.options)
    bytes += option.id.bytes().size() + option.name.bytes().size();
  return bytes;
}

}  // namespace

OpenPrompt& OpenPrompts::add(OpenPrompt prompt) {
  prompt.print = print_of(prompt.wire.call);
  remembered_.push_back({prompt.print, std::nullopt});
  if (remembered_.size() > most_remembered) {
    remembered_.pop_front();
    forgot_ = true;
  }
  bytes_ += text_bytes(prompt);
  return prompts_.emplace_back(std::move(prompt));
}

OpenPrompt* OpenPrompts::find(const PromptRequest& wire) {
  for (OpenPrompt& prompt : prompts_) {
    if (prompt.wire.id == wire.id && prompt.wire.direction == wire.direction) return &prompt;
  }
  return nullptr;
}

OpenPrompt* OpenPrompts::find_answered(const PromptAnswer& answer) {
  for (OpenPrompt& prompt : prompts_) {
    if (answers(answer, prompt.wire)) return &prompt;
  }
  return nullptr;
}

OpenPrompt* OpenPrompts::to_evict(const OpenPrompt* keep) {
  if (prompts_.size() < most_open && bytes_ <= most_bytes) return nullptr;
  OpenPrompt* oldest = nullptr;
  for (OpenPrompt& prompt : prompts_) {
    if (&prompt == keep) continue;
    if (prompt.ended) return &prompt;
    if (oldest == nullptr) oldest = &prompt;
  }
  return oldest;
}

void OpenPrompts::remove(OpenPrompt* prompt, Nanoseconds now) {
  const Digest exact = prompt->print.exact;
  for (Remembered& entry : remembered_) {
    if (entry.print.exact == exact) entry.answered_at = now;
  }
  bytes_ -= text_bytes(*prompt);
  prompts_.remove_if([prompt](const OpenPrompt& entry) { return &entry == prompt; });
}

std::string OpenPrompts::why_ambiguous(const OpenPrompt& prompt) const {
  const CallPrint& own = prompt.print;
  for (const OpenPrompt& other : prompts_) {
    if (&other != &prompt && other.print.exact == own.exact) return "another open prompt asks the same";
  }
  const bool alike = std::any_of(remembered_.begin(), remembered_.end(),
                                 [&](const Remembered& entry) { return could_look_the_same(entry.print, own); });
  return alike ? "another request of this session could look the same on the screen" : "";
}

std::optional<Nanoseconds> OpenPrompts::same_answered_at(const OpenPrompt& prompt) const {
  const Digest& exact = prompt.print.exact;
  std::optional<Nanoseconds> latest;
  for (const Remembered& entry : remembered_) {
    if (entry.print.exact == exact && entry.answered_at && (!latest || *entry.answered_at > *latest))
      latest = entry.answered_at;
  }
  return latest;
}

}  // namespace oncelatch::elicitation
