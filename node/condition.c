/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A volume's condition, worst first: one that cannot be reached, one that fails, one whose pool or
 * dataset is amiss, one that is not what it was mounted as.
 *
 * Invariant: abnormal is said only of what was seen. A volume whose pool is not known is judged by
 * its mount alone.
 */
#include "node/condition.h"

#include <errno.h>
#include <string.h>
#include <sys/mount.h>

const char *condition_problem(struct arena *arena, const struct condition_facts *facts)
{
	const struct mount *mount = facts->mount;

	if (facts->top != mount)
		return arena_printf(arena, "'%s' is mounted over it at '%s'; unmount that",
				    facts->top->source, mount->target);
	if (facts->error == ETIMEDOUT)
		return arena_printf(
			arena, "the filesystem at '%s' does not answer; look at 'zpool status'",
			mount->target);
	if (facts->error)
		return arena_printf(arena,
				    "the filesystem at '%s' answers \"%s\"; look at 'zpool status'",
				    mount->target, strerrordesc_np(facts->error));
	if (*facts->pool_problem)
		return arena_printf(arena, "the pool cannot be used: %s", facts->pool_problem);
	if (!facts->has_dataset)
		return arena_printf(arena,
				    "the dataset '%s' is mounted but is no volume any more; look "
				    "whether it was renamed or destroyed",
				    mount->source);
	if (facts->frozen && !(mount->attrs & MOUNT_ATTR_RDONLY))
		return arena_printf(arena,
				    "'%s' is mounted for writing but the filesystem is read-only; "
				    "look at 'zfs get readonly %s' and 'zpool status'",
				    mount->target, mount->source);
	if (!mount->shared && !mount->master)
		return arena_printf(
			arena,
			"what '%s' was published from is not staged any more; unpublish "
			"it, and stage and publish again",
			mount->target);
	return NULL;
}
