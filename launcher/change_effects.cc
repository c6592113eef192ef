#include "launcher/change_effects.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/beneath.h"
#include "launcher/change_list.h"

namespace oncelatch::launcher {

namespace {

constexpr std::size_t kMostText = std::size_t{64} << 10;
constexpr std::size_t kMostTexts = std::size_t{16} << 20;

std::string text_of(const Fd& file) {
  std::string text(kMostText, '\0');
  const ssize_t size = file ? ::pread(file.get(), text.data(), text.size(), 0) : 0;
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

std::string text_below(int workspace, const Change& change) {
  if (!S_ISREG(change.was)) return {};
  Result<Fd> file = open_beneath(workspace, change.path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  return file ? text_of(*file) : std::string();
}

}  // namespace

AfterRunReport effects_of(const ChangeSet& set) {
  AfterRunReport report;
  Result<ChangeList> list = list_changes(set);
  Result<Fd> upper = set.open_upper();
  Result<Fd> workspace = set.open_workspace();
  report.complete = list && upper && workspace && list->complete;
  if (!list || !upper || !workspace) return report;
  std::size_t read = 0;
  for (const Change& change : list->changes) {
    if (change.verdict.guard == nullptr || change.what == Change::What::removed) continue;
    HostEffect effect{.path = set.workspace() + "/" + change.path,
                      .guard = change.verdict.guard,
                      .kind = change.verdict.kind,
                      .reason = change.verdict.reason,
                      .change = change.was != 0 ? "changed" : "new",
                      .line = {}};
    if (S_ISREG(change.mode) && read < kMostTexts) {
      const std::string after = text_of(open_in_layer(upper->get(), change.path, O_RDONLY));
      read += after.size();
      find_line(change.path, text_below(workspace->get(), change), after, effect);
    }
    report.effects.push_back(std::move(effect));
  }
  return report;
}

}  // namespace oncelatch::launcher
