/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_LIMITS_H
#define ZCSI_LIMITS_H

/*
 * What a peer may make us hold, do or wait for: every bound of the transport in one table. Sizes
 * are bytes, times milliseconds. tests/limits has the attack that each of them stops, and the test
 * that fails without it.
 */

#include <stddef.h>
#include <stdint.h>

struct limits {
	unsigned connections; /* at one server */
	unsigned strangers;   /* of them, those that have not begun to speak HTTP/2 */
	unsigned accepts;     /* of connections, reads of one, bytes written to it: */
	unsigned reads;
	size_t written;         /* before it is somebody else's turn */
	unsigned streams;       /* open or still running, on one connection */
	unsigned calls;         /* waiting or running, in one server */
	uint32_t stream_window; /* HTTP/2 flow control, ours */
	uint32_t connection_window;
	uint32_t frame;           /* of DATA, at most, both ways */
	size_t queued;            /* on one stream, until the peer takes it */
	size_t header_list;       /* RFC 9113 6.5.2: names + values + 32 each */
	size_t message;           /* one request or response, from its prefix */
	size_t messages;          /* received and not used yet, in one server */
	size_t decoded;           /* of one message in memory; and no more than */
	size_t decoded_base;      /* this and */
	size_t decoded_per_byte;  /* so much for each of its bytes */
	unsigned nesting;         /* of messages in a message; CSI's deepest is 5 */
	unsigned resets_received; /* burst, then */
	unsigned resets_per_second;
	unsigned resets_sent;   /* that a peer may provoke in rate_ms */
	unsigned pings;         /* between two of our answers */
	unsigned pending_acks;  /* PING and SETTINGS acknowledgements the peer does not read */
	unsigned frames;        /* that wait for a peer to read */
	unsigned continuations; /* frames of one header block */
	size_t handshake;       /* bytes of TLS before it is over: certificates, mostly */
	unsigned key_updates;   /* of TLS, in rate_ms */
	size_t overhead; /* an eighth of what comes may pass the payload by this, in rate_ms */
	unsigned lines;  /* of log about calls that failed, at one server in rate_ms */
	int64_t rate_ms;
	int64_t handshake_ms; /* connection preface and first SETTINGS */
	int64_t settings_ack_ms;
	int64_t receive_ms; /* a request of one message, to END_STREAM; one of many, to its end */
	int64_t write_ms;   /* without the peer taking a byte */
	int64_t drain_ms;   /* for streams to end by themselves when the server stops */
	int64_t linger_ms;  /* for the peer to hang up, when all is said */
	int64_t goaway_ms;  /* between the two GOAWAYs, unless the peer answers sooner */
	int64_t connect_ms; /* a client's connect */
	int64_t beside_ms;  /* before it tries the next address beside (RFC 8305 5) */
	int64_t pause_ms;   /* before it connects again: the first time, then longer, up to */
	int64_t pause_most_ms;
	int64_t wait_ms;    /* a client's call for a connection */
	int64_t ping_ms;    /* for the answer to a PING, from a peer that let a call time out */
	unsigned repeats;   /* of a client's call that the server did nothing about */
	int64_t call_ms;    /* a client's call whose caller set no deadline */
	int64_t silence_ms; /* of a TCP peer, before the kernel asks whether it lives, */
	int64_t asking_ms;  /* again after this, */
	unsigned questions; /* and gives it up after so many without an answer */
	int64_t unacked_ms; /* for a TCP peer to acknowledge what it was sent */
	int64_t accept_ms;  /* of rest, when there is no descriptor to accept with */
	unsigned visits;    /* open, of HTTP/1.1 */
	size_t visit;       /* the request of one, its header included */
	int64_t visit_ms;   /* from accept to close */
};

extern const struct limits limits_default;
/* For a connection that carries one stream of much data. */
extern const struct limits limits_bulk;

#endif
