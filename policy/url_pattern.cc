#include "policy/url_pattern.h"

#include <algorithm>

#include "policy/glob.h"

namespace oncelatch::policy {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& character : result) {
    if (character >= 'A' && character <= 'Z') character = static_cast<char>(character - 'A' + 'a');
  }
  return result;
}

bool all_in(std::string_view text, std::string_view extra) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || extra.find(c) != std::string_view::npos;
  });
}

std::string without_dot(std::string host) {
  while (!host.empty() && host.back() == '.') host.pop_back();
  return host;
}

struct Authority {
  std::string host;
  std::string port;
};

Authority split_port(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)) {
    return {lower(authority), {}};
  }
  return {lower(authority.substr(0, colon)), std::string(authority.substr(colon + 1))};
}

bool is_plain_host(std::string_view host) {
  if (host.size() > 253 || host.empty()) return false;
  if (host.front() == '[') return host.back() == ']' && all_in(host.substr(1, host.size() - 2), ":.");
  return all_in(host, "-.") && host.front() != '.' && host.back() != '.' && host.find("..") == std::string_view::npos;
}

bool is_default_port(std::string_view scheme, std::string_view port) {
  return port.empty() || (scheme == "https" && port == "443") || (scheme == "http" && port == "80");
}

std::vector<std::string> candidate_hosts(std::string_view authority) {
  std::vector<std::string> hosts;
  while (true) {
    const std::size_t at = std::min(authority.find('@'), authority.size());
    hosts.push_back(without_dot(split_port(authority.substr(0, at)).host));
    if (at == authority.size()) return hosts;
    authority.remove_prefix(at + 1);
  }
}

// "*.example.com": the star is one or more labels; elsewhere a star stays within its label.
bool host_matches(std::string_view pattern, std::string_view host) {
  if (pattern == "*") return true;
  if (pattern.substr(0, 2) == "*.") {
    const std::string_view suffix = pattern.substr(1);
    return host.size() > suffix.size() && host.substr(host.size() - suffix.size()) == suffix;
  }
  const auto dots = [](std::string_view text) { return std::count(text.begin(), text.end(), '.'); };
  return dots(pattern) == dots(host) && glob_match(pattern, host);
}

struct UrlPattern {
  std::string scheme;  // empty: http and https
  std::string host;
  std::string port;
  std::string path;  // empty: any
};

UrlPattern parse_pattern(std::string_view text) {
  UrlPattern pattern;
  const std::size_t scheme = text.find("://");
  if (scheme != std::string_view::npos) {
    pattern.scheme = lower(text.substr(0, scheme));
    text.remove_prefix(scheme + 3);
  }
  const std::size_t slash = std::min(text.find('/'), text.size());
  Authority authority = split_port(text.substr(0, slash));
  pattern.host = std::move(authority.host);
  pattern.port = std::move(authority.port);
  pattern.path = text.substr(slash);
  return pattern;
}

bool matches_with_host(const UrlPattern& pattern, const UrlSubject& url, std::string_view host) {
  if (!pattern.scheme.empty() && pattern.scheme != url.scheme) return false;
  if (!host_matches(pattern.host, host)) return false;
  const bool port =
      pattern.port.empty() ? is_default_port(url.scheme, url.port) : pattern.port == "*" || pattern.port == url.port;
  return port && (pattern.path.empty() || glob_match(pattern.path, url.path));
}

}  // namespace

UrlSubject url_subject(std::string_view url) {
  UrlSubject subject;
  subject.unclear = "unclear-url";
  const std::size_t scheme = url.find("://");
  std::string_view rest = url;
  if (scheme != std::string_view::npos) {
    subject.scheme = lower(url.substr(0, scheme));
    rest = url.substr(scheme + 3);
  }
  const std::size_t end = std::min(rest.find_first_of("/?#\\"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  subject.hosts = candidate_hosts(authority);
  Authority split = split_port(authority);
  subject.host = std::move(split.host);
  subject.port = std::move(split.port);
  subject.path = std::string(rest.substr(end, rest.find('#') - end));
  if (subject.path.empty() || subject.path.front() != '/') subject.path = std::string(1, '/').append(subject.path);
  const bool web = subject.scheme == "http" || subject.scheme == "https";
  const bool visible = std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c < 0x7f && c != '\\'; });
  const bool port = subject.port.size() <= 5 && subject.port.find_first_not_of("0123456789") == std::string::npos;
  const bool dots = has_dot_dot(std::string_view(subject.path).substr(0, subject.path.find('?')));
  if (web && visible && port && !dots && is_plain_host(subject.host)) subject.unclear.clear();
  return subject;
}

bool url_matches(std::string_view pattern, const UrlSubject& url) {
  return url.unclear.empty() && matches_with_host(parse_pattern(pattern), url, url.host);
}

bool url_may_match(std::string_view pattern, const UrlSubject& url) {
  const UrlPattern parsed = parse_pattern(pattern);
  return std::any_of(url.hosts.begin(), url.hosts.end(), [&](const std::string& host) {
    if (!url.unclear.empty() || (parsed.port.empty() && parsed.path.empty())) return host_matches(parsed.host, host);
    return matches_with_host(parsed, url, host);
  });
}

std::string refuse_url_pattern(std::string_view pattern) {
  const UrlPattern parsed = parse_pattern(pattern);
  if (!parsed.scheme.empty() && parsed.scheme != "http" && parsed.scheme != "https")
    return "only http and https URLs are fetched";
  std::string host = parsed.host;
  host.erase(std::remove(host.begin(), host.end(), '*'), host.end());
  const bool plain = host.empty() ? !parsed.host.empty() : all_in(host, "-.:[]");
  if (!plain || parsed.host.find("**") != std::string::npos) return "the host isn't a name, an address or a glob";
  if (parsed.port != "*" && parsed.port.find_first_not_of("0123456789") != std::string::npos)
    return "the port isn't a number";
  return {};
}

}  // namespace oncelatch::policy
