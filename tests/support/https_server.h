// A real HTTPS server on this machine's loopback, with a certificate authority of its own, that serves a directory well
// or badly (tests/support/https_server.py).
//
//   HttpsServer server(scratch.path("site"));
//   server.put("stable/x.tar.xz", bytes);
//   server.behave({{"/stable/x.tar.xz", "truncated"}});
//   fetch({.url = server.url("stable/x.tar.xz"), .hosts = {server.place()}, .ca_file = server.ca_file()}, …);
//
// Ownership: ends the server with itself. Threads: one. Failure: gtest assertions; url() is empty then.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include "base/json.h"
#include "base/process.h"

namespace oncelatch::test {

class HttpsServer {
 public:
  explicit HttpsServer(const std::string& directory) : directory_(directory) {
    std::filesystem::create_directories(directory_ + "/site");
    make_certificates();
    Spawn spawn;
    spawn.path = "/usr/bin/python3";
    spawn.argv = {"python3",
                  ONCELATCH_SOURCE_DIR "/tests/support/https_server.py",
                  directory_ + "/site",
                  directory_ + "/server.pem",
                  directory_ + "/server.key",
                  directory_ + "/port"};
    spawn.environment = {"PATH=/usr/bin:/bin"};
    spawn.directory = directory_;
    spawn.death_signal = SIGKILL;
    spawn.keep[2] = 2;
    Result<Process> started = start(spawn);
    if (!started) {
      ADD_FAILURE() << started.error().message();
      return;
    }
    process_ = std::move(*started);
    for (int i = 0; i < 1000 && port_.empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      port_ = text_of(directory_ + "/port");
    }
    EXPECT_FALSE(port_.empty()) << "the HTTPS server didn't start";
  }

  void put(const std::string& path, const std::string& bytes) const {
    const std::filesystem::path file = directory_ + "/site/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
  }
  // By path, "/" first; everything else is served well. The behaviours are those of https_server.py.
  void behave(const std::map<std::string, std::string>& behaviours) const {
    Json all = Json::object();
    for (const auto& [path, behaviour] : behaviours) all[path] = behaviour;
    std::ofstream(directory_ + "/site/behaviour.json") << all.dump();
  }
  [[nodiscard]] std::string place() const { return "127.0.0.1:" + port_; }
  [[nodiscard]] std::string url(const std::string& path) const { return "https://" + place() + "/" + path; }
  [[nodiscard]] std::string ca_file() const { return directory_ + "/ca.pem"; }
  // What was asked for, a path a line.
  [[nodiscard]] std::string requests() const { return text_of(directory_ + "/site/requests.log"); }

 private:
  static std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  void make_certificates() const {
    const std::string script =
        "set -e; cd \"$1\"; exec 2>log\n"
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test-authority "
        "-keyout ca.key -out ca.pem\n"
        "openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=127.0.0.1 -keyout server.key "
        "-out server.csr\n"
        "printf 'subjectAltName=IP:127.0.0.1\\n' > names\n"
        "openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out "
        "server.pem\n";
    Spawn spawn;
    spawn.path = "/bin/sh";
    spawn.argv = {"sh", "-c", script, "sh", directory_};
    spawn.environment = {"PATH=/usr/bin:/bin"};
    const Result<Output> made = run_bounded(std::move(spawn), 1 << 16, std::chrono::seconds(30));
    EXPECT_TRUE(made && made->status.shell_code() == 0) << text_of(directory_ + "/log");
  }

  std::string directory_;
  std::string port_;
  Process process_;
};

}  // namespace oncelatch::test
