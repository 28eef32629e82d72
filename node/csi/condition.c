/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A volume's condition, worst first: one that cannot be reached, one that fails, one whose pool or
 * dataset is amiss, one that is not what it was mounted as.
 *
 * Invariant: a problem is said only of what was seen. A volume whose pool is not known is judged by
 * its mount alone.
 */
#include "node/csi/condition.h"
#include "node/mount/kind.h"

#include <errno.h>
#include <string.h>
#include <sys/mount.h>

static bool inaccessible(struct condition *ret, const char *reason, const char *text)
{
	*ret = (struct condition){VOLUME_HEALTH_ERROR_TYPE_INACCESSIBLE, reason, text};
	return true;
}

static bool degraded(struct condition *ret, const char *reason, const char *text)
{
	*ret = (struct condition){VOLUME_HEALTH_ERROR_TYPE_DEGRADED, reason, text};
	return true;
}

static const char *where_to_look(struct arena *arena, const struct mount *mount)
{
	return mount_is_network(mount)
		       ? arena_printf(arena, "it is '%s', whose server may be down or out of reach",
				      mount->source)
		       : "look at 'zpool status'";
}

/* The workload does not get at its data. */
static bool judge_access(struct arena *arena, const struct condition_facts *facts,
			 struct condition *ret)
{
	const struct mount *mount = facts->mount;

	if (facts->top != mount)
		return inaccessible(ret, "MountedOver",
				    arena_printf(arena,
						 "'%s' is mounted over it at '%s'; unmount that",
						 facts->top->source, mount->target));
	if (!facts->error)
		return false;
	return inaccessible(ret, facts->error == ETIMEDOUT ? "NoAnswer" : "FilesystemError",
			    arena_printf(arena, "the filesystem at '%s' %s; %s", mount->target,
					 facts->error == ETIMEDOUT
						 ? "does not answer"
						 : arena_printf(arena, "answers \"%s\"",
								strerrordesc_np(facts->error)),
					 where_to_look(arena, mount)));
}

/* It does, for now. */
static bool judge_mount(struct arena *arena, const struct condition_facts *facts,
			struct condition *ret)
{
	const struct mount *mount = facts->mount;

	if (!facts->has_dataset)
		return degraded(
			ret, "DatasetGone",
			arena_printf(arena,
				     "the dataset '%s' is mounted but is no volume any more; look "
				     "whether it was renamed or destroyed",
				     mount->source));
	if (facts->frozen && !(mount->attrs & MOUNT_ATTR_RDONLY))
		return degraded(
			ret, "ReadOnly",
			arena_printf(arena,
				     "'%s' is mounted for writing but the filesystem is read-only; "
				     "look at 'zfs get readonly %s' and 'zpool status'",
				     mount->target, mount->source));
	if (!mount->shared && !mount->master)
		return degraded(ret, "NotStaged",
				arena_printf(arena,
					     "what '%s' was published from is not staged any more; "
					     "unpublish it, and stage and publish again",
					     mount->target));
	return false;
}

bool condition_judge(struct arena *arena, const struct condition_facts *facts,
		     struct condition *ret)
{
	if (facts->mount && judge_access(arena, facts, ret))
		return true;
	if (*facts->pool_problem) {
		const char *text =
			arena_printf(arena, "the pool cannot be used: %s", facts->pool_problem);
		return facts->mount ? degraded(ret, "PoolUnavailable", text)
				    : inaccessible(ret, "PoolUnavailable", text);
	}
	return facts->mount && judge_mount(arena, facts, ret);
}
