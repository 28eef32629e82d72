/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_LIMITS_H
#define ZCSI_LIMITS_H

/*
 * What a peer may make us hold, do or wait for: every bound of the transport in one table.
 * Sizes are bytes, times milliseconds.
 */

#include <stddef.h>
#include <stdint.h>

struct limits {
	unsigned connections;   /* at one server */
	unsigned streams;       /* open or still running, on one connection */
	unsigned calls;         /* waiting or running, in one server */
	uint32_t stream_window; /* HTTP/2 flow control, ours */
	uint32_t connection_window;
	size_t header_list;       /* RFC 9113 6.5.2: names + values + 32 each */
	size_t message;           /* one request or response, from its prefix */
	size_t messages;          /* half-received requests, in one server */
	size_t decoded;           /* of one message in memory, at most */
	unsigned resets_received; /* burst, then */
	unsigned resets_per_second;
	unsigned resets_sent;   /* that a peer may provoke in ten seconds */
	unsigned pings;         /* between two of our answers */
	unsigned pending_acks;  /* PING and SETTINGS acknowledgements the peer does not read */
	unsigned frames;        /* that wait for a peer to read */
	unsigned continuations; /* frames of one header block */
	size_t overhead;        /* an eighth of what comes may pass the payload by this, in 10 s */
	int64_t handshake_ms;   /* connection preface and first SETTINGS */
	int64_t settings_ack_ms;
	int64_t receive_ms; /* a unary request, from its HEADERS to END_STREAM */
	int64_t write_ms;   /* without the peer taking a byte */
	int64_t goaway_ms;  /* between the two GOAWAYs, unless the peer answers sooner */
	int64_t connect_ms; /* a client's connect */
	int64_t call_ms;    /* a client's call whose caller set no deadline */
};

extern const struct limits limits_default;

#endif
