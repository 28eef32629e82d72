/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The moves that run, and the last one of each volume that has ended.
 *
 * Invariant: a volume has one move at a time. Until the moves of an earlier zcsi-node are known, no
 * volume is reported as missing (node/host/moves.h).
 */
#include "node/move/mover.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/thread.h"
#include "node/change/detach_end.h"
#include "node/change/swap.h"
#include "node/host/moves.h"
#include "node/move/depart.h"
#include "node/move/earlier.h"
#include "node/move/move_metrics.h"
#include "node/stream/copies.h"
#include "node/zfs/zfs_run.h"

#define MOVES_MAX 8 /* no move begins while so many threads run */
#define PAUSE_MS  500
#define PAUSE_MAX 15000 /* the longest pause between two tries */
#define LOOK_MS   30000 /* to wait for the first scan of the pool */

struct move {
	struct mover *mover;
	char *id, *to;
	pthread_t thread;
	int64_t begun; /* now_us() value */
	struct transfer_progress progress;
	atomic_bool cancelled, given_up;

	/* Protected by the mover's lock. */
	bool ended;
	char *error;  /* why it failed, or why its step is tried again; or NULL */
	char *before; /* why the last move to the same node failed; or NULL */
	struct transfer *transfer;
	int64_t pause;
	struct move *next;
};

struct mover {
	const struct node *node;
	struct loop *loop;
	struct loop_task stop, cancel;
	pthread_t finder;

	pthread_mutex_t lock; /* protects all members below */
	pthread_cond_t changed;
	struct move *list;
	unsigned running; /* how many threads run */
	bool started;     /* the thread `finder`, which `running` counts too, was started */
	bool stopping, cancelling;
};

static void wait_ms(struct mover *mover, int64_t ms)
{
	int64_t until = now_ms() + ms;
	const struct timespec time = {until / 1000, until % 1000 * 1000000};

	pthread_cond_clockwait(&mover->changed, &mover->lock, CLOCK_MONOTONIC, &time);
}

static void stop_loop(struct loop_task *task)
{
	loop_stop(container_of(task, struct mover, stop)->loop);
}

/* Count a thread as ended. The caller holds the lock. */
static void end_thread(struct mover *mover)
{
	pthread_cond_broadcast(&mover->changed);
	if (--mover->running || !mover->stopping)
		return;
	mover->stop.fn = stop_loop;
	loop_post(mover->loop, &mover->stop);
}

static void set_error(struct move *move, const struct error *err)
{
	if (err && (!move->error || strcmp(move->error, err->text) != 0))
		log_warn(move->given_up ? "move is unfinished" : "cannot move a volume",
			 log_str("volume", move->id), log_str("node", move->to),
			 log_str("error", err->text));
	free(move->error);
	move->error = err ? mem_strdup(err->text) : NULL;
}

/* The callbacks of depart.c */

static void transfers(void *arg, struct transfer *transfer)
{
	struct move *move = arg;
	scoped_lock(&move->mover->lock);

	move->transfer = transfer;
}

static bool retries(void *arg, const struct error *err)
{
	struct move *move = arg;
	struct mover *mover = move->mover;
	scoped_lock(&mover->lock);

	set_error(move, err);
	if (!mover->stopping)
		wait_ms(mover, move->pause);
	move->pause = move->pause * 2 < PAUSE_MAX ? move->pause * 2 : PAUSE_MAX;
	return !mover->stopping;
}

static void *run(void *arg)
{
	struct move *move = arg;
	struct mover *mover = move->mover;
	struct depart depart = {.node = mover->node,
				.id = move->id,
				.to = move->to,
				.progress = &move->progress,
				.cancelled = &move->cancelled,
				.given_up = &move->given_up,
				.arg = move,
				.transfers = transfers,
				.retries = retries};
	struct error err;

	int failed = depart_run(&depart, &err);
	if (!failed)
		log_info("volume is moved", log_str("volume", move->id), log_str("node", move->to));
	move_metrics_ended(failed, now_us() - move->begun);
	scoped_lock(&mover->lock);
	set_error(move, failed ? &err : NULL);
	move->ended = true;
	end_thread(mover);
	return NULL;
}

/* The list of moves. The caller of these functions holds the lock. */

static struct move **place_of(struct mover *mover, const char *id)
{
	struct move **at = &mover->list;

	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	return at;
}

static void free_move(struct move *move)
{
	free(move->id);
	free(move->to);
	free(move->error);
	free(move->before);
	free(move);
}

/* Join the thread of a move that has ended, and free the move. */
static void forget(struct move **at)
{
	struct move *gone = *at;

	*at = gone->next;
	pthread_join(gone->thread, NULL);
	free_move(gone);
}

/* Returns why an ended move to this node failed; NULL if it was to another node or succeeded. */
static char *failure(const struct move *ended, const char *to)
{
	if (!ended || strcmp(ended->to, to) != 0 || !ended->error)
		return NULL;
	return mem_strdup(ended->error);
}

/* Replace the last move of the volume, which has ended, by a new one. */
static int add(struct mover *mover, const char *id, const char *to, bool given_up,
	       struct error *err)
{
	struct move **last = place_of(mover, id);
	struct move *move = mem_alloc(sizeof(*move));

	move->mover = mover;
	move->id = mem_strdup(id);
	move->to = mem_strdup(to);
	move->given_up = given_up;
	move->begun = now_us();
	move->before = failure(*last, to);
	move->pause = PAUSE_MS;
	if (thread_start(&move->thread, NULL, run, move) < 0) {
		free_move(move);
		return fail_errno(err, "cannot start a thread for a move");
	}
	if (*last)
		forget(last);
	move->next = mover->list;
	mover->list = move;
	mover->running++;
	return 0;
}

static int fail_moving(const struct move *move, struct error *err)
{
	return fail(err, ERR_FAILED_PRECONDITION,
		    "it is moving to node '%s' already; 'zcsi move %s %s --cancel' ends that",
		    move->to, move->id, move->to);
}

int mover_begin(struct mover *mover, const char *id, const char *to, struct error *err)
{
	scoped_lock(&mover->lock);
	struct move **at = place_of(mover, id);

	if (*at && !(*at)->ended)
		return strcmp((*at)->to, to) == 0 ? 0 : fail_moving(*at, err);
	if (mover->stopping)
		return fail(err, ERR_UNAVAILABLE, "zcsi-node is stopping; try again");
	if (mover->running >= MOVES_MAX)
		return fail(err, ERR_RESOURCE_EXHAUSTED,
			    "%d volumes are moving away already; try again when one of them has",
			    MOVES_MAX);
	return add(mover, id, to, false, err);
}

bool mover_moves(struct mover *mover, const char *id, const char *to)
{
	scoped_lock(&mover->lock);
	const struct move *move = *place_of(mover, id);

	return move && !move->ended && strcmp(move->to, to) == 0;
}

/* Runs on the loop's thread, because no other thread may end a transfer. */
static void cancel_transfers(struct loop_task *task)
{
	struct mover *mover = container_of(task, struct mover, cancel);
	scoped_lock(&mover->lock);
	struct error err;

	fail(&err, ERR_CANCELLED, "the move was cancelled");
	mover->cancelling = false;
	for (struct move *move = mover->list; move; move = move->next)
		if (move->cancelled && move->transfer)
			transfer_cancel(move->transfer, &err);
}

static void cancel_soon(struct mover *mover)
{
	if (mover->cancelling)
		return;
	mover->cancelling = true;
	mover->cancel.fn = cancel_transfers;
	loop_post(mover->loop, &mover->cancel);
}

int mover_cancel(struct mover *mover, const char *id, int64_t deadline, struct error *err)
{
	scoped_lock(&mover->lock);
	struct move *move = *place_of(mover, id);

	if (!move || move->ended)
		return 0;
	move->cancelled = true;
	cancel_soon(mover);
	while ((move = *place_of(mover, id)) && !move->ended && !move->given_up &&
	       time_left_ms(deadline) > 0)
		wait_ms(mover, PAUSE_MS);
	if (!move || (move->ended && !move->given_up))
		return 0;
	if (!move->given_up)
		return fail(err, ERR_DEADLINE_EXCEEDED, "the move of volume '%s' has not ended yet",
			    id);
	return fail(err, ERR_FAILED_PRECONDITION,
		    "node '%s' has given volume '%s' up, and node '%s' takes it as soon as the two "
		    "reach each other; to have it back, move it back then",
		    mover->node->id, id, move->to);
}

static MoveState *show(struct arena *arena, const struct move *move)
{
	MoveState *row = new_move_state(arena);
	int64_t begun = move->progress.begun;

	row->id = arena_strdup(arena, move->id);
	row->node_id = arena_strdup(arena, move->to);
	row->running = !move->ended;
	row->given_up = move->given_up;
	row->error = arena_strdup(arena, move->error ? move->error : "");
	row->failed_before = arena_strdup(arena, move->before ? move->before : "");
	if (row->running && begun) {
		row->sending_ms = now_ms() - begun;
		row->sent = (int64_t)move->progress.sent;
		row->total = (int64_t)move->progress.total;
	}
	return row;
}

MoveState **mover_list(struct mover *mover, struct arena *arena, const char *id, size_t *ret_n)
{
	scoped_lock(&mover->lock);
	size_t n = 0;

	for (const struct move *move = mover->list; move; move = move->next)
		n++;
	MoveState **rows = arena_alloc(arena, (n + 1) * sizeof(MoveState *));
	*ret_n = 0;
	for (const struct move *move = mover->list; move; move = move->next)
		if (!*id || strcmp(move->id, id) == 0)
			rows[(*ret_n)++] = show(arena, move);
	return rows;
}

/* The moves of an earlier zcsi-node */

/* Begin to finish a move, or close a volume with a damaged record. The caller holds the lock. */
static int resume(struct mover *mover, const struct earlier *row, struct error *err)
{
	if (row->why) {
		log_warn("a volume is closed, because it is unknown whether it was given up",
			 log_str("dataset", row->leaf), log_str("error", row->why));
		moves_close_damaged(mover->node->moves, row->leaf, row->why);
		return 0;
	}
	if (*place_of(mover, row->id))
		return 0;
	log_info("interrupted move is resumed", log_str("volume", row->id),
		 log_str("node", row->to));
	moves_close(mover->node->moves, row->id, row->to);
	return add(mover, row->id, row->to, true, err);
}

/*
 * Finish the rollbacks and detaches of an earlier zcsi-node, and begin to finish the moves whose
 * volumes it gave up. Returns 0, or -1 with *err if the pool cannot be read yet.
 */
static int find_earlier(struct mover *mover, struct arena *arena, struct error *err)
{
	struct catalog *catalog = mover->node->catalog;
	struct dataset_list ignored;
	struct earlier *rows = NULL;
	size_t n = 0;
	bool more;

	/*
	 * Wait for the first scan of the pool, which begins when no zfs of the earlier zcsi-node
	 * runs any more.
	 */
	if (earlier_may_be() &&
	    (catalog_page(catalog, now_ms() + LOOK_MS, arena, "", 1, &ignored, &more, err) < 0 ||
	     swap_finish_earlier(catalog, arena, now_ms() + LOOK_MS, err) < 0 ||
	     detach_end_earlier(mover->node, arena, now_ms() + LOOK_MS, err) < 0 ||
	     earlier_read(arena, catalog_parent(catalog), &rows, &n, err) < 0 ||
	     earlier_show(arena, catalog_parent(catalog), err) < 0))
		return -1;
	scoped_lock(&mover->lock);
	for (size_t i = 0; i < n && !mover->stopping; i++)
		if (resume(mover, &rows[i], err) < 0)
			return -1;
	moves_known(mover->node->moves);
	return 0;
}

static void *find(void *arg)
{
	struct mover *mover = arg;
	int failed = -1;

	for (;;) {
		auto_arena struct arena arena = {.cap = SIZE_MAX};
		struct error err;
		failed = find_earlier(mover, &arena, &err);
		scoped_lock(&mover->lock);
		if (!failed || mover->stopping) {
			end_thread(mover);
			return NULL;
		}
		log_debug("cannot look for moves to finish", log_str("error", err.text));
		wait_ms(mover, PAUSE_MS);
	}
}

int mover_start(struct mover **ret, const struct node *node, struct loop *loop, struct error *err)
{
	struct mover *mover = mem_alloc(sizeof(*mover));

	*mover = (struct mover){.node = node, .loop = loop};
	pthread_mutex_init(&mover->lock, NULL);
	pthread_cond_init(&mover->changed, NULL);
	*ret = mover;
	scoped_lock(&mover->lock);
	if (thread_start(&mover->finder, NULL, find, mover) < 0)
		return fail_errno(err, "cannot start a thread for moves");
	mover->started = true;
	mover->running = 1;
	return 0;
}

/* Interrupt all moves. Returns true if a thread runs; the last thread that ends stops the loop. */
static bool interrupt(struct mover *mover)
{
	scoped_lock(&mover->lock);

	mover->stopping = true;
	for (struct move *move = mover->list; move; move = move->next)
		move->cancelled = true;
	zfs_run_stop_reading();
	if (mover->running)
		cancel_soon(mover);
	pthread_cond_broadcast(&mover->changed);
	return mover->running;
}

void mover_stop(struct mover *mover)
{
	if (!mover)
		return;
	if (interrupt(mover))
		loop_run(mover->loop);
	if (mover->started)
		pthread_join(mover->finder, NULL);
	while (mover->list)
		forget(&mover->list);
	pthread_cond_destroy(&mover->changed);
	pthread_mutex_destroy(&mover->lock);
	free(mover);
}
