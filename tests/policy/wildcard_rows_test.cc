// Each row of the tables that needs a case of its own: asks under a wildcard, is allowed where the pattern spells it.
#include "tests/policy/support.h"

namespace oncelatch::policy::testing {
namespace {

void expect_asked(const std::string& pattern, const std::vector<std::string>& commands) {
  for (const std::string& command : commands) {
    const Decision decision = decide_on(rules_of(yaml_of({"allow shell " + pattern})), Capability::shell, command);
    EXPECT_EQ(decision.effect, Effect::ask) << command << " under " << pattern;
    EXPECT_TRUE(has_floor(decision, "executes-other-programs")) << command << " under " << pattern;
    EXPECT_EQ(shell_effect({"allow shell *"}, command), Effect::ask) << command;
    EXPECT_EQ(shell_effect({"allow shell " + command}, command), Effect::allow) << command << " spelled";
  }
}

TEST(WildcardRows, Go) {
  expect_asked("go test *", {"go test --exec=./x", "go test --exec ./x", "go test -exec ./x", "go test -exec=./x",
                             "nice -n 5 go test --exec=./x", "go test -toolexec=./x", "go test -C ./evil",
                             "go test -coverprofile=x", "go test -test.cpuprofile=x", "go test -ldflags=-extld=./x"});
  expect_asked("go build *",
               {"go build -toolexec ./x", "go build --toolexec=./x", "go build -o x", "go build -modfile=x"});
  expect_asked("go *", {"go env -w CC=./x", "go -C ./evil test", "go vet --vettool=./x"});
}

TEST(WildcardRows, Make) {
  expect_asked("make *", {"make test SHELL=./x", "make CC=./x", "make MAKEFLAGS=x", "make -f x", "make -fx",
                          "make --eval=x", "make -E x", "make 'X!=id'", "make a-b=c", "make -j4 A+=x", "make -C evil"});
  expect_asked("gmake *", {"gmake CC=./x", "gmake --ev=x"});
}

TEST(WildcardRows, Compilers) {
  const std::vector<std::string> words{"@x",
                                       "--specs=x y.c",
                                       "-specs=x y.c",
                                       "-Wl,-plugin,./x.so y.c",
                                       "-Xlinker -plugin -Xlinker ./x y.c",
                                       "-fplugin=x y.c",
                                       "-B./x y.c",
                                       "-B x y.c",
                                       "--prefix=x y.c",
                                       "-wrapper x y.c",
                                       "-o x y.c",
                                       "-ox y.c",
                                       "-fuse-ld=./x y.c",
                                       "-Xclang -load y.c"};
  for (const std::string program : {"gcc", "g++", "cc", "c++", "clang", "clang++", "gcc-12"}) {
    for (const std::string& word : words) expect_asked(program + " *", {program + " " + word});
  }
}

TEST(WildcardRows, Linker) {
  expect_asked("ld *",
               {"ld @x", "ld -plugin ./x.so y.o", "ld --plugin=./x.so y.o", "ld -o x y.o", "ld -T x", "ld -Map=x y.o"});
  expect_asked("rustc *", {"rustc -C linker=./x y.rs", "rustc -Clinker=./x y.rs", "rustc --codegen linker=./x y.rs",
                           "rustc --extern a=./x.so y.rs", "rustc -o x y.rs", "rustc --out-dir x y.rs", "rustc @x"});
}

TEST(WildcardRows, Npm) {
  expect_asked("npm test *", {"npm test -C ./evil", "npm test --prefix ./evil", "npm test --prefix=./evil",
                              "npm test -prefix ./evil", "npm test --pref ./evil", "npm test --script-shell x",
                              "npm test --script-shell=x", "npm test --node-options=x"});
  expect_asked("npm *", {"npm -C ./evil test", "npm exec x", "npm config set script-shell x"});
}

TEST(WildcardRows, Curl) {
  expect_asked("curl *",
               {"curl -w '%output{x}abc' y", "curl --write-out '%output{x}abc' y", "curl --write=x y", "curl -o x y",
                "curl -O y", "curl --output x y", "curl -K x", "curl --config x", "curl -T x y",
                "curl --upload-file x y", "curl -d @x y", "curl -d@x y", "curl -sd@x y", "curl --data-binary @x y",
                "curl --data-urlencode a@x y", "curl -F a=@x y", "curl --expand-output x y", "curl --unix-socket x y"});
}

TEST(WildcardRows, Git) {
  expect_asked("git *", {"git --git-dir=./evil status", "git --git-dir ./evil status", "git --work-tree=x status",
                         "git --work-tree x status", "git -C evil status", "git -p status", "git --paginate status",
                         "git --bare status", "git --exec-path=/x status", "git -c a.b=c status",
                         "git --config-env=a.b=C status"});
}

TEST(WildcardRows, Node) {
  const std::vector<std::string> words{"--env-file-if-exists=x y",
                                       "--env_file_if_exists=x y",
                                       "--env-file=x y",
                                       "--openssl-config=x y",
                                       "--run x",
                                       "-r x y",
                                       "--require x y",
                                       "--import x y",
                                       "--loader x y",
                                       "-e x",
                                       "-p x",
                                       "-pe x",
                                       "--eval x",
                                       "--print x",
                                       "--inspect y",
                                       "--inspect-brk=0 y",
                                       "--inspect_brk y"};
  for (const std::string program : {"node", "nodejs"}) {
    for (const std::string& word : words) expect_asked(program + " *", {program + " " + word});
  }
}

TEST(WildcardRows, Texts) {
  expect_asked("split *", {"split --filter=id x", "split --filt id x"});
  expect_asked("shuf *", {"shuf -o x y", "shuf -ox y", "shuf --output=x y", "shuf --out x y"});
  expect_asked("iconv *", {"iconv -o x y", "iconv --output=x y"});
  expect_asked("xmllint *", {"xmllint --output x y", "xmllint -output x y", "xmllint --shell y", "xmllint -o x y"});
  expect_asked("xsltproc *", {"xsltproc -o x y z"});
  expect_asked("fzf *", {"fzf --preview id", "fzf --preview=id", "fzf --bind x", "fzf --execute x"});
  expect_asked("bat *", {"bat --pager=id x", "bat --pager id x", "bat cache --build"});
  expect_asked("batcat *", {"batcat --pager=id x"});
  expect_asked("pandoc *", {"pandoc --filter x y", "pandoc --filter=x y", "pandoc -F x y", "pandoc --lua-filter=x y",
                            "pandoc -o x y", "pandoc -t x.lua y"});
  expect_asked("less *", {"less x"});
  expect_asked("more *", {"more x"});
  expect_asked("man *", {"man ls"});
}

TEST(WildcardRows, Tools) {
  expect_asked("ctest *",
               {"ctest -S x", "ctest -SP x", "ctest --build-and-test a b", "ctest --script x", "ctest --test-dir x"});
  expect_asked("openssl *", {"openssl engine x", "openssl rsa -engine x", "openssl rsa --engine x",
                             "openssl rsa -provider-path x", "openssl rsa -out x", "openssl req -keyout x"});
  expect_asked("cmake *", {"cmake -P x", "cmake -Px", "cmake -E rm x", "cmake -C x .", "cmake -DCMAKE_C_COMPILER=./x .",
                           "cmake --build b -- SHELL=./x"});
}

TEST(WildcardRows, ASpelledWordIsMeant) {
  EXPECT_EQ(shell_effect({"allow shell go test -exec ./x *"}, "go test -exec ./x ./..."), Effect::allow);
  EXPECT_EQ(shell_effect({"allow shell go test -exec ./x *"}, "go test -exec ./x -toolexec ./y"), Effect::ask);
  EXPECT_EQ(shell_effect({"allow shell make CC=* *"}, "make CC=clang all"), Effect::allow);
  EXPECT_EQ(shell_effect({"allow shell make CC=* *"}, "make CC=clang SHELL=./x"), Effect::ask);
  EXPECT_EQ(shell_effect({"allow shell gcc -o * *"}, "gcc -o x y.c"), Effect::allow);
  EXPECT_EQ(shell_effect({"allow shell gcc -o * *"}, "gcc -o x @y"), Effect::ask);
  EXPECT_EQ(shell_effect({"allow shell git -C web status *"}, "git -C web status -s"), Effect::allow);
  EXPECT_EQ(shell_effect({"allow shell node --env-file=.env *"}, "node --env-file=.env x.js"), Effect::allow);
}

TEST(WildcardRows, HarmlessWordsStayAllowed) {
  for (const char* command : {"go test -count=1 -v -race -run TestX ./...",
                              "go vet ./...",
                              "go build ./...",
                              "make -j4 test",
                              "gcc -c -O2 -g -Wall -Iinclude -DX=1 -std=c11 -fno-omit-frame-pointer -pthread y.c",
                              "clang++ -fsyntax-only y.cc",
                              "g++ --version",
                              "ld --version",
                              "rustc --version",
                              "rustc --edition 2021 --crate-type lib -C opt-level=2 y.rs",
                              "npm test -- --run",
                              "npm run build",
                              "npm ci --ignore-scripts",
                              "curl -fsSL https://x/y",
                              "curl -d a=b -H 'A: b' https://x",
                              "git log -p -C",
                              "git show HEAD",
                              "node x.js",
                              "node --test x.js",
                              "node --no-warnings x.js",
                              "node --version",
                              "split -l 5 x",
                              "shuf -n 5 x",
                              "iconv -f a -t b x",
                              "xmllint --noout x",
                              "bat -n x",
                              "pandoc -f markdown -t html x",
                              "ctest -j2 --output-on-failure -R x",
                              "openssl x509 -in x -noout -text",
                              "openssl rsa -outform DER -in x",
                              "cmake --build b -j2",
                              "cmake -S . -B b -G Ninja"}) {
    const std::string program = std::string(command).substr(0, std::string(command).find(' '));
    EXPECT_EQ(shell_effect({"allow shell " + program + " *"}, command), Effect::allow) << command;
  }
}

}  // namespace
}  // namespace oncelatch::policy::testing
