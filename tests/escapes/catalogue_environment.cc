#include "tests/escapes/catalogue.h"
#include "tests/escapes/procedures.h"

namespace oncelatch::escapes {

namespace {

// Each variable set for the launcher must not arrive.
Case dropped(std::string id, std::string technique, std::vector<std::string> environment) {
  Case one{.id = std::move(id), .technique = std::move(technique), .environment = std::move(environment)};
  for (const std::string& entry : one.environment) one.attempts.push_back({"env=" + entry.substr(0, entry.find('='))});
  return one;
}

}  // namespace

std::vector<Case> environment_cases() {
  Case loader =
      dropped("E123", "loader variables",
              {"LD_PRELOAD={outside}/preload.so", "LD_AUDIT={outside}/nothing.so", "LD_LIBRARY_PATH={outside}",
               "GLIBC_TUNABLES=glibc.malloc.check=1", "MALLOC_CHECK_=2", "LD_DEBUG_OUTPUT={outside}/new-debug"});
  loader.procedure = preload;
  Case shell = dropped("E124", "shell start-up variables",
                       {"BASH_ENV={outside}/start.sh", "ENV={outside}/start.sh", "ZDOTDIR={outside}",
                        "PROMPT_COMMAND=touch {outside}/new-by-shell", "SHELLOPTS=braceexpand",
                        "PS4=$(touch {outside}/new-by-shell)", "CDPATH={outside}", "BASH_FUNC_x%%=() { :; }"});
  shell.procedure = shell_start_up;
  Case git =
      dropped("E125", "git's variables",
              {"GIT_SSH_COMMAND=false", "GIT_EXTERNAL_DIFF=false", "GIT_PROXY_COMMAND=false", "GIT_CONFIG_COUNT=1",
               "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false", "GIT_DIR={outside}/git",
               "GIT_WORK_TREE={outside}", "GIT_TEMPLATE_DIR={outside}", "GIT_PAGER=false"});
  git.work = {"sh=r=$(mktemp -d) && git init -q $r 2>/dev/null && git -C $r status >/dev/null"};
  Case runtime = dropped("E126", "variables of language runtimes",
                         {"NODE_OPTIONS=--require={outside}/new.js", "NODE_EXTRA_CA_CERTS={outside}/ca.pem",
                          "PYTHONSTARTUP={outside}/start.py", "PYTHONPATH={outside}", "PERL5OPT=-Mnothing",
                          "RUBYOPT=-rnothing", "JAVA_TOOL_OPTIONS=-javaagent:x", "DOTNET_STARTUP_HOOKS={outside}/x.dll",
                          "npm_config_registry=http://127.0.0.1:{port}/"});
  runtime.work = {"sh=python3 -c 'print(1)'"};
  Case secrets = dropped("E127", "secrets in the environment",
                         {"AWS_SECRET_ACCESS_KEY={canary-value}", "GITHUB_TOKEN={canary-value}",
                          "ACTIONS_ID_TOKEN_REQUEST_TOKEN={canary-value}", "KIRO_API_KEY={canary-value}",
                          "OPENAI_API_KEY={canary-value}", "DATABASE_PASSWORD={canary-value}"});
  secrets.attempts.push_back({"env-value={canary}"});
  return {loader,
          shell,
          git,
          runtime,
          secrets,
          {.id = "E129",
           .technique = "relative entries of PATH",
           .environment = {"PATH=:.:bin:/usr/bin:/bin"},
           .procedure = relative_path},
          {.id = "E135",
           .technique = "command files and lines of a CI runner",
           .attempts = {{"env=GITHUB_ENV"},
                        {"env=GITHUB_PATH"},
                        {"env=GITHUB_OUTPUT"},
                        {"env=GITHUB_STEP_SUMMARY"},
                        {"append={outside}/github-env"},
                        {"append={outside}/github-path"}},
           .environment = {"CI=true", "GITHUB_ACTIONS=true", "GITHUB_ENV={outside}/github-env",
                           "GITHUB_PATH={outside}/github-path", "GITHUB_OUTPUT={outside}/github-output",
                           "GITHUB_STEP_SUMMARY={outside}/github-summary"},
           .flags = "ci",
           .procedure = commands_of_the_runner}};
}

std::vector<Case> limit_cases() {
  return {
      {.id = "E130", .technique = "fork bomb (1500)", .attempts = {{"fork-many=1500"}}, .flags = "limits"},
      {.id = "E131", .technique = "memory (768 MiB)", .flags = "limits", .procedure = take_memory},
      {.id = "E132",
       .technique = "disk",
       .attempts = {{"sparse-file={workspace}/big"},
                    {"fill={workspace}/big:201326592"},
                    {"fill=/tmp/big:201326592"},
                    {"fill=/dev/shm/big:201326592"}},
       .flags = "limits"},
      {.id = "E134",
       .technique = "outlive the time limit",
       .flags = "time",
       .procedure = outlive,
       .scope = Scope::launcher_itself},
  };
}

}  // namespace oncelatch::escapes
