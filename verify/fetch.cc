#include "verify/fetch.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/beneath.h"
#include "base/untrusted.h"
#include "verify/hash_stream.h"

namespace oncelatch::verify {

namespace {

constexpr int kMostRedirects = 5;
constexpr std::size_t kMostHeaderBytes = std::size_t{64} << 10;
constexpr long kConnectSeconds = 15;
constexpr long kSlowBytes = 1024;
constexpr mode_t kPrivate = 0600;

std::string shown(const std::string& text) {
  return escape_for_display(text, 300);
}

Result<Fd> nameless_file(int directory) {
  Fd file(::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, kPrivate));
  if (!file) return fail_errno("verify", "the cache", errno, "use a file system that has O_TMPFILE", "a nameless file");
  return file;
}

// What arrives goes to the file and into the hash.
class Sink {
 public:
  Sink(int file, std::uint64_t most) : file_(file), most_(most) {}
  enum class End { fine, too_large, disk };

  bool take(const char* bytes, std::size_t size) {
    if (size > most_ - size_) return end(End::too_large, 0);
    hash_.add(bytes, size);
    for (std::size_t at = 0; at < size;) {
      const ssize_t put = ::write(file_, bytes + at, size - at);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return end(End::disk, errno);
      at += static_cast<std::size_t>(put);
    }
    size_ += size;
    return true;
  }
  [[nodiscard]] End how() const { return end_; }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::string digest() { return hash_.end(); }

 private:
  bool end(End how, int error) {
    end_ = how;
    error_ = error;
    return false;
  }
  int file_;
  std::uint64_t most_;
  std::uint64_t size_ = 0;
  HashStream hash_;
  End end_ = End::fine;
  int error_ = 0;
};

Result<Fetched> finish(Fd file, Sink& sink, const std::string& object) {
  Fetched fetched{.file = std::move(file), .sha256 = sink.digest(), .size = sink.size(), .last_modified = {}};
  if (fetched.sha256.empty()) return fail("verify", object, "the crypto library refused SHA-256");
  if (::lseek(fetched.file.get(), 0, SEEK_SET) != 0) return fail_errno("verify", object, errno, {}, "seek");
  return fetched;
}

Failure told_by_sink(const Sink& sink, const std::string& object, std::uint64_t most) {
  if (sink.how() == Sink::End::too_large)
    return fail("verify", object, fmt::format("is longer than the {} bytes that are allowed", most));
  return fail_errno("verify", object, sink.error(), "make room there, and run it again", "write it to the cache");
}

// "HOST" or "HOST:PORT" of an HTTPS address; empty: it's none, or has a user's name in it.
std::string place_of(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(curl_url(), curl_url_cleanup);
  if (!parsed || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return {};
  auto part = [&](CURLUPart which) {
    char* text = nullptr;
    std::string copy = curl_url_get(parsed.get(), which, &text, 0) == CURLUE_OK ? text : "";
    curl_free(text);
    return copy;
  };
  if (part(CURLUPART_SCHEME) != "https" || !part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty())
    return {};
  std::string host = part(CURLUPART_HOST);
  std::transform(host.begin(), host.end(), host.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const std::string port = part(CURLUPART_PORT);
  return port.empty() || port == "443" ? host : host + ":" + port;
}

Status check_place(const FetchRequest& request, const std::string& url, bool redirected) {
  const std::string what = redirected ? "is redirected to " + shown(url) : "";
  const std::string place = place_of(url);
  if (place.empty())
    return fail("verify", shown(request.url), redirected ? what + ", which isn't HTTPS" : "isn't an HTTPS address");
  if (std::find(request.hosts.begin(), request.hosts.end(), place) != request.hosts.end()) return {};
  return fail("verify", shown(request.url),
              redirected ? what + ", which isn't one of the vendor's hosts" : "isn't at one of the vendor's hosts");
}

// One request; a redirect is the caller's to judge.
class Transfer {
 public:
  Transfer(const FetchRequest& request, Sink& sink) : request_(request), sink_(sink) {}

  CURLcode perform(const std::string& url, std::chrono::seconds left) {
    redirect_.clear();
    header_bytes_ = 0;
    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(), curl_easy_cleanup);
    if (!handle) return CURLE_FAILED_INIT;
    if (const CURLcode code = prepare(handle.get(), url, left); code != CURLE_OK) return code;
    const CURLcode code = curl_easy_perform(handle.get());
    curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
    curl_off_t time = -1;
    curl_easy_getinfo(handle.get(), CURLINFO_FILETIME_T, &time);
    if (time >= 0) last_modified = static_cast<std::time_t>(time);
    char* target = nullptr;
    curl_easy_getinfo(handle.get(), CURLINFO_REDIRECT_URL, &target);
    if (target != nullptr) redirect_ = target;
    return code;
  }
  [[nodiscard]] const std::string& redirect() const { return redirect_; }
  [[nodiscard]] std::string words(CURLcode code) const {
    return error_[0] != 0 ? escape_for_display(error_.data(), 300) : curl_easy_strerror(code);
  }
  long status = 0;
  std::optional<std::time_t> last_modified;

 private:
  template <class Value>
  void set(CURL* handle, CURLoption option, Value value) {
    const CURLcode code = curl_easy_setopt(handle, option, value);
    if (prepared_ == CURLE_OK) prepared_ = code;
  }

  CURLcode prepare(CURL* handle, const std::string& url, std::chrono::seconds left) {
    prepared_ = CURLE_OK;
    set(handle, CURLOPT_URL, url.c_str());
    set(handle, CURLOPT_PROTOCOLS_STR, "https");
    set(handle, CURLOPT_FOLLOWLOCATION, 0L);
    set(handle, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    set(handle, CURLOPT_PROXY, request_.proxy.c_str());  // "": none, whatever the environment says
    set(handle, CURLOPT_NOPROXY, "");
    if (!request_.ca_file.empty()) {
      set(handle, CURLOPT_CAINFO, request_.ca_file.c_str());
      set(handle, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    }
    set(handle, CURLOPT_SSL_VERIFYPEER, 1L);
    set(handle, CURLOPT_SSL_VERIFYHOST, 2L);
    set(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(handle, CURLOPT_USERAGENT, "oncelatch");
    set(handle, CURLOPT_NOSIGNAL, 1L);
    set(handle, CURLOPT_FILETIME, 1L);
    set(handle, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    set(handle, CURLOPT_TIMEOUT, static_cast<long>(left.count()));
    set(handle, CURLOPT_LOW_SPEED_LIMIT, kSlowBytes);
    set(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(request_.patience.count()));
    set(handle, CURLOPT_ERRORBUFFER, error_.data());
    set(handle, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(handle, CURLOPT_WRITEDATA, static_cast<void*>(this));
    set(handle, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(handle, CURLOPT_HEADERDATA, static_cast<void*>(this));
    set(handle, CURLOPT_XFERINFOFUNCTION, &Transfer::on_progress);
    set(handle, CURLOPT_XFERINFODATA, static_cast<void*>(this));
    set(handle, CURLOPT_NOPROGRESS, 0L);
    handle_ = handle;
    return prepared_;
  }

  // What another answer than 200 says isn't the file.
  static std::size_t on_body(const char* bytes, std::size_t one, std::size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    long status = 0;
    curl_easy_getinfo(transfer->handle_, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) return one * count <= kMostHeaderBytes ? one * count : 0;
    return transfer->sink_.take(bytes, one * count) ? one * count : 0;
  }
  static std::size_t on_header(const char*, std::size_t one, std::size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    transfer->header_bytes_ += one * count;
    return transfer->header_bytes_ <= kMostHeaderBytes ? one * count : 0;
  }
  static int on_progress(void* self, curl_off_t expected, curl_off_t, curl_off_t, curl_off_t) {
    auto* transfer = static_cast<Transfer*>(self);
    if (transfer->request_.told && transfer->sink_.size() != 0)
      transfer->request_.told(transfer->sink_.size(), static_cast<std::uint64_t>(std::max<curl_off_t>(expected, 0)));
    return 0;
  }

  const FetchRequest& request_;
  Sink& sink_;
  CURL* handle_ = nullptr;
  CURLcode prepared_ = CURLE_OK;
  std::string redirect_;
  std::size_t header_bytes_ = 0;
  std::array<char, CURL_ERROR_SIZE> error_{};
};

Failure told_by_curl(const FetchRequest& request, CURLcode code, const Transfer& transfer) {
  const std::string object = shown(request.url);
  const std::string words = transfer.words(code);
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
      return fail("verify", object, "the server's certificate isn't trusted: " + words,
                  "check the clock; --ca-file FILE names your organisation's certificates");
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
      return fail("verify", object, "the connection ended before all of it was there: " + words, "run it again");
    case CURLE_OPERATION_TIMEDOUT:
      return fail("verify", object, "it took too long: " + words, "run it again");
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
      return fail("verify", object, words, "check the connection; --proxy URL names a proxy");
    default:
      return fail("verify", object, words);
  }
}

}  // namespace

Result<Fetched> fetch(const FetchRequest& request, int directory) {
  static const CURLcode begun = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (begun != CURLE_OK) return fail("verify", "libcurl", curl_easy_strerror(begun));
  Fd file = TRY(nameless_file(directory));
  Sink sink(file.get(), request.size ? std::min(*request.size, request.most) : request.most);
  Transfer transfer(request, sink);
  const auto end = std::chrono::steady_clock::now() + request.longest;
  std::string url = request.url;
  for (int hop = 0; hop <= kMostRedirects; ++hop) {
    TRY(check_place(request, url, hop != 0));
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(end - std::chrono::steady_clock::now());
    if (left.count() < 1) return told_by_curl(request, CURLE_OPERATION_TIMEDOUT, transfer);
    const CURLcode code = transfer.perform(url, left);
    if (sink.how() != Sink::End::fine)
      return told_by_sink(sink, shown(request.url), request.size ? *request.size : request.most);
    if (code != CURLE_OK) return told_by_curl(request, code, transfer);
    if (transfer.status == 200) {
      if (request.size && sink.size() != *request.size)
        return fail("verify", shown(request.url),
                    fmt::format("has {} bytes where {} were announced", sink.size(), *request.size));
      Fetched fetched = TRY(finish(std::move(file), sink, shown(request.url)));
      fetched.last_modified = transfer.last_modified;
      return fetched;
    }
    if (transfer.redirect().empty())
      return fail("verify", shown(request.url), fmt::format("the server answered {}", transfer.status), "run it later");
    url = transfer.redirect();
  }
  return fail("verify", shown(request.url), "is redirected too often");
}

Result<Fetched> take_file(const std::string& path, int directory, std::uint64_t most) {
  const std::string object = shown(path);
  Fd source(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat found {};
  if (!source || ::fstat(source.get(), &found) != 0) return fail_errno("verify", object, errno, {}, "open");
  if (!S_ISREG(found.st_mode)) return fail("verify", object, "is not a regular file");
  if (static_cast<std::uint64_t>(found.st_size) > most)
    return fail("verify", object, fmt::format("is longer than the {} bytes that are allowed", most));
  Fd file = TRY(nameless_file(directory));
  Sink sink(file.get(), most);
  std::vector<char> chunk(std::size_t{1} << 18);
  for (;;) {
    const ssize_t got = ::read(source.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("verify", object, errno, {}, "read");
    if (got == 0) return finish(std::move(file), sink, object);
    if (!sink.take(chunk.data(), static_cast<std::size_t>(got))) return told_by_sink(sink, object, most);
  }
}

}  // namespace oncelatch::verify
