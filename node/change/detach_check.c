/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The checks before a volume is detached from its origin.
 *
 * Invariant: a copy has no clones, holds and bookmarks, so a volume with any of these is refused:
 * other volumes or programs depend on them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/volume/escape.h"
#include "node/change/alone.h"
#include "node/change/detach.h"
#include "node/record/publication.h"
#include "node/service.h"
#include "node/zfs/zfs_run.h"
#include "node/zfs/zfs_table.h"

int detach_check_unused(struct rpc_call *call, const struct dataset *volume, size_t children,
			struct error *err)
{
	const struct node *node = call->app;

	if (publication_check_none(&call->arena, volume, node->id, err) < 0)
		return -1;
	return alone_check(call, volume, children, err);
}

int detach_read(struct arena *arena, const char *name, char **ret_origin, char **ret_mark,
		struct error *err)
{
	struct zfs_fields row;

	if (zfs_table_one(arena, name, "origin," DETACH_PROPERTY, &row, err) < 0)
		return -1;
	*ret_origin = zfs_fields_text(&row, "origin");
	*ret_mark = zfs_fields_text(&row, DETACH_PROPERTY);
	return 0;
}

/* The snapshots and bookmarks */

/* Returns the id of the volume that a dataset is, or its name if it is none, in the arena. */
static const char *id_of(struct arena *arena, const char *name)
{
	struct zfs_fields row;
	struct error ignored;

	if (zfs_table_one(arena, name, "zcsi:volume", &row, &ignored) < 0)
		return name;
	const char *text = zfs_fields_text(&row, "zcsi:volume");
	const char *id = unescape_text(arena, text);
	return id && *id ? id : name;
}

static int fail_cloned(struct rpc_call *call, const char *leaf, char *clones, struct error *err)
{
	const struct node *node = call->app;
	const char *clone = strsep(&clones, ",");
	const char *id = id_of(&call->arena, clone);

	if (dataset_is_trash(catalog_parent(node->catalog), clone))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' in the trash depends on its snapshot '%s': destroy that first, "
			    "with 'zcsi trash empty %s'",
			    clone, leaf, id);
	return fail(err, ERR_FAILED_PRECONDITION,
		    "volume '%s' was cloned from its snapshot '%s': detach that one first, with "
		    "'zcsi detach %s', or delete it",
		    id, leaf, id);
}

static int fail_bookmark(const struct dataset *volume, const char *leaf, struct error *err)
{
	if (strncmp(leaf, SNAPSHOT_BACKUP, strlen(SNAPSHOT_BACKUP)) == 0) {
		const char *node = leaf + strlen(SNAPSHOT_BACKUP);
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it has a backup on node '%s', which could not be continued: drop that "
			    "with 'zcsi backup drop %s %s', and add one again afterwards",
			    node, volume->id, node);
	}
	return fail(err, ERR_FAILED_PRECONDITION,
		    "it has a bookmark '%s' of another tool, and a copy has none: destroy it with "
		    "'zfs destroy %s#%s', if that tool does not need it",
		    leaf, volume->name, leaf);
}

/* Check a line of `zfs list`, and add the bytes of its snapshot to the sum. */
static int check_point(struct rpc_call *call, const struct dataset *volume, char *line,
		       int64_t *sum, struct error *err)
{
	const char *name = strsep(&line, "\t"), *holds = strsep(&line, "\t");
	char *clones = strsep(&line, "\t");
	const char *written = strsep(&line, "\t"), *leaf = strpbrk(name, "@#");

	if (!leaf || !line)
		return fail(err, ERR_UNAVAILABLE, "'zfs list' printed no list of its snapshots");
	if (*leaf++ == '#')
		return strncmp(leaf, SNAPSHOT_PUSHED, strlen(SNAPSHOT_PUSHED)) != 0
			       ? fail_bookmark(volume, leaf, err)
			       : 0;
	if (strtoull(holds, NULL, 10))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "its snapshot '%s' is held: list its holds with 'zfs holds %s' and "
			    "release them",
			    leaf, name);
	if (*clones && strcmp(clones, "-") != 0)
		return fail_cloned(call, leaf, clones, err);
	/*
	 * The first snapshot is copied with all data that it refers to, a later one with what was
	 * written since the one before it.
	 */
	*sum += strtoll(*sum ? written : line, NULL, 10);
	return 0;
}

int detach_check_history(struct rpc_call *call, const struct dataset *volume, int64_t *ret,
			 struct error *err)
{
	const char *list[] = {"zfs",
			      "list",
			      "-Hp",
			      "-d",
			      "1",
			      "-t",
			      "snapshot,bookmark",
			      "-s",
			      "createtxg",
			      "-o",
			      "name,userrefs,clones,written,referenced",
			      volume->name,
			      NULL};
	const char *get[] = {"zfs",        "get", "-Hp", "-o", "value", "written,referenced",
			     volume->name, NULL};
	const struct exec exec = {.argv = list, .max_output = ZFS_LIST_OUTPUT_MAX};
	auto_free char *listed = NULL, *out = NULL;
	char *state;

	*ret = 0;
	if (zfs_run_once(&exec, &listed, err) < 0)
		return -1;
	for (char *line = strtok_r(listed, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		if (check_point(call, volume, line, ret, err) < 0)
			return -1;
	if (zfs_run_once(&(struct exec){.argv = get}, &out, err) < 0)
		return -1;
	char *referenced = out;
	const char *written = strsep(&referenced, "\n");
	*ret += strtoll(*ret || !referenced ? written : referenced, NULL, 10);
	return 0;
}

/* The free space of the pool */

static int check_room(struct rpc_call *call, const struct dataset *volume, struct detach_room *room,
		      struct error *err)
{
	const struct node *node = call->app;
	const char *argv[] = {
		"zfs", "get", "-Hp", "-o", "value", "available", catalog_parent(node->catalog),
		NULL};
	auto_free char *out = NULL;

	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return -1;
	room->available = strtoll(out, NULL, 10);
	if (room->available > room->size + volume->reserved)
		return 0;
	return fail(err, ERR_RESOURCE_EXHAUSTED,
		    "all its data is copied, %" PRId64 " bytes%s, and only %" PRId64
		    " are free: delete volumes or snapshots, or empty the trash with 'zcsi trash "
		    "empty'",
		    room->size + volume->reserved, volume->reserved ? " with what it reserves" : "",
		    room->available);
}

int detach_check(struct rpc_call *call, const struct dataset *volume, size_t children,
		 struct detach_room *ret_room, struct error *err)
{
	*ret_room = (struct detach_room){0};
	if (*volume->members)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it has copies on other nodes, which depend on its snapshots: drop "
			    "them with 'zcsi copy drop %s NODE', and add them again afterwards",
			    volume->id);
	if (volume->has_key)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it is encrypted, and ZFS renames no clone that has the key of another "
			    "dataset: make a new volume of it with 'zcsi send' and 'zcsi receive', "
			    "and use that");
	if (detach_check_unused(call, volume, children, err) < 0 ||
	    detach_check_history(call, volume, &ret_room->size, err) < 0)
		return -1;
	return check_room(call, volume, ret_room, err);
}
