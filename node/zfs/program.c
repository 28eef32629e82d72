/* SPDX-License-Identifier: MPL-2.0 */
/*
 * What is to be proven and what that allows, as one step of the kernel's: zfs-program(8), which is
 * root's alone.
 *
 * Invariant: the one verb of a program is its last line, so one that fails has changed nothing; and
 * between its first line and the last nothing else changes the pool.
 */
#include "node/zfs/zfs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "node/record/dataset.h"
#include "node/zfs/argv.h"
#include "node/zfs/zfs_run.h"

/* A property that is not the dataset's own says nothing of it: see node/record/volume_parse.c. */
static const char destroy_proven[] =
	"local guid, volume, name = table.unpack((...).argv)\n"
	"local function own(property)\n"
	"	local value, source = zfs.get_prop(name, property)\n"
	"	return source == name and value or '-'\n"
	"end\n"
	"assert(guid == '0' or tostring((zfs.get_prop(name, 'guid'))) == guid, 'another one')\n"
	"assert(own('zcsi:version') == '" DATASET_VERSION "', 'of another version')\n"
	"assert(own('zcsi:volume') == volume, 'of another volume')\n"
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
	/* as the numbers of a program are */
	snprintf(number, sizeof(number), "%" PRId64, (int64_t)guid);
	return zfs_run_once(&(struct exec){.argv = argv, .input = destroy_proven}, NULL,
			    &ignored) == 0;
}
