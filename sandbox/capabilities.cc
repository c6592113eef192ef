// capabilities(7): every set empty, and no way back.
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/prctl.h>
#include <linux/securebits.h>

#include "sandbox/enforce.h"

namespace oncelatch::sandbox {

namespace {

constexpr unsigned long kSecureBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                      SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                      SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
constexpr int kMostCapabilities = 64;

}  // namespace

// None can be had again by exec or by a change of user.
Outcome limit_capabilities(Context&) {
  if (long rc = sys::call(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); rc < 0)
    return failed(rc, "ambient set");
  if (long rc = sys::call(__NR_prctl, PR_SET_SECUREBITS, kSecureBits, 0, 0, 0); rc < 0) return failed(rc, "securebits");
  for (int number = 0; number < kMostCapabilities; ++number) {
    long rc = sys::call(__NR_prctl, PR_CAPBSET_DROP, number, 0, 0, 0);
    if (rc == -EINVAL && number > CAP_SYSLOG) break;  // beyond the last one of this kernel
    if (rc < 0) return failed(rc, "bounding set");
  }
  return {};
}

// Without a user namespace of its own a process may not empty the bounding set. No new privileges and the self-test's
// look at every set stand behind it.
Outcome limit_capabilities_on_host(Context& context) {
  Outcome outcome = limit_capabilities(context);
  return outcome.error == EPERM ? Outcome() : outcome;
}

// Effective, permitted, inheritable.
Outcome drop_capabilities(Context&) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (long rc = sys::call(__NR_capset, &header, none); rc < 0) return failed(rc, "capset");
  return {};
}

Outcome forbid_new_privileges(Context&) {
  if (long rc = sys::call(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); rc < 0)
    return failed(rc, "PR_SET_NO_NEW_PRIVS");
  return {};
}

// A new, empty session key ring (keyctl(2)), beside the filter that refuses every call about keys. A container's own
// filter may refuse it, a kernel may have no keys, and the user's quota of them may be used up: then the filter is
// alone.
Outcome leave_key_ring(Context&) {
  const long rc = sys::call(__NR_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
  const bool cannot = rc == -ENOSYS || rc == -EPERM || rc == -EDQUOT;
  return rc < 0 && !cannot ? failed(rc, "KEYCTL_JOIN_SESSION_KEYRING") : Outcome();
}

}  // namespace oncelatch::sandbox
