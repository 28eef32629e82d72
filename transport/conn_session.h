/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONN_SESSION_H
#define ZCSI_CONN_SESSION_H

/* struct conn, shared by conn.c (the socket) and conn_session.c (the session); nobody else. */

#include "transport/conn.h"

enum { DEADLINE_HANDSHAKE, DEADLINE_SETTINGS, DEADLINE_WRITE, DEADLINE_GOAWAY, DEADLINES };

/* How often something happened in the last ten seconds. */
struct rate {
	int64_t since;
	unsigned count;
};

struct conn {
	struct loop *loop;
	int fd;
	bool connecting; /* not writable for the first time yet */
	bool left;       /* the role was told that no new stream can be opened */
	const struct conn_role *role;
	const struct limits *limits;
	void *owner;
	const char *problem; /* why it is to be freed; static text */

	nghttp2_session *session;
	struct stream *streams;
	struct event *readable, *writable;
	struct loop_timer *timer;
	int64_t deadlines[DEADLINES], scheduled;

	const uint8_t *chunk; /* what nghttp2 gave last and did not fit */
	size_t chunk_size;
	uint8_t *unsent; /* what the socket did not take */
	size_t unsent_size, unsent_at;
	bool progress; /* the peer took some of it in this turn */

	size_t received, payload; /* bytes of the last seconds: all, and of headers and messages */
	int64_t counted_since;
	struct rate resets_sent, pings;
};

nghttp2_session *conn_session_new(struct conn *conn);
/* Give nghttp2 what was read. */
void conn_feed(struct conn *conn, const uint8_t *bytes, size_t n);
/* The connection is over, for the first reason given. */
void conn_fail(struct conn *conn, const char *problem);
/* The second GOAWAY. */
void conn_say_goodbye(struct conn *conn);
/* Tell the role, once, that no new stream can be opened. */
void conn_leave(struct conn *conn);
void conn_close_stream(struct stream *stream, uint32_t http2_error);

#endif
