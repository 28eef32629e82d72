/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi snapshot mount: a snapshot of a filesystem, at a folder of the host where it is typed, for
 * programs that read files.
 *
 * Invariant: what is mounted has the guid of the snapshot that was asked for, whether it is of the
 * volume or of a copy of it. It is mounted read-only, at an empty folder, by mount(8) of this host;
 * zcsi stores nothing about the mount, and umount(8) ends it.
 */
#include "controller/cli/change/snapshot_mount.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "controller/cli/change/snapshot_find.h"
#include "controller/cli/dry_run.h"
#include "controller/cli/here/here.h"

#define LOOK_NS   200000000 /* between two looks at a snapshot that was just taken */
#define LOOKS_MAX 50

/*
 * Returns the snapshot's name in ZFS on this host: in the volume, or in a copy of it, which lies in
 * _replica below the parent dataset of an agent. NULL if this host does not have the snapshot.
 */
static const char *name_here(struct cli *cli, const DatasetSnapshot *snapshot)
{
	const char *leaf = strrchr(snapshot->zfs_name, '/');

	if (here_has(&cli->arena, snapshot->zfs_name, snapshot->guid))
		return snapshot->zfs_name;
	for (size_t i = 0; leaf && i < cli->n_members; i++) {
		const GetHostResponse *host = cli->members[i].host;
		if (!host || !*host->dataset)
			continue;
		const char *name = arena_printf(&cli->arena, "%s/_replica%s", host->dataset, leaf);
		if (here_has(&cli->arena, name, snapshot->guid))
			return name;
	}
	return NULL;
}

/* Check that the host has the kernel's ZFS: zfs-fuse mounts no snapshot. */
static int check_kernel(struct error *err)
{
	auto_fclose FILE *file = fopen("/proc/filesystems", "re");
	char line[64];

	while (file && fgets(line, sizeof(line), file))
		if (strcmp(line, "nodev\tzfs\n") == 0)
			return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "this host has no OpenZFS, and zfs-fuse mounts no snapshots: make a volume of "
		    "the snapshot and read that, or write it to a file with 'zcsi send'");
}

/* Check that the snapshot is of a filesystem, since ZFS cannot mount a snapshot of a zvol. */
static int check_format(const char *id, const DatasetSnapshot *snapshot, struct error *err)
{
	if (!*snapshot->format || strcmp(snapshot->format, "zfs") == 0)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "snapshot '%s' is of a block device (format '%s'), and has no files for ZFS to "
		    "mount: make a volume of it, and read that",
		    id, snapshot->format);
}

/* Find the snapshot. A new one has no guid until the agent has read it, within a second or two. */
static int find(struct cli *cli, const char *id, const struct member **ret_owner,
		const DatasetSnapshot **ret, struct error *err)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};

	for (int looks = 0; looks < LOOKS_MAX; looks++) {
		if (looks)
			nanosleep(&pause, NULL);
		if (snapshot_find(cli, id, ret_owner, ret, err) < 0)
			return -1;
		if ((*ret)->guid)
			return 0;
	}
	return fail(err, ERR_UNAVAILABLE,
		    "snapshot '%s' is new, and node '%s' has not read it yet: try again", id,
		    (*ret_owner)->node);
}

int snapshot_mount(struct cli *cli, const char *id, const char *folder, struct error *err)
{
	const DatasetSnapshot *snapshot;
	const struct member *owner;
	const char *path;

	if (find(cli, id, &owner, &snapshot, err) < 0 || check_format(id, snapshot, err) < 0)
		return -1;
	const char *name = name_here(cli, snapshot);
	if (!name)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "snapshot '%s' is not on this host: run this on the host of node "
			    "'%s', or on one with a copy of volume '%s' that has it",
			    id, owner->node, snapshot->dataset_id);
	if (check_kernel(err) < 0 || here_check_folder(&cli->arena, folder, &path, err) < 0)
		return -1;
	if (dry_run_says(cli, arena_printf(&cli->arena, "mount snapshot '%s' read-only at '%s'", id,
					   path)))
		return 0;
	return here_mount(&cli->arena, "zfs", "ro", name, path, err);
}
