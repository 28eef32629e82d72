/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The plan of a failover.
 *
 * Invariant: the plan changes nothing, and the node that takes a volume over checks all of it
 * again. Of the copies of the highest epoch the newest one is chosen. If a node with a copy neither
 * answers nor is given by --lost, it may have a newer copy, so the volume is not taken over.
 */
#include "controller/cli/failover/plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/volume/epoch.h"
#include "controller/cli/print/amount.h"

#define USEC   1000000
#define LATELY 60 /* seconds: owners call Hear of the nodes with copies twice a minute */

/* A copy, and the node that has it. */
struct found {
	const struct member *member;
	const HeldCopy *copy;
};

bool failover_is_lost(const struct cli *cli, const char *node)
{
	for (size_t i = 0; i < cli->lost->n; i++)
		if (strcmp(cli->lost->values[i], node) == 0)
			return true;
	return false;
}

static int by_id(const void *a, const void *b)
{
	const struct found *one = a, *other = b;

	return strcmp(one->copy->id, other->copy->id);
}

/* *ret is the copies of all agents that answer, in order of id. */
static int find_copies(struct cli *cli, const char *id, struct found **ret, size_t *ret_n,
		       struct error *err)
{
	ListCopiesRequest *request = new_list_copies_request(&cli->arena);
	size_t most = 1;

	request->id = arena_strdup(&cli->arena, id ? id : "");
	const struct reply *replies =
		fleet_ask(cli->fleet, &cli->arena, "ListCopies", &request->base);
	*ret_n = 0;
	for (size_t i = 0; i < cli->n_members; i++) {
		const ListCopiesResponse *list = replies[i].response;
		most += list ? list->n_copies : 0;
		if (cli->members[i].host && !list) {
			*err = replies[i].error;
			return fail_context(err, "node '%s' did not report its copies",
					    cli->members[i].node);
		}
	}
	*ret = arena_alloc(&cli->arena, most * sizeof(**ret));
	for (size_t i = 0; i < cli->n_members; i++) {
		const ListCopiesResponse *list = replies[i].response;
		for (size_t k = 0; list && k < list->n_copies; k++)
			(*ret)[(*ret_n)++] = (struct found){&cli->members[i], list->copies[k]};
	}
	qsort(*ret, *ret_n, sizeof(**ret), by_id);
	return 0;
}

static const CopySnapshot *newest(const struct found *found)
{
	const CopyState *copy = found->copy->copy;

	return copy->n_snapshots ? copy->snapshots[0] : NULL;
}

static bool is_better(const struct found *one, const struct found *other)
{
	const CopySnapshot *a = newest(one), *b = newest(other);

	if (!a || !b)
		return a;
	if (one->copy->copy->epoch != other->copy->copy->epoch)
		return one->copy->copy->epoch > other->copy->copy->epoch;
	return a->creation > b->creation;
}

static bool have_same_data(const struct found *one, const struct found *other)
{
	const CopySnapshot *a = newest(one), *b = newest(other);

	return a && b && a->guid == b->guid;
}

static const struct found *best_of(const struct found *found, size_t n)
{
	const struct found *best = found;

	for (size_t i = 1; i < n; i++)
		if (is_better(&found[i], best))
			best = &found[i];
	return best;
}

static const struct found *on_node(const struct found *found, size_t n, const char *node)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(found[i].member->node, node) == 0)
			return &found[i];
	return NULL;
}

/* Returns a node with data of the volume that neither answers nor is lost, or NULL. */
static const char *silent_of(struct cli *cli, const CopyState *copy)
{
	for (size_t i = 0; i < copy->n_node_ids; i++)
		if (!failover_is_lost(cli, copy->node_ids[i]) &&
		    !fleet_node(cli->members, cli->n_members, copy->node_ids[i]))
			return copy->node_ids[i];
	return NULL;
}

static bool any_is_lost(struct cli *cli, const CopyState *copy)
{
	for (size_t i = 0; i < copy->n_node_ids; i++)
		if (failover_is_lost(cli, copy->node_ids[i]))
			return true;
	return false;
}

/* Returns the node that has the volume itself, or NULL if none that answers has. */
static const char *owner_of(const struct owned *volumes, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(volumes[i].id, id) == 0)
			return volumes[i].owner->node;
	return NULL;
}

/*
 * Returns the time in microseconds by the latest clock of all agents and this host. Copies have the
 * time of the owner's clock: compared with a clock that is late, the loss would seem too small.
 */
static int64_t latest_us(const struct cli *cli)
{
	int64_t latest = wall_us();

	for (size_t i = 0; i < cli->n_members; i++)
		if (cli->members[i].host && cli->members[i].host->time > latest)
			latest = cli->members[i].host->time;
	return latest;
}

/*
 * Choose the node that takes the volume over. Returns why there is none, or NULL. A copy that was
 * promised in an earlier failover got a higher epoch then, perhaps with older data than other
 * copies, so --to may name another node; if its copy lacks data, Accept of other nodes refuses.
 */
static const char *choose(struct cli *cli, const struct found *found, size_t n,
			  struct takeover *row)
{
	const struct found *best = best_of(found, n), *to = best;

	if (cli->to)
		to = on_node(found, n, cli->to);
	if (!to)
		return arena_printf(&cli->arena, "node '%s' has no copy of it", cli->to);
	if (to != best && !have_same_data(to, best) && !*best->copy->copy->accepted_node_id)
		return arena_printf(&cli->arena,
				    "node '%s' has newer data than '%s'; fail over to that, and "
				    "move the volume later",
				    best->member->node, cli->to);
	if (!newest(to))
		return arena_printf(&cli->arena, "the copy on node '%s' is not complete",
				    to->member->node);
	row->to = to->member;
	row->copy = to->copy;
	row->may_lose = (latest_us(cli) - to->copy->synced + USEC - 1) / USEC;
	if (row->may_lose < 0)
		row->may_lose = 0;
	return NULL;
}

/* Returns the seconds since the owner last called the node of a copy, by that node's clock. */
static int64_t age_of(const struct found *found)
{
	const GetHostResponse *host = found->member->host;
	int64_t now = host && host->time ? host->time : wall_us();

	return (now - found->copy->heard) / USEC;
}

/*
 * Returns a warning if a lost node has called a node with a copy within the last minute, or NULL.
 * The failover is not refused, since the node may be lost only since then. A node with a copy asks
 * the lost node before it promises the copy, unless its zcsi-node is of an earlier version.
 */
static const char *spoken(struct cli *cli, const struct found *found, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const HeldCopy *copy = found[i].copy;
		int64_t age = age_of(&found[i]);
		if (copy->heard && failover_is_lost(cli, copy->owner_node_id) && age <= LATELY &&
		    age >= -LATELY)
			return arena_printf(&cli->arena,
					    "node '%s' got a call from node '%s' %s ago: if it "
					    "still gets calls, '%s' is not lost; repair the "
					    "network and run 'zcsi move %s NODE', or switch node "
					    "'%s' off first",
					    found[i].member->node, copy->owner_node_id,
					    amount_time(&cli->arena, age > 0 ? age : 0),
					    copy->owner_node_id, copy->id, copy->owner_node_id);
	}
	return NULL;
}

/* Fill in a volume's row from its n copies. Returns why it cannot be taken over, or NULL. */
static const char *judge(struct cli *cli, const struct found *found, size_t n, const char *owner,
			 struct takeover *row)
{
	const CopyState *best = best_of(found, n)->copy->copy;
	const char *silent = silent_of(cli, best);

	for (size_t i = 0; i < n; i++)
		if (found[i].copy->copy->epoch + EPOCH_FAILOVER > row->epoch)
			row->epoch = found[i].copy->copy->epoch + EPOCH_FAILOVER;
	if (owner && failover_is_lost(cli, owner))
		return arena_printf(&cli->arena,
				    "node '%s' answers and has it, so it is not lost: run 'zcsi "
				    "move %s NODE'",
				    owner, found->copy->id);
	if (owner)
		return arena_printf(&cli->arena, "node '%s' has it", owner);
	if (!any_is_lost(cli, best))
		return arena_printf(&cli->arena, "node '%s' has no data of it",
				    cli->lost->values[0]);
	if (silent)
		return arena_printf(&cli->arena,
				    "node '%s', which has data of it too, does not answer: start "
				    "zcsi-node there, or add --lost %s",
				    silent, silent);
	row->note = spoken(cli, found, n);
	return choose(cli, found, n, row);
}

int failover_plan_make(struct cli *cli, const char *id, struct failover_plan *ret,
		       struct error *err)
{
	size_t n, n_volumes, end;
	struct found *found;

	if (find_copies(cli, id, &found, &n, err) < 0)
		return -1;
	const struct owned *volumes = cli_volumes(cli, id, &n_volumes);
	*ret = (struct failover_plan){
		.rows = arena_alloc(&cli->arena, (n + 1) * sizeof(*ret->rows))};
	for (size_t i = 0; i < n; i = end) {
		struct takeover *row = &ret->rows[ret->n];
		for (end = i + 1; end < n && by_id(&found[i], &found[end]) == 0;)
			end++;
		const char *owner = owner_of(volumes, n_volumes, found[i].copy->id);
		*row = (struct takeover){.id = found[i].copy->id, .may_lose = -1};
		row->why = judge(cli, found + i, end - i, owner, row);
		/* Without a name, only the volumes that the lost nodes had are meant. */
		bool is_elsewhere = owner && !failover_is_lost(cli, owner);
		if (id ||
		    (!is_elsewhere && any_is_lost(cli, best_of(found + i, end - i)->copy->copy)))
			ret->n++;
	}
	return 0;
}
