/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Asking a lost node.
 *
 * Invariant: a node that is reached and has the volume never counts as lost, nor does a node that
 * has called Hear with the volume since it was not reached. Only the lack of an answer is cached,
 * never an answer.
 */
#include "node/owner/silent.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "node/host/node.h"
#include "node/owner/heard.h"
#include "node/peers/peers.h"
#include "node/record/members.h"
#include "proto/copy.h"

#define CACHE_MS   30000
#define CACHED_MAX MEMBERS_MAX

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the nodes */
static struct {
	char *node;    /* a node that did not answer; NULL: none */
	int64_t since; /* when it was asked, by now_ms */
	int64_t until;
} silent[CACHED_MAX];

/* Returns when the node last failed to answer, if that is still cached; 0: call it again. */
static int64_t cached_failure(const char *node)
{
	scoped_lock(&lock);

	for (size_t i = 0; i < CACHED_MAX; i++)
		if (silent[i].node && strcmp(silent[i].node, node) == 0)
			return now_ms() < silent[i].until ? silent[i].since : 0;
	return 0;
}

/* Note that the node did not answer. If the table is full, replace the oldest entry. */
static void cache_failure(const char *node, int64_t since)
{
	size_t at = 0;
	scoped_lock(&lock);

	for (size_t i = 0; i < CACHED_MAX; i++) {
		if (silent[i].node && strcmp(silent[i].node, node) == 0) {
			at = i;
			break;
		}
		if (silent[i].until < silent[at].until)
			at = i;
	}
	free(silent[at].node);
	silent[at].node = mem_strdup(node);
	silent[at].since = since;
	silent[at].until = now_ms() + CACHE_MS;
}

/* Fail because the lost node is alive; way: the verb of the error text. */
static int fail_alive(const struct node *node, const char *way, const char *id, const char *lost,
		      struct error *err)
{
	return fail(err, ERR_FAILED_PRECONDITION,
		    "node '%s' %s node '%s', which has volume '%s', so it is not lost: repair the "
		    "network and run 'zcsi move %s NODE', or switch node '%s' off and run 'zcsi "
		    "failover' again",
		    node->id, way, lost, id, id, lost);
}

/*
 * Check that the lost node has not called Hear of this node since it was not reached: a node that
 * this one does not reach may still reach it.
 */
static int check_unheard(struct rpc_call *call, const char *id, const char *lineage,
			 const char *lost, int64_t since, struct error *err)
{
	const struct node *node = call->app;
	struct heard_row row;

	if (heard_get(node->heard, &call->arena, id, lineage, &row) &&
	    strcmp(row.owner, lost) == 0 && row.at_ms >= since)
		return fail_alive(node, "gets calls from", id, lost, err);
	return 0;
}

/*
 * Returns 0 if the lost node, which was reached, does not use the volume; *err: the error of its
 * FindBase, or ERR_OK.
 */
static int judge(const struct node *node, const char *id, const char *lost, struct error *err)
{
	if (err->code == ERR_OK)
		return fail_alive(node, "reaches", id, lost, err);
	if (err->code == ERR_FAILED_PRECONDITION || err->code == ERR_NOT_FOUND)
		return 0;
	return fail_context(err,
			    "node '%s' reaches node '%s', which did not report whether it uses "
			    "volume '%s'",
			    node->id, lost, id);
}

static int ask(struct rpc_call *call, struct client *client, const char *id, const char *lineage,
	       const char *lost, int64_t deadline, struct error *err)
{
	const struct node *node = call->app;
	FindBaseRequest *request = new_find_base_request(&call->arena);
	const FindBaseResponse *response;

	request->id = arena_strdup(&call->arena, id);
	request->lineage = arena_strdup(&call->arena, lineage);
	request->node_id = arena_strdup(&call->arena, node->id);
	*err = (struct error){.code = ERR_OK};
	client_finish(client_begin(client, &call->arena, &zcsi__v1__replica__descriptor, "FindBase",
				   &request->base, deadline),
		      &response, err);
	peers_hang_up(node->peers, client);
	return judge(node, id, lost, err);
}

int silent_check(struct rpc_call *call, const char *id, const char *lineage, const char *lost,
		 struct error *err)
{
	const struct node *node = call->app;
	int64_t since = cached_failure(lost), deadline = now_ms() + SILENT_MS;
	struct client *client;

	if (since)
		return check_unheard(call, id, lineage, lost, since, err);
	if (deadline > call->deadline)
		return fail(err, ERR_DEADLINE_EXCEEDED,
			    "too little time is left for node '%s' to ask node '%s' whether it is "
			    "lost: run 'zcsi failover' again",
			    node->id, lost);
	since = now_ms();
	if (peers_dial(node->peers, lost, deadline, &client, err) == 0)
		return ask(call, client, id, lineage, lost, deadline, err);
	if (err->code != ERR_UNAVAILABLE && err->code != ERR_DEADLINE_EXCEEDED)
		return fail_context(err, "node '%s' cannot ask node '%s' whether it is lost",
				    node->id, lost);
	cache_failure(lost, since);
	return check_unheard(call, id, lineage, lost, since, err);
}
