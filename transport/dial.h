/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_DIAL_H
#define ZCSI_DIAL_H

/*
 * The connection of a client to its endpoint: the addresses, the attempts, the pauses between them,
 * and the connection that takes new streams. Loop thread only.
 */

#include <pthread.h>

#include "transport/client.h"
#include "transport/conn.h"
#include "transport/lookup.h"
#include "transport/tls.h"

struct dial_link;

struct dial {
	struct loop *loop;
	struct client_options options;
	struct endpoint endpoint;
	const struct conn_role *role; /* role of the connections; contains dial_on_ready etc. */
	/*
	 * Called when the addresses were looked up, and from a callback of nghttp2 when a
	 * connection became ready or was lost.
	 */
	void (*changed)(struct dial *dial);

	pthread_mutex_t lock;         /* guards the member shown */
	struct tls_certificate shown; /* the last certificate of the server, also a refused one */

	struct lookup *lookup; /* running lookup of the host's addresses; or NULL */
	bool found;            /* true if addresses are those of the current attempt */
	int64_t found_at;      /* now_ms() value at the end of the last lookup */

	struct dial_link *links;    /* all connections, including those that take no new streams */
	struct dial_link *link;     /* the connection that takes new streams; or NULL */
	unsigned n_coming;          /* number of connections being opened */
	struct addresses addresses; /* addresses of the host */
	unsigned first;             /* index of the address that worked last */
	unsigned n_tried;           /* addresses tried in this attempt, counted from first */
	int64_t pause_ms;           /* length of the last pause */
	int64_t next_attempt;       /* now_ms() value when the next address is due */
	int64_t began;              /* start of the last attempt */
	int64_t rested;       /* dial_hasten ends no pause before rested plus limits->pause_ms */
	int64_t down_since;   /* time of the first failed attempt; 0: the last one succeeded */
	struct error problem; /* last failure; ERR_FAILED_PRECONDITION: repeats are futile */
};

/* Initialise a zeroed dial in which the client has set the members from loop to changed. */
void dial_init(struct dial *dial);
/* Free every connection. */
void dial_fini(struct dial *dial);

/* Returns the connection that takes new streams; or NULL, and starts an attempt if one is due. */
struct conn *dial_conn(struct dial *dial);
/* True if all addresses have failed and the next attempt is not due yet. */
bool dial_pauses(const struct dial *dial);
/* End a pause early for a new call, but not before dial->rested plus the shortest pause. */
void dial_hasten(struct dial *dial);

/* Callbacks for the role. conn_owner() of each connection is its dial_link. */
void dial_on_ready(struct conn *conn);
void dial_on_leaving(struct conn *conn);
void dial_on_freed(struct conn *conn);

#endif
