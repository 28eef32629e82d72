/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The troubles of volumes, which answers to requests about a volume include.
 *
 * Invariant: the list has a volume at most once, and drops it at the end of a round without a note
 * of it.
 */
#include "node/host/troubles.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct trouble {
	char *id, *text, *remedy;
	bool noted; /* in the round that runs */
	struct trouble *next;
};

void troubles_init(struct troubles *troubles)
{
	*troubles = (struct troubles){.first = NULL};
	pthread_mutex_init(&troubles->lock, NULL);
}

/* Remove the first trouble of a list from it. */
static void drop(struct trouble **at)
{
	struct trouble *trouble = *at;

	*at = trouble->next;
	free(trouble->id);
	free(trouble->text);
	free(trouble->remedy);
	free(trouble);
}

void troubles_fini(struct troubles *troubles)
{
	while (troubles->first)
		drop(&troubles->first);
	pthread_mutex_destroy(&troubles->lock);
}

static struct trouble *find(const struct troubles *troubles, const char *id)
{
	for (struct trouble *each = troubles->first; each; each = each->next)
		if (strcmp(each->id, id) == 0)
			return each;
	return NULL;
}

void troubles_note(struct troubles *troubles, const char *id, const char *text, const char *remedy)
{
	scoped_lock(&troubles->lock);
	struct trouble *trouble = find(troubles, id);

	if (!trouble) {
		trouble = mem_alloc(sizeof(*trouble));
		*trouble = (struct trouble){.id = mem_strdup(id), .next = troubles->first};
		troubles->first = trouble;
	}
	free(trouble->text);
	free(trouble->remedy);
	trouble->text = mem_strdup(text);
	trouble->remedy = mem_strdup(remedy);
	trouble->noted = true;
}

void troubles_end_round(struct troubles *troubles)
{
	scoped_lock(&troubles->lock);
	struct trouble **at = &troubles->first;

	while (*at) {
		if (!(*at)->noted) {
			drop(at);
			continue;
		}
		(*at)->noted = false;
		at = &(*at)->next;
	}
}

Trouble *troubles_find(struct troubles *troubles, struct arena *arena, const char *id)
{
	if (!troubles)
		return NULL;
	scoped_lock(&troubles->lock);
	const struct trouble *trouble = find(troubles, id);
	if (!trouble)
		return NULL;
	Trouble *message = new_trouble(arena);
	message->text = arena_strdup(arena, trouble->text);
	message->remedy = arena_strdup(arena, trouble->remedy);
	return message;
}
