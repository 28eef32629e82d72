/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The failures of schedules, for whoever asks after a volume.
 *
 * Invariant: the list has a volume once, and never longer than a round after it was last noted.
 */
#include "node/schedule/failures.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct failure {
	char *id, *error;
	bool noted; /* in the round that runs */
	struct failure *next;
};

void failures_init(struct failures *failures)
{
	*failures = (struct failures){.first = NULL};
	pthread_mutex_init(&failures->lock, NULL);
}

/* Remove the first failure of a list from it. */
static void drop(struct failure **at)
{
	struct failure *failure = *at;

	*at = failure->next;
	free(failure->id);
	free(failure->error);
	free(failure);
}

void failures_fini(struct failures *failures)
{
	while (failures->first)
		drop(&failures->first);
	pthread_mutex_destroy(&failures->lock);
}

static struct failure *find(const struct failures *failures, const char *id)
{
	for (struct failure *each = failures->first; each; each = each->next)
		if (strcmp(each->id, id) == 0)
			return each;
	return NULL;
}

void failures_note(struct failures *failures, const char *id, const char *error)
{
	scoped_lock(&failures->lock);
	struct failure *failure = find(failures, id);

	if (!failure) {
		failure = mem_alloc(sizeof(*failure));
		*failure = (struct failure){.id = mem_strdup(id), .next = failures->first};
		failures->first = failure;
	}
	free(failure->error);
	failure->error = mem_strdup(error);
	failure->noted = true;
}

void failures_end_round(struct failures *failures)
{
	scoped_lock(&failures->lock);
	struct failure **at = &failures->first;

	while (*at) {
		if (!(*at)->noted) {
			drop(at);
			continue;
		}
		(*at)->noted = false;
		at = &(*at)->next;
	}
}

const char *failures_find(struct failures *failures, struct arena *arena, const char *id)
{
	scoped_lock(&failures->lock);
	const struct failure *failure = find(failures, id);

	return failure ? arena_strdup(arena, failure->error) : NULL;
}
