/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_FUZZ_FRAMES_H
#define ZCSI_FUZZ_FRAMES_H

/* Checks the bytes that the code under test sends: they are HTTP/2 frames, each of a valid form and
 * allowed at that time (RFC 9113 sections 5.1 and 6), whatever the peer sent. */

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
	size_t data; /* payload bytes of DATA */
};

/* The state of a reader; zeroed, it is the state before the first byte of a server. */
struct frames {
	bool is_client;
	size_t preface; /* bytes of a client's preface read so far */
	uint8_t head[FRAME_HEAD];
	size_t n_head, n_payload; /* bytes of the frame's head read; payload bytes left */
	size_t n;                 /* number of frames read */
	bool continues;           /* a header block is not complete */
	struct frame_stream streams[FRAMES_STREAMS];
};

/* Read the next n bytes; a violation aborts the process. */
void frames_take(struct frames *frames, const uint8_t *bytes, size_t n);
const struct frame_stream *frames_stream(const struct frames *frames, uint32_t id);

#endif
