/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONN_STREAM_H
#define ZCSI_CONN_STREAM_H

/*
 * A stream of a connection, either side: bytes each way, in any number of pieces. What is to be
 * sent waits in a queue until the peer's windows and the socket take it; what came counts against
 * our windows until it is used. Loop thread only. None of these functions writes or frees: the
 * connection does, at the end of its turn.
 */

#include "transport/chunk.h"
#include "transport/conn.h"
#include "transport/head.h"

/* Embedded first in what a role keeps for a stream. */
struct stream {
	struct conn *conn;
	struct stream *next, **link; /* of the connection's */
	int32_t id;
	bool headed;            /* the first header block is complete */
	bool done;              /* answered, reset or closed: nothing more of it is wanted */
	unsigned packed, heard; /* client: for conn_may_have_sent and conn_doubt */
	struct head head;
	size_t received; /* DATA bytes, for content-length */
	size_t unused;   /* of those, not consumed */

	struct chunks out;
	bool moved;   /* some of it was taken since somebody reset this */
	bool resting; /* nghttp2 found nothing to send */
	bool ending;  /* nothing comes after what is in the queue but the trailers */
	const nghttp2_nv *trailers;
	size_t n_trailers;
};

/* Open a stream (client). Header values are copied. -1: this connection opens no more. */
int conn_request(struct conn *conn, struct stream *stream, const nghttp2_nv *fields, size_t n);
/* Has any of its bytes left? */
bool conn_may_have_sent(const struct stream *stream);
/* Was the peer silent since conn_request? Then it must answer a PING, or is given up. */
void conn_doubt(const struct stream *stream);
/* Begin the answer (server). Header values are copied. */
void conn_respond(struct stream *stream, const nghttp2_nv *fields, size_t n);
/*
 * Send a chunk after those before. What is left in the queue at closed() is its owner's to drop.
 * conn_send and conn_end may come before conn_request, and after closed() to no effect.
 */
void conn_send(struct stream *stream, struct chunk *chunk);
/* Send no more; the trailers are their owner's, until closed(). */
void conn_end(struct stream *stream, const nghttp2_nv *trailers, size_t n);
/* The whole answer is a header list (server). */
void conn_respond_only(struct stream *stream, const nghttp2_nv *fields, size_t n);
void conn_reset(struct stream *stream, uint32_t http2_error);

/* n bytes of what data() brought are used: the peer may send as many again. */
void conn_consume(struct stream *stream, size_t n);

/* Two texts, which nghttp2 copies. */
nghttp2_nv conn_field(const char *name, const char *value);
/* Two literals, which it has no need to. */
#define CONN_FIELD(Name, Value)                                                                    \
	{                                                                                          \
		.name = (uint8_t *)(Name), .value = (uint8_t *)(Value),                            \
		.namelen = sizeof(Name) - 1, .valuelen = sizeof(Value) - 1,                        \
		.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE              \
	}

#endif
