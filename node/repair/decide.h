/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_REPAIR_DECIDE_H
#define ZCSI_NODE_REPAIR_DECIDE_H

/* The rule by which a node that is silent is replaced by another one. Pure; any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A node that has a copy of the volume, or is to have one. */
struct repair_member {
	const char *node;
	int64_t silent; /* for how many seconds it has not answered; 0: it answers */
	int64_t synced; /* the copy has all data written before this time; 0: not complete */
};

struct repair_facts {
	const char *hindered; /* why the volume is not repaired now; NULL: it may be */
	int64_t after;        /* repair_after, in seconds; 0: never */
	size_t wanted;        /* how many nodes are to have the data, the owner included */
	const struct repair_member *members; /* without the owner */
	size_t n;
	size_t agents, silent; /* all agents of the list, and those of them that do not answer */
	size_t candidates;     /* nodes that can have a further copy */
};

enum repair_step {
	REPAIR_NONE,
	REPAIR_ADD,    /* another node is to have a copy */
	REPAIR_REMOVE, /* the lost node is to have no copy any more */
};

struct repair {
	enum repair_step step;
	const char *lost; /* the node that is lost; NULL: none is */
	const char *why;  /* why nothing is done although a node is lost; NULL: nothing to report */
};

/* Returns the next step of the volume's repair. */
struct repair repair_decide(const struct repair_facts *facts);

#endif
