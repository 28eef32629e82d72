/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_AGENT_STATE_H
#define ZCSI_CONTROLLER_AGENT_STATE_H

/* The last answer of an agent, and whether it still answers. The roster's lock protects it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/names.h"

struct agent_state {
	char *node_id, *dataset, *version; /* NULL before its first answer */
	char *presumed; /* until it answers: the node known at its endpoint; "": several nodes */
	uint8_t *said;  /* last GetHostResponse, encoded; NULL: none */
	size_t said_size;
	uint64_t pool_guid; /* 0 before it reported a pool */
	bool asked;         /* a roll call has asked it */
	bool up;            /* the agent answered the last roll call */
	bool back;          /* new or was off the list, until roster_settle has noted that */
	bool lost;          /* down for --assume-lost seconds: RPCs do not ask it */
	int64_t since;      /* the time when `up` changed last (common/clock.h) */
	int64_t skew_us;    /* by how much, at least, its clock is ahead of ours */
	struct names names; /* the names that it has, as of the last roll call */
	char *refusal;      /* why it is refused (rollcall.h); NULL if it is not */

	/* The hosts that the agent keeps (roll_hosts.h), by their digest. */
	uint64_t known_hosts; /* the digest that the agent reported last */
	uint64_t read;        /* the agent's digest when the roster last read its hosts; 0: never */
	uint64_t sent;        /* the roster's digest when its hosts were last sent to the agent */
	uint64_t synced;      /* the agent has the roster's hosts up to this host_row.order */
	bool hosts_read;      /* the roster has the hosts that the agent kept at its first answer */
};

#endif
