/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_ROSTER_H
#define ZCSI_CONTROLLER_ROSTER_H

/*
 * The agents, while the list of them changes: a call pins the set that it asks at first use, and
 * keeps it to its end.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "transport/client.h"
#include "transport/rpc.h"

/* The last answer of an agent, and whether it still answers. */
struct agent_state {
	char *node_id, *dataset, *version; /* NULL before its first answer */
	uint64_t pool_guid;                /* 0: it has not had a pool yet */
	bool asked;                        /* once at least */
	bool up;                           /* it answered the last time */
	bool lost;                         /* for so long that it is not asked any more */
	int64_t since;                     /* it is, or is not, up (common/clock.h) */
	int64_t skew_us;                   /* its clock is at least that much ahead of ours */
	char *refusal;                     /* why it is not to be trusted; NULL: it is */
};

struct agent {
	struct client *client;
	struct agent_state state; /* under the roster's lock */
	unsigned n_sets;          /* that have it */
	struct agent *next;       /* of those that none has */
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
	bool closed;             /* the first agents are being introduced: calls wait */
	struct agent_set *named; /* all of them */
	struct agent_set *asked; /* those that calls ask */
	struct agent *retired;
	unsigned epoch; /* another one whenever somebody may have come who was not there */
};

/* Loop thread. */
void roster_init(struct roster *roster, struct loop *loop, const struct client_options *options);
void roster_fini(struct roster *roster);
/* These are named now; those that were stay who they were. -1: nothing has changed. */
int roster_name(struct roster *roster, const char *const *endpoints, size_t n, struct error *err);
void roster_metrics(struct roster *roster, FILE *out);
/* Close the connections of those who have left, and whom no call asks any more. */
void roster_reap(struct roster *roster);

/* Any thread. */
struct agent_set *
roster_take(struct roster *roster); /* those that are named; roster_put gives back */
void roster_put(struct roster *roster, struct agent_set *set);
/* From now on calls ask those that are named and not lost. */
void roster_open(struct roster *roster);
/* The set that the call asks, till its end, and the epoch in which it began. */
struct pin {
	struct roster *roster;
	struct agent_set *set;
	unsigned epoch;
};
const struct pin *roster_pin(struct roster *roster, struct rpc_call *call);

#endif
