/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The agents of other nodes. A node whose endpoint is not known is found by a scan, which asks
 * every endpoint of the list for its node id (peers_ask.c). The answers of the last scan are kept.
 *
 * Invariant: a client is handed out only after its agent has answered, on that connection, with the
 * node id that was asked for. So an old answer costs time, and never leads to another node.
 */
#include <stdlib.h>
#include <string.h>

#include "common/agents_dns.h"
#include "common/agents_file.h"
#include "common/clock.h"
#include "node/peers/peers_inside.h"

#define SILENT_MAX 3 /* silent agents that an error names */

/* The list of endpoints */

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* *ret is every endpoint of --agent and --agents-file once, in the arena. */
static int read_list(const struct peers_options *options, struct arena *arena,
		     struct option_list *ret, struct error *err)
{
	const struct option_list *named = options->named;
	struct option_list file = {.n = 0}, both;

	if (options->file) {
		char *text = agents_file_load(options->file, err);
		if (!text) {
			err->code = ERR_FAILED_PRECONDITION;
			return -1;
		}
		arena_own(arena, free, text);
		file = agents_file_parse(text);
		arena_own(arena, free, file.values);
	}
	const char **all = arena_alloc(arena, (named->n + file.n + 1) * sizeof(*all));
	for (size_t i = 0; i < named->n + file.n; i++)
		all[i] = i < named->n ? named->values[i] : file.values[i - named->n];
	both = (struct option_list){all, named->n + file.n};
	if (agents_dns_expand(arena, &both, &both, err) < 0)
		return -1;
	if (both.n)
		qsort(both.values, both.n, sizeof(*both.values), compare);
	*ret = (struct option_list){.values = both.values};
	for (size_t i = 0; i < both.n; i++)
		if (ret->n == 0 || strcmp(both.values[ret->n - 1], both.values[i]) != 0)
			both.values[ret->n++] = both.values[i];
	if (ret->n)
		return 0;
	if (options->file)
		return fail(err, ERR_FAILED_PRECONDITION, "--agents-file '%s' names no agent",
			    options->file);
	return fail(err, ERR_FAILED_PRECONDITION,
		    "zcsi-node was started without --agents-file and --agent, so it has no list "
		    "of nodes");
}

static bool is_listed(const struct option_list *list, const char *endpoint)
{
	return bsearch(&endpoint, list->values, list->n, sizeof(*list->values), compare);
}

/* The answers of the last scan */

/* Returns the answers of a node: *ret is the first one, *ret_other the second one, or NULL. */
static size_t find(const struct peers *peers, const char *node_id, const struct peers_answer **ret,
		   const struct peers_answer **ret_other)
{
	size_t n = 0;

	*ret = *ret_other = NULL;
	for (size_t i = 0; i < peers->n_answers; i++) {
		const struct peers_answer *answer = &peers->answers[i];
		if (!answer->node || strcmp(answer->node, node_id) != 0)
			continue;
		if (n++ == 0)
			*ret = answer;
		else
			*ret_other = answer;
	}
	return n;
}

/*
 * Returns the endpoint that answered as the node in the last scan, in the arena; NULL if none or
 * several did, or if the endpoint is not on the list any more.
 */
static const char *cached_endpoint(struct peers *peers, struct arena *arena,
				   const struct option_list *list, const char *node_id)
{
	const struct peers_answer *answer, *other;
	scoped_lock(&peers->lock);

	if (find(peers, node_id, &answer, &other) != 1 || !is_listed(list, answer->endpoint))
		return NULL;
	return arena_strdup(arena, answer->endpoint);
}

static int fail_missing(const struct peers *peers, struct arena *arena, const char *node_id,
			struct error *err)
{
	const char *problems = "";
	size_t n = 0;

	for (size_t i = 0; i < peers->n_answers; i++) {
		const char *problem = peers->answers[i].problem;
		if (problem && n++ < SILENT_MAX)
			problems = arena_printf(arena, "%s%s%.250s", problems, n > 1 ? "; " : "",
						problem);
	}
	if (n == 0)
		return fail(err, ERR_UNAVAILABLE,
			    "all %zu agents of the list answer, and none is node '%s'; add its "
			    "agent to the list, or see what --node-id it has",
			    peers->n_answers, node_id);
	if (n > SILENT_MAX)
		problems = arena_printf(arena, "%s; and %zu more", problems, n - SILENT_MAX);
	return fail(err, ERR_UNAVAILABLE, "no agent answers as node '%s'; without an answer: %s",
		    node_id, problems);
}

/* *ret is the only endpoint that answered as this node, in the arena. */
static int choose(struct peers *peers, struct arena *arena, const char *node_id, const char **ret,
		  struct error *err)
{
	const struct peers_answer *answer, *other;
	scoped_lock(&peers->lock);

	size_t n = find(peers, node_id, &answer, &other);
	if (n == 0)
		return fail_missing(peers, arena, node_id, err);
	if (n > 1)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' and '%s' both answer as node '%s'; name each agent once, and "
			    "give each zcsi-node a --node-id of its own",
			    answer->endpoint, other->endpoint, node_id);
	*ret = arena_strdup(arena, answer->endpoint);
	return 0;
}

/* Connect to an endpoint that is expected to be this node. */
static int connect_as(struct peers *peers, struct arena *arena, const char *endpoint,
		      const char *node_id, int64_t deadline, struct client **ret, struct error *err)
{
	struct peers_question question = {.endpoint = endpoint};
	struct client_options options = peers_client_options(peers);

	options.limits = &limits_bulk;
	options.peer_name = node_id;
	peers_ask_begin(peers, arena, &question, &options, deadline);
	peers_ask_finish(&question);
	if (question.node && strcmp(question.node, node_id) == 0) {
		*ret = question.client;
		return 0;
	}
	if (question.client)
		peers_hang_up(peers, question.client);
	if (question.node)
		return fail(err, ERR_UNAVAILABLE, "'%s' is node '%s' now, and no longer '%s'",
			    endpoint, question.node, node_id);
	*err = question.error;
	return -1;
}

int peers_dial(struct peers *peers, const char *node_id, int64_t deadline, struct client **ret,
	       struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct option_list list;

	if (read_list(&peers->options, &arena, &list, err) < 0)
		return -1;
	const char *endpoint = cached_endpoint(peers, &arena, &list, node_id);
	if (endpoint && connect_as(peers, &arena, endpoint, node_id, deadline, ret, err) == 0)
		return 0;
	if (peers_ask_all(peers, &arena, &list, deadline, err) < 0 ||
	    choose(peers, &arena, node_id, &endpoint, err) < 0)
		return -1;
	return connect_as(peers, &arena, endpoint, node_id, deadline, ret, err);
}

int peers_survey(struct peers *peers, struct arena *arena, int64_t deadline,
		 struct peers_host **ret, size_t *ret_n, struct error *err)
{
	struct peers_question *questions;
	struct option_list list;

	if (read_list(&peers->options, arena, &list, err) < 0 ||
	    peers_ask_each(peers, arena, &list, deadline, &questions, err) < 0)
		return -1;
	if (!time_left_ms(deadline))
		return fail(err, ERR_DEADLINE_EXCEEDED,
			    "the deadline passed before all %zu agents were asked", list.n);
	*ret = arena_alloc(arena, (list.n + 1) * sizeof(**ret));
	*ret_n = list.n;
	for (size_t i = 0; i < list.n; i++)
		(*ret)[i] =
			(struct peers_host){.endpoint = questions[i].endpoint,
					    .says = questions[i].node ? questions[i].host : NULL};
	return 0;
}

/* Creation and end */

static int check_named(const struct peers *peers, struct error *err)
{
	const struct option_list *named = peers->options.named;
	struct client *client;

	for (size_t i = 0; i < named->n; i++) {
		if (agents_dns_is(named->values[i])) {
			if (agents_dns_check(named->values[i], err) < 0)
				return fail_context(err, "--agent");
			continue;
		}
		if (client_new(&client, peers->loop, named->values[i], NULL, err) < 0)
			return fail_context(err, "--agent");
		client_free(client);
	}
	return 0;
}

int peers_new(struct peers **ret, struct loop *loop, const struct peers_options *options,
	      struct error *err)
{
	struct peers *peers = mem_alloc(sizeof(*peers));

	*peers = (struct peers){.loop = loop, .options = *options, .reap.fn = peers_ask_reap};
	pthread_mutex_init(&peers->lock, NULL);
	pthread_cond_init(&peers->scanned, NULL);
	if (check_named(peers, err) < 0) {
		peers_free(peers);
		return -1;
	}
	*ret = peers;
	return 0;
}

void peers_free(struct peers *peers)
{
	if (!peers)
		return;
	peers_ask_reap(&peers->reap);
	peers_ask_fini(peers);
	pthread_cond_destroy(&peers->scanned);
	pthread_mutex_destroy(&peers->lock);
	free(peers);
}
