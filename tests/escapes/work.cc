// Ordinary work that has to be prepared outside.
#include "tests/escapes/procedures.h"
#include "tests/escapes/text.h"

namespace oncelatch::escapes {

namespace {

// A package of one file in a cache below the workspace, and a lock file that names it as the registry would.
constexpr const char* kPrepare =
    "set -e; cd {workspace}; mkdir -p dep app; "
    "echo '{\"name\": \"dep\", \"version\": \"1.0.0\", \"main\": \"index.js\"}' > dep/package.json; "
    "echo 'module.exports = 42' > dep/index.js; "
    "npm pack --offline --silent ./dep > /dev/null; npm cache add --offline --cache {workspace}/cache ./dep-1.0.0.tgz; "
    "digest=$(openssl dgst -sha512 -binary dep-1.0.0.tgz | base64 -w0); rm -r dep dep-1.0.0.tgz; cd app; "
    "echo '{\"name\": \"app\", \"version\": \"1.0.0\", \"dependencies\": {\"dep\": \"1.0.0\"}}' > package.json; "
    "echo '{\"name\": \"app\", \"version\": \"1.0.0\", \"lockfileVersion\": 3, \"packages\": {\"\": {\"name\": "
    "\"app\", "
    "\"version\": \"1.0.0\", \"dependencies\": {\"dep\": \"1.0.0\"}}, \"node_modules/dep\": {\"version\": \"1.0.0\", "
    "\"resolved\": \"https://registry.npmjs.org/dep/-/dep-1.0.0.tgz\", \"integrity\": \"sha512-'$digest'\"}}}' > "
    "package-lock.json";

constexpr const char* kInstall =
    "sh=cd {workspace}/app && npm ci --offline --silent --no-audit --no-fund --no-update-notifier --cache "
    "{workspace}/cache && test \"$(node -p 'require(\"dep\")')\" = 42";

}  // namespace

Observed install_packages(Stage& stage) {
  Launcher none = Launcher::none();
  Ended prepared = Stage(stage.scene(), none, stage.current()).shell(kPrepare);
  if (prepared.code != 0) return {{}, {}, {}, "no package could be prepared: " + last_words(prepared.err)};
  Case one = stage.current();
  one.work = {kInstall};
  Stage inside(stage.scene(), stage.launcher(), one);
  return inside.attempt();
}

}  // namespace oncelatch::escapes
