/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_LIMITS_H
#define ZCSI_LIMITS_H

/*
 * Every bound of the transport on the memory, work and time that a peer can cost, in one table.
 * Sizes are bytes, times milliseconds; rate_ms is the period of all "per period" counts.
 * tests/limits names the attack that each limit stops, and the test that fails without it.
 */

#include <stddef.h>
#include <stdint.h>

struct limits {
	unsigned connections;       /* open at one server */
	unsigned handshaking;       /* connections before their first HTTP/2 frame, at one server */
	unsigned accepts;           /* connections accepted in one turn of the loop */
	unsigned reads;             /* reads of one connection in one turn of the loop */
	size_t written;             /* bytes written to one connection in one turn of the loop */
	unsigned streams;           /* open or still running on one connection */
	unsigned calls;             /* waiting or running in one server */
	uint32_t stream_window;     /* our flow-control window of a stream (RFC 9113, 5.2) */
	uint32_t connection_window; /* our flow-control window of a connection */
	uint32_t frame;             /* payload of one DATA frame, in both directions */
	size_t queued;              /* bytes of one stream that wait for the peer to read */
	size_t header_list;         /* names + values + 32 each (RFC 9113, 6.5.2) */
	size_t message;             /* one encoded request or response, without its prefix */
	size_t messages;            /* bytes received and not used yet, in one server */
	size_t decoded;             /* memory of one decoded message */
	size_t decoded_base;        /* memory of one decoded message, and in addition */
	size_t decoded_per_byte;    /* this for each byte of its encoding */
	unsigned nesting;           /* depth of messages in a message; CSI's deepest is 5 */
	unsigned resets_received;   /* RST_STREAM frames in a burst */
	unsigned resets_per_second; /* RST_STREAM frames a second after the burst */
	unsigned resets_sent;       /* RST_STREAM frames that a peer provokes per period */
	unsigned pings;             /* PING frames received between two of our answers */
	unsigned pending_acks;  /* PING and SETTINGS acknowledgements that the peer does not read */
	unsigned frames;        /* frames that wait for the peer to read */
	unsigned continuations; /* CONTINUATION frames of one header block */
	size_t handshake;       /* bytes received before the TLS handshake is complete */
	unsigned key_updates;   /* TLS key updates per period */
	size_t overhead;        /* bytes per period beyond eight times the payload */
	unsigned log_lines;     /* lines about failed calls, at one server per period */
	int64_t rate_ms;        /* the period */
	int64_t handshake_ms;   /* from connect to the first SETTINGS frame */
	int64_t settings_ack_ms;   /* until our SETTINGS are acknowledged */
	int64_t receive_ms;        /* until a request, or one message of a stream, is complete */
	int64_t write_ms;          /* in which the peer takes no byte */
	int64_t drain_ms;          /* until streams are reset when the server stops */
	int64_t linger_ms;         /* until a finished connection is closed if the peer does not */
	int64_t goaway_ms;         /* between the two GOAWAY frames if the peer does not answer */
	int64_t connect_ms;        /* of a client's connect(2) */
	int64_t happy_eyeballs_ms; /* until a client tries the next address too (RFC 8305, 5) */
	int64_t pause_ms;          /* before a client's first reconnect; it doubles each time */
	int64_t pause_most_ms;     /* before any reconnect */
	int64_t wait_ms;           /* of a client's call for a connection */
	int64_t ping_ms;           /* until a server that let a call time out answers a PING */
	unsigned repeats;          /* of a client's call that the server did not begin */
	int64_t call_ms;           /* of a client's call whose caller set no deadline */
	int64_t silence_ms;        /* of a TCP peer until the first keepalive probe (tcp(7)) */
	int64_t keepalive_interval_ms; /* between two keepalive probes */
	unsigned keepalive_probes;     /* without an answer until the connection is closed */
	int64_t unacked_ms;        /* until a TCP peer acknowledges sent bytes (TCP_USER_TIMEOUT) */
	int64_t accept_ms;         /* of rest when no descriptor is left to accept with */
	unsigned http_connections; /* open HTTP/1.1 connections of the monitor */
	size_t http_request;       /* one HTTP/1.1 request with its header */
	int64_t http_connection_ms; /* from accept to close of an HTTP/1.1 connection */
};

/* For CSI and other services of small messages. */
extern const struct limits limits_default;
/* For a connection that carries one stream of much data. */
extern const struct limits limits_bulk;

#endif
