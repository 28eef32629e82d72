/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_LIMITS_H
#define ZCSI_LIMITS_H

/*
 * Every bound of the transport on the memory, work and time that a peer can cost, in one table.
 * "Per period" means per rate_ms, "turn" is one turn of the loop. tests/limits names, for each
 * limit, the attack that it stops and the test that fails without it.
 */

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
struct limits {
	unsigned connections;       /* max open connections of one server */
	unsigned handshaking;       /* max connections of one server before their first SETTINGS */
	unsigned accepts;           /* max connections accepted in one turn of the loop */
	unsigned reads;             /* max reads from one connection in one turn of the loop */
	size_t written;             /* max bytes written to one connection in one turn */
	unsigned streams;           /* max open streams of one connection */
	unsigned connection_calls;  /* max calls of one connection, with or without a stream */
	unsigned calls;             /* max calls queued for or running on workers in one server */
	uint32_t stream_window;     /* bytes of a stream's receive window (RFC 9113, 5.2) */
	uint32_t connection_window; /* bytes of a connection's receive window (RFC 9113, 5.2) */
	uint32_t frame;             /* max payload bytes of one DATA frame, sent or received */
	size_t queued;              /* bytes queued on one stream that block rpc_stream_send */
	size_t header_list;         /* max bytes of a header list, counted as in RFC 9113, 6.5.2 */
	size_t message;             /* max bytes of one encoded request or response */
	size_t messages;            /* max bytes received and not used yet in one server */
	size_t decoded;             /* max bytes of memory of one decoded message of any size */
	size_t decoded_base;        /* bytes of memory granted to every decoded message */
	size_t decoded_per_byte;    /* bytes of memory granted in addition per encoded byte */
	unsigned nesting;           /* max depth of messages within messages; CSI's deepest is 5 */
	unsigned resets_received;   /* max RST_STREAM frames received in a burst */
	unsigned resets_per_second; /* max RST_STREAM frames received per second after a burst */
	unsigned resets_sent;       /* max RST_STREAM frames that a peer provokes per period */
	unsigned pings;             /* max PING frames received per period without an answer sent */
	unsigned pending_acks;      /* max queued acknowledgements of PING and SETTINGS */
	unsigned frames;            /* max queued frames while the peer reads nothing */
	unsigned continuations;     /* max CONTINUATION frames of one header block */
	size_t handshake;           /* max bytes received before the TLS handshake is complete */
	unsigned key_updates;       /* max TLS key updates by the peer per period */
	size_t overhead;            /* bytes credited as payload per period (limit: 8 x payload) */
	unsigned log_lines;         /* max log lines about failed calls of one server per period */
	int64_t rate_ms;            /* length of the period, in ms */
	int64_t handshake_ms;       /* max ms from connection to the peer's first SETTINGS */
	int64_t settings_ack_ms;    /* max ms for the ACK of our SETTINGS, after handshake_ms */
	int64_t receive_ms;         /* max ms to receive a request, or a message of a stream */
	int64_t write_ms;           /* max ms in which the peer reads no byte that we sent */
	int64_t drain_ms;           /* ms until open streams are reset when the server stops */
	int64_t linger_ms;          /* max ms to wait for the peer to close a finished connection */
	int64_t goaway_ms;          /* max ms between our two GOAWAY frames */
	int64_t connect_ms;         /* max ms of a client's connect(2) */
	int64_t happy_eyeballs_ms;  /* ms until a client tries the next address too (RFC 8305, 5) */
	int64_t pause_ms;           /* ms of a client's first pause before it reconnects */
	int64_t pause_most_ms;      /* max ms of a client's pause before it reconnects */
	int64_t wait_ms;            /* max ms that a client's call waits for a connection */
	int64_t ping_ms;            /* max ms to answer a PING, sent after a call timed out */
	unsigned repeats;           /* max retries of a call that the server did not begin */
	int64_t call_ms;            /* ms until a client's call without a deadline times out */
	int64_t silence_ms;         /* ms of TCP silence before a keepalive probe (tcp(7)) */
	int64_t keepalive_interval_ms; /* ms between two keepalive probes */
	unsigned keepalive_probes;  /* unanswered keepalive probes that end a TCP connection */
	int64_t unacked_ms;         /* max ms until TCP acknowledges sent data (TCP_USER_TIMEOUT) */
	int64_t accept_ms;          /* ms without accepting after descriptors ran out */
	unsigned http_connections;  /* max open HTTP/1.1 connections of the monitor */
	size_t http_request;        /* max bytes of one HTTP/1.1 request including its header */
	int64_t http_connection_ms; /* max ms from accept to close of an HTTP/1.1 connection */
};
/* clang-format on */

/* Limits for CSI and other services of small messages. */
extern const struct limits limits_default;
/* Limits for a connection that carries one stream of bulk data. */
extern const struct limits limits_bulk;

#endif
