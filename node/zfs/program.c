/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Checking and destroying a volume in one atomic step, with zfs-program(8), which needs root.
 *
 * Invariant: the only line of the program that changes anything is the last, so a failed program
 * has changed nothing. The kernel runs a program atomically: nothing else changes the pool
 * meanwhile.
 */
#include "node/zfs/zfs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "node/record/dataset.h"
#include "node/zfs/argv.h"
#include "node/zfs/zfs_run.h"

/* The channel program. It ignores inherited properties, as node/record/zfs_row.c does. */
static const char destroy_proven[] =
	"local guid, volume, name = table.unpack((...).argv)\n"
	"local function own(property)\n"
	"	local value, source = zfs.get_prop(name, property)\n"
	"	return source == name and value or '-'\n"
	"end\n"
	"assert(guid == '0' or tostring((zfs.get_prop(name, 'guid'))) == guid, 'other guid')\n"
	"assert(own('zcsi:version') == '" DATASET_VERSION "', 'other version')\n"
	"assert(own('zcsi:volume') == volume, 'other volume')\n"
	"assert(own('zcsi:published') == '-', 'published')\n"
	"assert(zfs.sync.destroy(name) == 0, 'in use')\n";

bool zfs_destroy_proven(const char *name, uint64_t guid, const char *volume)
{
	char number[24], pool[DATASET_NAME_MAX + 1];
	const char *argv[] = {"zfs", "program", "--", pool, "-", number, volume, name, NULL};
	struct error ignored;

	if (!zfs_is_the_kernels() || !argv_is_plain())
		return false;
	snprintf(pool, sizeof(pool), "%.*s", (int)strcspn(name, "/"), name);
	/* Numbers in channel programs are signed, so print the guid as they do. */
	snprintf(number, sizeof(number), "%" PRId64, (int64_t)guid);
	return zfs_run_once(&(struct exec){.argv = argv, .input = destroy_proven}, NULL,
			    &ignored) == 0;
}
