/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The checks before a move.
 *
 * Invariant: a check that fails says what to do, and has changed nothing.
 */
#include "node/move/ready.h"

#include <string.h>

#include "common/clock.h"
#include "node/attach/unused.h"
#include "node/move/place.h"
#include "node/record/publication.h"
#include "node/record/push_rules.h"
#include "node/zfs/zfs_run.h"

#define FIND_MS 10000

static int check_member(const struct node *node, struct arena *arena, const struct dataset *volume,
			const char *to, struct error *err)
{
	const struct push_rules rules = push_rules_parse(volume->push);
	struct members members;

	if (strcmp(to, node->id) == 0)
		return fail(err, ERR_INVALID_ARGUMENT, "it is on node '%s'; name another node", to);
	if (!members_parse(arena, volume->members, &members) ||
	    (!members_have(&members, to) && rules.follow != FOLLOW_ANYWHERE))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "node '%s' has no copy of it; run 'zcsi copy add %s %s' first", to,
			    volume->id, to);
	if (!zfs_is_the_kernels())
		return fail(err, ERR_FAILED_PRECONDITION,
			    "node '%s' has zfs-fuse, from which no volume can move; use OpenZFS",
			    node->id);
	if (rules.paused)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it is paused, so its copies get no data; run 'zcsi resume %s' first",
			    volume->id);
	return 0;
}

/* Check the dataset of the volume and its snapshots in the pool. */
static int check_dataset(const struct node *node, struct arena *arena, const struct dataset *volume,
			 struct error *err)
{
	struct place place;

	if (place_read(arena, catalog_parent(node->catalog), volume->id, &place, err) < 0)
		return -1;
	if (place.foreign_key)
		return fail(
			err, ERR_FAILED_PRECONDITION,
			"it has the encryption key of another dataset, which stays here; only a "
			"volume with a key of its own, or with none, can move");
	if (place.children)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "%zu datasets are below it; list them with 'zfs list -r %s', and "
			    "destroy or rename them first",
			    place.children, volume->name);
	for (size_t i = 0; place.encrypted && i < place.n; i++)
		if (place.snapshots[i].cloned)
			return fail(err, ERR_FAILED_PRECONDITION,
				    "it is encrypted, and a clone of '%s' has its key; delete the "
				    "clone first",
				    place.snapshots[i].name);
	return 0;
}

int ready_check(const struct node *node, struct arena *arena, const char *id, const char *to,
		struct error *err)
{
	struct dataset *volume;

	if (catalog_get(node->catalog, now_ms() + FIND_MS, arena, id, &volume, err) < 0 ||
	    check_member(node, arena, volume, to, err) < 0 ||
	    publication_check_none(arena, volume, node->id, err) < 0 ||
	    unused_check(arena, volume, err) < 0)
		return -1;
	return check_dataset(node, arena, volume, err);
}
