/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Exporting on this host: each volume is mounted at the path of its share (node/record/share.h) and
 * exported with exportfs.
 *
 * Invariant: a path is mounted before it is exported, and unmounted after its export is withdrawn.
 * Healing withdraws and unmounts everything below SHARE_FOLDER/pool/parent that belongs to no
 * volume.
 */
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "node/export/exportfs.h"
#include "node/export/backend.h"
#include "node/export/exports_inside.h"
#include "node/zfs/argv.h"
#include "node/mount/kind.h"
#include "node/mount/permissions.h"
#include "node/record/share.h"
#include "node/attach/staging.h"
#include "node/zfs/zfs_run.h"

#define RELEASE_MS 1000 /* how long the kernel may keep a path busy after its export is withdrawn */

/* Returns "legacy", because on this host mount(2) mounts volumes at the paths of their use. */
static const char *mountpoint(struct arena *arena, const char *dataset)
{
	(void)arena, (void)dataset;
	return "legacy";
}

static int check(const struct node *node, struct error *err)
{
	if (!zfs_is_the_kernels())
		return fail(err, ERR_FAILED_PRECONDITION,
			    "zfs-fuse cannot be exported by NFS; use volumes of node '%s' on that "
			    "node, or a host with OpenZFS",
			    node->id);
	if (!exportfs_serves())
		return fail(err, ERR_FAILED_PRECONDITION,
			    "no NFS server runs on node '%s'; install nfs-kernel-server there and "
			    "start it",
			    node->id);
	return 0;
}

/* Create the directories above a share with mode 0711: NFS clients traverse them as nobody. */
static void make_folders(struct arena *arena, const char *path)
{
	char *folder = arena_strdup(arena, path);

	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(folder, 0711);
		*slash = '/';
	}
}

static int mount_share(struct arena *arena, const struct dataset *dataset, const char *path,
		       struct error *err)
{
	const struct staging staging = {
		.source = dataset->name, .path = path, .mount = staging_mount_dataset};
	struct permissions permissions;

	make_folders(arena, path);
	if (permissions_parse(dataset->root, "", &permissions, err) < 0 ||
	    staging_mount(arena, &staging, err) < 0)
		return -1;
	permissions.maker = argv_uid();
	return permissions_apply(path, &permissions, err);
}

/*
 * Returns the dataset that is mounted at the path of a share, which has another name than `dataset`
 * if it was renamed by hand. All mounts below SHARE_FOLDER/pool/parent belong to zcsi.
 */
static const char *mounted_at(struct arena *arena, const char *dataset, const char *path)
{
	struct mount_table table;
	struct error err;

	const struct mount *top =
		mount_table_read(arena, &table, &err) < 0 ? NULL : mount_at(&table, path);
	const struct format *format = top ? mount_format(top) : NULL;
	return format && !strcmp(format->name, FORMAT_ZFS) ? top->source : dataset;
}

/*
 * Unmount a share after its export was withdrawn. The kernel keeps it busy for a moment, so retry
 * for RELEASE_MS. Files that a dead client had open keep it busy until the client's lease ends; the
 * next healing unmounts it then.
 */
static void unmount_share(struct arena *arena, const char *dataset, const char *path)
{
	const char *mounted = mounted_at(arena, dataset, path);
	struct error busy;

	for (long ms = 10; staging_unmount(arena, mounted, path, &busy) < 0; ms *= 2) {
		if (ms > RELEASE_MS)
			return;
		nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
	}
	rmdir(path);
}

/* Mount and export the dataset as `wanted` says, or withdraw and unmount it. */
static int set_export(struct arena *arena, const struct node *node, const struct dataset *dataset,
		      const struct export_table *wanted, struct error *err)
{
	const char *path = share_path(arena, dataset->name);

	if ((wanted->n && mount_share(arena, dataset, path, err) < 0) ||
	    exportfs_set(arena, catalog_parent(node->catalog), path, wanted, err) < 0)
		return -1;
	if (!wanted->n)
		unmount_share(arena, dataset->name, path);
	return 0;
}

static int apply(struct arena *arena, const struct node *node, const struct dataset *dataset,
		 const struct export_table *wanted, struct error *err)
{
	/* Most volumes were never exported: return without reading the host's tables. */
	if (!wanted->n && access(share_path(arena, dataset->name), F_OK) < 0)
		return 0;
	return set_export(arena, node, dataset, wanted, err);
}

struct healing {
	struct arena *arena;
	const struct node *node;
	struct export_table all; /* all rows that should be exported */
};

static void heal_one(const struct node *node, const struct dataset *dataset,
		     const struct export_table *wanted)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct error err;

	if (set_export(&arena, node, dataset, wanted, &err) < 0)
		exports_warn(dataset->name, &err);
}

static void heal_volume(void *arg, const struct dataset *dataset, const struct export_table *rows)
{
	struct healing *healing = arg;

	if (!rows->n)
		return;
	heal_one(healing->node, dataset, rows);
	healing->all = export_table_join(healing->arena, &healing->all, rows);
}

/* Withdraw the export of a path below SHARE_FOLDER/pool/parent if no volume should have it. */
static void heal_stray(const struct healing *healing, const char *path)
{
	const struct export_table none = {.n = 0};
	struct arena *arena = healing->arena;
	const char *folder = share_path(arena, catalog_parent(healing->node->catalog));
	size_t length = strlen(folder);

	if (strncmp(path, folder, length) != 0 || path[length] != '/' ||
	    export_table_of(arena, &healing->all, path, false).n)
		return;
	heal_one(healing->node,
		 &(struct dataset){.name = arena_strdup(arena, path + strlen(SHARE_FOLDER "/"))},
		 &none);
}

static void heal_strays(const struct healing *healing)
{
	const char *parent = catalog_parent(healing->node->catalog);
	struct export_table tables[2];
	struct mount_table mounts;
	struct error err;

	if (exportfs_active(healing->arena, &tables[0], &err) < 0 ||
	    exportfs_recorded(healing->arena, parent, &tables[1], &err) < 0) {
		exports_warn(parent, &err);
		return;
	}
	for (size_t i = 0; i < COUNT(tables); i++)
		for (size_t k = 0; k < tables[i].n; k++)
			heal_stray(healing, tables[i].rows[k].path);
	if (mount_table_read(healing->arena, &mounts, &err) < 0)
		return;
	for (size_t i = 0; i < mounts.n; i++)
		heal_stray(healing, mounts.rows[i].target);
}

static void heal(struct arena *arena, const struct node *node)
{
	struct healing healing = {.arena = arena, .node = node, .all = {.n = 0}};

	if (exports_each(arena, node, heal_volume, &healing) == 0)
		heal_strays(&healing);
}

const struct export_backend export_local = {mountpoint, check, apply, heal};
