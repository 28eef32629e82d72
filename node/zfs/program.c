/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Checking and destroying a volume or a snapshot in one atomic step, with zfs-program(8), which
 * needs root.
 *
 * Invariant: the only line of a program that changes anything is the last, so a failed program
 * has changed nothing. The kernel runs a program atomically: nothing else changes the pool
 * meanwhile.
 */
#include "node/zfs/zfs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/volume/escape.h"
#include "node/record/dataset.h"
#include "node/zfs/argv.h"
#include "node/zfs/zfs_run.h"

/*
 * The channel programs ignore inherited properties, as node/record/zfs_row.c does. A snapshot must
 * inherit zcsi:volume from its own dataset.
 */
#define OWN                                                                                        \
	"local function own(property)\n"                                                           \
	"  local value, source = zfs.get_prop(name, property)\n"                                   \
	"  return source == name and value or '-'\n"                                               \
	"end\n"                                                                                    \
	"assert(guid == '0' or tostring((zfs.get_prop(name, 'guid'))) == guid, 'other guid')\n"    \
	"assert(own('zcsi:version') == '" DATASET_VERSION "', 'other version')\n"

static const char destroy_volume[] = "local guid, name, volume = table.unpack((...).argv)\n" OWN
				     "assert(own('zcsi:volume') == volume, 'other volume')\n"
				     "assert(own('zcsi:published') == '-', 'published')\n"
				     "assert(zfs.sync.destroy(name) == 0, 'in use')\n";

static const char destroy_snapshot[] =
	"local guid, name, dataset, volume, snapshot, group = table.unpack((...).argv)\n" OWN
	"local value, source = zfs.get_prop(name, 'zcsi:volume')\n"
	"assert(value == volume and source == dataset, 'other volume')\n"
	"assert(own('zcsi:snapshot') == snapshot, 'other name')\n"
	"assert(own('zcsi:group') == group, 'other group')\n"
	"assert(zfs.sync.destroy(name) == 0, 'in use')\n";

/* Run a program with the guid, the name, and up to four arguments more; unused ones are NULL. */
static bool run(const char *program, uint64_t guid, const char *name, const char *const more[4])
{
	char number[24], pool[DATASET_NAME_MAX + 1];
	const char *argv[] = {"zfs", "program", "--",    pool,    "-",     number,
			      name,  more[0],   more[1], more[2], more[3], NULL};
	struct error ignored;

	if (!zfs_is_the_kernels() || !argv_is_plain())
		return false;
	snprintf(pool, sizeof(pool), "%.*s", (int)strcspn(name, "/"), name);
	/* Numbers in channel programs are signed, so print the guid as a signed number. */
	snprintf(number, sizeof(number), "%" PRId64, (int64_t)guid);
	return zfs_run_once(&(struct exec){.argv = argv, .input = program}, NULL, &ignored) == 0;
}

bool zfs_destroy_proven(const char *name, uint64_t guid, const char *volume)
{
	return run(destroy_volume, guid, name, (const char *const[4]){volume});
}

bool zfs_destroy_snapshot_proven(struct arena *arena, const struct snapshot *snapshot)
{
	const char *name = snapshot->zfs_name;
	const char *dataset = arena_printf(arena, "%.*s", (int)strcspn(name, "@"), name);
	const char *const more[4] = {dataset, escape_text(arena, snapshot->dataset_id),
				     escape_text(arena, snapshot->name),
				     *snapshot->group ? escape_text(arena, snapshot->group) : "-"};

	return run(destroy_snapshot, snapshot->guid, name, more);
}
