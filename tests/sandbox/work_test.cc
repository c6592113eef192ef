// Ordinary work that must go on inside.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/sandbox/lab.h"
#include "tests/sandbox/must_confine.h"

namespace oncelatch::sandbox {

namespace {

class Work : public testing::TestWithParam<Launch> {
 protected:
  void SetUp() override { REQUIRE_CONFINEMENT(); }
};
INSTANTIATE_TEST_SUITE_P(Launches, Work, testing::ValuesIn(possible_launches()), launch_name);

bool installed(const char* path) {
  return ::access(path, X_OK) == 0;
}

Seen shell(const Lab& lab, const std::string& script, const std::vector<std::string>& options = {}) {
  return lab.run({"/bin/sh", "-c", script}, options);
}

TEST_P(Work, Pipelines) {
  Lab lab(GetParam());
  Seen seen =
      shell(lab, "printf 'b\\na\\n' | sort | tr a-z A-Z; echo x | cat > file && cat file; ls /dev/fd >/dev/null");
  EXPECT_EQ(seen.out, "A\nB\nx\n") << seen.err;
  EXPECT_EQ(seen.code, 0);
  EXPECT_EQ(seen.err, "");
}

TEST_P(Work, WorkspaceIsTheWorkingDirectoryAndWritable) {
  Lab lab(GetParam());
  Seen seen = shell(
      lab,
      "pwd; mkdir -p a/b && mv a c && ln -s c d && echo text > d/b/new && ln d/b/new hard && rm hard; cat c/b/new");
  EXPECT_EQ(seen.out, lab.workspace() + "\ntext\n") << seen.err;
  std::ifstream written(lab.workspace() + "/c/b/new");
  std::string word;
  written >> word;
  EXPECT_EQ(word, "text");
}

TEST_P(Work, DevicesAndTemporaryFiles) {
  Lab lab(GetParam());
  Seen seen = shell(
      lab,
      "head -c 4 /dev/zero | wc -c; echo gone > /dev/null; head -c 3 /dev/urandom | wc -c; f=$(mktemp); echo t > $f; "
      "cat $f; case $f in /tmp/*) echo private;; esac; echo s > /dev/shm/x && cat /dev/shm/x; echo word | cat "
      "/dev/stdin; "
      "test -e /proc/self/status && echo proc; touch /var/tmp/x ~/y && echo touched");
  EXPECT_EQ(seen.out, "4\n3\nt\nprivate\ns\nword\nproc\ntouched\n") << seen.err;
}

// As the owner of its streams' pipes: an ordinary launcher made them itself, root hands them over. (Where root's tests
// start an ordinary launcher, the pipes are the tests' own, so root's.)
class Streams : public Work {};
std::vector<Launch> launches_with_own_pipes() {
  std::vector<Launch> launches = possible_launches();
  if (launches.size() > 1) launches.pop_back();
  return launches;
}
INSTANTIATE_TEST_SUITE_P(Launches, Streams, testing::ValuesIn(launches_with_own_pipes()), launch_name);

TEST_P(Streams, CanBeOpenedByName) {
  Lab lab(GetParam());
  Seen seen = shell(lab, "echo out > /dev/stdout; echo err > /dev/stderr");
  EXPECT_EQ(seen.out, "out\n");
  EXPECT_EQ(seen.err, "err\n");
}

TEST_P(Work, NamesAndIdentity) {
  Lab lab(GetParam());
  Seen seen = shell(
      lab, "id -u; id -g; uname -n; cat /etc/hostname; getent passwd $(id -u) | cut -d: -f6; grep -c . /etc/passwd");
  std::string uid = std::to_string(lab.uid());
  std::string accounts = lab.uid() == 0 ? "2" : "3";
  EXPECT_EQ(seen.out, uid + "\n" + uid + "\noncelatch\noncelatch\n/home/agent\n" + accounts + "\n") << seen.err;
}

TEST_P(Work, Compiler) {
  if (!installed("/usr/bin/gcc")) SKIP_OR_FAIL("no gcc here");
  Lab lab(GetParam());
  lab.write("hello.c", "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 7; }\n");
  Seen seen = shell(lab, "gcc -o hello hello.c && ./hello");
  EXPECT_EQ(seen.out, "hello\n") << seen.err;
  EXPECT_EQ(seen.code, 7);
}

TEST_P(Work, Python) {
  if (!installed("/usr/bin/python3")) SKIP_OR_FAIL("no python3 here");
  Lab lab(GetParam());
  Seen seen = lab.run({"/usr/bin/python3", "-c",
                       "import os, subprocess, tempfile, multiprocessing, threading, ssl\n"
                       "t = threading.Thread(target=lambda: print('thread')); t.start(); t.join()\n"
                       "print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout.strip())\n"
                       "print(multiprocessing.Queue() is not None, open('/dev/null').isatty())\n"});
  EXPECT_EQ(seen.out, "thread\nchild\nTrue False\n") << seen.err;
}

TEST_P(Work, Git) {
  if (!installed("/usr/bin/git")) SKIP_OR_FAIL("no git here");
  Lab lab(GetParam());
  lab.make_repository();
  Seen seen =
      shell(lab,
            "echo 1 > f && git add f && "
            "git commit -q -m one && git log --format=%s && git status --short --untracked-files=no && git gc -q && "
            "git fsck");
  EXPECT_EQ(seen.out, "one\n") << seen.err;
  EXPECT_EQ(seen.code, 0) << seen.err;
}

TEST_P(Work, Node) {
  if (!installed("/usr/bin/node")) SKIP_OR_FAIL("no node here");
  Lab lab(GetParam());
  Seen seen = lab.run({"/usr/bin/node", "-e", "console.log(require('os').cpus().length, process.execPath)"});
  EXPECT_EQ(seen.out, std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)) + " /usr/bin/node\n") << seen.err;
}

TEST_P(Work, ScriptsRunByPath) {
  Lab lab(GetParam());
  std::ofstream(lab.outside() + "/tool") << "#!/bin/sh\necho \"$0 $1\"; . \"$(dirname \"$0\")/sibling\"\n";
  std::ofstream(lab.outside() + "/sibling") << "echo sibling\n";
  std::filesystem::permissions(lab.outside() + "/tool", std::filesystem::perms(0755));
  Seen seen = lab.run({"tool", "word"}, {"--bind", lab.outside() + ":/opt/tool:ro", "--inside", "/opt/tool/tool",
                                         "--program", lab.outside() + "/tool"});
  EXPECT_EQ(seen.out, "/opt/tool/tool word\nsibling\n") << seen.err;
}

// The path inside leads to another file than the one that was verified.
TEST_P(Work, ScriptThatIsNotTheVerifiedOneIsRefused) {
  Lab lab(GetParam());
  std::ofstream(lab.outside() + "/tool") << "#!/bin/sh\necho verified\n";
  std::filesystem::permissions(lab.outside() + "/tool", std::filesystem::perms(0755));
  lab.write("tool", "#!/bin/sh\necho other\n", 0755);
  Seen seen = lab.run({"tool"}, {"--inside", lab.workspace() + "/tool", "--program", lab.outside() + "/tool"});
  EXPECT_EQ(seen.code, kRefused);
  EXPECT_NE(seen.err.find("refused ESTALE"), std::string::npos) << seen.err;
}

// An ELF program whose path inside is another file: the verified one runs all the same.
TEST_P(Work, ElfRunsByDescriptor) {
  Lab lab(GetParam());
  lab.write("echo", "#!/bin/sh\necho other\n", 0755);
  Seen seen = lab.run({"echo", "verified"}, {"--inside", lab.workspace() + "/echo", "--program", "/bin/echo"});
  EXPECT_EQ(seen.out, "verified\n") << seen.err;
}

TEST_P(Work, Binds) {
  Lab lab(GetParam());
  std::string source = lab.outside();
  Seen seen = shell(lab, "cat /data/secret; echo x > /data/new || echo refused; echo y > /more/new && cat /more/new",
                    {"--bind", source + ":/data:ro", "--bind", source + ":/more:rw"});
  EXPECT_EQ(seen.out, "planted\nrefused\ny\n") << seen.err;
}

TEST_P(Work, FileBindsAndNoExec) {
  Lab lab(GetParam());
  std::filesystem::copy_file("/bin/echo", lab.outside() + "/echo");
  Seen seen =
      shell(lab, "cat /home/agent/.config/token; /data/echo run || echo no-exec; test -e /absent || echo absent",
            {"--bind", lab.outside() + "/secret:/home/agent/.config/token:ro", "--bind",
             lab.outside() + ":/data:ro-noexec", "--bind", "/nonexistent:/absent:ro-optional"});
  EXPECT_EQ(seen.out, "planted\nno-exec\nabsent\n") << seen.err;
}

TEST_P(Work, PrivateHomeIsABind) {
  Lab lab(GetParam());
  Seen seen = shell(lab, "cd ~ && cat secret && pwd && echo z > note", {"--home", lab.outside()});
  EXPECT_EQ(seen.out, "planted\n/home/agent\n") << seen.err;
  EXPECT_TRUE(std::filesystem::exists(lab.outside() + "/note"));
}

TEST_P(Work, EnvironmentIsExactlyThePlans) {
  Lab lab(GetParam());
  ::setenv("ONCELATCH_TEST_SECRET", "must not appear", 1);
  Seen seen = lab.run({"/usr/bin/env"}, {"--env", "TOKEN=given"});
  EXPECT_EQ(seen.out.find("SECRET"), std::string::npos) << seen.out;
  EXPECT_NE(seen.out.find("TOKEN=given\n"), std::string::npos);
}

TEST_P(Work, LongArguments) {
  Lab lab(GetParam());
  std::vector<std::string> program = {"/bin/sh", "-c", "echo $#; printf %s \"$1\" | wc -c", "sh",
                                      std::string(100000, 'x')};
  for (int i = 0; i < 5000; ++i) program.push_back("argument");
  Seen seen = lab.run(program);
  EXPECT_EQ(seen.out, "5001\n100000\n") << seen.err;
}

}  // namespace
}  // namespace oncelatch::sandbox
