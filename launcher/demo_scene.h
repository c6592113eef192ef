// The stage of `oncelatch demo`: a scratch repository, a made-up home with a key in it, a policy, and what the demo
// agent does.
//
//   DemoScene scene = TRY(DemoScene::make(watch));
//   run(scene.environment(caller), scene.repository(), scene.policy());
//
// Ownership: owns the scratch directory below /tmp and removes it. Threads: one. Failure: Error with the path. After
// fork: no.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace oncelatch::launcher {

class DemoScene {
 public:
  [[nodiscard]] static Result<DemoScene> make(bool slow);
  DemoScene(DemoScene&& other) noexcept = default;
  DemoScene& operator=(DemoScene&&) = delete;
  ~DemoScene();

  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
  // The caller's environment with HOME and the state directory inside the scratch directory.
  [[nodiscard]] std::vector<std::string> environment(const std::vector<std::string>& caller) const;
  // Content of a file of the scratch directory, escaped and clipped; empty when it isn't there.
  [[nodiscard]] std::string text(const std::string& name) const;
  // The same with its line breaks kept.
  [[nodiscard]] std::string lines(const std::string& name) const;
  [[nodiscard]] bool exists(const std::string& name) const;

 private:
  DemoScene() = default;
  Status fill(bool slow);
  std::string path_;
  std::string name_;
  Fd parent_;
  Fd directory_;
};

}  // namespace oncelatch::launcher
