#include "elicitation/mirror.h"

#include "elicitation/mirror_state.h"

namespace oncelatch::elicitation {

Result<Mirror> Mirror::start(MirrorSetup setup) {
  if (setup.pane == nullptr || setup.gate == nullptr || setup.decisions == nullptr || setup.listener == nullptr ||
      setup.clock == nullptr || !setup.decide) {
    return fail("mirror", "setup", "a part is missing");
  }
  RecorderFile recorder = TRY(RecorderFile::start(std::move(setup.recorder_file), setup.recorder_path));
  return Mirror(std::make_unique<State>(std::move(setup), std::move(recorder)));
}

Mirror::Mirror(std::unique_ptr<State> state) : state_(std::move(state)) {}
Mirror::Mirror(Mirror&&) noexcept = default;
Mirror& Mirror::operator=(Mirror&&) noexcept = default;
Mirror::~Mirror() = default;

std::vector<pollfd> Mirror::poll_fds() const {
  if (state_->stopped) return {};
  return {{state_->recorder.watch_fd(), POLLIN, 0}};
}

std::optional<Nanoseconds> Mirror::next_deadline() const {
  return state_->next_deadline();
}
void Mirror::handle_ready() {
  state_->handle_ready();
}

void Mirror::screen_changed() {
  if (!state_->stopped) state_->tick_slot();
}

Status Mirror::answer(const std::string& local_id, policy::Verdict verdict, policy::Decider decider,
                      const std::string& shown_sha256) {
  return state_->answer(local_id, verdict, decider, shown_sha256);
}

void Mirror::finish(const std::string& why) {
  state_->finish(why);
}
std::uint64_t Mirror::skipped_lines() const {
  return state_->recorder.skipped_lines();
}

}  // namespace oncelatch::elicitation
