// URLs as subjects and as patterns, matched by their parsed host.
//
//   UrlSubject url = url_subject("https://github.com@evil.example/");  // unclear "unclear-url", hosts for the deny
//   search url_matches("*.example.com", url);  url_matches("https://docs.example.com/api/*", url);
//
// A pattern is HOST, or SCHEME://HOST[:PORT][/PATH]; '*' in a host doesn't cross a dot unless it is the first label,
// where it stands for one or more labels; '*' in a path crosses slashes. A pattern without a port means the scheme's
// own. Ownership: values. Threads: no state. Failure: `unclear`. After fork: allocates. Source: RFC 3986, cut down to
// http(s).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oncelatch::policy {

struct UrlSubject {
  std::string scheme;
  std::string host;                // lower case
  std::string port;                // empty: the scheme's own
  std::string path;                // with query; without the fragment
  std::string unclear;             // "unclear-url": readers may disagree about the host
  std::vector<std::string> hosts;  // every host that a reader may see, for rules that ask or deny
};

[[nodiscard]] UrlSubject url_subject(std::string_view url);
// For allowing: only a plain URL matches.
[[nodiscard]] bool url_matches(std::string_view pattern, const UrlSubject& url);
// For asking or denying: an unclear URL matches by any of its hosts.
[[nodiscard]] bool url_may_match(std::string_view pattern, const UrlSubject& url);
// "" or why the pattern is refused.
[[nodiscard]] std::string refuse_url_pattern(std::string_view pattern);

}  // namespace oncelatch::policy
