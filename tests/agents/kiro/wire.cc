#include "wire.h"

namespace kiro {
namespace {

Json options_json(const Prompt& prompt) {
  Json list = Json::array();
  for (const Option& option : prompt.options) {
    list.push_back({{"optionId", option.id}, {"name", option.name}, {"kind", option.kind}});
  }
  return list;
}

Json tool_call_json(const Prompt& prompt, Engine engine) {
  Json call = {{"toolCallId", prompt.tool_call_id}};
  if (engine == Engine::V2) {
    call["title"] = prompt.title;
  } else if (prompt.kind == PromptKind::Question) {
    call["title"] = "**" + prompt.title + "**";
    call["status"] = "pending";
  } else {
    call["status"] = "pending";
    call["title"] = prompt.title;
  }
  return call;
}

Json consent_echo(const Prompt& prompt, const Answer& answer) {
  const Json& consent = member_of(member_of(prompt.meta, "kiro"), "consent");
  return {{"kiro",
           {{"consent",
             {{"capability", text_of(consent, "capability")},
              {"scope", answer.scope.empty() ? "invocation" : answer.scope},
              {"workspaceRoot", text_of(consent, "workspaceRoot")}}}}}};
}

Json selected(const Prompt& prompt, const Answer& answer, Engine engine) {
  Json outcome = {{"outcome", "selected"}, {"optionId", answer.option_id}};
  Json result = Json::object();
  if (engine == Engine::V2 && answer.trust.is_object()) {
    result["_meta"] = {{"trustOption", answer.trust}};
    outcome["_meta"] = {{"trustOption", answer.trust}};
  }
  if (engine == Engine::V3 && prompt.consent_echo && prompt.meta.is_object()) {
    result["_meta"] = consent_echo(prompt, answer);
  }
  result["outcome"] = outcome;
  return result;
}

}  // namespace

Json permission_request(const Prompt& prompt, Engine engine, const std::string& session_id) {
  Json params = {
      {"sessionId", session_id}, {"toolCall", tool_call_json(prompt, engine)}, {"options", options_json(prompt)}};
  if (!prompt.meta.is_null()) params["_meta"] = prompt.meta;
  const char* const method = "session/request_permission";
  if (engine == Engine::V3) {
    return {{"jsonrpc", "2.0"}, {"id", prompt.id}, {"method", method}, {"params", params}};
  }
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", params}, {"id", prompt.id}};
}

Json permission_answer(const Prompt& prompt, const Answer& answer, Engine engine) {
  Json message = {{"jsonrpc", "2.0"}, {"id", prompt.id}};
  switch (answer.how) {
    case Answer::How::Error:
      message["error"] = {{"code", -32000}, {"message", "session closed"}};
      break;
    case Answer::How::Selected:
      message["result"] = selected(prompt, answer, engine);
      break;
    case Answer::How::Cancelled:
    case Answer::How::Nothing:
      message["result"] = {{"outcome", {{"outcome", "cancelled"}}}};
      break;
  }
  return message;
}

Json request(const Json& id, const std::string& method, const Json& params) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}};
}

Json response(const Json& id, const Json& result, Engine engine) {
  if (engine == Engine::V3) return {{"jsonrpc", "2.0"}, {"id", id}, {"result", result}};
  return {{"jsonrpc", "2.0"}, {"result", result}, {"id", id}};
}

Json session_update(const std::string& session_id, const Json& update) {
  return {
      {"jsonrpc", "2.0"}, {"method", "session/update"}, {"params", {{"sessionId", session_id}, {"update", update}}}};
}

Json message_chunk(const std::string& text) {
  return {{"sessionUpdate", "agent_message_chunk"}, {"content", {{"type", "text"}, {"text", text}}}};
}

Json tool_call(const Prompt& prompt) {
  return {{"sessionUpdate", "tool_call"},
          {"toolCallId", prompt.tool_call_id},
          {"title", prompt.title},
          {"kind", prompt.tool == "shell"  ? "execute"
                   : prompt.tool == "read" ? "read"
                                           : "edit"},
          {"status", "pending"}};
}

Json tool_done(const Prompt& prompt, bool ran) {
  return {{"sessionUpdate", "tool_call_update"},
          {"toolCallId", prompt.tool_call_id},
          {"status", ran ? "completed" : "failed"}};
}

Json initialize_result(const std::string& version, Engine engine) {
  Json capabilities = {{"loadSession", true},
                       {"promptCapabilities", {{"image", true}, {"audio", false}, {"embeddedContext", false}}},
                       {"mcpCapabilities", {{"http", true}, {"sse", false}}}};
  capabilities["sessionCapabilities"] = engine == Engine::V3 ? Json{{"list", Json::object()}} : Json::object();
  return {{"protocolVersion", 1},
          {"agentCapabilities", capabilities},
          {"authMethods", Json::array()},
          {"agentInfo", {{"name", "Kiro CLI Agent"}, {"version", version}}}};
}

}  // namespace kiro
