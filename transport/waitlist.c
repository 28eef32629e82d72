/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A queue of waiters with one time limit and one timer.
 *
 * Invariant: the first waiter is the next to expire, because all have the same time limit.
 *
 * The timer is not changed when the first waiter is removed and others stay. It then expires too
 * early, once, and is restarted for the new first waiter.
 */
#include "transport/waitlist.h"

#include "common/clock.h"

static void start_timer(struct waitlist *list)
{
	loop_timer_start(list->timer, time_left_ms(list->first->until));
}

static void on_timer(void *arg)
{
	struct waitlist *list = arg;

	while (list->first && time_left_ms(list->first->until) == 0) {
		struct waiter *waiter = list->first;
		waitlist_remove(waiter);
		list->expired(waiter);
	}
	if (list->first)
		start_timer(list);
}

void waitlist_init(struct waitlist *list, struct loop *loop, int64_t limit_ms,
		   void (*expired)(struct waiter *waiter))
{
	*list = (struct waitlist){.limit_ms = limit_ms, .expired = expired};
	list->last = &list->first;
	list->loop = loop;
	list->timer = loop_timer_new(loop, on_timer, list);
}

void waitlist_fini(struct waitlist *list)
{
	loop_timer_free(list->timer);
}

void waitlist_add(struct waitlist *list, struct waiter *waiter)
{
	*waiter = (struct waiter){.list = list,
				  .link = list->last,
				  .until = loop_now_us(list->loop) / 1000 + list->limit_ms};
	*list->last = waiter;
	list->last = &waiter->next;
	if (list->first == waiter)
		loop_timer_start(list->timer, list->limit_ms);
}

void waitlist_remove(struct waiter *waiter)
{
	struct waitlist *list = waiter->list;

	if (!list)
		return;
	*waiter->link = waiter->next;
	if (waiter->next)
		waiter->next->link = waiter->link;
	else
		list->last = waiter->link;
	if (!list->first)
		loop_timer_stop(list->timer);
	*waiter = (struct waiter){0};
}
