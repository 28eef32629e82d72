/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_ORDER_H
#define ZCSI_NODE_COPY_ORDER_H

/* The work of the pusher: an order for each copy of each volume. Callers hold the pusher's lock. */

#include "node/copy/push.h"
#include "node/copy/pusher.h"
#include "node/record/dataset.h"

struct order {
	struct dataset *volume;
	char *to, *error;                   /* the node of the copy; why it failed, or NULL */
	bool running, deleted, owed, known; /* as in struct pushed */
	bool extra;  /* others take its place: drop the copy (members_extra) */
	bool gone;   /* the catalog has no such copy: remove the order once it does not run */
	bool again;  /* another push was requested while the order ran */
	bool lacks;  /* since the order is due, written_store found that it may lack data */
	bool paused; /* send nothing; carrying out the order only applies pins_limit */
	int64_t every, due; /* seconds; when to carry it out, a now_ms() value as the next three */
	/* idle: no data was sent since; look: call pins_limit then; since: extra and complete. */
	int64_t idle, look, since;
	/* called: the last call to the node, by now_us(); silent: other orders wait until then. */
	int64_t called, silent;
	int64_t synced, failed, unsent; /* as in struct pushed */
	int64_t measured;      /* when unsent was found, a now_ms() value; 0: not since `arrived` */
	int64_t arrived;       /* when a push ended by which the copy got data, a now_us() value */
	uint64_t mark, pushed; /* changes with each snapshot; the one that was pushed last */
	int64_t wanted;        /* as in struct push */
	struct push_taken taken;           /* at the end of the last push of this order */
	struct pins_need need;             /* the copy's; its member bookmark is NULL */
	struct transfer_progress progress; /* while the order runs */
};

struct order_list {
	struct order **rows; /* in the order of the datasets' names and the nodes */
	size_t n;
	int64_t looked; /* when written_store was called last, a now_ms() value */
};
/* Keep one order for each node in zcsi:members but our own, whether a member or owed. */
void orders_follow(struct order_list *orders, const char *our_id,
		   const struct dataset_list *volumes, const uint64_t *marks);
/* Returns the order that is due first, until `by`, of a volume of which no order runs; or NULL. */
struct order *orders_first(const struct order_list *orders, int64_t by);
/* Returns true if the copy is to be dropped now: owed, or extra and all others up to date. */
bool orders_drop(const struct order_list *orders, const struct order *order);
/* Make the orders for a volume due now, to send all that was written before. */
void orders_push_now(struct order_list *orders, const char *id);
/* Returns true if the volume is paused. */
bool orders_are_paused(const struct order_list *orders, const char *id);
/* Set wanted, taken and needs of a push, which has an arena and has called push_lock. */
void orders_refresh(const struct order_list *orders, const struct order *order, struct push *push);
/* Store `taken` and the copy's need after a push with orders_refresh; or forget the need. */
void order_learn(struct order *order, const struct push *push);
void orders_forget(struct order_list *orders, const char *dataset, const char *to);
/* Returns the error of another order that just did not reach the node, in the arena; or NULL. */
const char *orders_away(const struct order_list *orders, struct order *order, struct arena *arena);
/* Remove an order that does not run. */
void orders_remove(struct order_list *orders, struct order *order);
/* Returns the state of the copies of a dataset, or of all if that is NULL, in the arena. */
struct pushed *orders_show(const struct order_list *orders, const char *dataset,
			   struct arena *arena, size_t *ret_n);
void orders_fini(struct order_list *orders);

/* A state of a copy: it has all that was written before `time`, and all snapshots at `mark`. */
struct synced {
	int64_t time;
	uint64_t mark;
	int64_t at; /* the time as a now_us() value; 0: not known */
};
/* Returns true if a push of the order has to find out first what the copy has (push_known). */
bool order_is_unknown(const struct order *order);
/* Report what a copy had before zcsi-node started: all that was written before `synced`, or 0. */
void order_known(struct order *order, int64_t synced);
/* Report how an order ended, or that the volume is paused; due: when to carry it out again. */
void order_done(struct order *order, const struct synced *synced, int64_t due);
void order_failed(struct order *order, const struct error *err, int64_t due);
void order_paused(struct order *order, int64_t due);

#endif
