/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A copy that is cloned from the volume, then promoted.
 *
 * Invariant: nothing of the volume is changed or destroyed. The clone is made before the volume is
 * renamed, so a host that stops in between repeats both. `zfs promote`, which gives the copy the
 * common snapshot and all earlier ones, comes after the rename, because ZFS renames no encrypted
 * clone that has the key of its origin. The pool shows which copies are left to promote.
 */
#include "node/owner/split.h"

#include <string.h>

#include "common/log.h"
#include "node/copy/header.h"
#include "node/record/ownership.h"
#include "node/replica/properties.h"
#include "node/replica/replica.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

char *split_folder(const struct node *node, struct arena *arena)
{
	return arena_printf(arena, "%s/" DIVERGED_FOLDER, catalog_parent(node->catalog));
}

int split_dataset(const struct node *node, struct arena *arena, const char *name, const char **ret,
		  struct error *err)
{
	if (request_text(name, "name", err) < 0)
		return -1;
	if (strpbrk(name, "/@#%,"))
		return fail(err, ERR_INVALID_ARGUMENT, "'zcsi diverged list' has no '%s'", name);
	*ret = arena_printf(arena, "%s/%s", split_folder(node, arena), name);
	return 0;
}

/* Add the properties that a stream of the new owner would have given the copy to *to. */
static int describe(struct arena *arena, const char *parent, const struct dataset *volume,
		    struct zfs_properties *to, struct error *err)
{
	ReceiveHeader *header;
	const char *flags;

	if (header_make(arena, parent, volume, &header, &flags, err) < 0)
		return -1;
	header->epoch = ownership_parse(arena, volume->owner).newer_epoch;
	header->reserved = false;
	replica_properties(arena, parent, header, to);
	return 0;
}

int split_begin(struct arena *arena, const char *parent, const struct dataset *volume,
		const struct place_snapshot *common, struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	if (replica_make_folder(arena, parent, REPLICA_FOLDER, err) < 0 ||
	    describe(arena, parent, volume, &properties, err) < 0)
		return -1;
	if (zfs_clone(common->name, replica_name(arena, parent, volume->id), &properties, err) == 0)
		return 0;
	return err->code == ERR_ALREADY_EXISTS ? 0 : -1;
}

const char *split_parse(const char *aside, char *line)
{
	const char *name = strsep(&line, "\t");
	size_t length = strlen(aside);

	return line && strncmp(line, aside, length) == 0 && line[length] == '/' ? name : NULL;
}

int split_end(struct arena *arena, const char *parent, struct error *err)
{
	const char *copies = arena_printf(arena, "%s/" REPLICA_FOLDER, parent);
	const char *aside = arena_printf(arena, "%s/" DIVERGED_FOLDER, parent);
	const char *argv[] = {"zfs", "list",        "-Hp",  "-d", "1", "-t", "filesystem,volume",
			      "-o",  "name,origin", copies, NULL};
	auto_free char *out = NULL;
	char *state;

	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return zfs_is_missing(parent, err);
	for (char *line = strtok_r(out, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		const char *name = split_parse(aside, line);
		if (!name)
			continue;
		if (zfs_promote(name, err) == 0)
			log_info("copy is split off the data put aside", log_str("copy", name));
		/* The herald and a call may promote the same copy at the same time. */
		else if (err->code != ERR_ALREADY_EXISTS)
			return -1;
	}
	return 0;
}
