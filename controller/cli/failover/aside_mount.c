/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi diverged mount: what a host that returned has put aside, at a folder of that host, for
 * programs that read files.
 *
 * Invariant: the dataset is mounted read-only, at an empty folder, and has the guid that the agent
 * named. No log is replayed into a zvol. zcsi stores nothing about the mount: umount(8) ends it. A
 * zvol keeps its device until a person takes the device away.
 */
#include "controller/cli/failover/aside_mount.h"

#include <stdio.h>
#include <string.h>

#include "common/volume/format.h"
#include "controller/cli/dry_run.h"
#include "controller/cli/here/here.h"

/*
 * The options of mount(8) for each file system. Without nouuid, XFS refuses to mount a second
 * filesystem with the UUID of the volume, which may be mounted on this host too.
 */
static const struct {
	const char *format, *options;
} mounts[] = {
	{FORMAT_ZFS, "ro"},
	{"ext4", "ro,noload"},
	{"xfs", "ro,norecovery,nouuid"},
};

/* A dataset that is mounted, where and how. */
struct mounting {
	const char *name, *format, *options, *path;
	const char *key_root;  /* the dataset with the encryption key; NULL: not encrypted */
	bool locked;           /* the encryption key is not loaded */
	bool device_is_hidden; /* the dataset is a zvol without a device */
};

static int read_properties(struct arena *arena, struct mounting *mounting, struct error *err)
{
	const char *argv[] = {"zfs",          "get",   "-Hp",
			      "-o",           "value", "encryptionroot,keystatus,volmode",
			      mounting->name, NULL};
	const char *out;

	if (here_run(arena, argv, &out, err) < 0)
		return -1;
	char *text = arena_strdup(arena, out);
	const char *root = strsep(&text, "\n"), *status = strsep(&text, "\n");
	const char *volmode = strsep(&text, "\n");
	if (!volmode)
		return fail(err, ERR_INTERNAL, "zfs prints too few properties of '%s'",
			    mounting->name);
	mounting->key_root = strcmp(root, "-") == 0 ? NULL : root;
	mounting->locked = strcmp(status, "unavailable") == 0;
	mounting->device_is_hidden = strcmp(volmode, "none") == 0;
	return 0;
}

static const char *device_of(struct arena *arena, const char *name)
{
	return arena_printf(arena, "/dev/zvol/%s", name);
}

static int find_options(struct arena *arena, struct mounting *mounting, struct error *err)
{
	const char *name = mounting->name;

	for (size_t i = 0; i < COUNT(mounts); i++) {
		if (strcmp(mounts[i].format, mounting->format) != 0)
			continue;
		mounting->options = mounts[i].options;
		return 0;
	}
	return fail(err, ERR_FAILED_PRECONDITION,
		    "'%s' is a block device (format '%s') without files to mount: 'zfs set "
		    "volmode=full %s' makes %s, and 'zfs inherit volmode %s' removes it",
		    name, mounting->format, name, device_of(arena, name), name);
}

static int set_device(struct arena *arena, const char *name, bool shown, struct error *err)
{
	const char *show[] = {"zfs", "set", "volmode=full", name, NULL};
	const char *hide[] = {"zfs", "inherit", "volmode", name, NULL};

	return here_run(arena, shown ? show : hide, NULL, err);
}

/* Mount a zvol, which gets a device first. If the mount fails, a new device is removed again. */
static int mount_zvol(struct arena *arena, const struct mounting *mounting, struct error *err)
{
	const char *device = device_of(arena, mounting->name);
	struct error ignored;

	if (mounting->device_is_hidden && set_device(arena, mounting->name, true, err) < 0)
		return -1;
	if (here_wait(device, err) == 0 && here_mount(arena, mounting->format, mounting->options,
						      device, mounting->path, err) == 0)
		return 0;
	if (mounting->device_is_hidden)
		set_device(arena, mounting->name, false, &ignored);
	return -1;
}

/* Check that the dataset that was put aside is on this host, and can be mounted. */
static int check(struct arena *arena, const struct aside *aside, struct mounting *mounting,
		 struct error *err)
{
	const char *node = aside->member->node, *name = mounting->name;

	if (!aside->volume->guid)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the zcsi-node of node '%s' is of an earlier version, which does not "
			    "list what mounting '%s' needs: update it, or use mount(8)",
			    node, name);
	if (!here_has(arena, name, aside->volume->guid))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is not on this host: run this on the host of node '%s'", name,
			    node);
	if (find_options(arena, mounting, err) < 0 || read_properties(arena, mounting, err) < 0)
		return -1;
	if (mounting->locked)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is encrypted, and its key is not loaded: run 'zfs load-key %s', "
			    "and this again",
			    name, mounting->key_root);
	return 0;
}

static void say_end(const struct mounting *mounting)
{
	printf("it is mounted read-only; at the end run\numount %s\n", mounting->path);
	if (format_on_zvol(mounting->format))
		printf("zfs inherit volmode %s\n", mounting->name);
	if (mounting->key_root)
		printf("zfs unload-key %s\n", mounting->key_root);
}

int aside_mount(struct cli *cli, const struct aside *aside, const char *folder, struct error *err)
{
	struct arena *arena = &cli->arena;
	struct mounting mounting = {.name = aside_dataset(arena, aside),
				    .format = aside->volume->format};

	if (check(arena, aside, &mounting, err) < 0 ||
	    here_check_folder(arena, folder, &mounting.path, err) < 0)
		return -1;
	if (dry_run_says(cli, arena_printf(arena, "mount '%s' read-only at '%s'", mounting.name,
					   mounting.path)))
		return 0;
	int failed = format_on_zvol(mounting.format)
			     ? mount_zvol(arena, &mounting, err)
			     : here_mount(arena, mounting.format, mounting.options, mounting.name,
					  mounting.path, err);
	if (!failed)
		say_end(&mounting);
	return failed;
}
