// The JSON-RPC messages of the stand-in, in the key order of the real product.
//
//   Json message = permission_request(prompt, Engine::V2, session_id);
//
// Pure functions.
#pragma once

#include "json.h"
#include "prompt.h"

#include <string>

namespace kiro {

Json permission_request(const Prompt& prompt, Engine engine, const std::string& session_id);
Json permission_answer(const Prompt& prompt, const Answer& answer, Engine engine);

Json request(const Json& id, const std::string& method, const Json& params);  // client to agent
Json response(const Json& id, const Json& result, Engine engine);             // agent to client
Json session_update(const std::string& session_id, const Json& update);
Json message_chunk(const std::string& text);
Json tool_call(const Prompt& prompt);
Json tool_done(const Prompt& prompt, bool ran);
Json initialize_result(const std::string& version, Engine engine);

}  // namespace kiro
