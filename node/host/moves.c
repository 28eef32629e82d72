/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The volumes that no call may use: they move to other nodes, are rolled back, or are detached, or
 * a record of them is damaged.
 *
 * Invariant: a volume that this host has given up, and that the other node has not taken yet, is on
 * neither node. It is never reported as missing, so that no other volume gets its name meanwhile.
 */
#include "node/host/moves.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/volume/escape.h"

#define WAIT_MS 30000

struct closed {
	char *leaf; /* escape_leaf of the id, by which it is found */
	char *id, *to, *why;
	bool detaching;
	struct closed *next;
};

struct moves {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool known;
	struct closed *list;
};

struct moves *moves_new(void)
{
	struct moves *moves = mem_alloc(sizeof(*moves));

	pthread_mutex_init(&moves->lock, NULL);
	pthread_cond_init(&moves->changed, NULL);
	return moves;
}

static struct closed **place_of_leaf(struct moves *moves, const char *leaf)
{
	struct closed **at = &moves->list;

	while (*at && strcmp((*at)->leaf, leaf) != 0)
		at = &(*at)->next;
	return at;
}

static struct closed **place_of(struct moves *moves, const char *id)
{
	char leaf[ESCAPE_LEAF_MAX + 1];

	escape_leaf(id, leaf);
	return place_of_leaf(moves, leaf);
}

static void forget(struct closed **at)
{
	struct closed *gone = *at;

	*at = gone->next;
	free(gone->leaf);
	free(gone->id);
	free(gone->to);
	free(gone->why);
	free(gone);
}

void moves_free(struct moves *moves)
{
	if (!moves)
		return;
	while (moves->list)
		forget(&moves->list);
	pthread_cond_destroy(&moves->changed);
	pthread_mutex_destroy(&moves->lock);
	free(moves);
}

/* Put a row, without its leaf, in place of an earlier one of the volume. */
static void put(struct moves *moves, const char *leaf, struct closed row)
{
	scoped_lock(&moves->lock);
	struct closed **at = place_of_leaf(moves, leaf);

	if (*at)
		forget(at);
	struct closed *added = mem_alloc(sizeof(*added));
	*added = row;
	added->leaf = mem_strdup(leaf);
	added->next = moves->list;
	moves->list = added;
}

static void close_for(struct moves *moves, const char *id, const char *to, bool detaching)
{
	char leaf[ESCAPE_LEAF_MAX + 1];

	escape_leaf(id, leaf);
	put(moves, leaf,
	    (struct closed){.id = mem_strdup(id),
			    .to = to ? mem_strdup(to) : NULL,
			    .detaching = detaching});
}

void moves_close(struct moves *moves, const char *id, const char *to)
{
	close_for(moves, id, to, false);
}

void moves_close_to_detach(struct moves *moves, const char *id)
{
	close_for(moves, id, NULL, true);
}

/* The leaf of a long id is shortened, so the id cannot be read from it. */
void moves_close_damaged(struct moves *moves, const char *leaf, const char *why)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const char *id = unescape_text(&arena, leaf);

	put(moves, leaf, (struct closed){.id = mem_strdup(id ? id : leaf), .why = mem_strdup(why)});
}

void moves_open(struct moves *moves, const char *id)
{
	scoped_lock(&moves->lock);
	struct closed **at = place_of(moves, id);

	if (*at)
		forget(at);
}

void moves_known(struct moves *moves)
{
	scoped_lock(&moves->lock);

	moves->known = true;
	pthread_cond_broadcast(&moves->changed);
}

/* moves_check without locking: the caller holds the lock. */
static int check(struct moves *moves, const char *id, struct error *err)
{
	const struct closed *row = *place_of(moves, id);

	if (!row)
		return 0;
	if (row->why)
		return fail(err, ERR_UNAVAILABLE,
			    "it is unknown whether volume '%s' was given up by this host: %s; then "
			    "restart zcsi-node",
			    id, row->why);
	if (row->detaching)
		return fail(err, ERR_UNAVAILABLE,
			    "volume '%s' is being detached from the one that it is a clone of; "
			    "'zcsi detach %s' waits for the end of it; if that says the same, "
			    "restart zcsi-node",
			    id, id);
	if (!row->to)
		return fail(err, ERR_UNAVAILABLE,
			    "volume '%s' is being rolled back; if that does not end, restart "
			    "zcsi-node",
			    id);
	return fail(err, ERR_FAILED_PRECONDITION,
		    "volume '%s' is moving to node '%s'; 'zcsi move %s %s' waits for the end of it",
		    id, row->to, id, row->to);
}

int moves_check(struct moves *moves, const char *id, struct error *err)
{
	if (!moves)
		return 0;
	scoped_lock(&moves->lock);
	return check(moves, id, err);
}

/* moves_wait without locking: the caller holds the lock. */
static int wait_until_known(struct moves *moves, int64_t deadline, struct error *err)
{
	int64_t limit = now_ms() + WAIT_MS, until = deadline < limit ? deadline : limit;
	const struct timespec time = {until / 1000, until % 1000 * 1000000};
	int status = 0;

	while (!moves->known && status == 0)
		status = pthread_cond_clockwait(&moves->changed, &moves->lock, CLOCK_MONOTONIC,
						&time);
	if (moves->known)
		return 0;
	return fail(err, ERR_UNAVAILABLE,
		    "it is not known yet which volumes are moving away; try again");
}

int moves_wait(struct moves *moves, int64_t deadline, struct error *err)
{
	scoped_lock(&moves->lock);

	return wait_until_known(moves, deadline, err);
}

int moves_check_missing(struct moves *moves, const char *id, int64_t deadline, struct error *err)
{
	if (!moves)
		return 0;
	scoped_lock(&moves->lock);
	if (wait_until_known(moves, deadline, err) < 0)
		return -1;
	return check(moves, id, err);
}

int moves_list(struct moves *moves, int64_t deadline, struct arena *arena, const char ***ret,
	       size_t *ret_n, struct error *err)
{
	size_t n = 0;

	*ret_n = 0;
	if (!moves)
		return 0;
	scoped_lock(&moves->lock);
	if (wait_until_known(moves, deadline, err) < 0)
		return -1;
	for (const struct closed *row = moves->list; row; row = row->next)
		n++;
	*ret = arena_alloc(arena, (n + 1) * sizeof(**ret));
	for (const struct closed *row = moves->list; row; row = row->next)
		(*ret)[(*ret_n)++] = arena_strdup(arena, row->id);
	return 0;
}
