// `oncelatch exec` as a user meets it, as root and as an ordinary user.
//
//   class ExecCodes : public Exec {};
//   TEST_P(ExecCodes, X) { EXPECT_EQ(shell("exit 3").status.shell_code(), 3); EXPECT_EQ(reason(), "exited"); }
//   EXEC_USERS(ExecCodes);
//
// Ownership: owns its scratch directory. Threads: one. Failure: gtest assertions.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "tests/launcher/scratch.h"

namespace oncelatch::test {

class Exec : public ::testing::TestWithParam<uid_t> {
 protected:
  using Words = std::vector<std::string>;

  [[nodiscard]] std::string path(const std::string& name) const { return scratch.path(name); }
  void own(const std::string& name) const {
    if (::geteuid() == 0) {
      EXPECT_EQ(::lchown(path(name).c_str(), GetParam(), GetParam()), 0) << name;
    }
  }
  void make_directory(const std::string& name) const {
    std::filesystem::create_directories(path(name));
    own(name);
  }
  void add_probe() const {
    const std::string place = path("repository/probe");
    if (::access(place.c_str(), F_OK) == 0) return;
    std::filesystem::copy_file(std::string(ONCELATCH_BINARY_DIR) + "/tests/probes/probe", place);
    std::filesystem::permissions(place, std::filesystem::perms(0755));
    own("repository/probe");
  }

  [[nodiscard]] static Words all(Words options, const Words& command) {
    options.insert(options.begin(), "exec");
    options.emplace_back("--");
    options.insert(options.end(), command.begin(), command.end());
    return options;
  }
  // As a shell is told to start it.
  [[nodiscard]] static std::string shell_words(const Spawn& spawn) {
    std::string text = spawn.path;
    for (std::size_t i = 1; i < spawn.argv.size(); ++i) text += " '" + spawn.argv[i] + "'";
    return text;
  }
  // With a report, which `report()` reads.
  [[nodiscard]] Words reported(Words options, const Words& command) const {
    options.insert(options.end(), {"--report", path("report.json")});
    return all(std::move(options), command);
  }
  [[nodiscard]] Output run(const Words& options, const Words& command) const {
    ::unlink(path("report.json").c_str());
    return scratch.oncelatch(reported(options, command));
  }
  [[nodiscard]] Output shell(const std::string& script, const Words& options = {}) const {
    return run(options, {"sh", "-c", script});
  }
  // With the caller's environment and directory changed.
  [[nodiscard]] Output changed(const Words& options, const Words& command, const Words& environment,
                               const std::string& directory = {}) const {
    Spawn spawn = scratch.spawn(reported(options, command));
    spawn.environment = environment;
    if (!directory.empty()) spawn.directory = directory;
    Result<Output> output = run_bounded(std::move(spawn), std::size_t{8} << 20, std::chrono::seconds(60));
    EXPECT_TRUE(output) << (output ? "" : output.error().message());
    return output ? *output : Output{};
  }
  [[nodiscard]] Words environment_with(const Words& more) const {
    Words environment = scratch.environment();
    environment.insert(environment.end(), more.begin(), more.end());
    return environment;
  }
  [[nodiscard]] std::string reason() const { return scratch.report().at("exit").value("reason", ""); }

  Scratch scratch{GetParam()};
};

#define EXEC_USERS(fixture)                                                                    \
  INSTANTIATE_TEST_SUITE_P(Users, fixture, ::testing::ValuesIn(users()), [](const auto& one) { \
    return one.param == 0 ? std::string("Root") : std::string("OrdinaryUser");                 \
  })

}  // namespace oncelatch::test
