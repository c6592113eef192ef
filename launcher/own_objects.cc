#include "launcher/own_objects.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/beneath.h"
#include "base/untrusted.h"

namespace oncelatch::launcher {

namespace {

Status make(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return fail_errno("git", escape_for_display(path, 400), errno, {}, "mkdir");
}

Failure not_what_they_say(const std::string& common, const std::string& object) {
  const std::string git_dir = escape_for_display(common, 400);
  return fail(
      "worktree", git_dir, "an object's content isn't what its name says: " + escape_for_display(object, 80),
      "git --git-dir=" + git_dir + " fsck shows all of them; restore what was there before, or drop the worktree");
}

}  // namespace

OwnObjects::OwnObjects(HostGit git, GitPlace repository, std::string directory, Fd lock)
    : git_(std::move(git)),
      repository_(std::move(repository)),
      directory_(std::move(directory)),
      lock_(std::move(lock)) {}

Result<OwnObjects> OwnObjects::open(const HostGit& git, const GitPlace& repository, const std::string& directory) {
  TRY(make(directory));
  Fd lock = TRY(open_directory(directory));
  TRY(check_private_directory(lock.get(), escape_for_display(directory, 400)));
  while (::flock(lock.get(), LOCK_EX) != 0)
    if (errno != EINTR) return fail_errno("git", escape_for_display(directory, 400), errno, {}, "flock");
  TRY(make(directory + "/objects"));
  return OwnObjects(git, repository, directory, std::move(lock));
}

GitPlace OwnObjects::verified() const {
  GitPlace place = repository_;
  place.index = path("none");  // the repository's says of files what the agent may have written in it
  place.objects = path("objects");
  place.shallow = path("ends");
  return place;
}

GitPlace OwnObjects::claimed() const {
  GitPlace place = verified();
  place.more = repository_.common + "/objects";
  place.shallow = repository_.common + "/shallow";
  return place;
}

Result<Fd> OwnObjects::list(const std::vector<std::string>& objects) const {
  std::string text;
  for (const std::string& one : objects) text += one + "\n";
  TRY(write_file_atomic(lock_.get(), "list", text, 0600));
  return open_beneath(lock_.get(), "list", O_RDONLY);
}

// Its own index says what `from` says; nobody reads that.
Result<Fd> OwnObjects::pack(const GitPlace& from, const std::vector<std::string>& objects) const {
  TRY(remove_tree(lock_.get(), "packed"));
  TRY(make(path("packed")));
  const Fd input = TRY(list(objects));
  const std::string name =
      TRY(git_.ask(from, {"pack-objects", "-q", "--window=0", path("packed") + "/pack"}, input.get()));
  return open_beneath(lock_.get(), "packed/pack-" + name + ".pack", O_RDONLY);
}

Status OwnObjects::check_all_are_in(const GitPlace& place, const std::vector<std::string>& objects) const {
  const Fd input = TRY(list(objects));
  const std::string told = TRY(git_.ask(place, {"cat-file", "--batch-check=%(objectname)", "--buffer"}, input.get()));
  const std::size_t missing = told.find(" missing");
  if (missing == std::string::npos) return {};
  const std::size_t line = told.rfind('\n', missing);
  const std::size_t start = line == std::string::npos ? 0 : line + 1;
  return not_what_they_say(repository_.common, told.substr(start, missing - start));
}

Status OwnObjects::bring(const std::vector<std::string>& objects, const std::vector<std::string>& ends) const {
  TRY(remove_tree(lock_.get(), "objects/pack"));
  Result<Fd> packed = pack(claimed(), objects);
  if (!packed) return not_what_they_say(repository_.common, packed.error().what);
  std::string lines;
  for (const std::string& one : ends) lines += one + "\n";
  TRY(write_file_atomic(lock_.get(), "ends", lines, 0600));
  TRY(git_.ask(verified(), {"index-pack", "--stdin"}, packed->get()));
  TRY(remove_tree(lock_.get(), "packed"));
  return check_all_are_in(verified(), objects);
}

Status OwnObjects::give(const HostGit& into, const std::vector<std::string>& objects) const {
  const Fd packed = TRY(pack(verified(), objects));
  Result<std::string> given = into.ask(repository_, {"index-pack", "--stdin"}, packed.get());
  TRY(remove_tree(lock_.get(), "packed"));
  if (!given) return not_what_they_say(repository_.common, given.error().what);
  return check_all_are_in(repository_, objects);
}

}  // namespace oncelatch::launcher
