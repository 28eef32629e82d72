/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi snapshot mount: a snapshot of a filesystem, at a folder of the host where it is typed, for
 * programs that read files.
 *
 * Invariant: what is mounted has the guid of the snapshot that was asked for, whether it is of the
 * volume or of a copy of it. It is mounted read-only, at an empty folder, by mount(8) of this host;
 * zcsi remembers nothing of it, and umount(8) ends it.
 */
#include "controller/cli/change/snapshot_mount.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/exec.h"
#include "controller/cli/change/snapshot.h"

#define LOOK_NS   200000000 /* between two looks at a snapshot that was just taken */
#define LOOKS_MAX 50

/* Run a program. Returns 0 if it succeeded, and *ret_out, unless NULL, is its output. */
static int run(struct arena *arena, const char *const *argv, const char **ret_out,
	       struct error *err)
{
	struct exec_result result = {0};

	if (exec_run(&(struct exec){.argv = argv}, &result, err) < 0)
		return -1;
	if (ret_out)
		*ret_out = arena_strdup(arena, result.out);
	int failed = result.status ? fail(err, ERR_FAILED_PRECONDITION, "%s says \"%.*s\"", argv[0],
					  (int)strcspn(result.error, "\n"), result.error)
				   : 0;
	exec_result_fini(&result);
	return failed;
}

/* Returns true if a pool of this host has the snapshot with this guid by that name. */
static bool is_here(struct arena *arena, const char *name, uint64_t guid)
{
	const char *argv[] = {"zfs", "get", "-Hp", "-o", "value", "guid", name, NULL};
	struct error ignored;
	const char *out;

	return run(arena, argv, &out, &ignored) == 0 && strtoull(out, NULL, 10) == guid;
}

/*
 * Returns the name that the snapshot has on this host: that of the volume, or that of a copy below
 * the parent of any agent. NULL if it is not here.
 */
static const char *name_here(struct cli *cli, const DatasetSnapshot *snapshot)
{
	const char *leaf = strrchr(snapshot->zfs_name, '/');

	if (is_here(&cli->arena, snapshot->zfs_name, snapshot->guid))
		return snapshot->zfs_name;
	for (size_t i = 0; leaf && i < cli->n_members; i++) {
		const GetHostResponse *host = cli->members[i].host;
		if (!host || !*host->dataset)
			continue;
		const char *name = arena_printf(&cli->arena, "%s/_replica%s", host->dataset, leaf);
		if (is_here(&cli->arena, name, snapshot->guid))
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

/* *ret is the absolute path of a folder that exists and is empty. */
static int check_folder(struct arena *arena, const char *folder, const char **ret,
			struct error *err)
{
	auto_free char *path = realpath(folder, NULL);
	DIR *open = path ? opendir(path) : NULL;
	size_t names = 0;

	if (!open)
		return fail_errno(err, "cannot open the folder '%s'", folder);
	while (readdir(open))
		names++;
	closedir(open);
	*ret = arena_strdup(arena, path);
	/* Each folder has the names "." and "..". */
	return names <= 2 ? 0
			  : fail(err, ERR_FAILED_PRECONDITION,
				 "the folder '%s' is not empty, or something is mounted there: "
				 "give an empty one",
				 folder);
}

/* Check what does not depend on this host. */
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
			    "snapshot '%s' is not on this host: type this on the host of node "
			    "'%s', or on one with a copy of volume '%s' that has it",
			    id, owner->node, snapshot->dataset_id);
	if (check_kernel(err) < 0 || check_folder(&cli->arena, folder, &path, err) < 0)
		return -1;
	const char *argv[] = {"mount", "-t", "zfs", "-o", "ro", name, path, NULL};
	if (run(&cli->arena, argv, NULL, err) == 0)
		return 0;
	return fail_context(err, "'%s' is not mounted at '%s'%s", name, path,
			    geteuid() ? ", which root has to do" : "");
}
