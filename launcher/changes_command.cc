// oncelatch changes: what runs under an overlay left, to be looked at, promoted or dropped.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/untrusted.h"
#include "launcher/change_apply.h"
#include "launcher/change_pages.h"
#include "launcher/commands.h"
#include "launcher/errors.h"
#include "launcher/exit_codes.h"
#include "launcher/messages.h"

namespace oncelatch::launcher {

namespace {

constexpr int kNotAll = 1;  // apply: something stayed
constexpr std::size_t kMostTold = 50;

std::string shown(const std::string& text) {
  return escape_for_display(text, 1000);
}

std::string time_text(std::int64_t nanoseconds) {
  const std::time_t seconds = nanoseconds / 1'000'000'000;
  std::tm parts{};
  char text[32] = "";
  if (::localtime_r(&seconds, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

std::string current_directory() {
  char* name = ::get_current_dir_name();
  std::string path = name == nullptr ? "" : name;
  std::free(name);
  return path;
}

bool lies_in(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

class ChangesCommand {
 public:
  ChangesCommand(const ChangesOptions& options, ChangeSets sets) : options_(options), sets_(std::move(sets)) {}

  Result<int> run() {
    if (options_.verb == ChangesOptions::Verb::list) return list();
    TRY(choose());
    if (options_.verb == ChangesOptions::Verb::drop) return drop();
    changes_ = TRY(list_changes(*set_));
    if (!changes_.complete && options_.verb == ChangesOptions::Verb::apply)
      return fail("changes", set_->id(), "holds more than is looked at; nothing was promoted",
                  "take by hand what you want of " + shown(set_->layers()) + "/upper");
    std::vector<Change> chosen = TRY(select());
    return options_.verb == ChangesOptions::Verb::diff ? diff(chosen) : apply(chosen);
  }

 private:
  Result<int> list() {
    std::string page;
    for (const std::string& id : sets_.ids()) page += options_.json ? dump_json(json_of(id)) + "\n" : line_of(id);
    if (page.empty() && !options_.json) tell("no changes are kept apart");
    return print_page(page) ? 0 : kExitLauncher;
  }

  std::string line_of(const std::string& id) const {
    Result<ChangeSet> set = sets_.find(id, false);
    if (!set) return fmt::format("{}  {}\n", id, set.error().what);
    if (sets_.is_busy(id)) return fmt::format("{}  in use  {}\n", id, shown(set->workspace()));
    Result<ChangeList> list = list_changes(*set);
    return fmt::format("{}  {}  {}  {}\n", id, time_text(set->started()), list ? counted(*list) : list.error().what,
                       shown(set->workspace()));
  }

  Json json_of(const std::string& id) const {
    Json json = {{"id", id}, {"path", sets_.path() + "/" + id}, {"in_use", sets_.is_busy(id)}};
    Result<ChangeSet> set = sets_.find(id, false);
    if (!set || set->workspace().empty()) return json;
    json["workspace"] = set->workspace();
    json["started"] = set->started() / 1'000'000'000;
    if (json["in_use"]) return json;
    Result<ChangeList> list = list_changes(*set);
    list ? json.update(counted_as_json(*list)) : void(json["error"] = list.error().what);
    return json;
  }

  // The one that is named, else the only one of the directory that the caller is in.
  Status choose() {
    paths_ = options_.words;
    std::string id;
    const std::vector<std::string> ids = sets_.ids();
    if (!paths_.empty() && std::find(ids.begin(), ids.end(), paths_[0]) != ids.end()) {
      id = paths_[0];
      paths_.erase(paths_.begin());
    } else {
      id = TRY(only_one(ids));
    }
    set_.emplace(TRY(sets_.find(id, true)));
    return {};
  }

  Result<std::string> only_one(const std::vector<std::string>& ids) const {
    const std::string here = current_directory();
    std::vector<std::string> found;
    for (const std::string& id : ids) {
      Result<ChangeSet> set = sets_.find(id, false);
      if (set && !set->workspace().empty() && lies_in(here, set->workspace())) found.push_back(id);
    }
    if (found.size() == 1) return found[0];
    const std::string what = found.empty() ? "no changes are kept apart of this directory's workspace"
                                           : "there are " + std::to_string(found.size()) + " sets of changes";
    return fail("changes", shown(here), what, "name one of oncelatch changes list");
  }

  // Those at the paths that were named, below them, and the new directories that hold them.
  Result<std::vector<Change>> select() {
    if (paths_.empty()) return changes_.changes;
    std::vector<Change> chosen;
    std::vector<std::string> wanted;
    for (std::string path : paths_) {
      if (path.starts_with(set_->workspace() + "/")) path = path.substr(set_->workspace().size() + 1);
      while (path.ends_with('/')) path.pop_back();
      wanted.push_back(path);
      auto holds = [&](const Change& change) { return lies_in(change.path, path); };
      if (std::none_of(changes_.changes.begin(), changes_.changes.end(), holds))
        return fail("changes", shown(path), "nothing differs there", "oncelatch changes diff " + set_->id());
    }
    for (const Change& change : changes_.changes) {
      auto wants = [&](const std::string& path) {
        return lies_in(change.path, path) || (S_ISDIR(change.mode) && change.was == 0 && lies_in(path, change.path));
      };
      if (std::any_of(wanted.begin(), wanted.end(), wants)) chosen.push_back(change);
    }
    return chosen;
  }

  Result<int> diff(const std::vector<Change>& chosen) {
    if (options_.json) {
      Json all = Json::array();
      for (const Change& change : chosen) all.push_back(change_as_json(change));
      const Json json = {
          {"id", set_->id()}, {"workspace", set_->workspace()}, {"complete", changes_.complete}, {"changes", all}};
      return print_page(dump_json(json) + "\n") ? 0 : kExitLauncher;
    }
    if (!changes_.complete) tell("changes: " + set_->id() + ": holds more than is looked at");
    return print_page(TRY(changes_page(*set_, chosen))) ? 0 : kExitLauncher;
  }

  // What the host took away: told by the time of its directory, which promoting changes, too.
  Status keep_conflicts() const {
    std::vector<std::string> keys;
    for (const Change& change : changes_.changes)
      if (change.conflict && change.was == 0) keys.push_back(kConflictKey + change.path);
    return keys.empty() ? Status() : set_->add_promoted(keys);
  }

  Result<int> apply(const std::vector<Change>& chosen) {
    TRY(keep_conflicts());
    const std::vector<NotPromoted> left = TRY(apply_changes(*set_, chosen));
    const ChangeList now = TRY(list_changes(*set_));
    const bool done = now.changes.empty() && now.complete;
    if (done) TRY(set_->remove());
    options_.json ? tell_json(chosen, left, done) : tell_text(chosen, left, done);
    return left.empty() ? 0 : kNotAll;
  }

  void tell_json(const std::vector<Change>& chosen, const std::vector<NotPromoted>& left, bool done) const {
    Json kept = Json::array();
    for (const NotPromoted& one : left) {
      Json json = change_as_json(one.change);
      json["why"] = one.why;
      kept.push_back(std::move(json));
    }
    const Json json = {{"id", set_->id()}, {"promoted", chosen.size() - left.size()}, {"left", kept}, {"gone", done}};
    (void)print_page(dump_json(json) + "\n");
  }

  void tell_text(const std::vector<Change>& chosen, const std::vector<NotPromoted>& left, bool done) const {
    for (std::size_t i = 0; i < std::min(left.size(), kMostTold); ++i)
      tell("changes: " + shown(left[i].change.path) + ": " + left[i].why);
    if (left.size() > kMostTold) tell("changes: and " + std::to_string(left.size() - kMostTold) + " more: --json");
    if (!left.empty())
      tell("changes: what wasn't promoted stays: oncelatch changes diff " + set_->id() +
           "\n  try: take it by hand from " + shown(set_->layers()) + "/upper, or oncelatch changes drop " +
           set_->id());
    (void)print_page(fmt::format("{}: {} promoted, {} not{}\n", set_->id(), chosen.size() - left.size(), left.size(),
                                 done ? "; nothing is left, it's gone" : ""));
  }

  Result<int> drop() {
    if (!paths_.empty())
      return fail("command line", shown(paths_[0]), "is no set of changes; a set is dropped as a whole",
                  "oncelatch changes list");
    TRY(set_->remove());
    const Json json = {{"dropped", set_->id()}};
    return print_page(options_.json ? dump_json(json) + "\n" : set_->id() + ": dropped\n") ? 0 : kExitLauncher;
  }

  const ChangesOptions& options_;
  ChangeSets sets_;
  std::optional<ChangeSet> set_;
  std::vector<std::string> paths_;
  ChangeList changes_;
};

}  // namespace

int changes(const ChangesOptions& options, const std::vector<std::string>& environment) {
  Result<ChangeSets> sets = ChangeSets::open(environment);
  if (!sets) return report_error(sets.error());
  Result<int> code = ChangesCommand(options, std::move(*sets)).run();
  return code ? *code : report_error(code.error());
}

}  // namespace oncelatch::launcher
