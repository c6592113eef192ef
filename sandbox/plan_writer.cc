#include "sandbox/plan_writer.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/beneath.h"

namespace oncelatch::sandbox {

namespace {

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(std::string& out, const std::string& text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out.append(text.c_str(), text.size() + 1);
}

void put_list(std::string& out, const std::vector<std::string>& list) {
  put(out, static_cast<std::uint32_t>(list.size()));
  for (const std::string& text : list) put_text(out, text);
}

void put_entry(std::string& out, const ViewEntry& entry) {
  put(out, entry.kind);
  put(out, entry.rights);
  put(out, entry.flags);
  put(out, entry.mode);
  put(out, entry.source);
  put_text(out, entry.target);
  put_text(out, entry.text);
}

std::size_t bound(const PlanFields& fields) {
  std::size_t size = 4096;
  for (const auto* list : {&fields.arguments, &fields.environment})
    for (const std::string& text : *list) size += text.size() + 5;
  for (const ViewEntry& entry : fields.entries) size += entry.target.size() + entry.text.size() + 64;
  return size;
}

}  // namespace

std::string write_plan(const PlanFields& fields) {
  std::string out;
  out.reserve(bound(fields));  // no copy of the environment is left behind by growing
  put(out, kPlanMagic);
  put(out, kPlanVersion);
  put(out, std::uint32_t{0});
  put(out, fields.sources);
  put(out, std::uint32_t{fields.by_path ? 1U : 0U});
  put(out, fields.landlock_abi);
  put(out, fields.processes);
  put(out, fields.file_size);
  put(out, fields.open_files);
  put(out, fields.seconds);
  put(out, fields.memory);
  for (const std::string* text :
       {&fields.working_directory, &fields.program, &fields.planted_directory, &fields.planted_abstract,
        &fields.own_branch.git_directory, &fields.own_branch.reference})
    put_text(out, *text);
  put(out, static_cast<std::uint32_t>(fields.ports.size()));
  for (std::uint16_t port : fields.ports) put(out, port);
  put_list(out, fields.arguments);
  put_list(out, fields.environment);
  put(out, static_cast<std::uint32_t>(fields.entries.size()));
  for (const ViewEntry& entry : fields.entries) put_entry(out, entry);
  auto total = static_cast<std::uint32_t>(out.size());
  out.replace(8, sizeof total, reinterpret_cast<const char*>(&total), sizeof total);
  return out;
}

Result<Fd> plan_in_memory(std::string message) {
  if (message.size() > kMostPlanBytes)
    return fail_errno("sandbox", "plan", E2BIG, "pass fewer arguments or a smaller environment");
  Fd memory(::memfd_create("oncelatch-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return fail_errno("sandbox", "memfd_create", errno);
  Status written = write_all(memory.get(), message, "plan");
  ::explicit_bzero(message.data(), message.size());
  TRY(std::move(written));
  if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
    return fail_errno("sandbox", "seals of the plan", errno);
  return memory;
}

}  // namespace oncelatch::sandbox
