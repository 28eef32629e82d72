/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A restore: `zfs send` of a snapshot of a backup into a `zfs receive` on the same host.
 *
 * Invariant: all data is copied, so the backup and the new volume do not depend on each other. zfs
 * receives only into a new name below DATASET_RECEIVED, where no dataset is a volume, with -u, so
 * that nothing is mounted, and never with -F. Because it runs without -s, it destroys the dataset
 * of an incomplete stream.
 */
#include "node/backup/restore.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "node/backup/source.h"
#include "node/backup/stored.h"
#include "node/catalog/change.h"
#include "node/copy/header.h"
#include "node/record/dataset.h"
#include "node/stream/program.h"
#include "node/zfs/argv.h"
#include "node/zfs/lock_file.h"
#include "node/zfs/send_flags.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

#define LOCK_MS   5000 /* to wait for another change of the backup, or of the new dataset */
#define LOOK_MS   500  /* how often it is looked whether zcsi-node ends */
#define PIPE_SIZE (1 << 20)

struct copying {
	const struct restore *restore;
	struct arena *arena;
	const char *parent, *backup; /* their names */
	const char *name;            /* of the new dataset */
	const char *snapshot;
	const char *flags; /* of `zfs send` */
	struct zfs_properties properties;
};

/* A dataset of an earlier call may be all that is left of a volume, so it is never replaced. */
static int check_new(const struct copying *copying, struct error *err)
{
	const char *folder = arena_printf(copying->arena, "%s/" DATASET_RECEIVED, copying->parent);
	uint64_t guid;

	if (zfs_create_folder(folder, err) < 0 && err->code != ERR_ALREADY_EXISTS)
		return -1;
	if (zfs_guid(copying->name, &guid, err) < 0)
		return err->code == ERR_NOT_FOUND ? 0 : -1;
	return fail(err, ERR_ALREADY_EXISTS,
		    "'%s' was received before: make it the volume with 'zcsi adopt %s', or destroy "
		    "it with 'zfs destroy -r %s'",
		    copying->name, copying->restore->as, copying->name);
}

static int find_snapshot(struct copying *copying, struct error *err)
{
	const struct restore *restore = copying->restore;
	BackupState *backup;

	if (stored_read(copying->arena, copying->parent, restore->id, &backup, err) < 0)
		return -1;
	for (size_t i = 0; backup && i < backup->n_snapshots; i++)
		if (backup->snapshots[i]->guid == restore->guid)
			copying->snapshot = arena_printf(copying->arena, "%s@%s", copying->backup,
							 backup->snapshots[i]->name);
	if (copying->snapshot)
		return 0;
	return fail(err, ERR_NOT_FOUND, "the backup of volume '%s' has not that snapshot",
		    restore->id);
}

/* The properties of zcsi are set by AdoptDataset. */
static int read_properties(struct copying *copying, struct error *err)
{
	ReceiveHeader *header = new_receive_header(copying->arena);
	const char *root;

	if (header_properties(copying->arena, copying->backup, header, &root, err) < 0)
		return -1;
	for (size_t i = 0; i < header->n_properties; i++)
		if (strncmp(header->properties[i]->name, "zcsi:", strlen("zcsi:")) != 0)
			zfs_property(&copying->properties, header->properties[i]->name,
				     header->properties[i]->value);
	/* A backup that has the key of the parent is not sent raw: it gets that key again. */
	copying->flags = send_flags_for(strcmp(root, copying->backup) == 0);
	return 0;
}

/* The two programs */

static int start_send(struct copying *copying, struct child *ret, struct error *err)
{
	const char *argv[] = {"zfs", "send", copying->flags, copying->snapshot, NULL};
	auto_close int in = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (child_start(ret, argv_complete(copying->arena, argv), in, 0, err) < 0)
		return -1;
	fcntl(ret->out, F_SETPIPE_SZ, PIPE_SIZE);
	return 0;
}

static int start_receive(struct copying *copying, int from, struct child *ret, struct error *err)
{
	const char *argv[2 * ZFS_PROPERTIES_MAX + 5] = {"zfs", "receive", "-u"};
	size_t n = 3;

	n += zfs_property_options(copying->arena, &copying->properties, argv + n);
	argv[n] = copying->name;
	return child_start(ret, argv_complete(copying->arena, argv), from, lock_file_descriptor(),
			   err);
}

/* Wait for the end of a program, or kill it if zcsi-node ends. Returns its status. */
static int wait_for(const struct restore *restore, struct child *child)
{
	struct pollfd ended = {.fd = child->pidfd, .events = POLLIN};

	while (!rounds_stopping(restore->rounds))
		if (poll(&ended, 1, LOOK_MS) > 0)
			return child_reap(child);
	return child_kill(child);
}

/* If zfs receive ends early, zfs send ends too: its pipe is broken. */
static int judge(struct copying *copying, struct child *send, struct child *receive,
		 struct error *err)
{
	static const char *const send_argv[] = {"zfs", "send"};
	static const char *const receive_argv[] = {"zfs", "receive"};
	struct error said;

	int received = wait_for(copying->restore, receive);
	int sent = wait_for(copying->restore, send);
	int failed = program_judge(receive, receive_argv, received, true, err);
	if (program_judge(send, send_argv, sent, false, &said) < 0 && !child_signal(sent)) {
		*err = said;
		failed = -1;
	}
	child_fini(receive);
	child_fini(send);
	return failed;
}

static int copy(struct copying *copying, struct error *err)
{
	struct child send = CHILD_NONE, receive = CHILD_NONE;

	if (start_send(copying, &send, err) < 0)
		return -1;
	int failed = start_receive(copying, send.out, &receive, err);
	close(steal_fd(&send.out));
	if (!failed)
		return judge(copying, &send, &receive, err);
	child_kill(&send);
	child_fini(&send);
	return -1;
}

static int run_locked(struct copying *copying, uint64_t *ret_guid, struct error *err)
{
	if (find_snapshot(copying, err) < 0 || check_new(copying, err) < 0 ||
	    read_properties(copying, err) < 0)
		return -1;
	if (copying->properties.n > ZFS_PROPERTIES_MAX)
		return fail(err, ERR_INVALID_ARGUMENT, "'%s' has more than %d properties",
			    copying->backup, ZFS_PROPERTIES_MAX);
	if (copy(copying, err) < 0)
		return fail_context(err, "'%s' is not restored", copying->snapshot);
	return zfs_guid(copying->name, ret_guid, err);
}

static int with_locks(struct copying *copying, uint64_t *ret_guid, struct error *err)
{
	struct catalog *catalog = copying->restore->node->catalog;
	const char *backup = stored_key(copying->arena, copying->backup);
	const char *received = arena_printf(copying->arena, "received %s", copying->name);

	if (catalog_lock_key(catalog, now_ms() + LOCK_MS, backup, err) < 0)
		return -1;
	int failed = catalog_lock_key(catalog, now_ms() + LOCK_MS, received, err);
	if (!failed) {
		failed = run_locked(copying, ret_guid, err);
		catalog_unlock_key(catalog, received);
	}
	catalog_unlock_key(catalog, backup);
	return failed;
}

int restore_run(const struct restore *restore, uint64_t *ret_guid, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const char *parent = catalog_parent(restore->node->catalog);
	struct copying copying = {.restore = restore,
				  .arena = &arena,
				  .parent = parent,
				  .backup = stored_name(&arena, parent, restore->id),
				  .name = dataset_received_name(&arena, parent, restore->as)};

	if (program_check(err) < 0 || source_check_zfs(restore->node, err) < 0)
		return -1;
	return with_locks(&copying, ret_guid, err);
}
