// Part of the test-only oncelatch-exec: ONCELATCH_WEAKEN=LAYER in the plan's environment leaves that layer out, or
// where it says nothing, the layer that the file oncelatch-exec.layer beside the program names (a launch of doctor has
// no environment). ONCELATCH_GO_ON=1 starts the program although the self-test found it. Freestanding, like the rest of
// that program.
#include <linux/close_range.h>
#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>

#include <cstring>

#include "sandbox/layer_probes.h"
#include "sandbox/mount_tools.h"
#include "sandbox/test_hook.h"

namespace oncelatch::sandbox {

namespace {

struct Layer {
  const char* name;  // of the self-test's probe
  Stage left_out;
  Outcome (*instead)(Context&);
  std::uint64_t namespaces;
};

Outcome nothing(Context&) {
  return {};
}

// The old root stays the root; only the working directory is entered.
Outcome stay_on_old_root(Context& context) {
  // Root's may not be open to the user it became.
  if (sys::call(__NR_chdir, context.plan->working_directory.data) < 0) (void)sys::call(__NR_chdir, "/");
  sys::call(__NR_umask, context.umask);
  return {};
}

// kernel.pid_max there is the machine's own: it must not be written.
Outcome bind_old_proc(Context& context) {
  context.plan->pid_max = 0;
  if (long rc = sys::call(__NR_mkdirat, AT_FDCWD, "proc", 0555); rc < 0) return failed(rc, "/proc");
  long rc = sys::call(__NR_mount, "/proc", "proc", nullptr, MS_BIND | MS_REC, nullptr);
  if (rc < 0) return failed(rc, "old proc");
  return {};
}

// The first process waits for the listener of one.
Outcome no_filter(Context& context) {
  if (context.listener_event < 0) return {};
  constexpr unsigned kNone = 0x7ffffff0;  // closes nothing, but shares the table no longer
  (void)sys::call(__NR_close_range, kNone, kNone, CLOSE_RANGE_UNSHARE);
  const std::uint64_t none = kNoListener;
  (void)sys::call(__NR_write, context.listener_event, &none, sizeof none);
  return {};
}

// What lies below the overlay stays in reach, and its mount can be written.
Outcome show_lower(Context& context) {
  constexpr const char* kShown = ".lower";
  mount_attr writable{};
  writable.attr_clr = MOUNT_ATTR_RDONLY;
  const long tree = clone_tree(AT_FDCWD, kOverlayLower + 1, 0);
  if (tree < 0) return failed(tree, "clone of what lies below");
  long rc = sys::call(__NR_mount_setattr, tree, "", AT_EMPTY_PATH, &writable, sizeof writable);
  if (rc >= 0) rc = sys::call(__NR_mkdirat, AT_FDCWD, kShown, 0755);
  if (rc >= 0) rc = attach(static_cast<int>(tree), AT_FDCWD, kShown);
  if (rc < 0) return failed(rc, "what lies below");
  return mount_overlay(context);
}

constexpr Layer kLayers[] = {
    {"mount-namespace", Stage::pivot, stay_on_old_root, 0},
    {"pid-namespace", Stage::proc, bind_old_proc, CLONE_NEWPID},
    {"network-namespace", Stage::loopback, nothing, CLONE_NEWNET},
    {"userns-limit", Stage::namespace_limits, nothing, 0},
    {"capabilities", Stage::capabilities, nothing, 0},
    {"overlay", Stage::overlay, show_lower, 0},
    {"landlock", Stage::landlock, nothing, 0},
    {"write-workspace", Stage::guard, nothing, 0},
    {"seccomp", Stage::seccomp, no_filter, 0},
    {"init-not-dumpable", Stage::non_dumpable, nothing, 0},
};

// The value of a variable of the program's environment, or null.
const char* variable(const Context& context, const char* name) {
  if (context.plan == nullptr) return nullptr;
  const unsigned char* here = context.plan->environment.first;
  for (std::uint32_t i = 0; i < context.plan->environment.count; ++i) {
    const char* text = next_text(here).data;
    std::size_t size = std::strlen(name);
    if (std::strncmp(text, name, size) == 0 && text[size] == '=') return text + size + 1;
  }
  return nullptr;
}

char layer_of_file[64];
bool broker_weakened = false;  // its process has forgotten the plan

// While the program's own name can still be opened.
void read_layer_of_file() {
  char path[4096];
  const long size = sys::call(__NR_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path - sizeof ".layer");
  if (size <= 0) return;
  std::memcpy(path + size, ".layer", sizeof ".layer");
  const long file = sys::call(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)sys::call(__NR_read, file, layer_of_file, sizeof layer_of_file - 1);
  sys::close(static_cast<int>(file));
}

const Layer* weakened(const Context& context) {
  const char* name = variable(context, "ONCELATCH_WEAKEN");
  if (name == nullptr) name = layer_of_file;
  for (const Layer& layer : kLayers)
    if (std::strcmp(name, layer.name) == 0) return &layer;
  return nullptr;
}

}  // namespace

bool replaced_by_test(Context& context, const Step& step, Outcome& outcome) {
  if (step.stage == Stage::descriptors) {
    read_layer_of_file();
    return false;
  }
  if (step.stage == Stage::plan) return context.message != nullptr;  // received already, for the line below
  if (step.run == make_namespaces && receive_plan(context).error != 0) return false;
  const char* name = variable(context, "ONCELATCH_WEAKEN");
  broker_weakened = broker_weakened || (name != nullptr && std::strcmp(name, "broker") == 0);
  const Layer* layer = weakened(context);
  if (layer == nullptr || step.stage != layer->left_out) return false;
  if (step.run == plant_scope_target) return false;
  outcome = layer->instead(context);
  return true;
}

std::uint64_t without_namespaces_by_test(const Context& context) {
  const Layer* layer = weakened(context);
  return layer != nullptr ? layer->namespaces : 0;
}

bool leaves_all_to_kernel_by_test() {
  return broker_weakened;
}

bool goes_on_by_test(const Context& context) {
  return variable(context, "ONCELATCH_GO_ON") != nullptr;
}

}  // namespace oncelatch::sandbox
