/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The thread for backups. It does the tasks of the queue, and once a minute adds one for each
 * backup that is due.
 *
 * Invariant: one task is done at a time, and no other thread changes a backup but DropBackup, which
 * waits for the same key of the catalog.
 */
#include "node/backup/backups.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "common/metrics.h"
#include "node/backup/expire.h"
#include "node/backup/incoming.h"
#include "node/backup/pull.h"
#include "node/backup/restore.h"
#include "node/backup/stored.h"
#include "node/backup/verify.h"
#include "node/replica/held.h"
#include "node/stream/rounds.h"

#define PAUSE_S  60
#define RETRY_MS 600000 /* pause before a failed run is repeated; at most the backup's interval */

static struct metric runs = METRIC(COUNTER, "zcsi_backup_runs_total",
				   "Runs of backups that ended: ok or failed.", "outcome");
static const struct metric newest =
	METRIC(GAUGE, "zcsi_backup_newest_timestamp_seconds",
	       "When the newest snapshot of a backup was taken; 0: it has none.", "volume");
static const struct metric interval =
	METRIC(GAUGE, "zcsi_backup_interval_seconds",
	       "How often a backup is run by itself; 0: it is not.", "volume");
static const struct metric verified =
	METRIC(GAUGE, "zcsi_backup_verified_timestamp_seconds",
	       "When all data of a backup was last read; 0: never.", "volume");

/* A backup as it was last read, for the metrics. */
struct seen {
	char *id;
	int64_t newest, every, verified;
};

struct backups {
	const struct node *node;
	struct loop *loop;
	struct loop_task stop;
	struct rounds *rounds;
	struct incoming incoming;

	struct queue *queue;
	bool unread; /* the backups were not read since the last task; used by the thread only */

	pthread_mutex_t lock; /* protects `seen` and `n_seen` */
	struct seen *seen;
	size_t n_seen;
};

static int pull(struct backups *backups, struct backup_task *task, struct error *err)
{
	const struct pull pull = {.node = backups->node,
				  .incoming = &backups->incoming,
				  .id = task->id,
				  .from = task->from,
				  .add = task->add,
				  .only_new = task->only_new,
				  .every = task->every,
				  .keep = task->keep,
				  .only_rules = task->only_rules};
	int failed = pull_run(&pull, &task->idle, err);

	metric_count(&runs, failed ? "failed" : "ok");
	return failed;
}

static int restore(struct backups *backups, struct backup_task *task, struct error *err)
{
	const struct restore restore = {.node = backups->node,
					.rounds = backups->rounds,
					.id = task->id,
					.as = task->as,
					.guid = task->guid};

	return restore_run(&restore, &task->guid, err);
}

/* Do a task, and set its error. */
static void run(struct backups *backups, struct backup_task *task)
{
	static const char *const troubles[] = {[BACKUP_RUN] = "backup has failed",
					       [BACKUP_VERIFY] = "cannot verify a backup",
					       [BACKUP_RESTORE] = "cannot restore a backup"};
	struct error *err = &task->error;
	int failed = task->kind == BACKUP_RUN ? pull(backups, task, err)
		     : task->kind == BACKUP_VERIFY
			     ? verify_run(backups->node, backups->rounds, task->id, err)
			     : restore(backups, task, err);

	if (!failed)
		err->code = ERR_OK;
	else
		log_warn(troubles[task->kind], log_str("volume", task->id),
			 log_str("error", err->text));
}

static void forget_seen(struct backups *backups)
{
	for (size_t i = 0; i < backups->n_seen; i++)
		free(backups->seen[i].id);
	free(backups->seen);
	backups->seen = NULL;
	backups->n_seen = 0;
}

static void see(struct backups *backups, const struct stored_list *list)
{
	scoped_lock(&backups->lock);

	forget_seen(backups);
	backups->seen = mem_alloc((list->n + 1) * sizeof(*backups->seen));
	for (; backups->n_seen < list->n; backups->n_seen++) {
		const BackupState *backup = list->rows[backups->n_seen];
		backups->seen[backups->n_seen] = (struct seen){
			.id = mem_strdup(backup->id),
			.newest = backup->n_snapshots ? backup->snapshots[0]->creation : 0,
			.every = backup->every > 0 ? backup->every : 0,
			.verified = backup->verified};
	}
}

/* Add a task for each backup that is due. */
static void add_due(struct backups *backups)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct stored_list list;
	struct error err;
	uint64_t ignored;

	if (stored_read_all(&arena, catalog_parent(backups->node->catalog), &list, &err) < 0)
		return;
	see(backups, &list);
	backups->unread = false;
	for (size_t i = 0; i < list.n; i++) {
		const BackupState *backup = list.rows[i];
		const struct backup_task task = {.kind = BACKUP_RUN, .id = backup->id};
		int64_t every = backup->every * 1000, pause = every < RETRY_MS ? every : RETRY_MS;
		if (expire_is_due(backup, time(NULL)) &&
		    !queue_tried(backups->queue, backup->id, pause) &&
		    backups_add(backups, &task, &ignored, &err) < 0)
			log_warn("cannot begin a backup that is due", log_str("volume", backup->id),
				 log_str("error", err.text));
	}
}

/* Returns true unless the backups were read and there were none. */
static bool may_have_some(struct backups *backups)
{
	scoped_lock(&backups->lock);

	return backups->unread || backups->n_seen > 0;
}

/*
 * Do the tasks of the queue, then add one for each backup that is due. A host without backups does
 * not read the pool each minute.
 */
static int work(struct rounds *rounds, void *arg, bool asked)
{
	struct backups *backups = arg;
	struct backup_task task;
	bool worked = false;

	(void)asked;
	while (!rounds_stopping(rounds) && queue_next(backups->queue, &task)) {
		run(backups, &task);
		queue_end(backups->queue, &task);
		worked = true;
	}
	backups->unread |= worked;
	if (!held_possible() || !may_have_some(backups))
		return ROUNDS_IDLE;
	if (!rounds_stopping(rounds))
		add_due(backups);
	return PAUSE_S;
}

int backups_start(struct backups **ret, const struct node *node, struct loop *loop,
		  struct error *err)
{
	struct backups *backups = *ret = mem_alloc(sizeof(*backups));
	const struct rounds_work rounds = {.what = "the thread for backups",
					   .round = work,
					   .arg = backups,
					   .first_s = PAUSE_S};

	memset(backups, 0, sizeof(*backups));
	backups->node = node;
	backups->loop = loop;
	backups->incoming.loop = loop;
	backups->queue = queue_new();
	backups->unread = true;
	pthread_mutex_init(&backups->lock, NULL);
	return rounds_start(&backups->rounds, node, loop, &rounds, err);
}

static void stop(struct loop_task *task)
{
	struct backups *backups = container_of(task, struct backups, stop);
	struct error err;

	fail(&err, ERR_UNAVAILABLE, "zcsi-node is stopping");
	incoming_cancel(&backups->incoming, &err);
}

void backups_stop(struct backups *backups)
{
	if (!backups)
		return;
	backups->stop.fn = stop;
	loop_post(backups->loop, &backups->stop);
	rounds_stop(backups->rounds);
	queue_free(backups->queue);
	forget_seen(backups);
	pthread_mutex_destroy(&backups->lock);
	free(backups);
}

int backups_add(struct backups *backups, const struct backup_task *task, uint64_t *ret,
		struct error *err)
{
	if (queue_add(backups->queue, task, ret, err) < 0)
		return -1;
	rounds_soon(backups->rounds);
	return 0;
}

struct queue *backups_queue(struct backups *backups)
{
	return backups->queue;
}

void backups_metrics_write(struct backups *backups, FILE *out)
{
	metric_begin(&runs, "ok");
	metric_begin(&runs, "failed");
	metric_write(&runs, out);
	metric_head(&newest, out);
	if (!backups)
		return;
	scoped_lock(&backups->lock);
	for (size_t i = 0; i < backups->n_seen; i++)
		metric_sample(&newest, out, (double)backups->seen[i].newest, backups->seen[i].id);
	metric_head(&interval, out);
	for (size_t i = 0; i < backups->n_seen; i++)
		metric_sample(&interval, out, (double)backups->seen[i].every, backups->seen[i].id);
	metric_head(&verified, out);
	for (size_t i = 0; i < backups->n_seen; i++)
		metric_sample(&verified, out, (double)backups->seen[i].verified,
			      backups->seen[i].id);
}
