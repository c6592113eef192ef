#include "audit/decision_log.h"

#include <string>
#include <string_view>

#include "audit/chain.h"

namespace oncelatch::audit {
namespace {

// What the gate of the log would still refuse (a form that isn't replaced in place) becomes the marker whole, so that
// one odd text doesn't stop the record.
std::string clean_text(const redact::Redactor& redactor, std::string_view raw) {
  std::string clean = redactor.text(raw);
  return redactor.contains_secret(clean) ? redactor.marker() : clean;
}

// Our own lists: a few levels deep.
void clean_strings(const redact::Redactor& redactor, Json* value) {
  if (value->is_string()) *value = clean_text(redactor, *value->get_ptr<const std::string*>());
  if (!value->is_structured()) return;
  for (Json& item : *value) clean_strings(redactor, &item);
}

// Redacts, then bounds, then adds to a row's body; what was cut is described outside the text, where the text can't
// imitate it.
class Body {
 public:
  explicit Body(const redact::Redactor& redactor) : redactor_(redactor), json_(Json::object()) {}

  void text(const char* field, std::string_view raw) {
    std::string clean = clean_text(redactor_, raw);
    if (clean.size() > longest_text) {
      json_[std::string(field) + "_cut"] = Json{{"bytes", clean.size()}, {"sha256", sha256_hex(clean)}};
      clean.resize(cut_before(clean, longest_text));
    }
    json_[field] = std::move(clean);
  }

  void list(const char* field, Json clean) {
    clean_strings(redactor_, &clean);
    Json kept = Json::array();
    std::size_t bytes = 0;
    for (const Json& item : clean) {
      bytes += dump_json(item).size();
      if (bytes > longest_text) break;
      kept.push_back(item);
    }
    if (kept.size() < clean.size())
      json_[std::string(field) + "_cut"] = Json{{"items", clean.size()}, {"sha256", sha256_hex(dump_json(clean))}};
    json_[field] = std::move(kept);
  }

  void add(const char* field, Json value) { json_[field] = std::move(value); }

  void prompt(const policy::PromptId& prompt) {
    Body inner(redactor_);
    inner.text("request_id", prompt.request_id);
    inner.text("line_sha256", prompt.line_sha256);
    inner.text("local_id", prompt.local_id);
    json_["prompt"] = std::move(inner.json_);
  }

  [[nodiscard]] const Json& json() const { return json_; }

 private:
  // The last place at or before `most` that isn't inside a UTF-8 sequence.
  static std::size_t cut_before(std::string_view text, std::size_t most) {
    std::size_t place = most;
    while (place > most - 4 && (static_cast<unsigned char>(text[place]) & 0xc0) == 0x80) --place;
    return place;
  }

  const redact::Redactor& redactor_;
  Json json_;
};

std::string name(std::string_view word) {
  return std::string(word);
}

Json options_json(const policy::PermissionRequest& request) {
  Json list = Json::array();
  for (const policy::PermissionOption& option : request.options)
    list.push_back(Json{{"id", option.id.bytes()},
                        {"name", option.name.bytes()},
                        {"kind", name(policy::option_kind_name(option.kind))}});
  return list;
}

Json reasons_json(const policy::Decision& decision) {
  Json list = Json::array();
  for (const policy::Reason& reason : decision.reasons)
    list.push_back(Json{{"rule", reason.rule},
                        {"effect", name(policy::effect_name(reason.effect))},
                        {"member", reason.member},
                        {"text", reason.text}});
  return list;
}

Json members_json(const policy::Decision& decision) {
  Json list = Json::array();
  for (const policy::Member& member : decision.members)
    list.push_back(Json{{"argv", member.argv}, {"effect", name(policy::effect_name(member.effect))}});
  return list;
}

}  // namespace

Status DecisionLog::request_seen(const policy::PromptId& prompt, const policy::PermissionRequest& request) {
  Body body(redactor_);
  body.prompt(prompt);
  body.text("agent_session", request.session_id.bytes());
  body.text("tool_call_id", request.tool_call_id.bytes());
  body.add("capability", name(policy::capability_name(request.capability)));
  body.text("title", request.title.bytes());
  body.text("subject", request.subject.bytes());
  body.add("subject_is_whole", request.subject_is_whole);
  body.list("options", options_json(request));
  return log_.append("request", body.json());
}

Status DecisionLog::decided(const policy::PromptId& prompt, const policy::PermissionRequest& request,
                            const policy::Decision& decision, policy::Decider decider) {
  Body body(redactor_);
  body.prompt(prompt);
  body.add("capability", name(policy::capability_name(request.capability)));
  body.add("effect", name(policy::effect_name(decision.effect)));
  body.list("reasons", reasons_json(decision));
  body.list("members", members_json(decision));
  body.list("floor", Json(decision.floor));
  body.text("policy_sha256", decision.policy_sha256);
  body.add("decider", name(policy::decider_name(decider)));
  return log_.append("decision", body.json());
}

Status DecisionLog::delivering(const policy::PromptId& prompt, policy::Verdict verdict, policy::Decider decider,
                               const std::string& shown_sha256) {
  Body body(redactor_);
  body.prompt(prompt);
  body.add("verdict", name(policy::verdict_name(verdict)));
  body.add("decider", name(policy::decider_name(decider)));
  body.text("shown_sha256", shown_sha256);
  return log_.append("delivering", body.json());
}

Status DecisionLog::ended(const policy::PromptId& prompt, policy::Outcome outcome, const std::string& option_id,
                          const std::string& detail) {
  Body body(redactor_);
  body.prompt(prompt);
  body.add("outcome", name(policy::outcome_name(outcome)));
  body.text("option_id", option_id);
  body.text("detail", detail);
  return log_.append("outcome", body.json());
}

}  // namespace oncelatch::audit
