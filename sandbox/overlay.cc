// overlayfs(5) as anybody may mount it in a user namespace of their own: Linux 5.11 or later, with "userxattr". There
// directories aren't renamed by reference and no file is made of parts: what lies in "upper" is whole.
#include "sandbox/overlay.h"

#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>

#include "sandbox/enforce.h"
#include "sandbox/mount_tools.h"

namespace oncelatch::sandbox {

namespace {

constexpr int kDetach = 2;  // MNT_DETACH

const Entry* overlay_of(const Context& context) {
  for (std::uint32_t i = 0; i < context.plan->entry_count; ++i)
    if (context.plan->entries[i].kind == EntryKind::overlay) return &context.plan->entries[i];
  return nullptr;
}

// By paths without a letter that would have to be escaped, relative to the new root.
long new_overlay() {
  constexpr const char* kOptions[][2] = {
      {"lowerdir", ".overlay/lower"}, {"upperdir", ".overlay/layers/upper"}, {"workdir", ".overlay/layers/work"}};
  const long context = sys::call(__NR_fsopen, "overlay", FSOPEN_CLOEXEC);
  if (context < 0) return context;
  long rc = sys::call(__NR_fsconfig, context, FSCONFIG_SET_FLAG, "userxattr", nullptr, 0);
  for (const auto& [name, value] : kOptions)
    if (rc >= 0) rc = sys::call(__NR_fsconfig, context, FSCONFIG_SET_STRING, name, value, 0);
  if (rc >= 0) rc = sys::call(__NR_fsconfig, context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0);
  if (rc >= 0) rc = sys::call(__NR_fsmount, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
  sys::close(static_cast<int>(context));
  return rc;
}

// The overlay holds both by itself from now on.
Outcome take_layers_away() {
  constexpr const char* kPlaces[] = {kOverlayLower + 1, kOverlayLayers + 1};
  for (const char* path : kPlaces) {
    if (long rc = sys::call(__NR_umount2, path, kDetach); rc < 0) return failed(rc, path);
    if (long rc = sys::call(__NR_unlinkat, AT_FDCWD, path, AT_REMOVEDIR); rc < 0) return failed(rc, path);
  }
  return {};
}

}  // namespace

const char* below_overlay(const Context& context, const Entry& entry) {
  const Entry* overlay = context.lower < 0 ? nullptr : overlay_of(context);
  if (overlay == nullptr || entry.target.size <= overlay->target.size) return nullptr;
  for (std::uint32_t i = 0; i < overlay->target.size; ++i)
    if (entry.target.data[i] != overlay->target.data[i]) return nullptr;
  return entry.target.data[overlay->target.size] == '/' ? entry.target.data + overlay->target.size + 1 : nullptr;
}

Outcome mount_overlay(Context& context) {
  const Entry* entry = overlay_of(context);
  if (entry == nullptr) return {};
  const long lower = open_without_links(kOverlayLower + 1, RESOLVE_BENEATH);
  if (lower < 0) return failed(lower, kOverlayLower);
  context.lower = static_cast<int>(lower);
  const long overlay = new_overlay();
  if (overlay < 0) return failed(overlay, "overlayfs");
  if (Outcome outcome = make_target(*entry); outcome.error != 0) return outcome;
  if (long rc = attach_to_target(static_cast<int>(overlay), *entry); rc < 0) return failed(rc, entry->target.data);
  return take_layers_away();
}

}  // namespace oncelatch::sandbox
