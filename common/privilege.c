/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Linux capabilities, by direct system calls, without libcap.
 *
 * Invariant: because of no_new_privs, a dropped capability cannot be regained. The bounding set is
 * reduced only to show this to an administrator. EPERM is ignored there: reducing it needs
 * CAP_SETPCAP, which a process in a container or without root does not have.
 */
#include "common/privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/mem.h"

#define SETS _LINUX_CAPABILITY_U32S_3

static struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

static int bound(uint64_t kept)
{
	for (int number = 0; prctl(PR_CAPBSET_READ, number) >= 0; number++)
		if (!(kept & PRIVILEGE_BIT(number)) && prctl(PR_CAPBSET_DROP, number) &&
		    errno != EPERM)
			return -1;
	return 0;
}

static int reduce(uint64_t kept)
{
	struct __user_cap_data_struct sets[SETS] = {0};

	if (syscall(SYS_capget, &header, sets))
		return -1;
	for (size_t i = 0; i < COUNT(sets); i++) {
		sets[i].permitted &= (uint32_t)(kept >> (32 * i));
		sets[i].effective &= sets[i].permitted;
		sets[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, sets) ? -1 : 0;
}

int privilege_keep(uint64_t kept, struct error *err)
{
	if (bound(kept) || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) ||
	    reduce(kept) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return fail_errno(err, "cannot give up capabilities: allow prctl(2) and capset(2)");
	return 0;
}

bool privilege_held(int number)
{
	struct __user_cap_data_struct sets[SETS] = {0};

	if (syscall(SYS_capget, &header, sets))
		return false;
	return sets[CAP_TO_INDEX(number)].effective & CAP_TO_MASK(number);
}
