/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONN_INSIDE_H
#define ZCSI_CONN_INSIDE_H

/* struct conn, shared by conn.c and the other conn_*.c, each of which has one side of it. */

#include "transport/conn.h"
#include "transport/outbox.h"
#include "transport/rate.h"
#include "transport/tls_session.h"

enum {
	DEADLINE_HANDSHAKE,
	DEADLINE_SETTINGS,
	DEADLINE_WRITE,
	DEADLINE_PING,
	DEADLINE_GOAWAY,
	DEADLINE_DRAIN,
	DEADLINE_LINGER,
	DEADLINES
};

struct conn {
	struct loop *loop;
	int fd;
	bool connecting; /* not writable for the first time yet */
	bool left;       /* the role was told that no new stream can be opened */
	bool in_turn;    /* one of its event handlers runs, and will settle() */
	const struct conn_role *role;
	const struct limits *limits;
	void *owner;
	bool over;     /* to be freed at the end of this turn */
	char *problem; /* why, unless all is well */
	nghttp2_session *session;
	struct stream *streams;
	struct stream *found; /* that nghttp2 spoke of last, often several times; or NULL */
	struct event *readable, *writable;
	struct loop_timer *timer;
	int64_t deadlines[DEADLINES], scheduled;
	const uint8_t *chunk; /* what nghttp2 gave last and did not fit */
	size_t chunk_size;
	struct tls_session *tls; /* between the socket and HTTP/2; NULL: plain text */
	struct outbox out;       /* what the socket did not take */
	bool progress;           /* the peer took some of it in this turn */
	bool hung_up;            /* it takes no more: what it said before is still to be read */
	unsigned packed, sent;   /* requests that nghttp2 gave us; of which the socket took bytes */
	unsigned heard;          /* how often the peer sent anything */
	uint32_t goodbye;        /* the error code of our GOAWAY */
	size_t received, payload; /* bytes of the last seconds: all, and of headers and messages */
	int64_t counted_since;
	uint64_t bytes_in, bytes_out; /* all that came and went */
	struct rate resets_sent, pings, key_updates;
};

/* Bytes, both ways (conn_socket.c). */
void conn_receive(struct conn *conn);
void conn_flush(struct conn *conn);
/* Write what is left before the connection is closed: as much as the socket takes at once. */
void conn_last_words(struct conn *conn);

/* NULL: out of memory. What nghttp2 has of it (conn_memory.c): the connection fails without. */
nghttp2_session *conn_session_new(struct conn *conn);
nghttp2_mem conn_memory(struct conn *conn);
/* Give nghttp2 what was read. */
void conn_feed(struct conn *conn, const uint8_t *bytes, size_t n);
/* Count n received bytes, or one event of a rate; beyond the limit the peer gets GOAWAY. */
void conn_weigh(struct conn *conn, size_t n);
void conn_count(struct conn *conn, struct rate *rate, unsigned most);
/* The connection is over, for the first reason given. */
void conn_fail(struct conn *conn, const char *problem);
/* The second GOAWAY. */
void conn_send_goaway(struct conn *conn);
/* Tell the role, once, that no new stream can be opened. */
void conn_leave(struct conn *conn);
/* conn_stream.c */
void conn_add_stream(struct conn *conn, struct stream *stream, int32_t id);
void conn_close_stream(struct stream *stream, uint32_t http2_error);

#endif
