// proc(5) of the new pid namespace, whole (subset=pid breaks os.cpus() and meminfo), with what reaches the kernel
// covered.
#include <linux/fcntl.h>
#include <linux/mount.h>

#include "sandbox/enforce.h"
#include "sandbox/mount_tools.h"

namespace oncelatch::sandbox {

namespace {

enum class With { itself_read_only, empty_directory, empty_file };

struct ProcCover {
  const char* path;
  With with;
  bool owner_only;  // readable by root alone: matters only where the program runs as kernel uid 0
  const char* why;
};

constexpr ProcCover kCovers[] = {
    {"proc/sys", With::itself_read_only, false, "kernel settings: core_pattern, sysrq, modprobe"},
    {"proc/sysrq-trigger", With::empty_file, false, "reboots, kills, crashes the host"},
    {"proc/kcore", With::empty_file, false, "physical memory"},
    {"proc/kallsyms", With::empty_file, false, "addresses of the kernel"},
    {"proc/keys", With::empty_file, false, "names of keys"},
    {"proc/timer_list", With::empty_file, false, "processes of the host, kernel addresses"},
    {"proc/sched_debug", With::empty_file, false, "processes of the host"},
    {"proc/latency_stats", With::empty_file, false, "processes of the host"},
    {"proc/mtrr", With::empty_file, false, "memory types of the host"},
    {"proc/scsi", With::empty_directory, false, "adds and removes disks"},
    {"proc/irq", With::empty_directory, false, "interrupt placement"},
    {"proc/bus", With::empty_directory, false, "configuration space of PCI devices"},
    {"proc/acpi", With::empty_directory, false, "power state"},
    {"proc/fs", With::empty_directory, false, "settings of mounted filesystems"},
    {"proc/driver", With::empty_directory, false, "settings of drivers"},
    {"proc/kmsg", With::empty_file, true, "kernel log"},
    {"proc/kpagecount", With::empty_file, true, "physical memory map"},
    {"proc/kpageflags", With::empty_file, true, "physical memory map"},
    {"proc/kpagecgroup", With::empty_file, true, "physical memory map"},
    {"proc/vmallocinfo", With::empty_file, true, "addresses of the kernel"},
    {"proc/slabinfo", With::empty_file, true, "addresses of the kernel"},
    {"proc/pagetypeinfo", With::empty_file, true, "physical memory map"},
};

long cover(const ProcCover& entry) {
  if (entry.with == With::itself_read_only) return bind_read_only_itself(entry.path);
  return bind_path(entry.with == With::empty_directory ? kEmptyDirectory : kEmptyFile, entry.path);
}

}  // namespace

Outcome mount_proc(Context&) {
  if (long rc = sys::call(__NR_mkdirat, AT_FDCWD, "proc", 0555); rc < 0) return failed(rc, "/proc");
  long rc = sys::call(__NR_mount, "proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  if (rc < 0) return failed(rc, "proc");
  return {};
}

Outcome seal_proc(Context& context) {
  for (const ProcCover& entry : kCovers) {
    if (entry.owner_only && context.plan->uid != 0) continue;
    long rc = cover(entry);
    if (rc < 0 && rc != -ENOENT) return failed(rc, entry.path);  // this kernel has no such file
  }
  if (context.plan->uid != 0) return {};
  // Landlock lets nobody write there; kernel user 0 could still change modes, which every /proc of the machine shares.
  if (long rc = set_attributes("proc", MOUNT_ATTR_RDONLY); rc < 0) return failed(rc, "/proc");
  return {};
}

}  // namespace oncelatch::sandbox
