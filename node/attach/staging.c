/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Staging mounts.
 *
 * Invariant: mountinfo is the only record of what is staged, so unstaging needs neither the pool
 * nor the catalog. A volume may have several stagings: Nomad creates one for each combination of
 * access mode and attachment mode, and the export to other hosts is one more. Each staging has its
 * own targets, and is not removed while it has a target. The path of a staging is marked
 * (staging_mark.h), which only distinguishes it from a target whose staging was removed.
 */
#include "node/attach/staging.h"

#include <string.h>
#include <unistd.h>

#include "node/attach/family.h"
#include "node/attach/staging_mark.h"
#include "node/catalog/change.h"
#include "node/host/node.h"
#include "node/mount/call.h"
#include "node/mount/kind.h"
#include "node/mount/path.h"
#include "node/zfs/zfs.h"

/*
 * Mount the filesystem. Its own key was loaded by staging_mount and stays loaded while the family
 * is locked. So a key error is of a key that zcsi does not manage, or that was unloaded by hand.
 */
static int mount_dataset(const struct staging *staging, struct error *err)
{
	struct key key;

	if (zfs_mount(staging->source, staging->path, err) == 0)
		return 0;
	if (err->code != ERR_UNAUTHENTICATED || key_read(staging->source, &key, err) < 0 ||
	    key_load(staging->source, &key, staging->key, err) < 0)
		return -1;
	return zfs_mount(staging->source, staging->path, err);
}

int staging_mount_dataset(const struct staging *staging, struct error *err)
{
	if (mount_dataset(staging, err) < 0)
		return -1;
	return mount_make_staging(staging->path, staging->source, staging->attrs, err);
}

/*
 * Handle a volume that is already mounted at the path. A killed zcsi-node, or an administrator, may
 * have left the mount without its role or with other attributes. Repair that, unless the mount has
 * a target: then it was staged with other attributes and is in use.
 */
static int stage_again(const struct mount_table *table, const struct mount *top,
		       const struct staging *staging, struct error *err)
{
	const uint64_t attrs = staging->attrs;

	if (mount_is_staging(top) && top->attrs == attrs)
		return 0;
	const struct mount *target = mount_target_of(table, top);
	if (target)
		return fail(err, ERR_ALREADY_EXISTS,
			    "'%s' is mounted at '%s' with other mount flags, and from there at "
			    "'%s'; stop the job that uses it first",
			    top->source, top->target, target->target);
	return mount_make_staging(top->target, top->source, attrs, err);
}

static const struct mount *find_dead(const struct mount_table *table, const char *source)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct mount *row = &table->rows[i];
		if (!strcmp(row->source, source) && mount_format(row) &&
		    mount_at(table, row->target) == row && mount_call_is_dead(row))
			return row;
	}
	return NULL;
}

/*
 * Remove the dead mounts of the volume, those whose zfs-fuse has ended. Fail if a workload has one:
 * without the mount, the workload would write to the directory below it. *ret is the remaining
 * mounts.
 */
static int remove_dead(struct arena *arena, const struct staging *staging, struct mount_table *ret,
		       struct error *err)
{
	for (;;) {
		if (mount_table_read(arena, ret, err) < 0)
			return -1;
		const struct mount *dead = find_dead(ret, staging->source);
		if (!dead)
			return 0;
		const struct mount *user = mount_target_of(ret, dead);
		if (!user && !mount_is_staging(dead) && strcmp(dead->target, staging->path) != 0)
			user = dead;
		if (user)
			return fail(err, ERR_FAILED_PRECONDITION,
				    "its mount at '%s' is dead, because zfs-fuse has ended since; "
				    "stop the job that uses it there first",
				    user->target);
		if (mount_remove(dead->target, err) < 0)
			return -1;
	}
}

static int mount_volume(struct arena *arena, const struct staging *staging, struct error *err)
{
	struct mount_table table;
	bool made;

	if (remove_dead(arena, staging, &table, err) < 0)
		return -1;
	const struct mount *top = mount_at(&table, staging->path);
	if (top && (strcmp(top->source, staging->source) != 0 || top->master))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' cannot be mounted at '%s', where '%s' is mounted; unmount that",
			    staging->source, staging->path, top->source);
	const struct mount *other = top ? top : mount_of_source(&table, staging->source);
	if (other && staging->check && staging->check(staging, other, err) < 0)
		return -1;
	if (staging_mark_set(staging->path, err) < 0)
		return -1;
	if (top)
		return stage_again(&table, top, staging, err);
	if (path_make(staging->path, PATH_DIRECTORY, &made, err) < 0)
		return -1;
	int failed = other ? mount_bind(other, staging->path, MOUNT_STAGING, staging->attrs, err)
			   : staging->mount(staging, err);
	if (failed && made)
		rmdir(staging->path);
	return failed;
}

/*
 * Set zcsi:staged of an encrypted volume to the id of this boot. After a power cut, until the key
 * is loaded, only this property shows that the volume may have been written to (complete.h).
 */
static int note_staged(struct staging *staging, struct error *err)
{
	const struct node *node = staging->call->app;
	struct zfs_properties properties = {.n = 0};

	char *boot = arena_strdup(&staging->call->arena, node->boot);
	if (strcmp(staging->dataset->staged, boot) == 0)
		return 0;
	zfs_property(&properties, "zcsi:staged", boot);
	if (zfs_set(staging->dataset->name, &properties, err) < 0)
		return -1;
	struct dataset *noted = dataset_copy(&staging->call->arena, staging->dataset);
	noted->staged = boot;
	catalog_put(node->catalog, noted);
	staging->dataset = noted;
	return 0;
}

/*
 * Load the key first, because the device of an encrypted zvol cannot be opened without it, and so
 * that the key of the request is checked even if the volume is mounted already.
 */
int staging_mount(struct arena *arena, const struct staging *staging, struct error *err)
{
	const struct dataset *dataset = staging->dataset;
	struct staging noted = *staging;
	struct family family;

	if (!dataset || !dataset->has_key)
		return mount_volume(arena, staging, err);
	if (family_lock(staging->call, dataset->name, &family, err) < 0)
		return -1;
	int failed = key_load(dataset->name, &family.key, staging->key, err) < 0 ||
				     note_staged(&noted, err) < 0 ||
				     mount_volume(arena, &noted, err) < 0
			     ? -1
			     : 0;
	family_unlock(staging->call, &family);
	return failed;
}

int staging_unmount(struct arena *arena, const char *dataset, const char *path, struct error *err)
{
	struct mount_table table;

	for (;;) {
		if (mount_table_read(arena, &table, err) < 0)
			return -1;
		const struct mount *top = mount_at(&table, path);
		if (!top)
			return staging_mark_remove(path, err);
		if (!mount_is_of(top, dataset))
			return 0;
		if (top->master)
			return fail(err, ERR_FAILED_PRECONDITION,
				    "'%s' is its target_path, not a staging_target_path; call "
				    "NodeUnpublishVolume with it",
				    path);
		const struct mount *target = mount_target_of(&table, top);
		if (target)
			return fail(
				err, ERR_FAILED_PRECONDITION,
				"its mount at '%s' is in use at '%s'; stop the job that uses it "
				"first",
				path, target->target);
		if (mount_remove_tree(path, dataset, err) < 0)
			return -1;
	}
}
