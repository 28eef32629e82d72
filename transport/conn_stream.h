/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONN_STREAM_H
#define ZCSI_CONN_STREAM_H

/*
 * A stream of a connection, server or client side: bytes in both directions. Bytes to be sent wait
 * in a queue until the peer's windows and the socket accept them; received bytes count against our
 * windows until they are consumed. Loop thread only. None of these functions writes to the socket
 * or frees anything: the connection does so at the end of its turn.
 */

#include "transport/chunk.h"
#include "transport/conn.h"
#include "transport/head.h"

/* Base of a role's own stream structure, in which it is the first member. */
struct stream {
	struct conn *conn;
	struct stream *next, **link; /* neighbours in conn->streams (list.h) */
	int32_t id;
	bool headed;      /* true once the first header block is complete */
	bool done;        /* true once answered, reset or closed: received bytes are dropped */
	unsigned packed;  /* client: number of this request on the connection; 0: not serialised */
	unsigned n_reads; /* client: value of conn->n_reads when the request was opened */
	struct head head;
	size_t received; /* DATA bytes received, to be compared with content-length */
	size_t unused;   /* DATA bytes received and not consumed */

	struct chunks out;
	bool moved;   /* set when nghttp2 takes bytes of out; the owner resets it */
	bool resting; /* true while nghttp2 has deferred the stream for want of data */
	bool ending;  /* true after conn_end: only out and the trailers are still sent */
	const nghttp2_nv *trailers;
	size_t n_trailers;
};

/*
 * Client only: open a stream with n header fields, which are copied. Returns 0, or -1 when the
 * connection takes no new streams.
 */
int conn_request(struct conn *conn, struct stream *stream, const nghttp2_nv *fields, size_t n);
/* Client only: true if a byte of the request may have been written to the socket. */
bool conn_may_have_sent(const struct stream *stream);
/*
 * Client only: send a PING if the peer has sent nothing since conn_request. The connection fails
 * unless bytes arrive within limits->ping_ms.
 */
void conn_probe(const struct stream *stream);
/* Server only: begin the answer with n header fields, which are copied. */
void conn_respond(struct stream *stream, const nghttp2_nv *fields, size_t n);
/*
 * Append a chunk to the queue. When role->closed runs, the owner drops the chunks still queued.
 * conn_send and conn_end may be called before conn_request; after role->closed they send nothing.
 */
void conn_send(struct stream *stream, struct chunk *chunk);
/* Send n trailers after the queue. The caller owns them and keeps them until role->closed. */
void conn_end(struct stream *stream, const nghttp2_nv *trailers, size_t n);
/* Server only: send an answer that consists of one header list, without body or trailers. */
void conn_respond_only(struct stream *stream, const nghttp2_nv *fields, size_t n);
/* Reset the stream with an HTTP/2 error code. */
void conn_reset(struct stream *stream, uint32_t http2_error);

/* Return n bytes that role->data received to the windows, so that the peer can send as many. */
void conn_consume(struct stream *stream, size_t n);

/* Let the peer send up to `window` bytes ahead, unless limits->stream_window is larger. */
void conn_widen(struct stream *stream, uint32_t window);

/* Returns a header field of two texts, which nghttp2 copies when the field is submitted. */
nghttp2_nv conn_field(const char *name, const char *value);
/* Header field of two string literals, which nghttp2 does not copy. */
#define CONN_FIELD(Name, Value)                                                                    \
	{                                                                                          \
		.name = (uint8_t *)(Name), .value = (uint8_t *)(Value),                            \
		.namelen = sizeof(Name) - 1, .valuelen = sizeof(Value) - 1,                        \
		.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE              \
	}

#endif
