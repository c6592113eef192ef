#include <algorithm>
#include <cstdlib>

#include "tests/escapes/catalogue.h"
#include "tests/escapes/procedures.h"

namespace oncelatch::escapes {

namespace {

constexpr const char* kProject =
    "printf 'cmake_minimum_required(VERSION 3.13)\\nproject(p C)\\nadd_library(l STATIC l.c)\\nadd_executable(m m.c)\\n"
    "target_link_libraries(m l)\\n' > CMakeLists.txt && printf 'int f(void) { return 3; }\\n' > l.c && "
    "printf 'int f(void);\\nint main(void) { return f(); }\\n' > m.c";

constexpr const char* kServer =
    "import socket, threading\\n"
    "s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen()\\n"
    "def serve():\\n"
    "    c, _ = s.accept(); c.sendall(c.recv(9).upper()); c.close()\\n"
    "threading.Thread(target=serve).start()\\n"
    "c = socket.create_connection(s.getsockname(), 5); c.sendall(b\"hi\"); assert c.recv(9) == b\"HI\"\\n";

// mov eax, 42; ret
constexpr const char* kJit =
    "import ctypes, mmap\\n"
    "m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\\n"
    "m.write(bytes([0xb8, 42, 0, 0, 0, 0xc3]))\\n"
    "f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\\n"
    "assert f() == 42\\n";

std::string in_directory(const std::string& name, const std::string& script) {
  return "sh=mkdir -p {workspace}/" + name + " && cd {workspace}/" + name + " && " + script;
}

std::string python(const std::string& name, const std::string& program) {
  return in_directory(name, "printf '" + program + "' > p.py && python3 p.py");
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// With the caller's own home, where toolchains are.
Case cargo() {
  std::string home = variable("HOME");
  return {
      .id = "cargo",
      .technique = "cargo build from a home toolchain",
      .work = {in_directory("c",
                            "mkdir src && printf '[package]\\nname=\"c\"\\nversion=\"0.1.0\"\\nedition=\"2018\"\\n' > "
                            "Cargo.toml && echo 'fn main() { println!(\"hi\"); }' > src/main.rs && cargo build -q "
                            "--offline && test \"$(target/debug/c)\" = hi")},
      .environment = {"HOME=" + home, "PATH=" + home + "/.cargo/bin:/usr/local/bin:/usr/bin:/bin"},
      .flags = "toolchains"};
}

}  // namespace

std::vector<Case> work_cases() {
  return {
      {.id = "shell",
       .technique = "pipelines, temporary files, devices",
       .work = {"sh=printf 'b\\na\\n' | sort | tr a-z A-Z | head -n 1 | grep -q A && t=$(mktemp) && echo x > $t && cat "
                "$t && "
                "echo gone > /dev/null && cat < /dev/null && rm $t && test -d \"$HOME\""}},
      {.id = "git",
       .technique = "git init, commit, status",
       // Not in the workspace: a repository that appears there is the host's to follow.
       .work = {"sh=r=$(mktemp -d) && cd $r && git init -q . && git config user.email a@b && git config user.name n && "
                "echo 1 > f && git add f && git commit -q -m one && git log --format=%s | grep -q one && "
                "test -z \"$(git status --short)\""}},
      {.id = "gcc",
       .technique = "compile and run",
       .work = {in_directory(
           "h",
           "printf '#include <stdio.h>\\nint main(void) { puts(\"hi\"); }\\n' > h.c && gcc -o h h.c && "
           "test \"$(./h)\" = hi")}},
      {.id = "cmake",
       .technique = "a small CMake build",
       .work = {in_directory("m", std::string(kProject) +
                                      " && cmake -G Ninja -S . -B b > log && cmake --build b >> log && { b/m; test "
                                      "$? = 3; }")}},
      {.id = "python",
       .technique = "threads, processes, queues",
       .work = {python("y",
                       "import subprocess, threading, multiprocessing, tempfile\\n"
                       "t = threading.Thread(target=print); t.start(); t.join()\\n"
                       "assert subprocess.check_output([\"echo\", \"x\"]) == b\"x\\\\n\"\\n"
                       "assert multiprocessing.Queue() is not None and tempfile.TemporaryFile()\\n")}},
      {.id = "node",
       .technique = "node, its count of processors",
       .work = {"sh=node -e 'process.exit(require(\"os\").cpus().length === {processors} ? 0 : 1)'"}},
      {.id = "npm", .technique = "npm ci from a local cache", .procedure = install_packages},
      cargo(),
      {.id = "leaks",
       .technique = "LeakSanitizer",
       .work = {in_directory(
           "l",
           "printf '#include <stdlib.h>\\nvoid *volatile p;\\nint main(void) { p = malloc(9); p = 0; }\\n' > "
           "l.c && gcc -fsanitize=leak -o l l.c && { ./l 2> out; grep -q 'detected memory leaks' out; }")},
       .flags = "ptrace"},
      {.id = "loopback", .technique = "a server of its own", .work = {python("s", kServer)}, .flags = "loopback"},
      {.id = "jobs", .technique = "job control on a terminal", .flags = "terminal", .procedure = job_control},
      {.id = "jit",
       .technique = "code made at run time",
       .work = {python("j", kJit),
                "sh=node -e 'let s = 0; for (let i = 0; i < 1e6; i++) s += i % 7; process.exit(s > 0 ? 0 : 1)'"}},
  };
}

std::vector<Case> catalogue() {
  std::vector<Case> all;
  for (const std::vector<Case>& part : {file_cases(), guard_cases(), process_cases(), kernel_cases(), terminal_cases(),
                                        policy_cases(), socket_cases(), environment_cases(), limit_cases()})
    all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end(), [](const Case& a, const Case& b) { return a.id < b.id; });
  std::vector<Case> work = work_cases();
  all.insert(all.end(), work.begin(), work.end());
  return all;
}

}  // namespace oncelatch::escapes
