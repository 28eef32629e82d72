/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Stagings. See staging.h.
 *
 * Invariant: what is staged is what mountinfo says; taking it off needs neither the pool nor the
 * catalog. A volume may have several stagings, since Nomad makes one for each way in which it is
 * used, and the export to other hosts is one more; each has its own targets, and none is removed
 * while one of those lives.
 */
#include "node/attach/staging.h"

#include <string.h>
#include <unistd.h>

#include "node/zfs/key.h"
#include "node/mount/path.h"
#include "node/zfs/zfs.h"

#define LOAD_TRIES 5

/* The last user of a clone may unload the key that was just loaded for this one. */
static int mount_opened(const struct staging *staging, struct error *err)
{
	int failed = zfs_mount(staging->source, staging->path, err);

	for (int tries = 0; failed && err->code == ERR_UNAUTHENTICATED && tries < LOAD_TRIES;
	     tries++) {
		if (key_load(staging->source, staging->key, err) < 0)
			return -1;
		failed = zfs_mount(staging->source, staging->path, err);
	}
	return failed;
}

int staging_mount_dataset(const struct staging *staging, struct error *err)
{
	if (mount_opened(staging, err) < 0)
		return -1;
	return mount_make_staging(staging->path, staging->source, staging->attrs, err);
}

/*
 * The volume is mounted there already. A killed daemon, or a person, may have left it without its
 * role or with other attributes: repair that, unless a target shows that it was staged otherwise
 * and is in use.
 */
static int stage_again(const struct mount_table *table, const struct mount *top,
		       const struct staging *staging, struct error *err)
{
	const uint64_t attrs = staging->attrs;

	if (staging->check && staging->check(staging, err) < 0)
		return -1;
	if (mount_is_staging(top) && top->attrs == attrs)
		return 0;
	const struct mount *target = mount_target_of(table, top);
	if (target)
		return fail(err, ERR_ALREADY_EXISTS,
			    "'%s' is staged at '%s' with other mount flags, and published from it "
			    "at '%s'; unpublish that first",
			    top->source, top->target, target->target);
	return mount_make_staging(top->target, top->source, attrs, err);
}

int staging_mount(struct arena *arena, const struct staging *staging, struct error *err)
{
	struct mount_table table;
	bool made;

	if (mount_table_read(arena, &table, err) < 0)
		return -1;
	const struct mount *top = mount_at(&table, staging->path);
	if (top && (strcmp(top->source, staging->source) != 0 || top->master))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' cannot be staged at '%s': '%s' is mounted there; unmount it",
			    staging->source, staging->path, top->source);
	if (top)
		return stage_again(&table, top, staging, err);
	if (path_make(staging->path, PATH_DIRECTORY, &made, err) < 0)
		return -1;
	const struct mount *other = mount_of_source(&table, staging->source);
	int failed = other ? mount_attach(other, staging->path, MOUNT_STAGING, staging->attrs, err)
			   : staging->mount(staging, err);
	if (failed && made)
		rmdir(staging->path);
	return failed;
}

int staging_unmount(struct arena *arena, const char *dataset, const char *path, struct error *err)
{
	struct mount_table table;

	for (;;) {
		if (mount_table_read(arena, &table, err) < 0)
			return -1;
		const struct mount *top = mount_at(&table, path);
		/* Another volume's, or a target: not staged here. */
		if (!top || !mount_is_of(top, dataset) || top->master)
			return 0;
		const struct mount *target = mount_target_of(&table, top);
		if (target)
			return fail(err, ERR_FAILED_PRECONDITION,
				    "'%s' is published from it at '%s'; unpublish that first", path,
				    target->target);
		if (mount_remove(path, err) < 0)
			return -1;
	}
}
