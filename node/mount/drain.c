/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Waiting until a FUSE server has no requests in flight. The kernel shows their number in the file
 * `waiting` in the directory of the connection, which is named by the minor number of the file
 * system's device (Documentation/filesystems/fuse.rst).
 *
 * Invariant: no request goes to the server, because it may be dead. If fusectl, which contains
 * these directories, is not mounted, nothing waits.
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

/* Returns true if the mount is the only one of its file system. */
static bool is_last(const struct mount_table *table, const struct mount *mount)
{
	for (size_t i = 0; i < table->n; i++)
		if (table->rows[i].id != mount->id && table->rows[i].device == mount->device)
			return false;
	return true;
}

/* Returns the FUSE connection if the mount at the path is the last one of zfs-fuse; else 0. */
static unsigned last_of_connection(const char *path)
{
	struct mount_table table;
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct error ignored;
	unsigned connection = 0;

	const struct mount *top =
		mount_table_read(&arena, &table, &ignored) < 0 ? NULL : mount_at(&table, path);
	if (top && !strcmp(top->type, "fuse.zfs") && is_last(&table, top))
		connection = minor(top->device);
	return connection;
}

/*
 * Returns true if the FUSE connection has requests in flight. Opens the file `waiting` each time,
 * because an open file of fusectl can be read only once.
 */
static bool has_requests(unsigned connection)
{
	char file[64], number[32];

	snprintf(file, sizeof(file), "/sys/fs/fuse/connections/%u/waiting", connection);
	auto_fclose FILE *waiting = fopen(file, "re");
	return waiting && fgets(number, sizeof(number), waiting) && atoi(number) > 0;
}

/* The kernel does not notify when the count becomes 0, so poll it every millisecond. */
int fuse_drain(const char *path)
{
	unsigned connection = last_of_connection(path);
	int64_t deadline = now_ms() + MOUNT_CALL_MS;

	while (connection && has_requests(connection)) {
		if (!time_left_ms(deadline)) {
			errno = ETIMEDOUT;
			return -1;
		}
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return 0;
}
