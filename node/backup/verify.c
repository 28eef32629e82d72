/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Verifying a backup: a `zfs send` of its newest snapshot, whose output is thrown away. ZFS reads
 * every block for it and compares its checksum. An encrypted backup needs no key for that.
 *
 * Invariant: nothing but the property zcsi:verified changes, and only after zfs has sent all
 * without an error.
 */
#include "node/backup/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "node/backup/source.h"
#include "node/backup/stored.h"
#include "node/catalog/change.h"
#include "node/stream/program.h"
#include "node/zfs/argv.h"
#include "node/zfs/key.h"
#include "node/zfs/send_flags.h"

#define LOCK_MS  5000 /* time to wait for another change of the backup */
#define LOOK_MS  500  /* interval of checking whether zcsi-node is to stop */
#define READ_MAX (1 << 20)

/* Read fd to its end. Returns false if zcsi-node ends before. */
static bool drain(struct rounds *rounds, int fd)
{
	auto_free char *bytes = mem_alloc(READ_MAX);
	struct pollfd readable = {.fd = fd, .events = POLLIN};

	fcntl(fd, F_SETPIPE_SZ, READ_MAX);
	while (!rounds_stopping(rounds)) {
		if (poll(&readable, 1, LOOK_MS) <= 0)
			continue;
		ssize_t n = read(fd, bytes, READ_MAX);
		if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
			return true;
	}
	return false;
}

/* Run `zfs send` of a snapshot, and throw the output away. */
static int read_all(struct arena *arena, struct rounds *rounds, const char *flags,
		    const char *snapshot, struct error *err)
{
	const char *argv[] = {"zfs", "send", flags, snapshot, NULL};
	auto_close int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct child child = CHILD_NONE;

	if (child_start(&child, argv_complete(arena, argv), in, 0, err) < 0)
		return -1;
	int status = drain(rounds, child.out) ? child_reap(&child) : child_kill(&child);
	int failed = program_judge(&child, argv, status, true, err);
	child_fini(&child);
	return failed;
}

static int record(struct arena *arena, const BackupState *backup, struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	zfs_property(&properties, "zcsi:verified",
		     arena_printf(arena, "%" PRId64, (int64_t)time(NULL)));
	return zfs_set(backup->name, &properties, err);
}

static int run_locked(struct arena *arena, const struct node *node, struct rounds *rounds,
		      const char *id, struct error *err)
{
	BackupState *backup;
	struct key key;

	if (stored_read(arena, catalog_parent(node->catalog), id, &backup, err) < 0)
		return -1;
	if (!backup || !backup->n_snapshots)
		return fail(err, ERR_NOT_FOUND,
			    "node '%s' has no backup of volume '%s' with a snapshot", node->id, id);
	const char *snapshot =
		arena_printf(arena, "%s@%s", backup->name, backup->snapshots[0]->name);
	if (key_read(backup->name, &key, err) < 0)
		return -1;
	const char *flags = send_flags_for(strcmp(key.root, backup->name) == 0);
	if (read_all(arena, rounds, flags, snapshot, err) < 0)
		return fail_context(err, "'%s' cannot be read", snapshot);
	return record(arena, backup, err);
}

int verify_run(const struct node *node, struct rounds *rounds, const char *id, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const char *parent = catalog_parent(node->catalog);

	if (program_check(err) < 0 || source_check_zfs(node, err) < 0)
		return -1;
	const char *key = stored_key(&arena, stored_name(&arena, parent, id));
	if (catalog_lock_key(node->catalog, now_ms() + LOCK_MS, key, err) < 0)
		return -1;
	int failed = run_locked(&arena, node, rounds, id, err);
	catalog_unlock_key(node->catalog, key);
	return failed;
}
