/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The pusher. Each thread takes the order that is due first and carries it out. An order is a
 * volume and the node of a copy.
 *
 * Invariant: an order is carried out by one thread at a time, and is not freed meanwhile. Orders
 * follow the catalog: they are compared with it before a thread takes the next one.
 */
#include "node/copy/pusher.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/thread.h"
#include "node/catalog/change.h"
#include "node/catalog/listener.h"
#include "node/copy/copy_metrics.h"
#include "node/copy/membership.h"
#include "node/copy/order.h"
#include "node/copy/pins.h"
#include "node/copy/push.h"
#include "node/copy/written.h"
#include "node/zfs/zfs_run.h"

#define STREAMS    2      /* threads, so streams at a time */
#define COMPARE_MS 1000   /* between two comparisons of the orders with the catalog, at least */
#define RETRY_MS   30000  /* the longest pause after a failure */
#define AWAY_MS    15000  /* added to that pause: so long other orders do not call a silent node */
#define IDLE_MS    600000 /* between two calls of pins_limit for a copy that gets no data */

struct runner {
	struct pusher *pusher;
	pthread_t thread;
	const struct order *order; /* the order that the thread carries out; NULL: none */
	struct transfer *transfer; /* the running push's; NULL: none */
};

struct pusher {
	const struct node *node;
	struct loop *loop;
	struct loop_task task, end_paused;
	struct catalog_listener listener; /* calls on_change when the catalog has changed */
	struct runner runners[STREAMS];
	unsigned n_runners;

	pthread_mutex_t lock; /* protects all members below, runner->order and runner->transfer */
	pthread_cond_t changed;
	bool stopping;
	unsigned ended; /* the number of runners that have ended */
	struct order_list orders;
	uint64_t names;   /* catalog_pool.names when the orders were last compared */
	bool differs;     /* the catalog may have changed since the orders were last compared */
	int64_t compared; /* when the orders were last compared, a now_ms() value */
	bool looking;     /* a thread reads how much copies lack, and the others wait */
	bool ending;      /* end_paused is queued on the loop */
};

static void end_paused(struct loop_task *task)
{
	struct pusher *pusher = container_of(task, struct pusher, end_paused);
	scoped_lock(&pusher->lock);
	struct error err;

	fail(&err, ERR_UNAVAILABLE, "the volume is paused");
	pusher->ending = false;
	for (unsigned i = 0; i < pusher->n_runners; i++) {
		const struct runner *runner = &pusher->runners[i];
		if (runner->order && runner->order->paused)
			transfer_cancel(runner->transfer, &err);
	}
}

/* Make the loop's thread end the transfers of paused volumes, and refuse further ones. */
static void end_paused_soon(struct pusher *pusher)
{
	bool any = false;

	for (unsigned i = 0; i < pusher->n_runners; i++)
		any |= pusher->runners[i].order && pusher->runners[i].order->paused;
	if (!any || pusher->ending)
		return;
	pusher->ending = true;
	pusher->end_paused.fn = end_paused;
	loop_post(pusher->loop, &pusher->end_paused);
}

/*
 * Wake the threads after the first change of the catalog since the last comparison, so that they
 * wait only until the next comparison is due.
 */
static void on_change(struct catalog_listener *listener)
{
	struct pusher *pusher = container_of(listener, struct pusher, listener);
	scoped_lock(&pusher->lock);

	if (!pusher->differs)
		pthread_cond_broadcast(&pusher->changed);
	pusher->differs = true;
}

/* Bring the orders in line with the catalog, if that has changed. */
static void compare(struct pusher *pusher)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct dataset_list volumes;
	struct catalog_pool pool;
	uint64_t *marks;

	pusher->differs = false;
	pusher->compared = now_ms();
	catalog_pool(pusher->node->catalog, &arena, &pool);
	if (!pool.names || pool.names == pusher->names)
		return;
	pusher->names = pool.names;
	catalog_with_members(pusher->node->catalog, &arena, &volumes, &marks);
	orders_follow(&pusher->orders, pusher->node->id, &volumes, marks);
	end_paused_soon(pusher);
}

/*
 * Ask ZFS once how much all copies lack, if it is time for one of them (written_nodes). The lock is
 * released meanwhile, so orders are looked up again. After a failure nothing is known of any copy.
 */
static void look(struct pusher *pusher)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const char *const *due = written_nodes(&pusher->orders, &arena);
	const char *parent = catalog_parent(pusher->node->catalog);
	struct written written;
	struct error err;

	if (!*due)
		return;
	pusher->looking = true;
	pthread_mutex_unlock(&pusher->lock);
	int failed = written_read(&arena, parent, due, &written, &err);
	pthread_mutex_lock(&pusher->lock);
	pusher->looking = false;
	pthread_cond_broadcast(&pusher->changed);
	if (failed)
		log_debug("cannot read how much copies lack", log_str("error", err.text));
	written_store(&pusher->orders, &written);
}

/* A push for an order. */
struct order_push {
	struct push push;
	struct pusher *pusher;
	struct order *order;
};

/* Look up what the copy had before zcsi-node started. The lock is released meanwhile. */
static void look_up(struct order_push *order_push)
{
	struct pusher *pusher = order_push->pusher;
	int64_t synced = 0;
	struct error err;

	pthread_mutex_unlock(&pusher->lock);
	int failed = push_known(&order_push->push, &synced, &err);
	pthread_mutex_lock(&pusher->lock);
	if (failed)
		log_debug("cannot look up the state of a copy", log_str("error", err.text));
	else
		order_known(order_push->order, synced);
}

static void refresh(struct push *push)
{
	struct order_push *order_push = container_of(push, struct order_push, push);
	const struct order *order = order_push->order;
	scoped_lock(&order_push->pusher->lock);

	orders_refresh(&order_push->pusher->orders, order, push);
	if (order_is_unknown(order))
		look_up(order_push);
}

/* Update order->idle. An interrupted stream counts as data sent, if it can be continued. */
static void note_idle(struct order *order, const struct push *push, bool failed)
{
	int64_t now = now_ms();

	if (!failed && !push->rules.paused)
		order->idle = 0;
	else if (!order->idle || push_has_moved(push))
		order->idle = now;
	if (failed && push->look)
		order->look = now + IDLE_MS;
}

static int64_t retry_ms(const struct order *order)
{
	return order->every * 1000 < RETRY_MS ? order->every * 1000 : RETRY_MS;
}

static struct order_push order_push_of(struct pusher *pusher, struct arena *arena,
				       struct order *order)
{
	struct order_push order_push = {.pusher = pusher,
					.order = order,
					.push = {.node = pusher->node,
						 .loop = pusher->loop,
						 .volume = dataset_copy(arena, order->volume),
						 .to = arena_strdup(arena, order->to),
						 .away = orders_away(&pusher->orders, order, arena),
						 .refresh = refresh,
						 .progress = &order->progress,
						 .arena = arena}};
	struct push *push = &order_push.push;

	if (order->idle)
		push->idle = (now_ms() - order->idle) / 1000;
	push->look = order->look <= now_ms() &&
		     pins_may(&(struct pins_bounds){
			     .idle = push->idle,
			     .most = push_rules_parse(push->volume->push).pin_limit});
	members_parse(arena, push->volume->members, &push->members);
	return order_push;
}

/* *ret_busy: a push failed because a move, or dropping a copy, has the volume's copies locked. */
static int carry_out(struct runner *runner, struct arena *arena, struct order *order,
		     struct synced *ret, bool *ret_busy, struct error *err)
{
	struct pusher *pusher = runner->pusher;
	struct order_push order_push = order_push_of(pusher, arena, order);
	struct push *push = &order_push.push;

	order->progress = (struct transfer_progress){0};
	*ret = (struct synced){.mark = order->mark};
	*ret_busy = false;
	if (!push->away)
		order->called = now_us();
	bool drop = orders_drop(&pusher->orders, order);
	if (pusher->stopping)
		return fail(err, ERR_UNAVAILABLE, "zcsi-node is stopping");
	runner->order = order;
	runner->transfer = &push->transfer;
	pthread_mutex_unlock(&pusher->lock);
	int failed = order->deleted ? membership_end(push, false, err)
		     : drop         ? membership_trim(push, err)
				    : push_run(push, &ret->time, err);
	pthread_mutex_lock(&pusher->lock);
	runner->order = NULL;
	runner->transfer = NULL;
	if (push->rules.paused || drop)
		ret->mark = order->pushed;
	order_learn(order, push);
	ret->at = push->taken.at;
	note_idle(order, push, failed);
	*ret_busy = push->busy;
	if (!push->away)
		order->silent = push->silent ? now_ms() + retry_ms(order) + AWAY_MS : 0;
	return failed;
}

/* Returns the time until an order that has succeeded, or is paused, is due again. */
static int64_t wait_ms(const struct order *order)
{
	return order->paused ? IDLE_MS : order->every * 1000;
}

/* Carry out one order. The lock is released meanwhile. */
static void take(struct runner *runner, struct order *order)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct pusher *pusher = runner->pusher;
	int64_t begun = now_ms();
	struct synced synced;
	struct error err;
	bool busy;

	order->running = true;
	int failed = carry_out(runner, &arena, order, &synced, &busy, &err);
	compare(pusher);
	order->running = false;
	if (!order->paused && !busy)
		copy_metrics_pushed(failed);
	if (busy)
		order->due = now_ms() + retry_ms(order);
	else if (!failed)
		order_done(order, &synced, begun + wait_ms(order));
	else if (order->paused)
		order_paused(order, now_ms() + wait_ms(order));
	else
		order_failed(order, &err, now_ms() + retry_ms(order));
	if (order->gone)
		orders_remove(&pusher->orders, order);
	pthread_cond_broadcast(&pusher->changed);
}

/*
 * Wait for a change, or until an order is due, or a look at ZFS, or a comparison with the catalog.
 */
static void wait_for_work(struct pusher *pusher)
{
	const struct order *next = orders_first(&pusher->orders, NO_DEADLINE);
	int64_t compare_at = pusher->compared + COMPARE_MS,
		until = written_look_at(&pusher->orders);

	if (next && next->due < until)
		until = next->due;
	if (pusher->differs && compare_at < until)
		until = compare_at;
	const struct timespec at = {.tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000};
	pthread_cond_timedwait(&pusher->changed, &pusher->lock, &at);
}

static void stop_loop(struct loop_task *task)
{
	loop_stop(container_of(task, struct pusher, task)->loop);
}

static void *run(void *arg)
{
	struct runner *runner = arg;
	struct pusher *pusher = runner->pusher;
	scoped_lock(&pusher->lock);

	while (!pusher->stopping) {
		while (pusher->looking)
			pthread_cond_wait(&pusher->changed, &pusher->lock);
		if (pusher->differs && now_ms() >= pusher->compared + COMPARE_MS)
			compare(pusher);
		look(pusher);
		if (pusher->stopping)
			break;
		struct order *order = orders_first(&pusher->orders, now_ms());
		if (order)
			take(runner, order);
		else
			wait_for_work(pusher);
	}
	if (++pusher->ended == pusher->n_runners) {
		pusher->task.fn = stop_loop;
		loop_post(pusher->loop, &pusher->task);
	}
	return NULL;
}

static void init(struct pusher *pusher, const struct node *node, struct loop *loop)
{
	pthread_condattr_t clock;

	*pusher = (struct pusher){.node = node, .loop = loop, .differs = true};
	pthread_mutex_init(&pusher->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&pusher->changed, &clock);
	pthread_condattr_destroy(&clock);
}

int pusher_start(struct pusher **ret, const struct node *node, struct loop *loop, struct error *err)
{
	struct pusher *pusher = mem_alloc(sizeof(*pusher));

	init(pusher, node, loop);
	scoped_lock(&pusher->lock);
	*ret = pusher;
	while (pusher->n_runners < STREAMS) {
		struct runner *runner = &pusher->runners[pusher->n_runners];
		runner->pusher = pusher;
		if (thread_start(&runner->thread, NULL, run, runner) < 0)
			return fail_errno(err, "cannot start a thread for copies");
		pusher->n_runners++;
	}
	catalog_listen(node->catalog, &pusher->listener, loop, on_change);
	return 0;
}

static void cancel(struct pusher *pusher)
{
	scoped_lock(&pusher->lock);
	struct error err;

	fail(&err, ERR_UNAVAILABLE, "zcsi-node is stopping");
	pusher->stopping = true;
	pthread_cond_broadcast(&pusher->changed);
	zfs_run_stop_reading();
	for (unsigned i = 0; i < pusher->n_runners; i++)
		if (pusher->runners[i].transfer)
			transfer_cancel(pusher->runners[i].transfer, &err);
}

void pusher_stop(struct pusher *pusher)
{
	if (!pusher)
		return;
	catalog_unlisten(pusher->node->catalog, &pusher->listener);
	cancel(pusher);
	if (pusher->n_runners)
		loop_run(pusher->loop);
	for (unsigned i = 0; i < pusher->n_runners; i++)
		pthread_join(pusher->runners[i].thread, NULL);
	orders_fini(&pusher->orders);
	pthread_cond_destroy(&pusher->changed);
	pthread_mutex_destroy(&pusher->lock);
	free(pusher);
}

void pusher_push(struct pusher *pusher, const char *id)
{
	scoped_lock(&pusher->lock);

	compare(pusher);
	orders_push_now(&pusher->orders, id);
	pthread_cond_broadcast(&pusher->changed);
}

void pusher_look(struct pusher *pusher)
{
	scoped_lock(&pusher->lock);

	compare(pusher);
	pthread_cond_broadcast(&pusher->changed);
}

void pusher_forget(struct pusher *pusher, const char *dataset, const char *to)
{
	scoped_lock(&pusher->lock);

	orders_forget(&pusher->orders, dataset, to);
}

bool pusher_is_paused(struct pusher *pusher, const char *id)
{
	scoped_lock(&pusher->lock);

	compare(pusher);
	return orders_are_paused(&pusher->orders, id);
}

struct pushed *pusher_list(struct pusher *pusher, struct arena *arena, size_t *ret_n)
{
	scoped_lock(&pusher->lock);

	compare(pusher);
	return orders_show(&pusher->orders, NULL, arena, ret_n);
}

struct pushed *pusher_copies(struct pusher *pusher, struct arena *arena, const char *dataset,
			     size_t *ret_n)
{
	scoped_lock(&pusher->lock);

	compare(pusher);
	return orders_show(&pusher->orders, dataset, arena, ret_n);
}
