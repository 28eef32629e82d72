/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Moving a volume to the node where it is to be published.
 *
 * Nomad publishes the volumes of a plugin one after the other, so a call that waited for the data
 * would stop all others. It repeats a call that failed with FAILED_PRECONDITION, and with this code
 * only. Invariant: no function waits for longer than FOLLOW_MS in all, whatever the agents do; and
 * an error that can pass by itself has that code.
 */
#include "controller/follow.h"

#include <poll.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "controller/agents_ask.h"
#include "controller/replicas.h"
#include "controller/volume.h"

#define LOOK_MS 50 /* pause between two calls of GetDatasetMove */

/* Returns true if the node of this agent answers, and is another one than the target node. */
static bool is_elsewhere(const struct follow *follow, const struct agent *agent)
{
	struct error ignored;
	struct host host;

	return host_of(follow->call, agent, &host, &ignored) == 0 &&
	       strcmp(host.says->node_id, follow->node_id) != 0;
}

bool follow_wants(const struct follow *follow, const struct owner *owner)
{
	const Dataset *dataset = owner->dataset;

	if (!dataset->follows ||
	    strcmp(volume_attach(&follow->call->arena, dataset), ATTACH_LOCAL) != 0)
		return false;
	return replicas_have(dataset, follow->node_id) ||
	       (dataset->follows_anywhere && is_elsewhere(follow, owner->agent));
}

static bool is_of_node(struct rpc_call *call, const GetHostResponse *said, const void *node_id)
{
	(void)call;
	return said && strcmp(said->node_id, node_id) == 0;
}

/* Returns true for an error that may go away without an operator. */
static bool passes(enum error_code code)
{
	return code == ERR_UNAVAILABLE || code == ERR_DEADLINE_EXCEEDED || code == ERR_ABORTED ||
	       code == ERR_RESOURCE_EXHAUSTED;
}

/*
 * Ask the agent that was the target node's in the last roll call that it answered; if there is
 * none, ask all agents, of which one that is down uses up the time.
 */
static int ask_target(const struct follow *follow, struct host *ret, struct error *err)
{
	const ProtobufCMessage *request = &new_get_host_request(&follow->call->arena)->base;
	const struct answers answers = agents_ask_until(follow->call, "GetHost", request,
							is_of_node, follow->node_id, follow->until);

	if (answers.n == 0)
		return hosts_find_node(follow->call, follow->node_id, follow->until, ret, err);
	*ret = (struct host){answers.list[0].agent, answers.list[0].response};
	*err = answers.list[0].error;
	return ret->says ? 0 : -1;
}

/*
 * Find the host of the target node. If a repeated call may succeed, the error is
 * ERR_FAILED_PRECONDITION.
 */
static int find_target(const struct follow *follow, struct host *ret, struct error *err)
{
	if (ask_target(follow, ret, err) == 0)
		return 0;
	if (!passes(err->code))
		return follow_fail_for_good(err);
	err->code = ERR_FAILED_PRECONDITION;
	return fail_context(err, "volume '%s' does not move to node '%s' yet", follow->id,
			    follow->node_id);
}

/* Check that the node has a copy, or is one that can have copies. */
static int check_target(const struct follow *follow, const Dataset *dataset, struct error *err)
{
	struct host host;

	if (replicas_have(dataset, follow->node_id))
		return 0;
	if (find_target(follow, &host, err) < 0)
		return -1;
	const char *why = replicas_refusal(host.says);
	if (!why)
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT, "volume '%s' cannot move to node '%s': %s",
		    follow->id, follow->node_id, why);
}

/* Set the deadline, early enough for the answer to reach the caller in time. */
static void begin(struct follow *follow)
{
	int64_t left = time_left_ms(follow->call->deadline) / 5 * 4;

	if (!follow->until)
		follow->until = now_ms() + (left < FOLLOW_MS ? left : FOLLOW_MS);
}

/* Returns "1.2 of 40.0 GiB, about 4 min"; "" if nothing is sent. */
static const char *progress(struct arena *arena, const MoveState *move)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double sent = (double)move->sent / 1024, total = (double)move->total / 1024;
	size_t unit = 0;

	if (!move->sending_ms || move->total <= 0)
		return "";
	for (; total >= 1024 && unit + 1 < COUNT(units); unit++) {
		sent /= 1024;
		total /= 1024;
	}
	const char *text = arena_printf(arena, "%.1f of %.1f %s", sent, total, units[unit]);
	/* The total is an estimate: if more was sent, the remaining time is not known. */
	if (move->sent <= 0 || move->sent >= move->total)
		return text;
	double minutes = (double)(move->total - move->sent) / (double)move->sent *
			 (double)move->sending_ms / 60000;
	return arena_printf(arena, "%s, about %.0f min", text, minutes < 1 ? 1 : minutes);
}

static int fail_moving(const struct follow *follow, const MoveState *move, struct error *err)
{
	struct arena *arena = &follow->call->arena;
	const char *far = progress(arena, move), *why = "", *before = "";

	if (*move->error)
		why = arena_printf(arena, "; it tries again, since: %s", move->error);
	if (*move->failed_before)
		before = arena_printf(arena, "; the move before failed: %s", move->failed_before);
	return fail(err, ERR_FAILED_PRECONDITION, "volume '%s' is moving to node '%s'%s%s%s%s",
		    follow->id, move->node_id, *far ? ": " : "", far, why, before);
}

/* Returns 0 if the move has ended well, or -1 with *err: it runs, or it failed. */
static int judge(const struct follow *follow, const MoveState *move, struct error *err)
{
	if (move->running)
		return fail_moving(follow, move, err);
	if (!*move->error)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION, "volume '%s' did not move to node '%s': %s",
		    follow->id, move->node_id, move->error);
}

/* Watch the move until it has ended, or there is no more time, and judge it. */
static int watch(const struct follow *follow, const struct agent *from, const MoveState *move,
		 struct error *err)
{
	GetDatasetMoveRequest *request = new_get_dataset_move_request(&follow->call->arena);
	const GetDatasetMoveResponse *response;
	void *answer;

	request->id = (char *)follow->id;
	while (move->running && time_left_ms(follow->until) > LOOK_MS) {
		poll(NULL, 0, LOOK_MS);
		if (agent_ask_until(follow->call, from, "GetDatasetMove", &request->base,
				    follow->until, &answer, err) < 0)
			break;
		response = answer;
		/* The agent was restarted since and has no record of the move. */
		if (!response->move || strcmp(response->move->node_id, move->node_id) != 0)
			break;
		move = response->move;
	}
	return judge(follow, move, err);
}

int follow_move(struct follow *follow, const struct owner *owner, struct error *err)
{
	MoveDatasetRequest *request = new_move_dataset_request(&follow->call->arena);
	const struct agent *from = owner->agent;
	const MoveDatasetResponse *response;
	void *answer;

	begin(follow);
	if (check_target(follow, owner->dataset, err) < 0)
		return -1;
	request->id = (char *)follow->id;
	request->node_id = (char *)follow->node_id;
	if (agent_ask_until(follow->call, from, "MoveDataset", &request->base, follow->until,
			    &answer, err) < 0) {
		/* The volume has left this agent since the lookup: look it up again. */
		if (err->code == ERR_NOT_FOUND)
			return 0;
		if (!passes(err->code))
			return -1;
		err->code = ERR_FAILED_PRECONDITION;
		return fail_context(
			err, "volume '%s' does not move to node '%s' yet, because of agent '%s'",
			follow->id, follow->node_id, agent_endpoint(from));
	}
	response = answer;
	if (!response->move)
		return fail(err, ERR_INTERNAL, "agent '%s' began a move and does not describe it",
			    agent_endpoint(from));
	return watch(follow, from, response->move, err);
}

/*
 * *ret is the running move of the volume, and *ret_from its agent; *ret is NULL if no move runs.
 * Returns true if a move to the target node has ended.
 */
static bool find_move(const struct follow *follow, const struct agent **ret_from,
		      const MoveState **ret)
{
	GetDatasetMoveRequest *request = new_get_dataset_move_request(&follow->call->arena);
	bool ended = false;

	request->id = (char *)follow->id;
	*ret = NULL;
	const struct answers answers = agents_ask_until(follow->call, "GetDatasetMove",
							&request->base, NULL, NULL, follow->until);
	for (size_t i = 0; i < answers.n; i++) {
		const GetDatasetMoveResponse *response = answers.list[i].response;
		const MoveState *move = response ? response->move : NULL;
		if (move && move->running) {
			*ret = move;
			*ret_from = answers.list[i].agent;
		}
		ended |= move && !move->running && strcmp(move->node_id, follow->node_id) == 0;
	}
	return ended;
}

/* Returns what the copy on the node has; NULL if there is none, or the node does not say. */
static const GetDatasetCopyResponse *find_copy(const struct follow *follow)
{
	GetDatasetCopyRequest *request = new_get_dataset_copy_request(&follow->call->arena);

	request->id = (char *)follow->id;
	const struct answers answers =
		agents_ask_until(follow->call, "GetDatasetCopy", &request->base, is_of_node,
				 follow->node_id, follow->until);
	for (size_t i = 0; i < answers.n; i++) {
		const GetDatasetCopyResponse *copy = answers.list[i].response;
		if (copy && copy->time)
			return copy;
	}
	return NULL;
}

/* Fail because the node of the volume does not answer, though the target node has a copy. */
static int fail_down(const struct follow *follow, const GetDatasetCopyResponse *copy,
		     struct error *err)
{
	struct arena *arena = &follow->call->arena;
	const char *why = arena_strdup(arena, err->text), *nodes = "";
	char moment[UTC_SIZE];

	for (size_t i = 0; i < copy->n_node_ids; i++)
		if (strcmp(copy->node_ids[i], follow->node_id) != 0)
			nodes = arena_printf(arena, "%s%s'%s'", nodes, *nodes ? ", " : "",
					     copy->node_ids[i]);
	return fail(err, ERR_FAILED_PRECONDITION,
		    "volume '%s' moves to node '%s' when the node that has it answers: start "
		    "zcsi-node on %s; if that host is lost, 'zcsi failover %s --lost NODE' has "
		    "node '%s' take it over with its copy, which has the data of %s (%s)",
		    follow->id, follow->node_id, *nodes ? nodes : "its node", follow->id,
		    follow->node_id, utc_text(moment, (time_t)copy->time), why);
}

int follow_fail_for_good(struct error *err)
{
	if (err->code == ERR_FAILED_PRECONDITION)
		err->code = ERR_UNAVAILABLE;
	return -1;
}

int follow_missing(struct follow *follow, struct error *err)
{
	const struct agent *from = NULL;
	const MoveState *move;

	if (err->code != ERR_FAILED_PRECONDITION && err->code != ERR_UNAVAILABLE)
		return -1;
	begin(follow);
	bool ended = find_move(follow, &from, &move);
	if (move && strcmp(move->node_id, follow->node_id) == 0)
		return watch(follow, from, move, err);
	if (move)
		return fail_moving(follow, move, err);
	/* The move has ended since the lookup: look the volume up again. */
	if (ended && err->code == ERR_FAILED_PRECONDITION)
		return 0;
	const GetDatasetCopyResponse *copy =
		err->code == ERR_UNAVAILABLE ? find_copy(follow) : NULL;
	/*
	 * Without a copy, ERR_FAILED_PRECONDITION means that an agent is refused, or that the
	 * volume exists twice.
	 */
	return copy ? fail_down(follow, copy, err) : follow_fail_for_good(err);
}
