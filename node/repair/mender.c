/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The mender. In each round it dials the members of the volumes that are to be repaired. Only if
 * one does not answer, it asks all agents, to see which other nodes can have a copy, and how many
 * agents are silent.
 *
 * Invariant: a silence lasts from the first round in which the node did not answer to the present
 * one, and this host has asked in each round between. After a round in which it could not ask all
 * agents, no silences are left.
 */
#include "node/repair/mender.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "node/catalog/change.h"
#include "node/host/troubles.h"
#include "node/peers/peers.h"
#include "node/record/members.h"
#include "node/record/push_rules.h"
#include "node/repair/mend.h"
#include "node/repair/silence.h"

#define LOOK_S    15
#define DIAL_MS   5000
#define SURVEY_MS 60000

struct mender {
	const struct node *node;
	struct rounds *rounds;
	struct silences silences; /* used by the mender's thread only */
};

/* Keep those volumes that are to be repaired. */
static void choose(struct dataset_list *volumes, const char *parent)
{
	size_t n = 0;

	for (size_t i = 0; i < volumes->n; i++)
		if (!dataset_is_trash(parent, volumes->rows[i]->name) &&
		    push_rules_parse(volumes->rows[i]->push).repair_after)
			volumes->rows[n++] = volumes->rows[i];
	volumes->n = n;
}

/* *ret is all nodes but this one that are members of the volumes, each once. */
static void collect(struct arena *arena, const char *our_id, const struct dataset_list *volumes,
		    const char ***ret, size_t *ret_n)
{
	const char **nodes = arena_alloc(arena, (volumes->n * MEMBERS_MAX + 1) * sizeof(*nodes));
	size_t n = 0;

	for (size_t i = 0; i < volumes->n; i++) {
		struct members members;
		if (!members_parse(arena, volumes->rows[i]->members, &members))
			continue;
		for (size_t k = 0; k < members.n; k++) {
			size_t at = 0;
			while (at < n && strcmp(nodes[at], members.nodes[k]) != 0)
				at++;
			if (at == n && strcmp(members.nodes[k], our_id) != 0)
				nodes[n++] = members.nodes[k];
		}
	}
	*ret = nodes;
	*ret_n = n;
}

static bool answers(const struct mender *mender, const char *node)
{
	struct client *client;
	struct error err;

	if (silences_find(&mender->silences, node) ||
	    peers_dial(mender->node->peers, node, now_ms() + DIAL_MS, &client, &err) < 0)
		return false;
	peers_hang_up(mender->node->peers, client);
	return true;
}

static bool all_answer(const struct mender *mender, const char *const *nodes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!rounds_stopping(mender->rounds) && !answers(mender, nodes[i]))
			return false;
	return true;
}

static bool has_answered(const struct survey *survey, const char *node)
{
	for (size_t i = 0; i < survey->n; i++)
		if (survey->hosts[i].says && strcmp(survey->hosts[i].says->node_id, node) == 0)
			return true;
	return false;
}

/* Ask all agents, and bring the silences of the nodes up to date. Returns 0, or -1. */
static int ask_all(struct mender *mender, struct arena *arena, const char *const *nodes, size_t n,
		   struct survey *ret)
{
	struct silences *silences = &mender->silences;
	struct peers_host *hosts;
	struct error err;

	*ret = (struct survey){.silences = silences};
	if (peers_survey(mender->node->peers, arena, now_ms() + SURVEY_MS, &hosts, &ret->n, &err) <
	    0) {
		log_debug("cannot ask all agents", log_str("error", err.text));
		silences_clear(silences);
		return -1;
	}
	ret->hosts = hosts;
	ret->now = now_ms();
	for (size_t i = 0; i < ret->n; i++)
		if (hosts[i].says)
			silences_end(silences, hosts[i].says->node_id);
	for (size_t i = 0; i < n; i++)
		if (!has_answered(ret, nodes[i]))
			silences_begin(silences, nodes[i], ret->now);
	return 0;
}

/* Returns true if there are volumes that are to be repaired. */
static bool look_at_all(struct rounds *rounds, struct mender *mender)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const struct node *node = mender->node;
	struct dataset_list volumes;
	struct survey survey;
	const char **nodes;
	uint64_t *marks;
	size_t n;

	catalog_with_members(node->catalog, &arena, &volumes, &marks);
	choose(&volumes, catalog_parent(node->catalog));
	collect(&arena, node->id, &volumes, &nodes, &n);
	if (all_answer(mender, nodes, n)) {
		silences_clear(&mender->silences);
		return volumes.n > 0;
	}
	if (rounds_stopping(rounds) || ask_all(mender, &arena, nodes, n, &survey) < 0)
		return true;
	for (size_t i = 0; i < volumes.n && !rounds_stopping(rounds); i++)
		mend(node, &survey, volumes.rows[i]);
	return true;
}

static int look(struct rounds *rounds, void *arg, bool asked)
{
	struct mender *mender = arg;

	(void)asked;
	bool any = look_at_all(rounds, mender);
	troubles_end_round(mender->node->unrepaired);
	return any ? LOOK_S : ROUNDS_IDLE;
}

int mender_start(struct mender **ret, const struct node *node, struct loop *loop, struct error *err)
{
	struct mender *mender = *ret = mem_alloc(sizeof(*mender));
	const struct rounds_work work = {
		.what = "the thread for repairs", .round = look, .arg = mender};

	*mender = (struct mender){.node = node};
	return rounds_start(&mender->rounds, node, loop, &work, err);
}

void mender_stop(struct mender *mender)
{
	if (!mender)
		return;
	rounds_stop(mender->rounds);
	silences_clear(&mender->silences);
	free(mender);
}
