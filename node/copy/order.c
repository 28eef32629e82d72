/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The list of orders. An order is a copy of a volume on another node that the pusher keeps up to
 * date.
 *
 * Invariant: the list is sorted by the dataset's name, which a volume keeps as long as it is not
 * deleted, and by the node. An order that runs stays at its place until it has ended.
 */
#include "node/copy/order.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "node/record/members.h"
#include "node/record/push_rules.h"

static void order_free(struct order *order)
{
	free(order->volume);
	free(order->to);
	free(order->error);
	free(order);
}

void orders_fini(struct order_list *orders)
{
	for (size_t i = 0; i < orders->n; i++)
		order_free(orders->rows[i]);
	free(orders->rows);
}

/* Returns the index of the order, or that of the place to insert it. */
static size_t place_of(const struct order_list *orders, const char *dataset, const char *to,
		       bool *ret_there)
{
	size_t low = 0, high = orders->n;

	*ret_there = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct order *row = orders->rows[middle];
		int order = strcmp(dataset, row->volume->name);
		if (!order)
			order = strcmp(to, row->to);
		if (!order)
			*ret_there = true;
		if (order <= 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static struct order *insert(struct order_list *orders, size_t at, const struct dataset *volume,
			    const char *to)
{
	struct order *order = mem_alloc(sizeof(*order));

	order->volume = dataset_dup(volume);
	order->to = mem_strdup(to);
	order->due = now_ms();
	order->unsent = -1;
	orders->rows = mem_resize(orders->rows, (orders->n + 1) * sizeof(*orders->rows));
	memmove(orders->rows + at + 1, orders->rows + at,
		(orders->n++ - at) * sizeof(*orders->rows));
	orders->rows[at] = order;
	return order;
}

static void set_extra(struct order *order, bool extra)
{
	if (extra && !order->extra)
		order->since = now_ms();
	order->extra = extra;
}

static void set_error(struct order *order, const char *text)
{
	free(order->error);
	order->error = text ? mem_strdup(text) : NULL;
}

/* Record that it is not known how much the copy lacks. */
static void forget_unsent(struct order *order)
{
	order->unsent = -1;
	order->measured = 0;
}

/* Forget the state of the copy when its node becomes owed: the copy is only to be dropped then. */
static void set_owed(struct order *order, bool owed)
{
	if (owed && !order->owed) {
		order->due = now_ms();
		order->synced = order->failed = 0;
		order->known = true;
		forget_unsent(order);
		set_error(order, NULL);
	} else if (!owed && order->owed) {
		order->known = false;
	}
	order->owed = owed;
}

static void update(struct order *order, const struct dataset *volume, int64_t every)
{
	bool deleted = strstr(volume->name, "/" DATASET_TRASH "/");
	bool paused = push_rules_parse(volume->push).paused && !deleted && !order->owed;

	/* A thread that carries out the order uses a duplicate of order->volume. */
	free(order->volume);
	order->volume = dataset_dup(volume);
	order->gone = false;
	order->deleted = deleted;
	if ((order->every != every && order->every) || order->paused != paused)
		order->due = now_ms();
	/* Forget an earlier failure, because a paused copy is to get no data. */
	if (paused && !order->paused) {
		order->failed = 0;
		set_error(order, NULL);
	}
	order->every = every;
	order->paused = paused;
}

static void follow_volume(struct order_list *orders, const char *our_id,
			  const struct dataset *volume, uint64_t mark)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const struct push_rules rules = push_rules_parse(volume->push);
	struct members members;
	bool there;

	if (!members_parse(&arena, volume->members, &members)) {
		log_warn("zcsi:members is unreadable, not pushing copies",
			 log_str("dataset", volume->name), log_str("members", volume->members));
		return;
	}
	for (size_t i = 0; i < members.n + members.n_owed; i++) {
		bool owed = i >= members.n;
		const char *to = owed ? members.owed[i - members.n] : members.nodes[i];
		if (strcmp(to, our_id) == 0)
			continue;
		size_t at = place_of(orders, volume->name, to, &there);
		struct order *order = there ? orders->rows[at] : insert(orders, at, volume, to);
		order->mark = mark;
		set_owed(order, owed);
		update(order, volume, members.every);
		set_extra(order, members_extra(&members, rules.nodes, our_id, to));
	}
}

void orders_follow(struct order_list *orders, const char *our_id,
		   const struct dataset_list *volumes, const uint64_t *marks)
{
	for (size_t i = 0; i < orders->n; i++)
		orders->rows[i]->gone = true;
	for (size_t i = 0; i < volumes->n; i++)
		follow_volume(orders, our_id, volumes->rows[i], marks[i]);
	for (size_t i = orders->n; i-- > 0;)
		if (orders->rows[i]->gone && !orders->rows[i]->running)
			orders_remove(orders, orders->rows[i]);
}

void orders_remove(struct order_list *orders, struct order *order)
{
	bool there;
	size_t at = place_of(orders, order->volume->name, order->to, &there);

	memmove(orders->rows + at, orders->rows + at + 1,
		(--orders->n - at) * sizeof(*orders->rows));
	order_free(order);
}

/* Returns the index of a volume's first order; *ret_end is the index after its last one. */
static size_t places_of(const struct order_list *orders, const char *dataset, size_t *ret_end)
{
	bool there;
	size_t from = place_of(orders, dataset, "", &there), end = from;

	while (end < orders->n && strcmp(orders->rows[end]->volume->name, dataset) == 0)
		end++;
	*ret_end = end;
	return from;
}

/* Returns true if an order of the same volume runs. */
static bool is_busy(const struct order_list *orders, const struct order *order)
{
	size_t end;

	for (size_t i = places_of(orders, order->volume->name, &end); i < end; i++)
		if (orders->rows[i]->running)
			return true;
	return false;
}

struct order *orders_first(const struct order_list *orders, int64_t by)
{
	struct order *first = NULL;

	for (size_t i = 0; i < orders->n; i++) {
		struct order *row = orders->rows[i];
		if (!row->gone && row->due <= by && (!first || row->due < first->due) &&
		    !is_busy(orders, row))
			first = row;
	}
	return first;
}

/*
 * Returns true if the last push did not fail and the copy is behind by less than twice
 * order->every.
 */
static bool is_current(const struct order *order)
{
	int64_t age = wall_us() - order->synced;

	return order->synced && !order->failed && age < 2 * order->every * 1000000;
}

/*
 * An extra copy that is not complete is kept, because a move has just begun to make it. A complete
 * one is kept for order->every seconds, so that a move to its node ends before.
 */
bool orders_drop(const struct order_list *orders, const struct order *order)
{
	size_t end;

	if (order->owed)
		return true;
	if (!order->extra || !order->synced || order->paused ||
	    now_ms() - order->since < order->every * 1000)
		return false;
	for (size_t i = places_of(orders, order->volume->name, &end); i < end; i++)
		if (!orders->rows[i]->extra && !orders->rows[i]->owed &&
		    !is_current(orders->rows[i]))
			return false;
	return true;
}

void orders_push_now(struct order_list *orders, const char *id)
{
	int64_t now = now_us();

	for (size_t i = 0; i < orders->n; i++) {
		struct order *row = orders->rows[i];
		if (strcmp(row->volume->id, id) != 0)
			continue;
		row->wanted = now;
		row->again = row->running;
		row->due = now_ms();
	}
}

bool orders_are_paused(const struct order_list *orders, const char *id)
{
	for (size_t i = 0; i < orders->n; i++)
		if (orders->rows[i]->paused && strcmp(orders->rows[i]->volume->id, id) == 0)
			return true;
	return false;
}

static struct pins_need need_of(const struct order *order, struct arena *arena)
{
	struct pins_need need = order->need;

	need.bookmark = history_bookmark(arena, order->volume->name, order->to);
	return need;
}

/*
 * If a node cannot be reached, one of the orders for it calls it again each time, and the others
 * fail with the same error without a call. An order whose push was requested after the last call
 * makes a call too, because the node may be back.
 */
const char *orders_away(const struct order_list *orders, struct order *order, struct arena *arena)
{
	for (size_t i = 0; i < orders->n; i++) {
		const struct order *row = orders->rows[i];
		if (row == order || row->silent <= now_ms() || row->called < order->wanted ||
		    !row->error || strcmp(row->to, order->to) != 0)
			continue;
		order->silent = 0;
		return arena_strdup(arena, row->error);
	}
	return NULL;
}

/* Pushes of a volume run one after the other, so the latest `taken` is the newest snapshot. */
void orders_refresh(const struct order_list *orders, const struct order *order, struct push *push)
{
	size_t end, n = 1, from = places_of(orders, order->volume->name, &end);
	struct pins_need *needs = arena_alloc(push->arena, (end - from + 1) * sizeof(*needs));

	push->wanted = order->wanted;
	push->taken = order->taken;
	needs[0] = need_of(order, push->arena);
	for (size_t i = from; i < end; i++) {
		const struct order *row = orders->rows[i];
		if (row->taken.at > push->taken.at)
			push->taken = row->taken;
		if (row != order && !row->gone && !row->owed)
			needs[n++] = need_of(row, push->arena);
	}
	push->needs = needs;
	push->n_needs = n;
}

void order_learn(struct order *order, const struct push *push)
{
	if (!push->needs)
		return;
	order->taken = push->taken;
	if (push->arrived) {
		order->arrived = now_us();
		forget_unsent(order);
	}
	/* Drop the push's need if orders_forget was called while the push ran. */
	if (!order->known)
		return;
	order->need = push->needs[0];
	order->need.bookmark = NULL;
}

/* Until the node answers again, all snapshots since the bookmark of the copy are needed. */
void orders_forget(struct order_list *orders, const char *dataset, const char *to)
{
	bool there;
	size_t at = place_of(orders, dataset, to, &there);

	if (!there)
		return;
	orders->rows[at]->known = false;
	orders->rows[at]->arrived = now_us();
	forget_unsent(orders->rows[at]);
	orders->rows[at]->need = (struct pins_need){.heard = false};
}

/* A copy whose need orders_forget has reset is unknown too. */
bool order_is_unknown(const struct order *order)
{
	return !order->deleted && !order->owed &&
	       (!order->known || !(order->need.heard || order->need.to));
}

void order_known(struct order *order, int64_t synced)
{
	order->known = true;
	if (!order->synced && synced)
		order->since = now_ms();
	if (order->synced < synced)
		order->synced = synced;
}

void order_done(struct order *order, const struct synced *synced, int64_t due)
{
	order_known(order, synced->time);
	order->pushed = synced->mark;
	order->lacks = false;
	order->failed = 0;
	if (order->wanted <= synced->at || order->paused || order->deleted || order->owed)
		order->wanted = 0;
	if (!order->wanted)
		order->due = due;
	order->again = false;
	set_error(order, NULL);
}

/*
 * A failed push is repeated after 30 seconds, so a line for each would flood the log. There is one
 * when pushes begin to fail, and one when they fail for another reason. Its text says what a person
 * has to do if repeating does not help. The metric zcsi_copy_failing and `zcsi copies` show the
 * failure for as long as it lasts.
 */
void order_failed(struct order *order, const struct error *err, int64_t due)
{
	if (!order->error || strcmp(order->error, err->text) != 0)
		log_warn("copy is not up to date", log_str("volume", order->volume->id),
			 log_str("node", order->to), log_str("error", err->text));
	/*
	 * Record no failure if a push was requested meanwhile, because that push is still to run.
	 */
	if (!order->again) {
		order->failed = wall_us();
		order->due = due;
	}
	order->lacks = false;
	order->again = false;
	set_error(order, err->text);
}

void order_paused(struct order *order, int64_t due)
{
	order->failed = 0;
	order->lacks = false;
	order->again = false;
	order->wanted = 0;
	order->due = due;
	set_error(order, NULL);
}

static void show_progress(const struct order *order, struct pushed *ret)
{
	if (!order->running || !order->progress.begun)
		return;
	ret->sending_ms = now_ms() - order->progress.begun;
	ret->sent = order->progress.sent;
	ret->total = order->progress.total;
}

static struct pushed show(const struct order *order, struct arena *arena)
{
	struct pushed row = {.id = arena_strdup(arena, order->volume->id),
			     .to = arena_strdup(arena, order->to),
			     .running = order->running,
			     .deleted = order->deleted,
			     .owed = order->owed,
			     .paused = order->paused,
			     .known = order->known,
			     .every = order->every,
			     .synced = order->synced,
			     .failed = order->failed,
			     .unsent = order->unsent,
			     .error = arena_strdup(arena, order->error ? order->error : "")};

	show_progress(order, &row);
	return row;
}

struct pushed *orders_show(const struct order_list *orders, const char *dataset,
			   struct arena *arena, size_t *ret_n)
{
	size_t to = orders->n, from = dataset ? places_of(orders, dataset, &to) : 0;

	struct pushed *rows = arena_alloc(arena, (to - from + 1) * sizeof(*rows));
	for (size_t i = from; i < to; i++)
		rows[i - from] = show(orders->rows[i], arena);
	*ret_n = to - from;
	return rows;
}
