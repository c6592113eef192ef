#include "sandbox/guarded_names.h"

#include "sandbox/spelling.h"

namespace oncelatch::sandbox {

namespace {

constexpr GuardedName kNames[] = {
    // git, githooks(5), git-config(1), gitrepository-layout(5)
    {".git", Guard::refused, "git", "git takes the directory for a repository and follows its settings"},
    {".git/hooks/**", Guard::refused, "git", "git runs it"},
    {".git/config", Guard::refused, "git", "git runs programs that it names"},
    {".git/config.worktree", Guard::refused, "git", "git runs programs that it names"},
    {".git/commondir", Guard::refused, "git", "git reads hooks and settings where it points"},
    {".git/gitdir", Guard::refused, "git", "git reads hooks and settings where it points"},
    {".git/info/attributes", Guard::refused, "git", "git runs filters and drivers that it names"},
    {".git/objects/info/alternates", Guard::refused, "git", "git reads objects where it points"},
    {".git/worktrees/*/config.worktree", Guard::refused, "git", "git runs programs that it names"},
    {".git/worktrees/*/commondir", Guard::refused, "git", "git reads hooks and settings where it points"},
    {".git/worktrees/*/gitdir", Guard::refused, "git", "git reads hooks and settings where it points"},
    {".git/worktrees/*/config", Guard::refused, "git", "git runs programs that it names, where commondir is gone"},
    {".git/worktrees/*/objects", Guard::refused, "git", "git takes the directory for a repository of its own"},
    {".git/config.lock", Guard::refused, "git", "becomes the settings of git, or keeps it from changing them"},
    {".git/branches/**", Guard::refused, "git", "git fetches and pushes by it"},
    {".git/remotes/**", Guard::refused, "git", "git fetches and pushes by it"},
    {".git/modules/**/hooks/**", Guard::refused, "git", "git runs hooks of the submodule"},
    {".git/modules/**/config", Guard::refused, "git", "git runs programs that the submodule's settings name"},
    {".git/modules/**/config.lock", Guard::refused, "git", "becomes the submodule's settings"},
    {".git/modules/**/config.worktree", Guard::refused, "git", "git runs programs that it names"},
    {".git/modules/**/commondir", Guard::refused, "git", "git reads hooks and settings where it points"},
    {".git/modules/**/gitdir", Guard::refused, "git", "git reads hooks and settings where it points"},
    {".git/modules/**/info/attributes", Guard::refused, "git", "git runs filters and drivers that it names"},
    {".git/modules/**/objects/info/alternates", Guard::refused, "git", "git reads objects where it points"},
    {".git/rebase-merge/git-rebase-todo", Guard::reported, "git", "git rebase --continue runs its exec lines"},
    {".git/worktrees/*/rebase-merge/git-rebase-todo", Guard::reported, "git",
     "git rebase --continue runs its exec lines"},
    {".git/modules/**/rebase-merge/git-rebase-todo", Guard::reported, "git",
     "git rebase --continue runs its exec lines"},
    {".git/rebase-merge/head-name", Guard::reported, "git", "git rebase moves the branch that it names"},
    {".git/worktrees/*/rebase-merge/head-name", Guard::reported, "git", "git rebase moves the branch that it names"},
    {".git/rebase-apply/**", Guard::reported, "git", "git am --continue goes on with it"},
    {".git/worktrees/*/rebase-apply/**", Guard::reported, "git", "git am --continue goes on with it"},
    {".git/MERGE_HEAD", Guard::reported, "git", "the next commit takes what it names as a parent"},
    {".git/worktrees/*/MERGE_HEAD", Guard::reported, "git", "the next commit takes what it names as a parent"},
    {".git/sequencer/**", Guard::reported, "git", "git cherry-pick --continue goes on with it"},
    {".git/worktrees/*/sequencer/**", Guard::reported, "git", "git cherry-pick --continue goes on with it"},
    {".gitmodules", Guard::held, "git", "git submodule update fetches from where it says"},
    {".gitattributes", Guard::reported, "git", "chooses the filters and drivers that git runs"},
    {".gitconfig", Guard::refused, "git", "git runs programs that it names, where it is included"},
    {".lfsconfig", Guard::held, "git", "git lfs talks to the server that it names"},
    // hook managers
    {".husky/**", Guard::refused, "hooks", "git runs it through husky"},
    {".githooks/**", Guard::refused, "hooks", "the usual place of core.hooksPath: git runs it"},
    {".pre-commit-config.yaml", Guard::held, "hooks", "pre-commit runs what it names at each commit"},
    {".pre-commit-hooks.yaml", Guard::held, "hooks", "pre-commit runs what it names"},
    {"lefthook.yml", Guard::held, "hooks", "lefthook runs what it names at each commit"},
    {"lefthook.yaml", Guard::held, "hooks", "lefthook runs what it names at each commit"},
    {"lefthook.json", Guard::held, "hooks", "lefthook runs what it names at each commit"},
    {"lefthook.toml", Guard::held, "hooks", "lefthook runs what it names at each commit"},
    {".lefthook.toml", Guard::held, "hooks", "lefthook runs what it names at each commit"},
    {".git-hooks/**", Guard::refused, "hooks", "a usual place of core.hooksPath: git runs it"},
    {".lefthook.yml", Guard::held, "hooks", "lefthook runs what it names at each commit"},
    {"lefthook-local.yml", Guard::held, "hooks", "lefthook runs what it names at each commit"},
    {".overcommit.yml", Guard::held, "hooks", "overcommit runs what it names at each commit"},
    {".lintstagedrc*", Guard::held, "hooks", "lint-staged runs what it names at each commit"},
    {".captainhook.json", Guard::held, "hooks", "captainhook runs what it names"},
    // agents
    {".kiro/agents/**", Guard::refused, "agent", "an agent's tools, hooks and servers"},
    {".kiro/hooks/**", Guard::refused, "agent", "an agent runs it"},
    {".kiro/settings/**", Guard::refused, "agent", "an agent starts the servers that it names"},
    {".kiro/steering/**", Guard::held, "agent", "an agent takes it for instructions"},
    {".amazonq/**", Guard::refused, "agent", "an agent's settings and servers"},
    {".mcp.json", Guard::refused, "agent", "agents start the servers that it names"},
    {".claude/settings*", Guard::refused, "agent", "an agent's permissions and hooks"},
    {".claude/hooks/**", Guard::refused, "agent", "an agent runs it"},
    {".claude/agents/**", Guard::held, "agent", "an agent takes it for instructions"},
    {".claude/commands/**", Guard::held, "agent", "an agent takes it for instructions"},
    {".claude/skills/**", Guard::held, "agent", "an agent takes it for instructions, and runs scripts of it"},
    {".claude/plugins/**", Guard::refused, "agent", "an agent loads it"},
    {".codex/**", Guard::refused, "agent", "an agent's settings and servers"},
    {".cursor/mcp.json", Guard::refused, "agent", "an agent starts the servers that it names"},
    {".cursor/hooks*", Guard::refused, "agent", "an agent runs it"},
    {".cursor/cli.json", Guard::refused, "agent", "an agent's permissions"},
    {".cursor/environment.json", Guard::refused, "agent", "an agent runs its commands"},
    {".cursor/rules/**", Guard::held, "agent", "an agent takes it for instructions"},
    {".cursorrules", Guard::held, "agent", "an agent takes it for instructions"},
    {".gemini/**", Guard::refused, "agent", "an agent's settings and servers"},
    {".qwen/**", Guard::refused, "agent", "an agent's settings and servers"},
    {".opencode/**", Guard::refused, "agent", "an agent's settings, plug-ins and servers"},
    {"opencode.json*", Guard::refused, "agent", "an agent's settings and servers"},
    {".crush.json", Guard::refused, "agent", "an agent's settings and servers"},
    {"crush.json", Guard::refused, "agent", "an agent's settings and servers"},
    {".goose*", Guard::held, "agent", "an agent takes it for instructions"},
    {".aider.conf.yml", Guard::refused, "agent", "an agent runs the commands that it names"},
    {".continue/**", Guard::refused, "agent", "an agent's settings and servers"},
    {".roo/mcp.json", Guard::refused, "agent", "an agent starts the servers that it names"},
    {".roo/**", Guard::held, "agent", "an agent takes it for instructions"},
    {".clinerules*", Guard::held, "agent", "an agent takes it for instructions"},
    {".windsurf/**", Guard::held, "agent", "an agent takes it for instructions"},
    {".windsurfrules", Guard::held, "agent", "an agent takes it for instructions"},
    {".junie/mcp/**", Guard::refused, "agent", "an agent starts the servers that it names"},
    {".junie/**", Guard::held, "agent", "an agent takes it for instructions"},
    {".trae/**", Guard::held, "agent", "an agent takes it for instructions"},
    {".github/hooks/**", Guard::held, "agent", "an agent runs it"},
    {".factory/**", Guard::refused, "agent", "an agent's settings, hooks and servers"},
    {".kilocode/mcp.json", Guard::refused, "agent", "an agent starts the servers that it names"},
    {".kilocode/**", Guard::held, "agent", "an agent takes it for instructions"},
    {".openhands/**", Guard::refused, "agent", "an agent runs its set-up"},
    {".amp/**", Guard::refused, "agent", "an agent's settings and servers"},
    {".augment/**", Guard::held, "agent", "an agent takes it for instructions"},
    {".agents/**", Guard::held, "agent", "agents take it for instructions"},
    {".github/copilot*", Guard::held, "agent", "an agent takes it for instructions"},
    {".oncelatch*", Guard::refused, "agent", "settings of this program"},
    {"AGENTS.md", Guard::held, "agent", "agents take it for instructions"},
    {"AGENTS.override.md", Guard::held, "agent", "agents take it for instructions"},
    {"CLAUDE.md", Guard::held, "agent", "an agent takes it for instructions"},
    {"CLAUDE.local.md", Guard::held, "agent", "an agent takes it for instructions"},
    {"GEMINI.md", Guard::held, "agent", "an agent takes it for instructions"},
    // editors
    {".vscode/settings.json", Guard::refused, "editor", "the editor starts programs that it names"},
    {".vscode/tasks.json", Guard::refused, "editor", "the editor runs its tasks, some when the folder is opened"},
    {".vscode/launch.json", Guard::refused, "editor", "the editor runs what it names"},
    {".vscode/mcp.json", Guard::refused, "editor", "the editor starts the servers that it names"},
    {".vscode/extensions.json", Guard::held, "editor", "the editor proposes the extensions that it names"},
    {".vscode/**", Guard::held, "editor", "settings of the editor"},
    {"*.code-workspace", Guard::refused, "editor", "the editor starts programs that it names"},
    {".idea/**", Guard::refused, "editor", "the editor runs what it names"},
    {".run/**", Guard::refused, "editor", "the editor runs what it names"},
    {".fleet/**", Guard::refused, "editor", "the editor runs what it names"},
    {".vs/**", Guard::refused, "editor", "the editor runs what it names"},
    {".theia/**", Guard::refused, "editor", "the editor runs its tasks"},
    {".nova/**", Guard::refused, "editor", "the editor runs its tasks"},
    {".externalToolBuilders/**", Guard::refused, "editor", "the editor runs it at each build"},
    {".ycm_extra_conf.py", Guard::refused, "editor", "vim's completion runs it"},
    {".zed/**", Guard::refused, "editor", "the editor starts programs that it names"},
    {".devcontainer/**", Guard::refused, "editor", "the editor builds and starts a container from it"},
    {".devcontainer.json", Guard::refused, "editor", "the editor builds and starts a container from it"},
    {".gitpod.yml", Guard::held, "editor", "a workspace runs its tasks"},
    {".exrc", Guard::refused, "editor", "vi runs its commands where exrc is set"},
    {".vimrc", Guard::refused, "editor", "vim runs its commands where exrc is set"},
    {".nvimrc", Guard::refused, "editor", "nvim runs its commands where exrc is set"},
    {".nvim.lua", Guard::refused, "editor", "nvim runs it where exrc is set"},
    {".lvimrc", Guard::refused, "editor", "vim runs it through localvimrc"},
    {".vim/**", Guard::refused, "editor", "vim runs it through a local rtp"},
    {".dir-locals.el", Guard::refused, "editor", "emacs evaluates it"},
    {".dir-locals-2.el", Guard::refused, "editor", "emacs evaluates it"},
    {".sublime-project", Guard::refused, "editor", "the editor runs its build systems"},
    {"*.sublime-project", Guard::refused, "editor", "the editor runs its build systems"},
    {".helix/**", Guard::refused, "editor", "the editor starts programs that it names"},
    {".kakrc", Guard::refused, "editor", "kakoune runs it"},
    // shells and their helpers
    {".envrc", Guard::refused, "shell", "direnv runs it when a shell enters the directory"},
    {".envrc.*", Guard::held, "shell", "direnv runs it where another includes it"},
    {".direnv/**", Guard::refused, "shell", "direnv runs what it kept there"},
    {".devenv/**", Guard::refused, "shell", "a shell runs what it kept there"},
    {".env", Guard::reported, "shell", "tools take their settings from it"},
    {".mise.toml", Guard::refused, "shell", "mise sets variables and runs hooks when a shell enters"},
    {"mise.toml", Guard::refused, "shell", "mise sets variables and runs hooks when a shell enters"},
    {"mise.*.toml", Guard::refused, "shell", "mise sets variables and runs hooks when a shell enters"},
    {".mise.*.toml", Guard::refused, "shell", "mise sets variables and runs hooks when a shell enters"},
    {"mise/config*.toml", Guard::refused, "shell", "mise sets variables and runs hooks when a shell enters"},
    {".config/mise/**", Guard::refused, "shell", "mise sets variables and runs hooks when a shell enters"},
    {".config/mise*.toml", Guard::refused, "shell", "mise sets variables and runs hooks when a shell enters"},
    {".mise/**", Guard::refused, "shell", "mise sets variables and runs hooks when a shell enters"},
    {".rtx.toml", Guard::refused, "shell", "mise sets variables and runs hooks when a shell enters"},
    {".tool-versions", Guard::held, "shell", "asdf and mise choose the programs to run by it"},
    {".autoenv*", Guard::refused, "shell", "autoenv runs it when a shell enters the directory"},
    {".bashrc", Guard::refused, "shell", "a shell runs it"},
    {".bash_profile", Guard::refused, "shell", "a shell runs it"},
    {".bash_login", Guard::refused, "shell", "a shell runs it"},
    {".bash_logout", Guard::refused, "shell", "a shell runs it"},
    {".bash_aliases", Guard::refused, "shell", "a shell runs it"},
    {".profile", Guard::refused, "shell", "a shell runs it"},
    {".zshenv", Guard::refused, "shell", "a shell runs it"},
    {".zshrc", Guard::refused, "shell", "a shell runs it"},
    {".zprofile", Guard::refused, "shell", "a shell runs it"},
    {".zlogin", Guard::refused, "shell", "a shell runs it"},
    {".zlogout", Guard::refused, "shell", "a shell runs it"},
    {".inputrc", Guard::refused, "shell", "a shell binds keys by it"},
    {".tmux.conf", Guard::refused, "shell", "tmux runs commands that it names"},
    {".screenrc", Guard::refused, "shell", "screen runs commands that it names"},
    {".gdbinit", Guard::refused, "shell", "gdb runs its commands"},
    {".lldbinit", Guard::refused, "shell", "lldb runs its commands"},
    {".pdbrc", Guard::refused, "shell", "pdb runs it"},
    {".ssh/**", Guard::refused, "shell", "ssh runs programs that its settings name, and lets keys in"},
    // continuous integration
    {".github/workflows/**", Guard::held, "ci", "runs with the repository's secrets"},
    {".github/actions/**", Guard::held, "ci", "runs with the repository's secrets"},
    {".github/dependabot.yml", Guard::held, "ci", "lets a service change the repository"},
    {".gitlab-ci.yml", Guard::held, "ci", "runs with the repository's secrets"},
    {".gitlab/ci/**", Guard::held, "ci", "runs with the repository's secrets"},
    {".circleci/**", Guard::held, "ci", "runs with the repository's secrets"},
    {".buildkite/**", Guard::held, "ci", "runs with the repository's secrets"},
    {".travis.yml", Guard::held, "ci", "runs with the repository's secrets"},
    {".drone.yml", Guard::held, "ci", "runs with the repository's secrets"},
    {".woodpecker*", Guard::held, "ci", "runs with the repository's secrets"},
    {".woodpecker/**", Guard::held, "ci", "runs with the repository's secrets"},
    {".forgejo/workflows/**", Guard::held, "ci", "runs with the repository's secrets"},
    {".gitea/workflows/**", Guard::held, "ci", "runs with the repository's secrets"},
    {".teamcity/**", Guard::held, "ci", "runs with the repository's secrets"},
    {".cirrus.yml", Guard::held, "ci", "runs with the repository's secrets"},
    {"azure-pipelines*.yml", Guard::held, "ci", "runs with the repository's secrets"},
    {"bitbucket-pipelines.yml", Guard::held, "ci", "runs with the repository's secrets"},
    {"Jenkinsfile*", Guard::held, "ci", "runs with the repository's secrets"},
    {"appveyor.yml", Guard::held, "ci", "runs with the repository's secrets"},
    {"CODEOWNERS", Guard::held, "ci", "says who must review a change"},
    // builds and task runners
    {"Makefile", Guard::held_if_strict, "build", "make runs it"},
    {"GNUmakefile", Guard::held_if_strict, "build", "make runs it before Makefile"},
    {"*.mk", Guard::held_if_strict, "build", "make runs it where it is included"},
    {"CMakeLists.txt", Guard::held_if_strict, "build", "cmake runs it"},
    {"*.cmake", Guard::held_if_strict, "build", "cmake runs it"},
    {"CMakePresets.json", Guard::held_if_strict, "build", "cmake follows it"},
    {"CMakeUserPresets.json", Guard::held_if_strict, "build", "cmake follows it"},
    {"meson.build", Guard::held_if_strict, "build", "meson runs it"},
    {"configure", Guard::held_if_strict, "build", "a build runs it"},
    {"Dockerfile*", Guard::held_if_strict, "build", "an image is built by it"},
    {"Containerfile*", Guard::held_if_strict, "build", "an image is built by it"},
    {"docker-compose*.y*ml", Guard::held_if_strict, "build", "containers are started by it"},
    {"compose*.y*ml", Guard::held_if_strict, "build", "containers are started by it"},
    {"justfile", Guard::held_if_strict, "build", "just runs it"},
    {"Taskfile.y*ml", Guard::held_if_strict, "build", "task runs it"},
    {"Rakefile", Guard::held_if_strict, "build", "rake runs it"},
    {"Vagrantfile", Guard::held_if_strict, "build", "vagrant runs it"},
    {"SConstruct", Guard::held_if_strict, "build", "scons runs it"},
    {"wscript", Guard::held_if_strict, "build", "waf runs it"},
    {"BUILD", Guard::held_if_strict, "build", "bazel runs it"},
    {"BUILD.bazel", Guard::held_if_strict, "build", "bazel runs it"},
    {"WORKSPACE", Guard::held_if_strict, "build", "bazel runs it"},
    {"MODULE.bazel", Guard::held_if_strict, "build", "bazel runs it"},
    {".bazelrc", Guard::held_if_strict, "build", "bazel takes its options from it"},
    {"build.rs", Guard::held_if_strict, "build", "cargo runs it"},
    {".cargo/config*", Guard::held, "build", "cargo runs programs that it names"},
    {"rust-toolchain*", Guard::held, "build", "rustup fetches and runs the toolchain that it names"},
    {"build.gradle*", Guard::held_if_strict, "build", "gradle runs it"},
    {"settings.gradle*", Guard::held_if_strict, "build", "gradle runs it"},
    {"init.gradle*", Guard::held_if_strict, "build", "gradle runs it"},
    {"gradlew*", Guard::held_if_strict, "build", "a build runs it"},
    {"gradle/wrapper/**", Guard::held, "build", "gradlew fetches and runs what it names"},
    {"mvnw*", Guard::held_if_strict, "build", "a build runs it"},
    {".mvn/**", Guard::held, "build", "maven loads what it names"},
    {"pom.xml", Guard::held_if_strict, "build", "maven runs its plug-ins"},
    {"build.xml", Guard::held_if_strict, "build", "ant runs it"},
    {"flake.nix", Guard::held_if_strict, "build", "nix evaluates it"},
    {"shell.nix", Guard::held_if_strict, "build", "nix evaluates it"},
    {"default.nix", Guard::held_if_strict, "build", "nix evaluates it"},
    // packages and interpreters
    {"package.json", Guard::held, "package", "package managers run its scripts"},
    {".npmrc", Guard::held, "package", "npm takes registries, keys and the script shell from it"},
    {".yarnrc*", Guard::held, "package", "yarn runs the release that it names"},
    {".yarn/releases/**", Guard::held, "package", "yarn runs it in its own place"},
    {".yarn/plugins/**", Guard::held, "package", "yarn loads it"},
    {".pnpmfile.cjs", Guard::held, "package", "pnpm runs it"},
    {"bunfig.toml", Guard::held, "package", "bun loads what it names"},
    {"deno.json*", Guard::held, "package", "deno runs its tasks"},
    {"setup.py", Guard::held_if_strict, "package", "pip runs it"},
    {"setup.cfg", Guard::held_if_strict, "package", "python tools follow it"},
    {"pyproject.toml", Guard::held_if_strict, "package", "python tools follow it, and build by what it names"},
    {"conftest.py", Guard::held_if_strict, "package", "pytest runs it"},
    {"tox.ini", Guard::held_if_strict, "package", "tox runs its commands"},
    {"noxfile.py", Guard::held_if_strict, "package", "nox runs it"},
    {"tasks.py", Guard::held_if_strict, "package", "invoke runs it"},
    {"manage.py", Guard::held_if_strict, "package", "django runs it"},
    {"sitecustomize.py", Guard::held, "package", "python runs it at each start"},
    {"usercustomize.py", Guard::held, "package", "python runs it at each start"},
    {"*.pth", Guard::held, "package", "python runs its import lines at each start"},
    {"pip.conf", Guard::held, "package", "pip fetches from where it says"},
    {".pypirc", Guard::held, "package", "uploads go where it says"},
    {"Gemfile", Guard::held_if_strict, "package", "bundler evaluates it"},
    {".bundle/config", Guard::held, "package", "bundler follows it"},
    {"*.gemspec", Guard::held_if_strict, "package", "rubygems evaluates it"},
    {".irbrc", Guard::held, "package", "irb runs it"},
    {".ocamlinit", Guard::held, "package", "ocaml runs it at each start"},
    {".ghci", Guard::held, "package", "ghci runs it at each start"},
    {".iex.exs", Guard::held, "package", "iex runs it at each start"},
    {".octaverc", Guard::held, "package", "octave runs it at each start"},
    {".erlang", Guard::held, "package", "erl runs it at each start"},
    {".pylintrc", Guard::held_if_strict, "package", "pylint runs the lines and loads the plug-ins that it names"},
    {".rubocop.yml", Guard::held_if_strict, "package", "rubocop loads what it names"},
    {".pryrc", Guard::held, "package", "pry runs it"},
    {"composer.json", Guard::held, "package", "composer runs its scripts"},
    {"Cargo.toml", Guard::held_if_strict, "package", "cargo builds by it"},
    {"go.work", Guard::held_if_strict, "package", "go builds by it"},
    {".Rprofile", Guard::held, "package", "R runs it at each start"},
    {".Renviron", Guard::held, "package", "R follows it at each start"},
    {".venv/bin/**", Guard::reported, "package", "runs in place of the host's program of that name"},
    {"venv/bin/**", Guard::reported, "package", "runs in place of the host's program of that name"},
    {"node_modules/.bin/**", Guard::reported, "package", "runs in place of the host's program of that name"},
    {"vendor/bin/**", Guard::reported, "package", "runs in place of the host's program of that name"},
};

// NTFS knows ".git" by its short name as well.
bool is_short_git(const char* pattern, const char* name) {
  const char* end = component_end(pattern);
  return end - pattern == 4 && pattern[0] == '.' && pattern[1] == 'g' && pattern[2] == 'i' && pattern[3] == 't' &&
         matches_component("git~1", name);
}

bool is_any_depth(const char* pattern) {
  return pattern[0] == '*' && pattern[1] == '*' && (pattern[2] == 0 || pattern[2] == '/');
}

bool matches(const char* pattern, const char* path);

// `rest` behind at least one component.
bool matches_below(const char* rest, const char* path) {
  for (path = component_end(path); *path != 0; path = component_end(path))
    if (matches(rest, ++path)) return true;
  return false;
}

// From `path`, a component's start, to the path's end.
bool matches(const char* pattern, const char* path) {
  for (;;) {
    if (is_any_depth(pattern)) return pattern[2] == 0 || matches_below(pattern + 3, path);
    if (!matches_component(pattern, path) && !is_short_git(pattern, path)) return false;
    pattern = component_end(pattern);
    path = component_end(path);
    if (*pattern == 0 || *path == 0) return *pattern == 0 && *path == 0;
    ++pattern;
    ++path;
  }
}

// The path ends where the pattern goes on.
bool matches_beginning(const char* pattern, const char* path) {
  for (;;) {
    if (is_any_depth(pattern)) return pattern[2] != 0;
    if (!matches_component(pattern, path) && !is_short_git(pattern, path)) return false;
    pattern = component_end(pattern);
    path = component_end(path);
    if (*path == 0) return *pattern != 0;
    if (*pattern == 0) return false;
    ++pattern;
    ++path;
  }
}

constexpr unsigned kRows = sizeof kNames / sizeof kNames[0];
constexpr unsigned kNoRow = kRows;
constexpr unsigned kAscii = 128;

constexpr char kGit[] = ".git/";
constexpr unsigned kGitSize = sizeof kGit - 1;

constexpr bool is_below_git(const char* pattern) {
  for (unsigned i = 0; i < kGitSize; ++i)
    if (pattern[i] != kGit[i]) return false;
  return true;
}

// Rows by the first character of their pattern, folded, or by the one behind ".git/": most names are told from all but
// a few by that.
struct RowsByFirst {
  unsigned head[kAscii] = {};
  unsigned next[kRows] = {};

  constexpr explicit RowsByFirst(bool below_git) {
    for (unsigned& one : head) one = kNoRow;
    for (unsigned row = kRows; row-- > 0;) {
      const char* pattern = kNames[row].pattern;
      if (below_git && (!is_below_git(pattern) || kNames[row].guard != Guard::refused)) continue;
      char first = pattern[below_git ? kGitSize : 0];
      if (first >= 'A' && first <= 'Z') first = static_cast<char>(first + ('a' - 'A'));
      next[row] = head[static_cast<unsigned>(first)];
      head[static_cast<unsigned>(first)] = row;
    }
  }
};
constexpr RowsByFirst kByFirst(false);
constexpr RowsByFirst kBelowGit(true);

// A wild card stands before a dot, which few names have. Another script's dot counts as one.
constexpr bool wild_rows_begin_with_dot() {
  for (const GuardedName& row : kNames)
    if (row.pattern[0] == '*' && row.pattern[1] != '.') return false;
  return true;
}
static_assert(wild_rows_begin_with_dot());

bool has_dot(const char* component) {
  for (; *component != 0 && *component != '/'; ++component)
    if (*component == '.' || static_cast<unsigned char>(*component) >= 0xe0) return true;
  return false;
}

void look_at_rows(unsigned row, const char* tail, const GuardedName*& best) {
  for (; row != kNoRow; row = kByFirst.next[row]) {
    const GuardedName& one = kNames[row];
    if ((best == nullptr || one.guard > best->guard) && matches(one.pattern, tail)) best = &one;
  }
}

}  // namespace

const GuardedName* guarded_name(const char* path) {
  const GuardedName* best = nullptr;
  for (const char* tail = path;; ++tail) {
    const char* ahead = tail;
    const std::uint32_t first = next_character(ahead);
    if (first < kAscii) look_at_rows(kByFirst.head[first], tail, best);
    if (first == 'g') look_at_rows(kByFirst.head[static_cast<unsigned>('.')], tail, best);  // NTFS's short form of .git
    if (has_dot(tail)) look_at_rows(kByFirst.head[static_cast<unsigned>('*')], tail, best);
    tail = component_end(tail);
    if (*tail == 0) return best;
  }
}

const GuardedName* guarded_name_below(const char* path) {
  const GuardedName* best = nullptr;
  for (const char* tail = path;; ++tail) {
    for (const GuardedName& row : kNames)
      if ((best == nullptr || row.guard > best->guard) && matches_beginning(row.pattern, tail)) best = &row;
    tail = component_end(tail);
    if (*tail == 0) return best;
  }
}

bool is_never_held(const char* path) {
  for (const char* at = path; *at != 0; at += *at == '/' ? 1 : 0) {
    if (matches_component("node_modules", at) || is_git_directory_name(at)) return true;
    at = component_end(at);
  }
  return false;
}

bool lies_in_git_directory(const char* path) {
  for (const char* at = path;; ++at) {
    const char* end = component_end(at);
    if (*end == 0) return false;
    if (is_git_directory_name(at)) return true;
    at = end;
  }
}

bool is_refused_in_git_directory(const char* path, bool below) {
  const char* ahead = path;
  const std::uint32_t first = next_character(ahead);
  if (first >= kAscii) return false;
  for (unsigned row = kBelowGit.head[first]; row != kNoRow; row = kBelowGit.next[row])
    if (const char* rest = kNames[row].pattern + kGitSize;
        matches(rest, path) || (below && matches_beginning(rest, path)))
      return true;
  return false;
}

bool is_git_directory_name(const char* component) {
  return matches_component(".git", component) || is_short_git(".git", component);
}

RepositoryPart repository_part(const char* component) {
  constexpr struct {
    const char* name;
    RepositoryPart part;
  } kParts[] = {{"HEAD", RepositoryPart::head},
                {"objects", RepositoryPart::objects},
                {"refs", RepositoryPart::refs},
                {"commondir", RepositoryPart::common_directory}};
  for (const auto& row : kParts)
    if (matches_component(row.name, component)) return row.part;
  return RepositoryPart::none;
}

const GuardedName* guarded_names(unsigned& count) {
  count = sizeof kNames / sizeof kNames[0];
  return kNames;
}

}  // namespace oncelatch::sandbox
