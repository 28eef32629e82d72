/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The lock of a parent dataset.
 *
 * Invariant: flock(2) belongs to the open file description, not to a process, so a zfs that
 * inherits the descriptor keeps the lock when zcsi-node ends. The file is never removed: a new file
 * at its path would be a different lock.
 */
#include "node/zfs/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/volume/escape.h"
#include "common/log.h"
#include "common/mem.h"
#include "node/zfs/run_folder.h"
#include "node/zfs/ssh.h"

static int fd; /* 0: not open */
static char path[sizeof(RUN_FOLDER "/.lock") + ESCAPE_LEAF_MAX];

int lock_file_open(const char *dataset, struct error *err)
{
	char leaf[ESCAPE_LEAF_MAX + 1];
	auto_free char *name = NULL;

	if (asprintf(&name, "%s%s%s", ssh_server() ? ssh_server() : "", ssh_server() ? ":" : "",
		     dataset) < 0)
		abort();
	escape_leaf(name, leaf);
	snprintf(path, sizeof(path), RUN_FOLDER "/%s.lock", leaf);
	auto_close int opened = run_folder_open(path, err);
	if (opened < 0)
		return -1;
	/* Reserve the space, so that storing a number cannot fail later for lack of it. */
	errno = posix_fallocate(opened, 0, sizeof(uint64_t));
	if (errno)
		return fail_errno(err, "cannot write '%s'", path);
	fd = steal_fd(&opened);
	return 0;
}

void lock_file_close(void)
{
	if (fd)
		close(fd);
	fd = 0;
}

bool lock_file_take(void)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

uint64_t lock_file_number(void)
{
	uint64_t number;

	return fd && pread(fd, &number, sizeof(number), 0) == sizeof(number) ? number : 0;
}

int lock_file_keep(uint64_t number)
{
	struct error err;

	if (!fd || pwrite(fd, &number, sizeof(number), 0) == sizeof(number))
		return 0;
	fail_errno(&err, "cannot write '%s'", path);
	log_error("cannot store a promise: no volume can be created until " RUN_FOLDER " has space",
		  log_str("error", err.text));
	return -1;
}

int lock_file_descriptor(void)
{
	return fd;
}

const char *lock_file_path(void)
{
	return path;
}
