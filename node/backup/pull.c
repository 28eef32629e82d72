/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A run of a backup: the other node takes a snapshot, and its stream, which begins at the newest
 * snapshot of the backup, becomes the input of a `zfs receive` here.
 *
 * Invariant: zfs receives only below BACKUP_FOLDER, with -s, so that an interrupted stream can be
 * continued, with -u, so that nothing is mounted, and never with -F. A run has succeeded only if
 * the pool here shows the snapshot with the guid that the other node named, and zfs said nothing.
 * Only then does the other node move its bookmark.
 */
#include "node/backup/pull.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/volume/format.h"
#include "node/backup/expire.h"
#include "node/backup/source.h"
#include "node/backup/stored.h"
#include "node/catalog/change.h"
#include "node/peers/peers.h"
#include "node/record/property.h"
#include "node/replica/replica.h"
#include "node/stream/program.h"
#include "node/zfs/argv.h"
#include "node/zfs/lock_file.h"
#include "node/zfs/zfs_run.h"

#define ASK_MS       30000 /* the timeout of a call to the other node, which runs some programs */
#define LOCK_MS      5000  /* how long a run waits for the end of a DropBackup of its backup */
#define RESERVE_PART 20    /* a backup leaves a 20th of the free space to others */

struct run {
	const struct pull *pull;
	struct arena *arena;
	const char *parent, *from;
	struct client *client;
	BackupState *backup;       /* the backup as last read; NULL: there is none */
	BeginBackupResponse *plan; /* the other node's answer; NULL: it has not agreed */
	bool idle;
	bool full; /* zfs said that the pool here has no room */
};

/* Calls of the other node */

static int ask(struct run *run, const char *method, const ProtobufCMessage *request, void *ret,
	       struct error *err)
{
	if (client_finish(client_begin(run->client, run->arena, &zcsi__v1__backup__descriptor,
				       method, request, now_ms() + ASK_MS),
			  ret, err) == 0)
		return 0;
	const char *ours = run->pull->node->id;
	if (err->code == ERR_UNIMPLEMENTED)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the zcsi-node of '%s' is of an earlier version, which no backup can "
			    "read; update it",
			    run->from);
	if (err->code == ERR_PERMISSION_DENIED)
		return fail_context(err,
				    "node '%s' does not let node '%s' read its volumes; start its "
				    "zcsi-node with --allow zcsi.v1.Backup=%s",
				    run->from, ours, ours);
	return fail_context(err, "node '%s'", run->from);
}

/*
 * Check the owner's description of the volume: a node under an attacker's control must not be able
 * to set arbitrary properties here.
 */
static int check_plan(const struct run *run, struct error *err)
{
	const ReceiveHeader *header = run->plan->header;

	if (!header || !header->volume || strcmp(header->volume->id, run->pull->id) != 0)
		return fail(err, ERR_INTERNAL, "node '%s' did not describe the volume", run->from);
	if (!format_find(header->volume->format))
		return fail(err, ERR_FAILED_PRECONDITION, "format of volume '%s' is '%.64s'",
			    run->pull->id, header->volume->format);
	for (size_t i = 0; i < header->n_properties; i++)
		if (property_check(header->properties[i], err) < 0)
			return -1;
	return 0;
}

static int begin(struct run *run, struct error *err)
{
	BeginBackupRequest *request = new_begin_backup_request(run->arena);
	const BackupState *backup = run->backup;
	size_t n = backup ? backup->n_snapshots : 0;

	request->id = arena_strdup(run->arena, run->pull->id);
	request->node_id = arena_strdup(run->arena, run->pull->node->id);
	request->guids = arena_alloc(run->arena, (n + 1) * sizeof(*request->guids));
	for (size_t i = 0; i < n; i++)
		request->guids[request->n_guids++] = backup->snapshots[i]->guid;
	if (backup)
		request->token = backup->token;
	if (ask(run, "BeginBackup", &request->base, &run->plan, err) < 0)
		return -1;
	return check_plan(run, err);
}

static int end(struct run *run, struct error *err)
{
	EndBackupRequest *request = new_end_backup_request(run->arena);
	EndBackupResponse *response;

	request->id = arena_strdup(run->arena, run->pull->id);
	request->node_id = arena_strdup(run->arena, run->pull->node->id);
	request->guid = run->plan->header->guid;
	return ask(run, "EndBackup", &request->base, &response, err);
}

/* Receiving the stream */

static int look(struct run *run, struct error *err)
{
	return stored_read(run->arena, run->parent, run->pull->id, &run->backup, err);
}

static int check_room(const struct run *run, struct error *err)
{
	struct catalog_pool pool;

	catalog_pool(run->pull->node->catalog, run->arena, &pool);
	int64_t room = pool.available - pool.available / RESERVE_PART;
	if (run->plan->size <= room)
		return 0;
	return fail(err, ERR_RESOURCE_EXHAUSTED,
		    "%" PRId64 " bytes are to be received, and the pool of node '%s' has room for "
		    "%" PRId64 "; free space there or add a device",
		    run->plan->size, run->pull->node->id, room);
}

static const char *const *command(struct run *run, const struct zfs_properties *properties)
{
	const char **argv = arena_alloc(run->arena, (2 * properties->n + 6) * sizeof(*argv));
	size_t n = 0;

	argv[n++] = "zfs";
	argv[n++] = "receive";
	argv[n++] = "-s";
	argv[n++] = "-u";
	n += zfs_property_options(run->arena, properties, argv + n);
	argv[n] = stored_name(run->arena, run->parent, run->pull->id);
	return argv;
}

static int stream(struct run *run, int to, struct error *err)
{
	ReadBackupRequest *request = new_read_backup_request(run->arena);

	request->id = arena_strdup(run->arena, run->pull->id);
	request->node_id = arena_strdup(run->arena, run->pull->node->id);
	request->guid = run->plan->header->guid;
	request->from_guid = run->plan->from_guid;
	if (run->plan->resumes)
		request->token = run->backup->token;
	return incoming_read(run->pull->incoming, run->client, request, to, err);
}

/*
 * Wait for the end of zfs, whose input has ended. If the stream was cut, or never began, *err has
 * the reason, and zfs only reports the cut. In all other cases the error of zfs explains best what
 * failed.
 */
static int reap(struct run *run, struct child *child, int failed, struct error *err)
{
	static const char *const argv[] = {"zfs", "receive"};
	struct pollfd ended = {.fd = child->pidfd, .events = POLLIN};
	bool has_ended = poll(&ended, 1, (int)zfs_run_timeout()) > 0;
	int status = has_ended ? child_reap(child) : child_kill(child);
	struct error said;

	int bad = program_judge(child, argv, status, true, &said);
	child_fini(child);
	run->full = bad && said.code == ERR_RESOURCE_EXHAUSTED;
	if (bad && (!failed || said.code != ERR_UNAVAILABLE))
		*err = said;
	return failed || bad ? -1 : 0;
}

static int receive(struct run *run, struct error *err)
{
	struct zfs_properties properties = {.n = 0};
	struct child child = CHILD_NONE;
	int ends[2];

	const struct stored_rules rules = {run->from, run->pull->every, run->pull->keep};
	stored_properties(run->arena, run->plan->header, &rules, &properties);
	if (properties.n > ZFS_PROPERTIES_MAX)
		return fail(err, ERR_INVALID_ARGUMENT, "volume '%s' has more than %d properties",
			    run->pull->id, ZFS_PROPERTIES_MAX);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(err, "cannot make a pipe");
	/*
	 * Let zfs, which changes the pool, hold the lock file: if this zcsi-node is killed, the
	 * next one waits for the end of zfs.
	 */
	int failed = child_start(&child, argv_complete(run->arena, command(run, &properties)),
				 ends[0], lock_file_descriptor(), err);
	close(ends[0]);
	if (failed) {
		close(ends[1]);
		return -1;
	}
	return reap(run, &child, stream(run, ends[1], err), err);
}

/*
 * Discard the part that was received when the pool became full, so that others have its space. Have
 * the trash emptied before that, because the trash is emptied early only while the pool is full.
 */
static void give_back(struct run *run)
{
	struct error err;

	catalog_make_room(run->pull->node->catalog, NO_DEADLINE);
	if (look(run, &err) < 0 || (run->backup && stored_discard(run->backup, &err) < 0))
		log_warn("cannot discard a partly received stream",
			 log_str("volume", run->pull->id), log_str("error", err.text));
}

static int confirm(struct run *run, struct error *err)
{
	uint64_t guid = run->plan->header->guid;

	if (look(run, err) < 0)
		return -1;
	const BackupState *backup = run->backup;
	if (backup && !*backup->token && backup->n_snapshots && backup->snapshots[0]->guid == guid)
		return 0;
	return fail(err, ERR_INTERNAL, "the backup has not got the snapshot '%s'",
		    run->plan->header->snapshot);
}

/* Discard a partly received stream that the other node cannot continue. */
static int discard(struct run *run, struct error *err)
{
	if (!run->backup || !*run->backup->token || run->plan->resumes)
		return 0;
	return stored_discard(run->backup, err);
}

static int step(struct run *run, struct error *err)
{
	if (begin(run, err) < 0 || discard(run, err) < 0 || check_room(run, err) < 0)
		return -1;
	if (receive(run, err) < 0) {
		if (run->full)
			give_back(run);
		return fail_context(err, "the stream from node '%s'", run->from);
	}
	return confirm(run, err) < 0 || end(run, err) < 0 ? -1 : 0;
}

/* A stream that was continued ends with an old snapshot, so a second one follows. */
static int steps(struct run *run, struct error *err)
{
	struct peers *peers = run->pull->node->peers;

	run->plan = NULL;
	if (peers_dial(peers, run->from, now_ms() + ASK_MS, &run->client, err) < 0)
		return -1;
	int failed = step(run, err);
	if (!failed && run->plan->resumes)
		failed = step(run, err);
	peers_hang_up(peers, run->client);
	return failed;
}

/*
 * Pull from the node that had the volume at the last run. If that node is not reached or refuses,
 * try the other nodes that had the data then: one of them may own the volume now.
 */
static int steps_from_any(struct run *run, struct error *err)
{
	const BackupState *backup = run->backup;
	struct error ignored;

	run->from = backup->from_node_id;
	int failed = steps(run, err);
	for (size_t i = 0; failed && !run->plan && i < backup->n_other_node_ids; i++) {
		run->from = backup->other_node_ids[i];
		if (strcmp(run->from, run->pull->node->id) == 0)
			continue;
		failed = steps(run, &ignored);
		if (run->plan)
			*err = ignored;
	}
	return failed;
}

static int pull_from(struct run *run, struct error *err)
{
	const struct pull *pull = run->pull;

	if (run->backup && !*pull->from)
		return steps_from_any(run, err);
	run->from = pull->from;
	if (strcmp(run->from, pull->node->id) != 0)
		return steps(run, err);
	return fail(err, ERR_FAILED_PRECONDITION,
		    "node '%s' has volume '%s' itself; a backup belongs on another node", run->from,
		    pull->id);
}

/* Set the rules of an existing backup before the stream, which may fail: the volume may be gone. */
static int set_rules(struct run *run, struct error *err)
{
	const struct pull *pull = run->pull;
	const struct stored_rules rules = {NULL, pull->every, pull->keep};

	if (!pull->every && !*pull->keep)
		return 0;
	return stored_set_rules(run->arena, run->backup, &rules, err) < 0 ? -1 : look(run, err);
}

static int run_locked(struct run *run, struct error *err)
{
	const struct pull *pull = run->pull;

	if (look(run, err) < 0)
		return -1;
	if (!run->backup && !pull->add)
		return fail(err, ERR_NOT_FOUND,
			    "node '%s' has no backup of volume '%s'; make one with 'zcsi backup "
			    "add %s %s'",
			    pull->node->id, pull->id, pull->id, pull->node->id);
	run->idle = run->backup && pull->only_new;
	if (run->idle)
		return 0;
	if (run->backup && set_rules(run, err) < 0)
		return -1;
	run->idle = pull->only_rules;
	if (run->idle)
		return 0;
	if (!run->backup && replica_make_folder(run->arena, run->parent, BACKUP_FOLDER, err) < 0)
		return -1;
	if (pull_from(run, err) < 0)
		return -1;
	expire_run(run->arena, run->backup);
	return 0;
}

int pull_run(const struct pull *pull, bool *ret_idle, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct catalog *catalog = pull->node->catalog;
	struct run run = {.pull = pull, .arena = &arena, .parent = catalog_parent(catalog)};

	*ret_idle = false;
	if (program_check(err) < 0 || source_check_zfs(pull->node, err) < 0)
		return -1;
	const char *key = stored_key(&arena, stored_name(&arena, run.parent, pull->id));
	if (catalog_lock_key(catalog, now_ms() + LOCK_MS, key, err) < 0)
		return -1;
	int failed = run_locked(&run, err);
	catalog_unlock_key(catalog, key);
	*ret_idle = run.idle;
	return failed;
}
