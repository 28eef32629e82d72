/* SPDX-License-Identifier: MPL-2.0 */
/*
 * DiffDiverged of zcsi.v1.Copy: the files that differ between what was put aside and the newest
 * snapshot that the new owner has too, as zfs-diff(8) prints them.
 *
 * Invariant: a dataset directly below DIVERGED_FOLDER is compared only with its origin, a snapshot
 * of the same volume, which split.c has given to the copy. zfs diff compares only mounted datasets,
 * so both are mounted read-only meanwhile, below RUN_FOLDER. If zcsi-node is killed, the next one
 * unmounts them.
 */
#include "node/owner/diff.h"

#include <pthread.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/log.h"
#include "node/attach/staging.h"
#include "node/owner/split.h"
#include "node/record/members.h"
#include "node/service.h"
#include "node/stream/program.h"
#include "node/stream/program_stream_ends.h"
#include "node/zfs/run_folder.h"
#include "node/zfs/zfs_table.h"

#define FOLDER RUN_FOLDER "/diff-" /* the paths of the mounts begin with it */

static const char properties[] = "origin,guid,encryptionroot,keystatus,zcsi:members";

/* Held while datasets are mounted or unmounted for a diff. */
static pthread_mutex_t mounting = PTHREAD_MUTEX_INITIALIZER;
static bool runs; /* a diff has datasets mounted; protected by `mounting` */

int diff_parse(const struct zfs_fields *row, struct diff_sides *ret, const char **ret_members,
	       struct error *err)
{
	const char *origin = zfs_fields_text(row, "origin");
	const char *root = zfs_fields_text(row, "encryptionroot");

	if (strcmp(zfs_fields_text(row, "keystatus"), "unavailable") == 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is encrypted, and its key is not loaded: run 'zfs load-key %s' "
			    "on this node, this again, and 'zfs unload-key %s'",
			    ret->name, root, root);
	ret->zvol = strcmp(zfs_fields_text(row, "type"), "volume") == 0;
	ret->origin = strchr(origin, '@') ? origin : NULL;
	ret->guid = zfs_fields_text(row, "guid");
	*ret_members = zfs_fields_text(row, "zcsi:members");
	return 0;
}

/* Returns true if both values of zcsi:members are of one volume. */
static bool is_same(struct arena *arena, const char *one, const char *other)
{
	struct members ours, theirs;

	return members_parse(arena, one, &ours) && members_parse(arena, other, &theirs) &&
	       *ours.lineage && strcmp(ours.lineage, theirs.lineage) == 0;
}

int diff_check(struct arena *arena, const struct diff_sides *sides, const char *members,
	       const char *origin_members, struct error *err)
{
	const char *leaf = strrchr(sides->name, '/') + 1;

	if (sides->zvol)
		return fail(
			err, ERR_FAILED_PRECONDITION,
			"'%s' is a zvol, and zfs diff compares files of ZFS only: 'zcsi diverged "
			"mount %s DIR' shows those of ext4 and XFS",
			sides->name, leaf);
	if (!sides->origin || !is_same(arena, members, origin_members))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' has no snapshot in common with the volume, so all of it is only "
			    "there: 'zcsi diverged mount %s DIR' shows it",
			    sides->name, leaf);
	return 0;
}

/*
 * Read the dataset that was put aside and its origin. split_end comes first, because it makes the
 * newest snapshot that both sides have the origin.
 */
static int find_sides(struct arena *arena, const char *parent, struct diff_sides *sides,
		      struct error *err)
{
	const char *members, *others = "";
	struct zfs_fields row;

	if (split_end(arena, parent, err) < 0 ||
	    zfs_table_one(arena, sides->name, properties, &row, err) < 0 ||
	    diff_parse(&row, sides, &members, err) < 0)
		return -1;
	if (sides->origin) {
		sides->of_origin = arena_printf(arena, "%.*s", (int)strcspn(sides->origin, "@"),
						sides->origin);
		if (zfs_table_one(arena, sides->of_origin, "zcsi:members", &row, err) < 0)
			return -1;
		others = zfs_fields_text(&row, "zcsi:members");
	}
	return diff_check(arena, sides, members, others, err);
}

static const char *path_of(struct arena *arena, const struct diff_sides *sides, bool origin)
{
	return arena_printf(arena, FOLDER "%s%s", sides->guid, origin ? "-origin" : "");
}

static int mount_one(struct arena *arena, const char *name, const char *path, struct error *err)
{
	const struct staging staging = {.source = name,
					.path = path,
					.attrs = MOUNT_ATTR_RDONLY,
					.mount = staging_mount_dataset};

	return staging_mount(arena, &staging, err);
}

static void unmount_one(struct arena *arena, const char *name, const char *path)
{
	struct error err;

	if (staging_unmount(arena, name, path, &err) < 0)
		log_warn("cannot unmount a dataset after a diff", log_str("path", path),
			 log_str("error", err.text));
	else
		rmdir(path);
}

static void unmount_both(struct arena *arena, const struct diff_sides *sides)
{
	scoped_lock(&mounting);

	unmount_one(arena, sides->name, path_of(arena, sides, false));
	unmount_one(arena, sides->of_origin, path_of(arena, sides, true));
	runs = false;
}

static int mount_both(struct arena *arena, const struct diff_sides *sides, struct error *err)
{
	const char *path = path_of(arena, sides, false);
	scoped_lock(&mounting);

	if (run_folder_make(err) < 0 || mount_one(arena, sides->name, path, err) < 0)
		return -1;
	if (mount_one(arena, sides->of_origin, path_of(arena, sides, true), err) == 0) {
		runs = true;
		return 0;
	}
	unmount_one(arena, sides->name, path);
	return -1;
}

/* Returns true for the mount of a dataset below the parent at a path that begins with FOLDER. */
static bool is_ours(const struct mount *mount, const char *parent)
{
	const size_t length = strlen(parent);

	return strncmp(mount->target, FOLDER, strlen(FOLDER)) == 0 &&
	       strncmp(mount->source, parent, length) == 0 && mount->source[length] == '/';
}

void diff_tidy(const char *parent)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct mount_table table;
	struct error err;

	/*
	 * Do not wait: another thread holds the lock while it mounts, which hangs if the pool does.
	 */
	if (pthread_mutex_trylock(&mounting))
		return;
	if (!runs && mount_table_read(&arena, &table, &err) == 0)
		for (size_t i = 0; i < table.n; i++)
			if (is_ours(&table.rows[i], parent))
				unmount_one(&arena, table.rows[i].source, table.rows[i].target);
	pthread_mutex_unlock(&mounting);
}

static int start(struct program_stream *ps, struct error *err)
{
	struct diff_sides *sides = ps->arg;

	if (program_check(err) < 0 ||
	    split_dataset(ps->node, &ps->arena, sides->name, &sides->name, err) < 0 ||
	    find_sides(&ps->arena, catalog_parent(ps->node->catalog), sides, err) < 0 ||
	    mount_both(&ps->arena, sides, err) < 0)
		return -1;
	const char *argv[] = {"zfs", "diff", sides->origin, sides->name, NULL};
	if (program_stream_start_sender(ps, argv, err) == 0)
		return 0;
	unmount_both(&ps->arena, sides);
	return -1;
}

static int end(struct program_stream *ps, struct error *err)
{
	static const char *const argv[] = {"zfs", "diff"};
	int status = ps->whole ? child_reap(&ps->child) : child_kill(&ps->child);
	int failed = ps->whole ? program_judge(&ps->child, argv, status, false, err) : 0;

	child_fini(&ps->child);
	unmount_both(&ps->arena, ps->arg);
	return failed;
}

static void on_request(struct rpc_stream *stream, const void *message)
{
	struct program_stream *ps = stream->arg;
	const DiffDivergedRequest *request = message;
	struct diff_sides *sides = arena_alloc(&ps->arena, sizeof(*sides));

	sides->name = arena_strdup(&ps->arena, request->name);
	ps->arg = sides;
	program_stream_begin(ps);
}

int diff_diverged(struct rpc_stream *stream, struct error *err)
{
	static const struct program_stream_kind kind = {.most = 1,
							.verb = "compared",
							.start = start,
							.pump = program_stream_drain,
							.end = end};
	static const struct rpc_stream_events events = {
		.single = true, .message = on_request, .closed = program_stream_closed};

	return program_stream_open(stream, &kind, &events, err);
}
