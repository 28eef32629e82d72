/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_WAITLIST_H
#define ZCSI_WAITLIST_H

/*
 * A queue of waiters that all have the same time limit, oldest first. One timer serves them all;
 * adding or removing a waiter needs no system call. Loop thread only.
 */

#include <stdbool.h>
#include <stdint.h>

#include "transport/loop.h"

struct waitlist;

/* A member of a waitlist, embedded in another structure. A zeroed waiter is in no list. */
struct waiter {
	struct waitlist *list; /* the list that contains the waiter; or NULL */
	struct waiter *next, **link;
	int64_t until; /* now_ms() value at which the waiter expires */
};

struct waitlist {
	struct waiter *first, **last;
	struct loop *loop;
	struct loop_timer *timer; /* runs while the list has a waiter */
	int64_t limit_ms;
	void (*expired)(struct waiter *waiter); /* called after the waiter was removed */
};

/* Initialise an empty list. expired is called for each waiter that stays longer than limit_ms. */
void waitlist_init(struct waitlist *list, struct loop *loop, int64_t limit_ms,
		   void (*expired)(struct waiter *waiter));
void waitlist_fini(struct waitlist *list);

/* Append a waiter, which is in no list. */
void waitlist_add(struct waitlist *list, struct waiter *waiter);
/* Remove a waiter from its list. Does nothing if it is in no list. */
void waitlist_remove(struct waiter *waiter);

#endif
