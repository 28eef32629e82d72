/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONN_INSIDE_H
#define ZCSI_CONN_INSIDE_H

/*
 * struct conn and the functions that the conn_*.c files share. Section "A connection" of
 * transport/README.md explains how a connection reads and writes, how a turn of the loop ends and
 * which function frees the connection. Loop thread only.
 */

#include "transport/conn.h"
#include "transport/outbox.h"
#include "transport/rate.h"
#include "transport/tls_session.h"

/* Indexes of conn->deadlines. */
enum {
	DEADLINE_HANDSHAKE, /* latest time for the peer's first SETTINGS */
	DEADLINE_SETTINGS,  /* latest time for the acknowledgement of our SETTINGS */
	DEADLINE_WRITE,     /* latest time for the socket to accept a queued byte */
	DEADLINE_PING,      /* latest time for any byte after the PING of conn_probe */
	DEADLINE_GOAWAY,    /* time to send the second GOAWAY */
	DEADLINE_DRAIN,     /* time to call role->overdue for the streams still open */
	DEADLINE_LINGER,    /* latest time for the peer to close its side */
	DEADLINES
};

struct conn {
	struct loop *loop;
	int fd;
	bool connecting; /* true while connect(2) is in progress */
	bool left;       /* true once role->leaving was called: no stream can be opened */
	bool in_turn;    /* true while an event handler runs that will call settle() */
	const struct conn_role *role;
	const struct limits *limits;
	void *owner;
	bool over;     /* true if the connection is to be freed at the end of this turn */
	char *problem; /* why the connection failed; NULL while it has not */
	nghttp2_session *session;
	struct stream *streams;
	struct stream *found; /* cache of the stream that a callback used last; may be NULL */
	struct event *readable, *writable;
	struct loop_timer *timer;
	int64_t deadlines[DEADLINES], scheduled; /* NO_DEADLINE: off; scheduled: timer's expiry */
	const uint8_t *chunk; /* rest of nghttp2's last output, owned by nghttp2 */
	size_t chunk_size;
	struct tls_session *tls;      /* TLS of the connection; NULL: plain text */
	struct outbox out;            /* bytes that the socket did not accept yet */
	bool progress;                /* true if the socket accepted a byte in this turn */
	bool hung_up;                 /* true if the socket accepts no more; it is still read */
	unsigned packed, sent;        /* numbers of requests: serialised; of these, written */
	unsigned n_reads;             /* number of reads that brought bytes */
	uint32_t goaway_code;         /* error code of the GOAWAY sent; 0 without one */
	size_t received, payload;     /* bytes in this rate period: all; headers and DATA */
	int64_t counted_since;        /* start of the rate period, in loop milliseconds */
	uint64_t bytes_in, bytes_out; /* bytes read from and written to the socket in all */
	struct rate resets_sent, pings, key_updates;
};

/* Returns the nghttp2 session of conn, or NULL when out of memory. */
nghttp2_session *conn_session_new(struct conn *conn);
/* Returns an allocator for nghttp2 that fails conn when out of memory (conn_memory.c). */
nghttp2_mem conn_memory(struct conn *conn);
/* Parse n received bytes of HTTP/2. Calls callbacks of the role. */
void conn_feed(struct conn *conn, const uint8_t *bytes, size_t n);
/* Mark the connection as over. The first problem given is kept as the reason. */
void conn_fail(struct conn *conn, const char *problem);
/* Send the second GOAWAY, with the id of the last request that was accepted. */
void conn_send_goaway(struct conn *conn);
/* Call role->leaving unless it was called before. */
void conn_leave(struct conn *conn);
/* Link the stream to conn under the given id. */
void conn_add_stream(struct conn *conn, struct stream *stream, int32_t id);
/* Unlink the stream, return its bytes to the window, and call role->closed. */
void conn_close_stream(struct stream *stream, uint32_t http2_error);

#endif
