/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The table of what the owners of the copies on this host sent by Hear.
 *
 * Invariant: a volume has at most one row, and only volumes with a copy on this host get one, so
 * the table does not grow without bounds.
 */
#include "node/owner/heard.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct heard {
	pthread_mutex_t lock; /* protects all members */
	struct heard_row *rows;
	size_t n;
};

struct heard *heard_new(void)
{
	struct heard *heard = mem_alloc(sizeof(*heard));

	*heard = (struct heard){.n = 0};
	pthread_mutex_init(&heard->lock, NULL);
	return heard;
}

static void row_fini(struct heard_row *row)
{
	free((char *)row->id);
	free((char *)row->lineage);
	free((char *)row->owner);
}

void heard_free(struct heard *heard)
{
	if (!heard)
		return;
	for (size_t i = 0; i < heard->n; i++)
		row_fini(&heard->rows[i]);
	free(heard->rows);
	pthread_mutex_destroy(&heard->lock);
	free(heard);
}

/* Returns the row of a volume, or NULL. */
static struct heard_row *find(struct heard *heard, const char *id)
{
	for (size_t i = 0; i < heard->n; i++)
		if (strcmp(heard->rows[i].id, id) == 0)
			return &heard->rows[i];
	return NULL;
}

void heard_put(struct heard *heard, const struct heard_row *row)
{
	if (!heard)
		return;
	scoped_lock(&heard->lock);
	struct heard_row *known = find(heard, row->id);

	if (known) {
		row_fini(known);
	} else {
		heard->rows = mem_resize(heard->rows, (heard->n + 1) * sizeof(*heard->rows));
		known = &heard->rows[heard->n++];
	}
	*known = *row;
	known->id = mem_strdup(row->id);
	known->lineage = mem_strdup(row->lineage);
	known->owner = mem_strdup(row->owner);
}

bool heard_get(struct heard *heard, struct arena *arena, const char *id, const char *lineage,
	       struct heard_row *ret)
{
	if (!heard)
		return false;
	scoped_lock(&heard->lock);
	const struct heard_row *row = find(heard, id);

	if (!row || strcmp(row->lineage, lineage) != 0)
		return false;
	*ret = *row;
	ret->id = arena_strdup(arena, row->id);
	ret->lineage = arena_strdup(arena, row->lineage);
	ret->owner = arena_strdup(arena, row->owner);
	return true;
}
