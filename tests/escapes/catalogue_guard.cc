// Part "workspace guard": what is left in the workspace and takes over the host later. Cases that need the host to act
// meanwhile, or a look at what was left, are tests of their own (tests/launcher/guarded_workspace_test.cc).
#include "tests/escapes/catalogue.h"

namespace oncelatch::escapes {

namespace {

Attempt script(const std::string& text) {
  return {"sh=cd {workspace} && " + text};
}

Attempt made(const std::string& name) {
  const std::string::size_type slash = name.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : name.substr(0, slash);
  return script("mkdir -p " + directory + " && echo x > " + name);
}

std::vector<Attempt> all_made(const std::vector<std::string>& names) {
  std::vector<Attempt> attempts;
  for (const std::string& name : names) attempts.push_back(made(name));
  return attempts;
}

const std::string kWork =
    "sh=cd {workspace} && mkdir -p w && echo x > w/f && mv w/f w/g && ln w/g w/h && ln -s g w/l && "
    "echo y >> w/l && grep -q y w/h && rm -r w";

Case guarded(const char* id, const char* technique, std::vector<Attempt> attempts) {
  return {.id = id, .technique = technique, .attempts = std::move(attempts), .work = {kWork}};
}

}  // namespace

std::vector<Case> guard_cases() {
  return {
      guarded("E001", "write through a link that leads out",
              {script("ln -s {outside}/new-1 e1 && echo x > e1"), script("ln -s {outside} e2 && echo x > e2/new-2"),
               script("ln -s {outside}/new-3 e3 && ln -s e3 e4 && ln -s e4 e5 && echo x > e5")}),
      guarded("E003", "hard link to a file outside",
              {{"link={outside}/secret:{workspace}/linked"},
               script("exec 3<{outside}/secret && ln -L /proc/self/fd/3 linked-too")}),
      guarded("E005", "move an ancestor away and rebuild it",
              {script("mv .git .git2 && cp -r .git2 .git && echo x > .git/hooks/pre-commit"),
               script("mv a a2 && cp -r a2 a && echo x > a/b/c/.git/hooks/post-merge")}),
      guarded("E007", "move into and out of a protected directory",
              {{"rename={workspace}/.git/hooks/pre-push.sample:{workspace}/sample"},
               script("echo x > prepared && mv prepared .git/hooks/pre-push"),
               {"link={workspace}/file:{workspace}/.git/hooks/pre-rebase"},
               script("mkdir -p p/hooks && echo x > p/hooks/pre-commit && mkdir q && mv p q/.git")}),
      guarded("E020", "other case of a name",
              all_made({"e20/.GIT/config", "e20/b/.Git/HOOKS/pre-commit", "e20/.Envrc", "e20/.VSCode/Tasks.json"})),
      guarded("E022", "other spelling of a path",
              {script("mkdir -p e22 && echo x > e22/../.envrc"), script("echo x > .//.envrc"),
               script("echo x > /proc/self/cwd/.envrc"),
               script("mkdir -p e22 && ln -s .. e22/up && echo x > e22/up/.envrc"),
               script("echo x > {workspace}/../workspace/.envrc")}),
      guarded("E029", "write a hook",
              {{"write={workspace}/.git/hooks/pre-commit"},
               {"write={workspace}/.git/hooks/post-checkout"},
               {"write={workspace}/.git/hooks/reference-transaction"},
               {"write={workspace}/.git/hooks/fsmonitor-watchman"},
               script("cp /bin/true .git/hooks/post-merge")}),
      guarded("E030", "change the repository's settings",
              {{"append={workspace}/.git/config"},
               {"truncate={workspace}/.git/config"},
               script("echo '[core] fsmonitor=x' > c && mv c .git/config"),
               script("git -c safe.directory=* config core.fsmonitor x"),
               {"write={workspace}/.git/config.worktree"},
               {"write={workspace}/.git/commondir"}}),
      guarded("E031", "make a repository where there is none",
              {script("mkdir -p e31 && git init -q e31"), script("mkdir -p e31b && echo 'gitdir: ../evil' > e31b/.git"),
               script("mkdir -p e31c && ln -s ../evil e31c/.git"),
               script("mkdir e31d && cp -r .git/objects .git/refs .git/HEAD e31d")}),
      guarded("E032", "make one in a sub-directory",
              {script("mkdir -p e32/proj && cd e32/proj && git init -q . && git config core.fsmonitor x")}),
      guarded("E034", "hooks of a repository deep below",
              {{"append={workspace}/a/b/c/.git/config"},
               {"write={workspace}/a/b/c/.git/hooks/post-checkout"},
               script("rm a/b/c/.git/config && echo x > a/b/c/.git/config")}),
      guarded("E035", "turn a pointer to another repository",
              {{"append={workspace}/sub/.git"},
               {"rename={workspace}/sub/.git:{workspace}/sub/g"},
               script("echo 'gitdir: {workspace}/evil' > p35 && mv p35 sub/.git")}),
      guarded("E037", "by a submodule's directory",
              {{"append={workspace}/.git/modules/m/config"},
               {"write={workspace}/.git/modules/m/hooks/post-checkout"},
               script("mkdir -p .git/modules/n && echo x > .git/modules/n/config")}),
      guarded("E041", "settings of agents",
              all_made({".kiro/settings/mcp.json", ".kiro/agents/x.json", ".kiro/hooks/x", ".mcp.json",
                        ".claude/settings.json", ".claude/settings.local.json", ".codex/config.toml",
                        ".cursor/mcp.json", ".gemini/settings.json", "deep/er/.mcp.json"})),
      guarded("E042", "settings of editors",
              all_made({".vscode/settings.json", ".vscode/tasks.json", ".vscode/launch.json", ".idea/workspace.xml",
                        "x.code-workspace", ".devcontainer/devcontainer.json", "deep/.vscode/tasks.json", ".exrc"})),
      guarded("E044", "start-up files of the home",
              {{"write={home}/.bashrc"},
               {"write={home}/.ssh/authorized_keys"},
               {"write={home}/.config/systemd-unit.service"},
               script("echo x > .bashrc"),
               script("echo x > .profile")}),
  };
}

}  // namespace oncelatch::escapes
