/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_ROSTER_H
#define ZCSI_CONTROLLER_ROSTER_H

/* The list of agents, which may change at any time. An RPC pins the agents that it asks. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/options.h"
#include "common/volume/host_list.h"
#include "controller/absent.h"
#include "controller/agent_state.h"
#include "transport/client.h"
#include "transport/rpc.h"

struct agent {
	struct client *client;
	struct agent_state state; /* protected by the roster's lock */
	unsigned n_sets;          /* how many sets contain the agent */
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
	bool unopened;           /* an agent is on the list, and RPCs do not ask it yet */
	struct agent_set *named; /* all agents of --agent and --agents-file */
	struct agent_set *asked; /* the agents that RPCs ask: named and not lost */
	struct absent *absent;   /* hosts whose agent is off the list */
	struct host_list hosts;  /* all hosts that are known, on the list or off it */
	bool unsettled;          /* the hosts or the list have changed: see roster_settle */
	unsigned ups;            /* how many times an agent has come up */
	const struct option_list *forget; /* --forget; may be NULL */
	struct agent *retired; /* agents that no set contains, to be freed by roster_reap */
	unsigned left;         /* how many agents have left the list since the start */
	unsigned epoch;        /* increases when an agent may have been added or come up */
};

/* The functions from here to roster_reap are called on the loop's thread. */
void roster_init(struct roster *roster, struct loop *loop, const struct client_options *options);
void roster_fini(struct roster *roster);
/* Set the list of agents; those already on it keep their state. -1 with *err: nothing changed. */
int roster_name(struct roster *roster, const char *const *endpoints, size_t n, struct error *err);
void roster_metrics(struct roster *roster, FILE *out);
/* Close the connections of the retired agents, and free them. */
void roster_reap(struct roster *roster);

/* The rest is for any thread. Returns the named agents; roster_put releases the set. */
struct agent_set *roster_take(struct roster *roster);
void roster_put(struct roster *roster, struct agent_set *set);
/* Have RPCs that begin from now on ask the agents that are named and not lost. */
void roster_open(struct roster *roster);

/* The agents that an RPC asks, and the epoch when it pinned them. Released with its arena. */
struct pin {
	struct roster *roster;
	struct agent_set *set;
	unsigned epoch;
};
/* Returns the RPC's pin. The first call waits until the first roll call has ended. */
const struct pin *roster_pin(struct roster *roster, struct rpc_call *call);
/* Wait until `until` for agents that come onto the list, and pin again. False if there are none. */
bool roster_pin_again(struct roster *roster, struct rpc_call *call, int64_t until);

#endif
