/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_ROSTER_H
#define ZCSI_CONTROLLER_ROSTER_H

/*
 * The list of agents, which may change at any time. An RPC pins the set of agents that it uses when
 * it first needs it, and uses that set until it ends.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "controller/absent.h"
#include "transport/client.h"
#include "transport/rpc.h"

/* The last answer of an agent, and whether it still answers. */
struct agent_state {
	char *node_id, *dataset, *version; /* NULL before its first answer */
	uint8_t *said;                     /* its last GetHostResponse, encoded; NULL: none */
	size_t said_size;
	uint64_t pool_guid; /* 0 before it reported a pool */
	bool asked;         /* a roll call has asked it */
	bool up;            /* it answered the last roll call */
	bool lost;          /* silent for --assume-lost seconds: RPCs do not ask it */
	int64_t since;      /* the time when `up` changed last (common/clock.h) */
	int64_t skew_us;    /* by how much, at least, its clock is ahead of ours */
	struct names names; /* what it has, as of the last roll call */
	char *refusal;      /* why it is refused (rollcall.h); NULL if it is not */
};

struct agent {
	struct client *client;
	struct agent_state state; /* protected by the roster's lock */
	unsigned n_sets;          /* how many sets contain it */
	struct agent *next;       /* the next retired agent */
};

struct agent_set {
	unsigned n_users;
	size_t n;
	struct agent *list[];
};

struct roster {
	struct loop *loop;
	struct client_options options;
	pthread_mutex_t lock;
	pthread_cond_t opened;
	bool closed;             /* the first roll call has not ended, and RPCs wait for it */
	struct agent_set *named; /* all agents of --agent and --agents-file */
	struct agent_set *asked; /* the agents that RPCs ask: named and not lost */
	struct absent *absent;   /* hosts whose agent left the list */
	struct agent *retired;   /* agents that no set contains, to be freed by roster_reap */
	unsigned left;           /* how many agents have left the list since the start */
	unsigned epoch;          /* increases when an agent may have been added or come up */
};

/* The functions from here to roster_reap are called on the loop's thread. */
void roster_init(struct roster *roster, struct loop *loop, const struct client_options *options);
void roster_fini(struct roster *roster);
/* Set the named agents; one that was named before keeps its state. -1: nothing has changed. */
int roster_name(struct roster *roster, const char *const *endpoints, size_t n, struct error *err);
void roster_metrics(struct roster *roster, FILE *out);
/* Close the connections of the retired agents, and free them. */
void roster_reap(struct roster *roster);

/* The rest is for any thread. Returns the named agents; roster_put releases the set. */
struct agent_set *roster_take(struct roster *roster);
void roster_put(struct roster *roster, struct agent_set *set);
/* From now on new RPCs ask the agents that are named and not lost. */
void roster_open(struct roster *roster);

#endif
