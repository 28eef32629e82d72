/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_PEERS_PEERS_INSIDE_H
#define ZCSI_NODE_PEERS_PEERS_INSIDE_H

/* struct peers, shared by peers.c and peers_ask.c. */

#include <pthread.h>

#include "common/mem.h"
#include "node/peers/peers.h"

/* The answer of an endpoint in the last scan. */
struct peers_answer {
	char *endpoint;
	char *node;    /* NULL if it did not answer */
	char *problem; /* why it did not answer; or NULL */
};

struct peers {
	struct loop *loop;
	struct peers_options options;
	pthread_mutex_t lock;   /* guards the members after it */
	bool scanning;          /* a thread asks all endpoints */
	pthread_cond_t scanned; /* signalled when a scan has ended */
	struct peers_answer *answers;
	size_t n_answers;
	unsigned n_scans;              /* scans that have ended, and not by their deadline */
	struct peers_closing *closing; /* clients to be freed on the loop */
	struct loop_task reap;         /* posted while `closing` is not empty */
};

/* An agent that is asked which node it is. */
struct peers_question {
	const char *endpoint;  /* set by the caller */
	struct client *client; /* NULL if it could not be made, see error */
	struct client_call *call;
	const char *node;            /* the node id in the answer, in the arena; NULL: see error */
	const GetHostResponse *host; /* the whole answer */
	struct error error;
};

/* Returns the options for a client of an agent. */
struct client_options peers_client_options(const struct peers *peers);
/*
 * peers_ask_begin calls GetHost of an agent, with a new client, and peers_ask_finish waits for the
 * answer. The agent has half of the time that is left, and 5 seconds at most. The caller gives the
 * client to peers_hang_up.
 */
void peers_ask_begin(struct peers *peers, struct arena *arena, struct peers_question *question,
		     const struct client_options *options, int64_t deadline);
void peers_ask_finish(struct peers_question *question);
/*
 * Ask all endpoints of a list, or wait for the end of such a scan by another thread. Both set
 * peers->answers. Returns 0, or -1 with ERR_DEADLINE_EXCEEDED.
 */
int peers_ask_all(struct peers *peers, struct arena *arena, const struct option_list *list,
		  int64_t deadline, struct error *err);
/*
 * Ask all endpoints of a list, even if another thread has just done so. *ret is the questions, in
 * the arena.
 */
int peers_ask_each(struct peers *peers, struct arena *arena, const struct option_list *list,
		   int64_t deadline, struct peers_question **ret, struct error *err);
/* Free the answers. */
void peers_ask_fini(struct peers *peers);
/* Free the clients that were given back. Loop thread. */
void peers_ask_reap(struct loop_task *task);

#endif
