/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The listeners for changes of the catalog.
 *
 * Invariant: each change leads to a call of each listener's function that begins after the change.
 * A posted task that has not begun counts as that call.
 */
#include "node/catalog/told.h"

#include "common/thread.h"
#include "node/catalog/catalog_inside.h"

static void run(struct loop_task *task)
{
	struct told *told = container_of(task, struct told, task);

	atomic_store(&told->posted, false);
	told->fn(told);
}

void catalog_tell(struct catalog *catalog, struct told *told, struct loop *loop,
		  void (*fn)(struct told *told))
{
	scoped_lock(&catalog->mutex);

	*told = (struct told){.next = catalog->told, .loop = loop, .fn = fn};
	told->task.fn = run;
	catalog->told = told;
}

void catalog_tell_not(struct catalog *catalog, struct told *told)
{
	scoped_lock(&catalog->mutex);
	struct told **at = &catalog->told;

	while (*at && *at != told)
		at = &(*at)->next;
	if (*at)
		*at = told->next;
}

void catalog_changed(const struct catalog *catalog)
{
	for (struct told *told = catalog->told; told; told = told->next)
		if (!atomic_exchange(&told->posted, true))
			loop_post(told->loop, &told->task);
}
