/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_DIAL_H
#define ZCSI_DIAL_H

/*
 * How a client reaches its endpoint: the addresses, the attempts, the pauses between them, and the
 * connection that takes new streams. Loop thread only, but for dial_prepare.
 */

#include <pthread.h>
#include <stdatomic.h>

#include "transport/client.h"
#include "transport/conn.h"
#include "transport/endpoint.h"

#define ADDRESSES_MAX 8

struct dial_link;

struct addresses {
	struct address list[ADDRESSES_MAX];
	unsigned n;
};

struct dial {
	struct loop *loop;
	struct client_options options;
	struct endpoint endpoint;
	const struct conn_role *role; /* with the three functions below */
	/* A connection is ready, or it was lost: called from inside HTTP/2. */
	void (*changed)(struct dial *dial);

	pthread_mutex_t lock;   /* for found */
	struct addresses found; /* by whoever asked last */
	atomic_bool reached;    /* connected, or about to be: no need to ask again */

	struct dial_link *links; /* every connection, also those that only end their streams */
	struct dial_link *link;  /* the one that takes new streams; or NULL */
	unsigned n_coming;       /* are on their way */
	struct addresses addresses;
	unsigned first, n_tried; /* which one worked last; how many from there since */
	int64_t pause_ms, next_attempt;
	int64_t began, rested;        /* the last attempt; when one that is asked for may follow */
	int64_t down_since;           /* the first attempt that failed; 0: the last one did not */
	char problem[ERROR_TEXT_MAX]; /* why it failed */
};

void dial_init(struct dial *dial);
/* Frees every connection. */
void dial_fini(struct dial *dial);

/* Any thread: learn the addresses, unless it is connected. May wait for DNS. */
int dial_prepare(struct dial *dial, struct error *err);
/* For use now: the connection that takes new streams; or NULL, and one is made if it is time. */
struct conn *dial_conn(struct dial *dial);
/* All addresses have failed, and it is too early to try again. */
bool dial_pauses(const struct dial *dial);
/*
 * A call was made: the pause may end after the shortest one, unless the attempt took long to fail.
 */
void dial_hasten(struct dial *dial);

/* For the role: owner of each connection is its dial_link. */
void dial_on_ready(struct conn *conn);
void dial_on_leaving(struct conn *conn);
void dial_on_freed(struct conn *conn);

#endif
