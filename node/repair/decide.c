/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The rule of repairs. A member is lost if it has been silent for longer than repair_after.
 *
 * Invariant: a lost node is given up only when as many others as are wanted answer, are complete,
 * and have all that its copy has; nothing is done while more than a third of all agents are silent,
 * because then it may be this host that is cut off. A step is never taken back, so a node that
 * comes and goes costs one copy for each silence of repair_after at most.
 */
#include "node/repair/decide.h"

static bool is_lost(const struct repair_facts *facts, const struct repair_member *member)
{
	return member->silent > facts->after;
}

/* Returns the member that has been silent for longest, if that is lost; or NULL. */
static const struct repair_member *find_lost(const struct repair_facts *facts)
{
	const struct repair_member *lost = NULL;

	for (size_t i = 0; i < facts->n; i++) {
		const struct repair_member *member = &facts->members[i];
		if (is_lost(facts, member) && (!lost || member->silent > lost->silent))
			lost = member;
	}
	return lost;
}

/* Count the nodes that are not lost, the owner included. */
static size_t count_expected(const struct repair_facts *facts)
{
	size_t n = 1;

	for (size_t i = 0; i < facts->n; i++)
		n += !is_lost(facts, &facts->members[i]);
	return n;
}

/* Count the nodes that answer and have all that the lost one has, the owner included. */
static size_t count_replaced(const struct repair_facts *facts, const struct repair_member *lost)
{
	size_t n = 1;

	for (size_t i = 0; i < facts->n; i++) {
		const struct repair_member *member = &facts->members[i];
		n += !member->silent && member->synced && member->synced >= lost->synced;
	}
	return n;
}

struct repair repair_decide(const struct repair_facts *facts)
{
	const struct repair_member *lost = facts->after ? find_lost(facts) : NULL;
	struct repair repair = {.step = REPAIR_NONE, .lost = lost ? lost->node : NULL};

	if (!lost)
		return repair;
	if (facts->hindered)
		repair.why = facts->hindered;
	else if (facts->silent * 3 > facts->agents)
		repair.why = "more than a third of all agents are silent, so it may be this host "
			     "that is cut off";
	else if (count_replaced(facts, lost) >= facts->wanted)
		repair.step = REPAIR_REMOVE;
	else if (count_expected(facts) >= facts->wanted)
		repair.why = NULL; /* a further copy is not complete yet */
	else if (!facts->candidates)
		repair.why = "no other node can have a copy";
	else
		repair.step = REPAIR_ADD;
	return repair;
}
