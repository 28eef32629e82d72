/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Asking a lost node.
 *
 * Invariant: a node that answers and has the volume is never taken for lost. An answer is asked for
 * each time; only that there was none is remembered.
 */
#include "node/owner/silent.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "node/peers/peers.h"
#include "proto/copy.h"

#define DIAL_MS     10000
#define REMEMBER_MS 30000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the members below */
static struct {
	char *node; /* the last one that did not answer; NULL: none */
	int64_t until;
} silent;

static bool is_known(const char *node)
{
	scoped_lock(&lock);

	return silent.node && strcmp(silent.node, node) == 0 && now_ms() < silent.until;
}

static void remember(const char *node)
{
	scoped_lock(&lock);

	free(silent.node);
	silent.node = mem_strdup(node);
	silent.until = now_ms() + REMEMBER_MS;
}

/* Returns 0 if the node, which answers, does not use the volume. */
static int judge(const char *id, const char *lost, struct error *err)
{
	if (err->code == ERR_OK)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "node '%s' answers and has volume '%s', so it is not lost: run 'zcsi "
			    "move' instead",
			    lost, id);
	if (err->code == ERR_FAILED_PRECONDITION || err->code == ERR_NOT_FOUND)
		return 0;
	return fail_context(err, "node '%s' answers, and does not say whether it uses volume '%s'",
			    lost, id);
}

int silent_check(const struct node *node, struct arena *arena, const char *id, const char *lineage,
		 const char *lost, struct error *err)
{
	FindBaseRequest *request = new_find_base_request(arena);
	const FindBaseResponse *response;
	struct client *client;

	if (is_known(lost))
		return 0;
	request->id = arena_strdup(arena, id);
	request->lineage = arena_strdup(arena, lineage);
	request->node_id = arena_strdup(arena, node->id);
	if (peers_dial(node->peers, lost, now_ms() + DIAL_MS, &client, err) < 0) {
		if (err->code != ERR_UNAVAILABLE && err->code != ERR_DEADLINE_EXCEEDED)
			return -1;
		remember(lost);
		return 0;
	}
	*err = (struct error){.code = ERR_OK};
	client_finish(client_begin(client, arena, &zcsi__v1__replica__descriptor, "FindBase",
				   &request->base, now_ms() + DIAL_MS),
		      &response, err);
	peers_hang_up(node->peers, client);
	return judge(id, lost, err);
}
