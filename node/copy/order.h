/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_ORDER_H
#define ZCSI_NODE_COPY_ORDER_H

/* The work of the pusher: an order for each copy of each volume. The caller holds its lock. */

#include "node/copy/push.h"
#include "node/copy/pusher.h"
#include "node/record/dataset.h"

struct written; /* node/copy/written.h */

struct order {
	struct dataset *volume;
	char *to;                     /* the node of the copy */
	bool running, deleted, known; /* as in struct pushed */
	bool gone;   /* the catalog has no such copy any more: remove it once it does not run */
	bool hurry;  /* it was wanted once more while it ran */
	bool lacks;  /* it was looked at since it is due, and lacks something */
	bool paused; /* nothing is to be sent; the order only looks what the volume keeps */
	int64_t every;
	int64_t due;             /* now_ms() value, as idle and look */
	int64_t idle;            /* nothing was sent since; 0: the last push arrived */
	int64_t look;            /* not before that look how much the volume keeps for its copies */
	int64_t synced, failed;  /* as in struct pushed */
	char *error;             /* or NULL */
	uint64_t mark;           /* another number after a snapshot of the volume was added */
	uint64_t pushed;         /* mark when the last successful push began */
	int64_t wanted;          /* as in struct push */
	struct push_taken taken; /* as a push of this order knew it last */
	struct pins_need need;   /* without the bookmark */
	struct transfer_progress progress; /* while it runs */
};

struct order_list {
	struct order **rows; /* in the order of the datasets' names and the nodes */
	size_t n;
};

/* Add and remove orders, so that there is one for each node but our own in zcsi:members. */
void orders_follow(struct order_list *orders, const char *our_id,
		   const struct dataset_list *volumes, const uint64_t *marks);
/* Returns the nodes, ended by NULL, of orders that may be idle; none if none of these is due. */
const char *const *orders_due(const struct order_list *orders, struct arena *arena);
/* Count copies that lack nothing as synced at a time; note which of those due lack some. */
void orders_skip(struct order_list *orders, const struct written *written, int64_t at);
/* Returns the order that is due first, of a volume of which none runs; or NULL. */
struct order *orders_first(const struct order_list *orders);
/* Make the orders for a volume due now, to send all that was written before. */
void orders_hurry(struct order_list *orders, const char *id);
/* Returns true if the volume is paused. */
bool orders_are_paused(const struct order_list *orders, const char *id);
/* Tell a push, which has an arena, what is known of its order and of the volume's other copies. */
void orders_tell(const struct order_list *orders, const struct order *order, struct push *push);
/* Remember what the push knows at its end. */
void order_learn(struct order *order, const struct push *push);
/* Remove an order that does not run. */
void orders_remove(struct order_list *orders, struct order *order);
/* Returns the state of the copies of a dataset, or of all if that is NULL, in the arena. */
struct pushed *orders_show(const struct order_list *orders, const char *dataset,
			   struct arena *arena, size_t *ret_n);
void orders_fini(struct order_list *orders);

/* A state of a copy: it has all that was written before the time, and the snapshots of the mark. */
struct synced {
	int64_t time;
	uint64_t mark;
	int64_t at; /* the time as a now_us() value; 0: not known */
};

/* Report what a copy had before zcsi-node started: all that was written before `synced`, or 0. */
void order_known(struct order *order, int64_t synced);
/* Report how an order was carried out; due: when it is to be carried out again. */
void order_done(struct order *order, const struct synced *synced, int64_t due);
void order_failed(struct order *order, const struct error *err, int64_t due);
/* Report that it was not carried out, or not to the end, because the volume is paused. */
void order_paused(struct order *order, int64_t due);

#endif
