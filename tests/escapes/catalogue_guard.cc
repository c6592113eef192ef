// Part "workspace guard": what is left in the workspace and takes over the host later. Cases that need the host to act
// meanwhile are tests of their own (tests/launcher/guarded_workspace_test.cc).
#include "tests/escapes/catalogue.h"

namespace oncelatch::escapes {

namespace {

Attempt script(const std::string& text, const std::string& left) {
  return {"sh=cd {workspace} && " + text, "", false, left};
}

Attempt made(const std::string& name) {
  const std::string::size_type slash = name.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : name.substr(0, slash);
  return script("mkdir -p " + directory + " && echo x > " + name, name);
}

std::vector<Attempt> all_made(const std::vector<std::string>& names) {
  std::vector<Attempt> attempts;
  for (const std::string& name : names) attempts.push_back(made(name));
  return attempts;
}

// By a plain open(O_WRONLY) of what is there.
Attempt appended(const std::string& name) {
  return script("echo x | dd of=" + name + " conv=notrunc,nocreat oflag=append status=none", name);
}

Attempt written(const std::string& name) {
  return {"write={workspace}/" + name, "", false, name};
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
              {script("ln -s {outside}/new-1 e1 && echo x > e1", "{outside}/new-1"),
               script("ln -s {outside} e2 && echo x > e2/new-2", "{outside}/new-2"),
               script("ln -s {outside}/secret e6 && echo x >> e6", "{outside}/secret"),
               script("ln -s {outside}/new-3 e3 && ln -s e3 e4 && ln -s e4 e5 && echo x > e5", "{outside}/new-3")}),
      guarded("E003", "hard link to a file outside",
              {{"link={outside}/secret:{workspace}/linked", "", false, "linked"},
               script("exec 3<{outside}/secret && ln -L /proc/self/fd/3 linked-too", "linked-too")}),
      guarded("E005", "move an ancestor away and rebuild it",
              {script("mv .git .git2 && cp -r .git2 .git && echo x > .git/hooks/pre-commit", ".git/hooks/pre-commit"),
               script("mv .git .git2 && mv .git2 .git && echo x > .git/hooks/pre-commit", ".git/hooks/pre-commit"),
               script("cp -r .git .git3 && echo x > .git3/hooks/pre-commit && rm -rf .git && mv .git3 .git",
                      ".git/hooks/pre-commit"),
               script("mv a a2 && cp -r a2 a && echo x > a/b/c/.git/hooks/post-merge", "a/b/c/.git/hooks/post-merge"),
               script("mv a a3 && echo x > a3/b/c/.git/hooks/post-merge && mv a3 a", "a/b/c/.git/hooks/post-merge")}),
      guarded("E007", "move into and out of a protected directory",
              {{"rename={workspace}/.git/hooks/pre-push.sample:{workspace}/sample", "", false,
                ".git/hooks/pre-push.sample sample"},
               {"rename={workspace}/.git/hooks/pre-push.sample:{workspace}/.git/hooks/pre-push", "", false,
                ".git/hooks/pre-push"},
               script("echo x > prepared && mv prepared .git/hooks/pre-push", ".git/hooks/pre-push"),
               {"link={workspace}/file:{workspace}/.git/hooks/pre-rebase", "", false, ".git/hooks/pre-rebase"},
               script("ln -s ../../file .git/hooks/pre-commit", ".git/hooks/pre-commit"),
               script("mkdir -p p/hooks && echo x > p/hooks/pre-commit && mkdir q && mv p q/.git", "q/.git")}),
      guarded("E020", "other case of a name",
              all_made({"e20/.GIT/config", "e20/b/.Git/HOOKS/pre-commit", "e20/.Envrc", "e20/.VSCode/Tasks.json",
                        "e20/.git./config", "e20/GIT~1/config", "e20/.g\xe2\x80\x8cit/config", "e20/.ENVRC.",
                        ".GIT/HOOKS/pre-commit", ".git/HOOKS/pre-commit", ".git/Config.Worktree"})),
      guarded("E022", "other spelling of a path",
              {script("mkdir -p e22 && echo x > e22/../.envrc", ".envrc"), script("echo x > .//.envrc", ".envrc"),
               script("echo x > /proc/self/cwd/.envrc", ".envrc"),
               script("exec 7<. && echo x > /proc/self/fd/7/.envrc", ".envrc"),
               script("mkdir -p e22 && ln -s .. e22/up && echo x > e22/up/.envrc", ".envrc"),
               script("ln -s .envrc e22-link && echo x > e22-link", ".envrc"),
               script("echo x > {workspace}/../workspace/.envrc", ".envrc")}),
      guarded(
          "E029", "write a hook",
          {written(".git/hooks/pre-commit"), written(".git/hooks/post-checkout"),
           written(".git/hooks/reference-transaction"), written(".git/hooks/fsmonitor-watchman"),
           script("cp /bin/true .git/hooks/post-merge", ".git/hooks/post-merge"),
           script("rm -r .git/hooks && mkdir .git/hooks && echo x > .git/hooks/pre-commit", ".git/hooks/pre-commit")}),
      guarded("E030", "change the repository's settings",
              {appended(".git/config"),
               {"truncate={workspace}/.git/config", "", false, ".git/config"},
               script("echo '[core] fsmonitor=x' > c && mv c .git/config", ".git/config"),
               script("git -c safe.directory=* config core.fsmonitor x", ".git/config"),
               script("echo x > c && ln -f c .git/config", ".git/config"),
               written(".git/config.worktree"),
               written(".git/commondir"),
               made(".git/info/attributes"),
               made(".git/objects/info/alternates")}),
      guarded("E031", "make a repository where there is none",
              {script("mkdir -p e31 && git init -q e31", "e31/.git"),
               script("mkdir -p e31b && echo 'gitdir: ../evil' > e31b/.git", "e31b/.git"),
               script("mkdir -p e31c && ln -s ../evil e31c/.git", "e31c/.git"),
               script("mkdir e31d && cp -r .git/objects .git/refs .git/HEAD e31d", "e31d/HEAD+e31d/objects+e31d/refs"),
               script("git init -q --bare e31e", "e31e/HEAD+e31e/objects+e31e/refs")}),
      guarded(
          "E032", "make one in a sub-directory",
          {script("mkdir -p e32/proj && cd e32/proj && git init -q . && git config core.fsmonitor x",
                  "e32/proj/.git/HEAD e32/proj/.git/config"),
           script("mkdir -p e32/more && git init -q e32/other && mv e32/other e32/more/moved", "e32/more/moved/.git")}),
      guarded("E034", "hooks of a repository deep below",
              {appended("a/b/c/.git/config"), written("a/b/c/.git/hooks/post-checkout"),
               script("rm a/b/c/.git/config && echo x > a/b/c/.git/config", "a/b/c/.git/config"),
               written("a/b/c/.git/config.worktree"),
               script("mv a/b/c/.git a/b/c/g && echo x > a/b/c/g/hooks/pre-commit && mv a/b/c/g a/b/c/.git",
                      "a/b/c/.git/hooks/pre-commit")}),
      guarded("E035", "turn a pointer to another repository",
              {appended("sub/.git"),
               {"rename={workspace}/sub/.git:{workspace}/sub/g", "", false, "sub/.git"},
               script("echo 'gitdir: {workspace}/evil' > p35 && mv p35 sub/.git", "sub/.git"),
               script("rm sub/.git && echo 'gitdir: {workspace}/evil' > sub/.git", "sub/.git"),
               script("rm sub/.git && mkdir sub/.git && echo x > sub/.git/config", "sub/.git/config")}),
      guarded("E037", "by a submodule's directory",
              {appended(".git/modules/m/config"), written(".git/modules/m/hooks/post-checkout"),
               written(".git/modules/m/config.worktree"),
               script("mkdir -p .git/modules/n && echo x > .git/modules/n/config", ".git/modules/n/config"),
               script("mkdir -p .git/modules/a/b/hooks && echo x > .git/modules/a/b/hooks/pre-commit",
                      ".git/modules/a/b/hooks/pre-commit")}),
      guarded("E041", "settings of agents",
              all_made({".kiro/settings/mcp.json", ".kiro/agents/x.json", ".kiro/hooks/x", ".mcp.json",
                        ".claude/settings.json", ".claude/settings.local.json", ".codex/config.toml",
                        ".cursor/mcp.json", ".gemini/settings.json", "deep/er/.mcp.json"})),
      guarded("E042", "settings of editors",
              all_made({".vscode/settings.json", ".vscode/tasks.json", ".vscode/launch.json", ".idea/workspace.xml",
                        "x.code-workspace", ".devcontainer/devcontainer.json", "deep/.vscode/tasks.json", ".exrc"})),
      guarded("E044", "start-up files of the home",
              {{"write={home}/.bashrc", "", false, "{home}/.bashrc"},
               {"write={home}/.ssh/authorized_keys", "", false, "{home}/.ssh/authorized_keys"},
               {"write={home}/.config/systemd-unit.service", "", false, "{home}/.config/systemd-unit.service"},
               script("echo x > .bashrc", ".bashrc"),
               script("echo x > .profile", ".profile")}),
  };
}

}  // namespace oncelatch::escapes
