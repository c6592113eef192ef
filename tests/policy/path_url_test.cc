#include "tests/policy/support.h"

namespace oncelatch::policy::testing {
namespace {

Effect write_effect(const std::vector<std::string>& lines, const std::string& path) {
  return decide_on(rules_of(yaml_of(lines)), Capability::fs_write, path).effect;
}

Effect fetch_effect(const std::vector<std::string>& lines, const std::string& url) {
  return decide_on(rules_of(yaml_of(lines)), Capability::web_fetch, url).effect;
}

TEST(Paths, RelativePatternsAreAnchoredAtTheWorkspace) {
  const std::vector<std::string> lines{"allow fs_write src/**"};
  for (const char* path : {"src/x.c", "src/a/b/x.c", "./src/x.c", "src//x.c", "src/a/../x.c", "/repo/project/src/x.c",
                           "src/./x", "src/x/"}) {
    EXPECT_EQ(write_effect(lines, path), Effect::allow) << path;
  }
  for (const char* path :
       {"lib/src/x.c", "src/../x.c", "../project2/src/x", "/src/x.c", "/repo/project2/src/x", "~/src/x", "srcx/y"}) {
    EXPECT_EQ(write_effect(lines, path), Effect::ask) << path;
  }
}

TEST(Paths, AStarStaysInItsComponent) {
  const std::vector<std::string> lines{"allow fs_write docs/*.md"};
  EXPECT_EQ(write_effect(lines, "docs/a.md"), Effect::allow);
  EXPECT_EQ(write_effect(lines, "docs/a/b.md"), Effect::ask);
  EXPECT_EQ(write_effect({"allow fs_write **/*.md"}, "a.md"), Effect::allow);
  EXPECT_EQ(write_effect({"allow fs_write **/*.md"}, "a/b/c.md"), Effect::allow);
  EXPECT_EQ(write_effect({"allow fs_write a/**/z"}, "a/z"), Effect::allow);
  EXPECT_EQ(write_effect({"allow fs_write *"}, "a/z"), Effect::ask);
  EXPECT_EQ(write_effect({"allow fs_write ./x"}, "x"), Effect::allow);
}

TEST(Paths, AllowStaysInTheWorkspaceAndDenyFloats) {
  EXPECT_EQ(write_effect({"allow fs_write **"}, "/etc/passwd"), Effect::ask);
  EXPECT_EQ(write_effect({"allow fs_write /tmp/**"}, "/tmp/x/y"), Effect::allow);
  EXPECT_EQ(write_effect({"deny fs_write **/.ssh/**", "allow fs_write /home/**"}, "/home/u/.ssh/config"), Effect::deny);
  EXPECT_EQ(write_effect({"deny fs_write **/.env", "allow fs_write **"}, "a/.env"), Effect::deny);
  EXPECT_EQ(write_effect({"deny fs_write **/.env", "allow fs_write **"}, ".env/"), Effect::deny);
}

TEST(Paths, DotDotOutOfTheWorkspaceIsAFloor) {
  const Rules rules = rules_of(yaml_of({"allow fs_write /**"}));
  const Decision out = decide_on(rules, Capability::fs_write, "../x");
  EXPECT_EQ(out.effect, Effect::ask);
  EXPECT_TRUE(has_floor(out, "path-escapes"));
  EXPECT_EQ(decide_on(rules, Capability::fs_write, "/etc/x").effect, Effect::allow);
  EXPECT_EQ(decide_on(rules, Capability::fs_write, "a/../b").effect, Effect::allow);
  EXPECT_TRUE(has_floor(decide_on(rules, Capability::fs_write, "~/x"), "unclear-path"));
}

TEST(Paths, WithoutAWorkspaceARelativePathIsUnclear) {
  PermissionRequest request;
  request.capability = Capability::fs_write;
  request.subject = Untrusted("x");
  request.subject_is_whole = true;
  const Decision decision = decide(rules_of(yaml_of({"allow fs_write **", "allow fs_write /**"})), request, {});
  EXPECT_EQ(decision.effect, Effect::ask);
  EXPECT_TRUE(has_floor(decision, "unclear-path"));
}

TEST(Paths, RelativePathsAreTakenFromTheWorkingDirectory) {
  PermissionRequest request;
  request.capability = Capability::fs_write;
  request.subject = Untrusted("x.c");
  request.subject_is_whole = true;
  const Rules rules = rules_of(yaml_of({"allow fs_write src/*.c"}));
  EXPECT_EQ(decide(rules, request, {kWorkspace, std::string(kWorkspace) + "/src"}).effect, Effect::allow);
  EXPECT_EQ(decide(rules, request, {kWorkspace, kWorkspace}).effect, Effect::ask);
  EXPECT_EQ(decide(rules, request, {kWorkspace, "/tmp/src"}).effect, Effect::ask);
}

TEST(Paths, CaseVariantsOfADeniedPathAsk) {
  const std::vector<std::string> lines{"deny fs_write .kiro/settings/**", "allow fs_write **"};
  EXPECT_EQ(write_effect(lines, ".kiro/settings/x"), Effect::deny);
  EXPECT_EQ(write_effect(lines, ".Kiro/Settings/x"), Effect::ask);
  EXPECT_EQ(write_effect(lines, ".kiro/other"), Effect::allow);
}

TEST(Paths, ExcludeIsWideForAllow) {
  const Rules rules = rules_of("rules: [{capability: fs_write, match: ['**'], exclude: ['**/.env'], effect: allow}]\n");
  EXPECT_EQ(decide_on(rules, Capability::fs_write, "a").effect, Effect::allow);
  EXPECT_EQ(decide_on(rules, Capability::fs_write, "a/.env").effect, Effect::ask);
  EXPECT_EQ(decide_on(rules, Capability::fs_write, "a/.ENV").effect, Effect::ask);
}

TEST(Urls, TheParsedHostDecides) {
  const std::vector<std::string> lines{"allow web_fetch github.com", "allow web_fetch *.example.com"};
  for (const char* url : {"https://github.com", "https://github.com/", "http://GITHUB.com/a?b#c",
                          "https://github.com:443/x", "https://a.example.com/", "https://a.b.example.com"}) {
    EXPECT_EQ(fetch_effect(lines, url), Effect::allow) << url;
  }
  for (const char* url : {"https://github.com@evil.example/",
                          "https://evil-github.com/x",
                          "https://github.com.evil.example/",
                          "https://example.com/",
                          "https://evilexample.com",
                          "http://169.254.169.254/",
                          "https://github.com:8443/",
                          "ftp://github.com/",
                          "github.com",
                          "https:\\\\github.com",
                          "https://github.com\\@evil.example",
                          "https://u:p@github.com/",
                          "https://evil.example/?github.com",
                          "https://evil.example/#github.com",
                          "https:///github.com",
                          "https://github.com:/../x",
                          "//github.com",
                          "https://github.com:99999999/",
                          "https://git hub.com/",
                          "https://github.com/a/../b",
                          "javascript:alert(1)",
                          "https://",
                          "https://[::1",
                          "https://github.com."}) {
    EXPECT_EQ(fetch_effect(lines, url), Effect::ask) << url;
  }
}

TEST(Urls, SchemePortAndPathCanBeNamed) {
  const std::vector<std::string> lines{"allow web_fetch https://docs.example.com/api/*",
                                       "allow web_fetch localhost:8080", "allow web_fetch [::1]:*"};
  EXPECT_EQ(fetch_effect(lines, "https://docs.example.com/api/v1/x"), Effect::allow);
  EXPECT_EQ(fetch_effect(lines, "https://docs.example.com/other"), Effect::ask);
  EXPECT_EQ(fetch_effect(lines, "http://docs.example.com/api/v1"), Effect::ask);
  EXPECT_EQ(fetch_effect(lines, "https://evil.example/docs.example.com/api/x"), Effect::ask);
  EXPECT_EQ(fetch_effect(lines, "http://localhost:8080/x"), Effect::allow);
  EXPECT_EQ(fetch_effect(lines, "http://localhost/x"), Effect::ask);
  EXPECT_EQ(fetch_effect(lines, "http://[::1]:99/x"), Effect::allow);
}

TEST(Urls, DenyMatchesEveryHostAReaderMaySee) {
  const std::vector<std::string> lines{"deny web_fetch evil.example", "deny web_fetch *.evil.example",
                                       "allow web_fetch *"};
  for (const char* url : {"https://evil.example/", "https://EVIL.example:8443/x", "https://a@evil.example/",
                          "https://evil.example@a/", "https://evil.example./", "https://a.evil.example",
                          "ftp://evil.example/", "evil.example/x", "https://evil.example\\@a/"}) {
    EXPECT_EQ(fetch_effect(lines, url), Effect::deny) << url;
  }
  EXPECT_EQ(fetch_effect(lines, "https://good.example/evil.example"), Effect::allow);
}

TEST(Urls, AStarInAHostStaysInItsLabel) {
  EXPECT_EQ(fetch_effect({"allow web_fetch api-*.example.com"}, "https://api-1.example.com/"), Effect::allow);
  EXPECT_EQ(fetch_effect({"allow web_fetch api-*.example.com"}, "https://api-x.evil.example.com/"), Effect::ask);
}

}  // namespace
}  // namespace oncelatch::policy::testing
