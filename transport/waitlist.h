/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_WAITLIST_H
#define ZCSI_WAITLIST_H

/*
 * Things that may take the same time each, in order of their beginning: one timer serves them all,
 * and adding or removing one costs no system call. Loop thread only.
 */

#include <stdbool.h>
#include <stdint.h>

#include "transport/loop.h"

struct waitlist;

/* Embedded in what waits; zeroed is in no list. */
struct waiter {
	struct waitlist *list;
	struct waiter *next, **link;
	int64_t until;
};

struct waitlist {
	struct waiter *first, **last;
	struct loop *loop;
	struct loop_timer *timer; /* runs while somebody waits */
	int64_t limit_ms;
	void (*expired)(struct waiter *waiter); /* removed already */
};

void waitlist_init(struct waitlist *list, struct loop *loop, int64_t limit_ms,
		   void (*expired)(struct waiter *waiter));
void waitlist_fini(struct waitlist *list);

void waitlist_add(struct waitlist *list, struct waiter *waiter);
/* Nothing happens when it is in no list. */
void waitlist_remove(struct waiter *waiter);

#endif
