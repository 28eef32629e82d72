/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Limits of zfs-fuse.
 *
 * Invariant: the lock is a flock on one file of the host, so all its zcsi-nodes share it, and the
 * kernel releases it when the process that holds it dies. A refreservation of the parent that is
 * larger than RESERVE is an administrator's, and is never changed. zfs-fuse can set a
 * refreservation, and destroy datasets, on a full pool too.
 */
#include "node/zfs/fuse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>

#include "common/mem.h"
#include "node/zfs/run_folder.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

#define RESERVE      (3 << 20)
#define RESERVE_STEP (1 << 20) /* bytes that one change needs, or another writer takes meanwhile */

int fuse_lock(int *ret, struct error *err)
{
	*ret = -1;
	if (zfs_is_the_kernels())
		return 0;
	auto_close int lock = run_folder_open(RUN_FOLDER "/mounting", err);
	if (lock < 0)
		return -1;
	while (flock(lock, LOCK_EX) < 0)
		if (errno != EINTR)
			return fail_errno(err, "cannot lock '" RUN_FOLDER "/mounting'");
	*ret = steal_fd(&lock);
	return 0;
}

size_t fuse_set_step(size_t n)
{
	return zfs_is_the_kernels() ? n : 1;
}

/* A filesystem of the pool, and the snapshot that it was cloned from; "-" if it is no clone. */
struct cloned {
	const char *name;
	const char *origin;
	bool found;
};

static size_t parse_origins(struct arena *arena, char *text, struct cloned **ret)
{
	size_t lines = 1, n = 0;
	char *line;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	*ret = arena_alloc(arena, lines * sizeof(**ret));
	while ((line = strsep(&text, "\n")) != NULL) {
		const char *name = strsep(&line, "\t");
		if (line)
			(*ret)[n++] = (struct cloned){.name = name, .origin = line};
	}
	return n;
}

/* Append the clones of one dataset to the names, each once. Returns how many there are now. */
static size_t add_clones(struct cloned *rows, size_t n, const char *dataset, const char **names,
			 size_t n_names)
{
	const size_t length = strlen(dataset);

	for (size_t i = 0; i < n; i++) {
		if (rows[i].found || strncmp(rows[i].origin, dataset, length) != 0 ||
		    rows[i].origin[length] != '@')
			continue;
		rows[i].found = true;
		names[n_names++] = rows[i].name;
	}
	return n_names;
}

int fuse_clones(struct arena *arena, const char *name, const char *const **ret, size_t *ret_n,
		struct error *err)
{
	char *pool = arena_printf(arena, "%.*s", (int)strcspn(name, "/"), name);
	const char *argv[] = {"zfs", "list",        "-rH", "-t", "filesystem",
			      "-o",  "name,origin", pool,  NULL};
	const struct exec exec = {.argv = argv, .max_output = ZFS_LIST_OUTPUT_MAX};
	auto_free char *out = NULL;
	struct cloned *rows;

	*ret_n = 0;
	if (zfs_is_the_kernels())
		return 0;
	if (zfs_run_once(&exec, &out, err) < 0)
		return -1;
	size_t n = parse_origins(arena, arena_strdup(arena, out), &rows);
	const char **names = arena_alloc(arena, (n + 1) * sizeof(*names));
	size_t found = add_clones(rows, n, name, names, 0);
	for (size_t i = 0; i < found; i++)
		found = add_clones(rows, n, names[i], names, found);
	*ret = names;
	*ret_n = found;
	return 0;
}

static _Atomic(const char *) reserving; /* the parent; NULL: nothing was reserved yet */

static int set_reservation(const char *parent, int64_t bytes, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	char *value = arena_printf(&arena, "refreservation=%" PRId64, bytes);

	return zfs_run((const char *const[]){"zfs", "set", value, parent, NULL}, err);
}

int fuse_reserve(const char *parent, int64_t reserved, struct error *err)
{
	if (zfs_is_the_kernels())
		return 0;
	reserving = parent;
	return reserved < RESERVE ? set_reservation(parent, RESERVE, err) : 0;
}

/* Release a step of the reservation. Returns false if there is none, or an administrator set it. */
static bool release(const char *parent)
{
	struct error ignored;
	int64_t bytes;

	if (!parent || zfs_refreservation(parent, &bytes, &ignored) < 0 || bytes <= 0 ||
	    bytes > RESERVE)
		return false;
	int64_t left = bytes > RESERVE_STEP ? bytes - RESERVE_STEP : 0;
	return set_reservation(parent, left, &ignored) == 0;
}

/* Other writers may take the released space before the change runs, so there are several steps. */
int fuse_change(const char *const *argv, struct error *err)
{
	struct error ignored;
	bool released = false;
	int failed = zfs_run(argv, err);

	for (int steps = RESERVE / RESERVE_STEP; failed && steps; steps--) {
		if (!strstr(err->text, "out of space") || !release(reserving))
			break;
		released = true;
		failed = zfs_run(argv, err);
	}
	/* If the pool has no space for the reservation now, fuse_reserve sets it later. */
	if (released)
		set_reservation(reserving, RESERVE, &ignored);
	return failed;
}
