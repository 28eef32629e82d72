/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Waiting for a FUSE server, by the count of its requests in flight that the kernel has in the file
 * `waiting` of a connection's folder, named by the minor number of the file system's device
 * (Documentation/filesystems/fuse.rst).
 *
 * Invariant: the server is asked nothing, since it may be dead. Where the folder is not mounted
 * (fusectl), nothing is waited for.
 */
#include "node/mount/drain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "common/clock.h"
#include "node/mount/call.h"
#include "node/mount/mountinfo.h"

static bool is_last(const struct mount_table *table, const struct mount *mount)
{
	for (size_t i = 0; i < table->n; i++)
		if (table->rows[i].id != mount->id && table->rows[i].device == mount->device)
			return false;
	return true;
}

/* The connection whose last mount is there; 0 when there is none. */
static unsigned last_of_connection(const char *path)
{
	struct mount_table table;
	struct arena arena;
	struct error ignored;
	unsigned connection = 0;

	arena_init(&arena, SIZE_MAX);
	const struct mount *top =
		mount_table_read(&arena, &table, &ignored) < 0 ? NULL : mount_at(&table, path);
	if (top && !strcmp(top->type, "fuse.zfs") && is_last(&table, top))
		connection = minor(top->device);
	arena_fini(&arena);
	return connection;
}

/* It can be read once after it was opened. */
static bool is_waited_for(unsigned connection)
{
	char file[64], number[32];

	snprintf(file, sizeof(file), "/sys/fs/fuse/connections/%u/waiting", connection);
	auto_fclose FILE *waiting = fopen(file, "re");
	return waiting && fgets(number, sizeof(number), waiting) && atoi(number) > 0;
}

/* The kernel tells nobody when its count is 0, so it is asked every millisecond. */
int fuse_drain(const char *path)
{
	unsigned connection = last_of_connection(path);
	int64_t deadline = now_ms() + MOUNT_CALL_MS;

	while (connection && is_waited_for(connection)) {
		if (!time_left_ms(deadline)) {
			errno = ETIMEDOUT;
			return -1;
		}
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return 0;
}
