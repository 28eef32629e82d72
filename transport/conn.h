/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONN_H
#define ZCSI_CONN_H

/*
 * An HTTP/2 connection, server or client side. It keeps the peer within the limits and carries
 * streams (conn_stream.h) owned by its role (server_stream.c, client_stream.c). Loop thread only.
 * Its event handlers, conn_pump, conn_drain and conn_free may free it: a role's callback calls none
 * of the three functions for its own connection.
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
struct tls_certificate;
struct tls_names;

struct conn_role {
	bool is_server;
	/* Server only: a request begins. Returns its stream, or NULL to refuse the request. */
	struct stream *(*open)(struct conn *conn);
	/* The first header block is complete, or a header block exceeded limits->header_list. */
	void (*headed)(struct stream *stream);
	/* n bytes of DATA were received; the role calls conn_consume() when it has used them. */
	void (*data)(struct stream *stream, const uint8_t *bytes, size_t n);
	/* END_STREAM was received. */
	void (*ended)(struct stream *stream);
	/* The queue of conn_send ran empty, and conn_end has not been called. */
	void (*emptied)(struct stream *stream);
	/* Server only: the stream is open drain_ms after conn_drain; repeated every drain_ms. */
	void (*overdue)(struct stream *stream);
	/* The last call: the role frees the stream. http2_error is the code of the reset, or
	 * NO_ERROR; if the connection ended first, the code of our GOAWAY, or CANCEL. */
	void (*closed)(struct stream *stream, uint32_t http2_error);
	/* Client only: the peer's first SETTINGS was received, so the peer speaks HTTP/2. */
	void (*ready)(struct conn *conn);
	/* The peer sent GOAWAY and takes no new stream, or the connection is being freed. */
	void (*leaving)(struct conn *conn);
	/* The connection is being freed and has no streams left. */
	void (*freed)(struct conn *conn);
};

/*
 * Returns a connection that owns fd; or, out of memory, NULL with fd closed. connecting is true
 * while connect(2) is in progress. owner is stored for conn_owner. limits outlives the connection.
 */
struct conn *conn_new(struct loop *loop, int fd, bool connecting, const struct conn_role *role,
		      const struct limits *limits, void *owner);
/* Use TLS; call right after conn_new. tls_session_new explains host and name; all outlive conn. */
void conn_secure(struct conn *conn, struct tls *tls, const char *host, const char *name);
/* Returns the peer's names, to be freed; NULL without TLS. Call once the handshake is complete. */
struct tls_names *conn_peer_names(const struct conn *conn);
/* Returns the certificate that a server has shown, owned by the connection; NULL without TLS. */
const struct tls_certificate *conn_shown(const struct conn *conn);
void *conn_owner(const struct conn *conn);
bool conn_is_idle(const struct conn *conn); /* true if the connection has no streams */
/* Close the streams, then free the connection at once. */
void conn_free(struct conn *conn);
/* Write queued frames; free the connection if it is over. */
void conn_pump(struct conn *conn);
/* Schedule conn_pump for the loop's next turn, for callers that must not free the connection. */
void conn_wake(struct conn *conn);
/* Send GOAWAY twice (RFC 9113, 6.8), finish the open streams, then end the connection. */
void conn_drain(struct conn *conn);
/* True if the peer's SETTINGS were received. */
bool conn_was_ready(const struct conn *conn);
/* Returns why the connection failed, or "". Owned by the connection. */
const char *conn_problem(const struct conn *conn);

#endif
