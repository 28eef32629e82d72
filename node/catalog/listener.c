/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The listeners for changes of the catalog.
 *
 * Invariant: each change leads to a call of each listener's function that begins after the change.
 * A posted task that has not begun counts as that call.
 */
#include "node/catalog/listener.h"

#include "common/thread.h"
#include "node/catalog/catalog_inside.h"

static void run(struct loop_task *task)
{
	struct catalog_listener *listener = container_of(task, struct catalog_listener, task);

	atomic_store(&listener->posted, false);
	listener->fn(listener);
}

void catalog_listen(struct catalog *catalog, struct catalog_listener *listener, struct loop *loop,
		    void (*fn)(struct catalog_listener *listener))
{
	scoped_lock(&catalog->mutex);

	*listener = (struct catalog_listener){.next = catalog->listeners, .loop = loop, .fn = fn};
	listener->task.fn = run;
	catalog->listeners = listener;
}

void catalog_unlisten(struct catalog *catalog, struct catalog_listener *listener)
{
	scoped_lock(&catalog->mutex);
	struct catalog_listener **at = &catalog->listeners;

	while (*at && *at != listener)
		at = &(*at)->next;
	if (*at)
		*at = listener->next;
}

void catalog_changed(const struct catalog *catalog)
{
	for (struct catalog_listener *listener = catalog->listeners; listener;
	     listener = listener->next)
		if (!atomic_exchange(&listener->posted, true))
			loop_post(listener->loop, &listener->task);
}
