/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONN_H
#define ZCSI_CONN_H

/*
 * A HTTP/2 connection, either side. It keeps the peer within the limits and carries streams
 * (conn_stream.h), which belong to its role (server_stream.c, client.c). Loop thread only. Only its
 * own event handlers, conn_pump and conn_free free it; a role's callback calls neither for its own
 * connection.
 */

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/head.h"
#include "transport/limits.h"
#include "transport/loop.h"
#include "transport/wire.h"

struct conn;
struct tls;
struct tls_names;

struct conn_role {
	bool is_server;
	/* A request begins; NULL refuses it. Server only. */
	struct stream *(*open)(struct conn *conn);
	/* The first header block is complete, or one was larger than the limit. */
	void (*headed)(struct stream *stream);
	/* Bytes came: conn_consume() them when they are used. END_STREAM came. */
	void (*data)(struct stream *stream, const uint8_t *bytes, size_t n);
	void (*ended)(struct stream *stream);
	/* All that was given to conn_send is on its way, and conn_end has not been called. */
	void (*emptied)(struct stream *stream);
	/*
	 * The stream still exists drain_ms after conn_drain; called again after that time. Server
	 * only.
	 */
	void (*overdue)(struct stream *stream);
	/* Last; frees the stream. Why it was reset, or NO_ERROR; with its connection, what its
	 * peer did wrong, or CANCEL. */
	void (*closed)(struct stream *stream, uint32_t http2_error);
	/* The peer's SETTINGS came: it speaks HTTP/2. Client only. */
	void (*ready)(struct conn *conn);
	/* The peer will take no new stream (GOAWAY), or the connection is about to be freed. */
	void (*leaving)(struct conn *conn);
	void (*freed)(struct conn *conn);
};

/*
 * Takes the descriptor; connecting: it is not writable yet. owner: the role's. NULL: out of memory,
 * and the descriptor is closed.
 */
struct conn *conn_new(struct loop *loop, int fd, bool connecting, const struct conn_role *role,
		      const struct limits *limits, void *owner);
/*
 * Speak TLS on the connection. Call right after conn_new. host: as in tls_session.h; tls and host
 * outlive it.
 */
void conn_secure(struct conn *conn, struct tls *tls, const char *host);
/* Returns the names in the peer's certificate, to be freed; NULL without TLS or before a stream. */
struct tls_names *conn_peer_names(const struct conn *conn);
void *conn_owner(const struct conn *conn);
bool conn_is_idle(const struct conn *conn); /* no streams */
/* Free it now, its streams closed first. */
void conn_free(struct conn *conn);

/* Write what is to be written; frees it when it is over. */
void conn_pump(struct conn *conn);
/* The same in the loop's next turn, from wherever it must not be freed. */
void conn_wake(struct conn *conn);
/* Two GOAWAYs, the streams there are, then the end. */
void conn_drain(struct conn *conn);
/* Did the peer ever speak HTTP/2; and why the connection was lost, or "". */
bool conn_was_ready(const struct conn *conn);
const char *conn_problem(const struct conn *conn);

#endif
