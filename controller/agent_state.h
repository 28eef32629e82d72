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
	char *presumed; /* before that: the node known at its endpoint; NULL: none, "": several */
	uint8_t *said;  /* its last GetHostResponse, encoded; NULL: none */
	size_t said_size;
	uint64_t pool_guid; /* 0 before it reported a pool */
	bool asked;         /* a roll call has asked it */
	bool up;            /* it answered the last roll call */
	bool back;          /* it is new or was away: see roster_settle */
	bool lost;          /* silent for --assume-lost seconds: RPCs do not ask it */
	int64_t since;      /* the time when `up` changed last (common/clock.h) */
	int64_t skew_us;    /* by how much, at least, its clock is ahead of ours */
	struct names names; /* what it has, as of the last roll call */
	char *refusal;      /* why it is refused (rollcall.h); NULL if it is not */

	/* The hosts that it keeps (roll_hosts.h), by their digest. */
	uint64_t known_hosts; /* as it reported last */
	uint64_t read;        /* when they were read into the roster's; 0: never */
	uint64_t told;        /* the roster's digest, as the agent was told of it last */
	uint64_t synced;      /* it has the roster's hosts up to this order */
	bool heard;           /* the roster has the hosts that it had when it first answered */
};

#endif
