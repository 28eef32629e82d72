/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_FUZZ_FRAMES_H
#define ZCSI_FUZZ_FRAMES_H

/*
 * What our side of a connection says: HTTP/2 frames, each of a legal form and at a legal time
 * (RFC 9113 5.1, 6), whatever the other side said.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEAD      9
#define FRAMES_STREAMS  512
#define FRAMES_PREFACE  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define FRAMES_PREFACE_ 24

struct frame_stream {
	uint32_t id;
	bool headed, ended, reset;
	size_t data; /* bytes */
};

/* Zeroed is the beginning of a server's. */
struct frames {
	bool is_client;
	size_t preface; /* bytes of a client's, so far */
	uint8_t head[FRAME_HEAD];
	size_t n_head, n_payload; /* of the frame that is coming: had, and to come */
	size_t n;                 /* frames */
	bool continues;           /* a header block is not complete */
	struct frame_stream streams[FRAMES_STREAMS];
};

/* The next bytes. */
void frames_take(struct frames *frames, const uint8_t *bytes, size_t n);
const struct frame_stream *frames_stream(const struct frames *frames, uint32_t id);

#endif
