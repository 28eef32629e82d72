/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONN_H
#define ZCSI_CONN_H

/*
 * One HTTP/2 connection, either side: it keeps the peer within the limits and carries streams of
 * one message each way; what they mean is for its role (server_call.c, client.c). Loop thread only.
 * Its own event handlers, conn_pump and conn_free free it; a role's functions call neither.
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

/* Embedded first in what a role keeps for a stream. */
struct stream {
	struct conn *conn;
	struct stream *previous, *next; /* of the connection's */
	int32_t id;
	bool headed; /* the first header block is complete */
	bool done;   /* answered or reset: nothing more of it is wanted */
	struct head head;
	size_t received;    /* DATA bytes, for content-length */
	const uint8_t *out; /* what is still to be sent; its owner keeps it until closed() */
	size_t out_size;
	const nghttp2_nv *trailers; /* after it, static; NULL ends the stream with the message */
	size_t n_trailers;
};

struct conn_role {
	bool is_server;
	/* A request begins; NULL refuses it. Server only. */
	struct stream *(*open)(struct conn *conn);
	/* The first header block is complete, or larger than the limit; bytes came; END_STREAM. */
	void (*headed)(struct stream *stream);
	void (*data)(struct stream *stream, const uint8_t *bytes, size_t n);
	void (*ended)(struct stream *stream);
	/* Last; frees the stream. Why it was reset, or NO_ERROR; CANCEL with its connection. */
	void (*closed)(struct stream *stream, uint32_t http2_error);
	/* The peer will take no new stream (GOAWAY), or the connection is about to be freed. */
	void (*leaving)(struct conn *conn);
	void (*freed)(struct conn *conn);
};

/* Takes the descriptor; connecting: it is not writable yet. owner: the role's. */
struct conn *conn_new(struct loop *loop, int fd, bool connecting, const struct conn_role *role,
		      const struct limits *limits, void *owner);
void *conn_owner(const struct conn *conn);
bool conn_is_idle(const struct conn *conn); /* no streams */
/* Free it now, its streams closed first. */
void conn_free(struct conn *conn);

/* Write what is to be written; frees it when it is over. */
void conn_pump(struct conn *conn);
/* Two GOAWAYs, the streams there are, then the end. */
void conn_drain(struct conn *conn);
/* Did the peer ever speak HTTP/2; and why the connection was lost, or "". */
bool conn_was_ready(const struct conn *conn);
const char *conn_problem(const struct conn *conn);

/* Open a stream (client). Header values are copied. -1: this connection opens no more. */
int conn_request(struct conn *conn, struct stream *stream, const nghttp2_nv *fields, size_t n,
		 const uint8_t *message, size_t size);
/* Answer a stream: header fields, then the message and trailers, or nothing. It is done then. */
void conn_respond(struct stream *stream, const nghttp2_nv *fields, size_t n, const uint8_t *message,
		  size_t size, const nghttp2_nv *trailers, size_t n_trailers);
void conn_reset(struct stream *stream, uint32_t http2_error);

/* Two texts, which nghttp2 copies. */
nghttp2_nv conn_field(const char *name, const char *value);

#endif
