/* SPDX-License-Identifier: MPL-2.0 */
/*
 * RunBackup, VerifyBackup, RestoreBackup, GetBackupTask, ListBackups and DropBackup of
 * zcsi.v1.Copy, by which an operator manages the backups of this host, and AddBackup of
 * zcsi.v1.Agent, by which a controller has one made.
 *
 * Invariant: no other node can change or destroy a backup, because only operators may call
 * zcsi.v1.Copy. A controller can only have a new backup made.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/volume/schedule.h"
#include "node/backup/backups.h"
#include "node/backup/source.h"
#include "node/backup/stored.h"
#include "node/catalog/change.h"
#include "node/record/dataset.h"
#include "node/replica/held.h"
#include "node/service.h"
#include "node/stream/copies.h"
#include "node/stream/program.h"

#define EVERY_MIN 60 /* least interval in seconds; the thread checks once a minute what is due */

/* Check the volume id, and that this node has a pool. */
static int check(const struct rpc_call *call, const char *id, struct error *err)
{
	if (request_text(id, "id", err) < 0 ||
	    node_need_pool(call, "the backup of volume", id, err) < 0)
		return -1;
	if (strlen(id) > DATASET_ID_MAX)
		return fail(err, ERR_INVALID_ARGUMENT, "id '%s' is longer than %d bytes", id,
			    DATASET_ID_MAX);
	return 0;
}

static int check_rules(int64_t every, const char *keep, struct error *err)
{
	struct schedule ignored;

	if (every > 0 && every < EVERY_MIN)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "a backup cannot be run every %" PRId64 " seconds; the least is %d",
			    every, EVERY_MIN);
	if (!*keep || schedule_parse(keep, &ignored))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "what a backup keeps is '%.128s', and not such as daily=30,monthly=12, or none",
		    keep);
}

int run_backup(struct rpc_call *call, const RunBackupRequest *req, RunBackupResponse *rsp,
	       struct error *err)
{
	const struct node *node = call->app;
	const struct backup_task task = {.kind = BACKUP_RUN,
					 .id = req->id,
					 .from = req->from_node_id,
					 .add = req->add,
					 .every = req->every,
					 .keep = req->keep,
					 .only_rules = req->only_rules};

	if (check(call, req->id, err) < 0 || check_rules(req->every, req->keep, err) < 0)
		return -1;
	if (req->add && req->only_rules)
		return fail(err, ERR_INVALID_ARGUMENT, "add and only_rules exclude each other");
	if (req->add && request_text(req->from_node_id, "from_node_id", err) < 0)
		return -1;
	return backups_add(node->copies->backups, &task, &rsp->task, err);
}

/* Fill in how far a task has come that makes a new backup. */
static int look(struct rpc_call *call, const AddBackupRequest *req, AddBackupResponse *rsp,
		struct error *err)
{
	const struct node *node = call->app;
	struct backup_task task;
	BackupState *backup;

	if (!queue_find(backups_queue(node->copies->backups), req->task, &task))
		return fail(err, ERR_UNAVAILABLE, "zcsi-node was started again: try again");
	if (task.ended && task.error.code != ERR_OK) {
		*err = task.error;
		return -1;
	}
	if (stored_read(&call->arena, catalog_parent(node->catalog), req->id, &backup, err) < 0)
		return -1;
	rsp->exists = backup != NULL;
	rsp->task = req->task;
	return 0;
}

int add_backup(struct rpc_call *call, const AddBackupRequest *req, AddBackupResponse *rsp,
	       struct error *err)
{
	const struct node *node = call->app;
	const struct backup_task task = {.kind = BACKUP_RUN,
					 .id = req->id,
					 .from = req->from_node_id,
					 .add = true,
					 .only_new = true,
					 .every = req->every,
					 .keep = req->keep};

	if (check(call, req->id, err) < 0 || check_rules(req->every, req->keep, err) < 0 ||
	    request_text(req->from_node_id, "from_node_id", err) < 0 ||
	    source_check_zfs(node, err) < 0)
		return -1;
	if (req->task)
		return look(call, req, rsp, err);
	return backups_add(node->copies->backups, &task, &rsp->task, err);
}

int verify_backup(struct rpc_call *call, const VerifyBackupRequest *req, VerifyBackupResponse *rsp,
		  struct error *err)
{
	const struct node *node = call->app;
	const struct backup_task task = {.kind = BACKUP_VERIFY, .id = req->id};

	if (check(call, req->id, err) < 0)
		return -1;
	return backups_add(node->copies->backups, &task, &rsp->task, err);
}

int restore_backup(struct rpc_call *call, const RestoreBackupRequest *req,
		   RestoreBackupResponse *rsp, struct error *err)
{
	const struct node *node = call->app;
	const struct backup_task task = {
		.kind = BACKUP_RESTORE, .id = req->id, .as = req->as_id, .guid = req->guid};

	if (check(call, req->id, err) < 0 || check(call, req->as_id, err) < 0)
		return -1;
	return backups_add(node->copies->backups, &task, &rsp->task, err);
}

int get_backup_task(struct rpc_call *call, const GetBackupTaskRequest *req,
		    GetBackupTaskResponse *rsp, struct error *err)
{
	const struct node *node = call->app;
	struct backup_task task;

	if (!node->copies->backups ||
	    !queue_find(backups_queue(node->copies->backups), req->task, &task))
		return fail(err, ERR_NOT_FOUND,
			    "zcsi-node was started again meanwhile; see 'zcsi backup list', and "
			    "try again");
	rsp->ended = task.ended;
	rsp->code = (int32_t)task.error.code;
	rsp->error = arena_strdup(&call->arena, task.error.code == ERR_OK ? "" : task.error.text);
	rsp->guid = task.ended && task.kind == BACKUP_RESTORE ? task.guid : 0;
	return 0;
}

static int read_one(struct arena *arena, const char *parent, const char *id,
		    struct stored_list *ret, struct error *err)
{
	ret->rows = arena_alloc(arena, sizeof(*ret->rows));
	if (stored_read(arena, parent, id, &ret->rows[0], err) < 0)
		return -1;
	ret->n = ret->rows[0] ? 1 : 0;
	return 0;
}

/*
 * Fill in the error of the last run or verification. The error of a run hides that of a
 * verification until a run succeeds.
 */
static void add_outcome(struct arena *arena, struct queue *queue, BackupState *backup)
{
	const char *run = queue_failure(queue, arena, backup->id, BACKUP_RUN);
	const char *verify = queue_failure(queue, arena, backup->id, BACKUP_VERIFY);

	backup->busy = queue_busy(queue, backup->id);
	backup->error = (char *)(run ? run : verify ? verify : "");
	backup->verify_failed = !run && verify;
}

int list_backups(struct rpc_call *call, const ListBackupsRequest *req, ListBackupsResponse *rsp,
		 struct error *err)
{
	const struct node *node = call->app;
	struct stored_list list;

	rsp->time = time(NULL);
	if (!node->catalog || !held_possible())
		return 0;
	const char *parent = catalog_parent(node->catalog);
	if ((*req->id ? read_one(&call->arena, parent, req->id, &list, err)
		      : stored_read_all(&call->arena, parent, &list, err)) < 0)
		return -1;
	struct queue *queue = backups_queue(node->copies->backups);
	for (size_t i = 0; i < list.n; i++)
		add_outcome(&call->arena, queue, list.rows[i]);
	rsp->backups = list.rows;
	rsp->n_backups = list.n;
	return 0;
}

static int drop_locked(struct rpc_call *call, const char *parent, const char *id, struct error *err)
{
	BackupState *backup;

	if (stored_read(&call->arena, parent, id, &backup, err) < 0)
		return -1;
	if (!backup)
		return 0;
	if (stored_destroy(&call->arena, backup, err) < 0)
		return fail_context(err, "the backup '%s' cannot be destroyed", backup->name);
	log_info("backup is destroyed", log_str("volume", id), log_str("dataset", backup->name));
	return 0;
}

int drop_backup(struct rpc_call *call, const DropBackupRequest *req, DropBackupResponse *rsp,
		struct error *err)
{
	const struct node *node = call->app;

	(void)rsp;
	if (check(call, req->id, err) < 0 || program_check(err) < 0)
		return -1;
	if (!held_possible())
		return 0;
	const char *parent = catalog_parent(node->catalog);
	const char *key = stored_key(&call->arena, stored_name(&call->arena, parent, req->id));
	if (catalog_lock_key(node->catalog, call->deadline, key, err) < 0)
		return fail(err, ERR_ABORTED,
			    "the backup of volume '%s' is in use by a run or a restore; try again "
			    "after that",
			    req->id);
	int failed = drop_locked(call, parent, req->id, err);
	if (!failed)
		queue_forget(backups_queue(node->copies->backups), req->id);
	catalog_unlock_key(node->catalog, key);
	return failed;
}
