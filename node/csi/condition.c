/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The condition of a volume. Problems are checked from the worst to the mildest: the mount is
 * covered or fails, the pool is unavailable, the dataset is gone, the mount differs from what was
 * staged and published.
 *
 * Invariant: only observed problems are reported. While the state of the pool is not known, a
 * volume is judged by its mount alone.
 */
#include "node/csi/condition.h"
#include "node/mount/kind.h"

#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include "node/mount/call.h"
#include "node/record/ownership.h"

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

/* Returns what to do when the mount's filesystem fails with this errno. */
static const char *advice_for(struct arena *arena, const struct mount *mount, int error)
{
	if (mount_is_network(mount))
		return arena_printf(arena, "check '%s', whose server may be down or unreachable",
				    mount->source);
	return error == ENOTCONN ? "zfs-fuse has ended: start it, then stop all jobs that use the "
				   "volume on this node and start them again"
				 : "check 'zpool status'";
}

/* Find a problem because of which the workload cannot access its data. */
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
					 advice_for(arena, mount, facts->error)));
}

/* Find a problem of a mount that answers. */
static bool judge_mount(struct arena *arena, const struct condition_facts *facts,
			struct condition *ret)
{
	const struct mount *mount = facts->mount;

	if (!facts->has_dataset)
		return degraded(
			ret, "DatasetGone",
			arena_printf(arena,
				     "the dataset '%s' is mounted but is no volume any more; check "
				     "whether it was renamed or destroyed",
				     mount->source));
	if (*facts->newer)
		return degraded(ret, "Superseded",
				arena_printf(arena,
					     "node '%s' took the volume over; what is written here "
					     "is kept apart from it; stop the jobs that use the "
					     "volume here, then look with 'zcsi diverged list'",
					     facts->newer));
	if (facts->frozen && !(mount->attrs & MOUNT_ATTR_RDONLY))
		return degraded(
			ret, "ReadOnly",
			arena_printf(arena,
				     "'%s' is mounted for writing but the filesystem is read-only; "
				     "check 'zfs get readonly %s' and 'zpool status'",
				     mount->target, mount->source));
	if (!mount->shared && !mount->master)
		return degraded(
			ret, "NotStaged",
			arena_printf(arena,
				     "the staging mount of '%s' is gone; restart the job that "
				     "uses the volume",
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

#define ANSWER_MS 5000 /* the longest that a working filesystem takes to answer */
#define LEAST_MS  50   /* given to the filesystem by a call that has little time left */
/* Left of the caller's deadline for the answer. The server takes up to half for its own error. */
#define MARGIN_MS 1000

static int64_t answer_deadline(const struct rpc_call *call)
{
	int64_t now = now_ms(), deadline = now + ANSWER_MS;

	if (call->deadline != NO_DEADLINE && call->deadline - MARGIN_MS < deadline)
		deadline = call->deadline - MARGIN_MS;
	return deadline < now + LEAST_MS ? now + LEAST_MS : deadline;
}

/*
 * Look up the dataset and the pool's problem in the catalog, without waiting. During the first scan
 * of the pool nothing is known, so no problem is reported.
 */
static void ask_catalog(struct rpc_call *call, const char *id, struct condition_facts *facts)
{
	struct node *node = call->app;
	struct dataset *dataset;
	struct catalog_pool pool;
	struct error err = {.code = ERR_OK};

	if (!node->catalog)
		return;
	if (catalog_get(node->catalog, now_ms(), &call->arena, id, &dataset, &err) == 0)
		facts->newer = ownership_parse(&call->arena, dataset->owner).newer;
	facts->has_dataset = err.code != ERR_NOT_FOUND;
	catalog_pool(node->catalog, &call->arena, &pool);
	if (!pool.loading)
		facts->pool_problem = pool.problem;
}

void condition_gather(struct rpc_call *call, const char *id, const struct mount_table *table,
		      const struct mount *mount, struct condition_facts *ret,
		      struct statvfs *ret_fs)
{
	*ret = (struct condition_facts){.mount = mount, .pool_problem = "", .newer = ""};
	*ret_fs = (struct statvfs){0};
	if (mount) {
		ret->top = mount_at(table, mount->target);
		if (ret->top == mount)
			ret->error = mount_call_statvfs(mount, answer_deadline(call), ret_fs);
		ret->frozen = ret_fs->f_flag & ST_RDONLY;
	}
	/* For a share of another host, the agent there checks pool and dataset. */
	ret->has_dataset = mount && mount_is_network(mount);
	if (!ret->has_dataset)
		ask_catalog(call, id, ret);
}
