/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The findings about nodes: their agents, identities, versions and clocks, and their pools.
 *
 * Invariant: every agent that was asked and did not answer, or only in part, is in the findings,
 * and so is every host that an agent has in its list and that was not asked.
 */
#include <string.h>

#include "common/clock.h"
#include "controller/cli/doctor/doctor.h"
#include "controller/cli/known.h"
#include "controller/cli/print/amount.h"

#define USEC        1000000
#define SKEW_S      30 /* seconds; claims fail if clocks differ by a minute */
#define LOW_PERCENT 5  /* percent of a pool's space; with less left it is nearly full */

static void say(struct doctor *doctor, enum doctor_level level, const char *node, const char *text,
		const char *type)
{
	doctor_say(doctor,
		   &(struct finding){.level = level, .node = node, .text = text, .type = type});
}

static const char *node_id_of(const struct doctor *doctor, const struct member *member)
{
	for (size_t i = 0; i < doctor->n_hosts; i++)
		if (strcmp(doctor->hosts[i]->endpoint, member->endpoint) == 0)
			return doctor->hosts[i]->node_id;
	return member->node;
}

static const char *pool_of(struct arena *arena, const GetHostResponse *host)
{
	return arena_printf(arena, "%.*s", (int)strcspn(host->dataset, "/"), host->dataset);
}

/* Returns the zpool command that the agent's text about its pool's problem advises, or NULL. */
static const char *remedy(struct arena *arena, const GetHostResponse *host)
{
	static const char *const verbs[] = {"import", "clear"};

	for (size_t i = 0; i < COUNT(verbs); i++) {
		const char *command =
			arena_printf(arena, "zpool %s %s", verbs[i], pool_of(arena, host));
		if (strstr(host->problem, command))
			return command;
	}
	return NULL;
}

static void say_agent(struct doctor *doctor, const struct member *member)
{
	struct arena *arena = &doctor->cli->arena;
	const char *error = member->error.text;

	if (!member->host && doctor_certificate_refused(member))
		return;
	if (!member->host)
		say(doctor, DOCTOR_STOPS, node_id_of(doctor, member),
		    arena_printf(arena, "its agent does not answer: %s; start zcsi-node there",
				 error),
		    NULL);
	else if (*member->host->problem)
		say(doctor, DOCTOR_STOPS, member->node, member->host->problem,
		    remedy(arena, member->host));
	else if (member->error.code != ERR_OK)
		say(doctor, DOCTOR_STOPS, member->node,
		    arena_printf(arena, "its agent did not answer all calls: %s", error), NULL);
	else if (doctor->pushes[member->at].error.code == ERR_PERMISSION_DENIED)
		say(doctor, DOCTOR_MAY_STOP, member->node,
		    arena_printf(arena, "how its copies are is not known: %s",
				 doctor->pushes[member->at].error.text),
		    NULL);
}

/* Add a finding for each host that agents have in their lists and that was not asked. */
static void say_unlisted(struct doctor *doctor)
{
	const KnownHost *const *hosts = doctor->hosts;
	struct cli *cli = doctor->cli;

	for (size_t i = 0; i < doctor->n_hosts; i++)
		if (!hosts[i]->forgotten && !known_listed(cli, hosts[i]))
			say(doctor, DOCTOR_MAY_STOP, hosts[i]->node_id,
			    arena_printf(&cli->arena,
					 "its agent, %s, was not asked: add it to the agents "
					 "(--agent), or, if the host never comes back, forget it",
					 hosts[i]->endpoint),
			    arena_printf(&cli->arena, "zcsi forget %s", hosts[i]->node_id));
}

/* Add a finding for each other agent that answers with the same node id. */
static void say_same_node(struct doctor *doctor, size_t at)
{
	struct cli *cli = doctor->cli;
	const struct member *one = &cli->members[at];

	for (size_t i = at + 1; i < cli->n_members; i++) {
		const struct member *other = &cli->members[i];
		if (other->host && strcmp(one->node, other->node) == 0)
			say(doctor, DOCTOR_STOPS, one->node,
			    arena_printf(&cli->arena,
					 "the agents %s and %s are both this node: start one of "
					 "the two with another --node-id",
					 one->endpoint, other->endpoint),
			    NULL);
	}
}

/* Add a finding if the agent's version is not the latest of all agents. */
static void say_version(struct doctor *doctor, const struct member *member,
			const struct member *latest)
{
	if (strcmp(member->host->version, latest->host->version) != 0)
		say(doctor, DOCTOR_MAY_STOP, member->node,
		    arena_printf(&doctor->cli->arena,
				 "its zcsi-node is of version %s, and that of node '%s' of %s: "
				 "install the same everywhere",
				 member->host->version, latest->node, latest->host->version),
		    NULL);
}

static void say_clock(struct doctor *doctor, const struct member *member)
{
	struct arena *arena = &doctor->cli->arena;
	const int64_t ahead = (member->host->time - wall_us()) / USEC;
	const int64_t asked = (now_ms() - doctor->cli->asked_ms) / 1000;

	/* host->time was read up to `asked` seconds ago, so it may be that much behind. */
	if (ahead <= SKEW_S && ahead >= -SKEW_S - asked)
		return;
	say(doctor, DOCTOR_MAY_STOP, member->node,
	    arena_printf(arena,
			 "its clock is %s %s that of this host; set the one that is wrong, since "
			 "volumes are made only if clocks differ by less than a minute",
			 amount_time(arena, ahead < 0 ? -ahead : ahead),
			 ahead < 0 ? "behind" : "ahead of"),
	    NULL);
}

/* Returns the bytes of all volumes on a node; *ret_trash is how many are of deleted volumes. */
static int64_t used_on(const struct doctor *doctor, const struct member *member, int64_t *ret_trash)
{
	int64_t used = 0;

	*ret_trash = 0;
	for (size_t i = 0; i < doctor->n_volumes; i++)
		if (doctor->volumes[i].owner == member)
			used += ((const Dataset *)doctor->volumes[i].entry)->used;
	for (size_t i = 0; i < doctor->n_trash; i++)
		if (doctor->trash[i].owner == member)
			*ret_trash += ((const TrashedDataset *)doctor->trash[i].entry)->used;
	return used + *ret_trash;
}

static void say_trash(struct doctor *doctor, const struct member *member, int64_t trash)
{
	struct arena *arena = &doctor->cli->arena;

	if (trash <= member->host->available)
		return;
	say(doctor, DOCTOR_NOTE, member->node,
	    arena_printf(arena, "its trash has %s, more than is left in its pool",
			 amount_bytes(arena, (uint64_t)trash)),
	    "zcsi trash empty");
}

static void say_space(struct doctor *doctor, const struct member *member)
{
	struct arena *arena = &doctor->cli->arena;
	const GetHostResponse *host = member->host;
	int64_t trash, used = used_on(doctor, member, &trash), left = host->available;

	/* The space is unknown while the pool is read for the first time. */
	if (!*host->dataset || *host->problem || !host->names)
		return;
	if (left > used / (100 - LOW_PERCENT) * LOW_PERCENT) {
		say_trash(doctor, member, trash);
		return;
	}
	say(doctor, left > 0 ? DOCTOR_MAY_STOP : DOCTOR_STOPS, member->node,
	    left > 0 ? arena_printf(arena, "its pool is nearly full: %s are left%s",
				    amount_bytes(arena, (uint64_t)left),
				    trash ? ", and the trash has more" : "")
		     : "its pool is full: delete volumes or snapshots there, or empty the trash",
	    trash ? "zcsi trash empty" : NULL);
}

/* Add a finding for each size limit that is exceeded since it was lowered or volumes moved here. */
static void say_limits(struct doctor *doctor, const struct member *member)
{
	struct arena *arena = &doctor->cli->arena;

	for (size_t i = 0; i < member->host->n_size_limits; i++) {
		const SizeLimit *limit = member->host->size_limits[i];
		if (limit->promised <= limit->limit)
			continue;
		say(doctor, DOCTOR_NOTE, member->node,
		    arena_printf(arena,
				 "its volumes%s%s%s have the size %s in all, more than the %s of "
				 "%s: none is created or grown there; delete some, move them, or "
				 "start zcsi-node with a larger limit",
				 *limit->prefix ? " whose names begin with '" : "", limit->prefix,
				 *limit->prefix ? "'" : "",
				 amount_bytes(arena, (uint64_t)limit->promised),
				 amount_bytes(arena, (uint64_t)limit->limit), limit->option),
		    NULL);
	}
}

/* Returns the command that brings the failed device back, or, if it is unknown, shows it. */
static const char *repair(struct arena *arena, const GetHostResponse *host)
{
	const char *state = host->device_state;

	if (!*host->device)
		return arena_printf(arena, "zpool status %s", pool_of(arena, host));
	bool clears = strcmp(state, "FAULTED") == 0 || strcmp(state, "DEGRADED") == 0;
	return arena_printf(arena, "zpool %s %s %s", clears ? "clear" : "online",
			    pool_of(arena, host), host->device);
}

static void say_health(struct doctor *doctor, const struct member *member)
{
	struct arena *arena = &doctor->cli->arena;
	const GetHostResponse *host = member->host;
	const char *which = "see there which device failed";

	if (!*host->health || *host->problem || strcmp(host->health, "ONLINE") == 0)
		return;
	if (*host->device)
		which = arena_printf(arena, "its device '%s' is %s", host->device,
				     host->device_state);
	say(doctor, DOCTOR_MAY_STOP, member->node,
	    arena_printf(arena,
			 "its pool '%s' is %s: %s; mend it and bring it back, or replace it with "
			 "'zpool replace'",
			 pool_of(arena, host), host->health, which),
	    repair(arena, host));
}

void doctor_nodes(struct doctor *doctor)
{
	struct cli *cli = doctor->cli;
	const struct member *latest = NULL;

	for (size_t i = 0; i < cli->n_members; i++) {
		const struct member *each = &cli->members[i];
		say_agent(doctor, each);
		if (each->host &&
		    (!latest || strverscmp(each->host->version, latest->host->version) > 0))
			latest = each;
	}
	say_unlisted(doctor);
	for (size_t i = 0; i < cli->n_members; i++) {
		const struct member *each = &cli->members[i];
		if (!each->host || !latest)
			continue;
		say_same_node(doctor, i);
		say_version(doctor, each, latest);
		say_clock(doctor, each);
		say_health(doctor, each);
		say_space(doctor, each);
		say_limits(doctor, each);
	}
}
