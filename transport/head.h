/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_HEAD_H
#define ZCSI_HEAD_H

/*
 * Header lists: parse the fields that gRPC uses, one by one as HPACK yields them, and check that
 * the list is well formed (RFC 9113, 8.2 and 8.3; gRPC doc/PROTOCOL-HTTP2.md). The check of nghttp2
 * is off because it refuses the :authority that many CSI clients send; the value of :authority is
 * ignored here. Only the fields that are used are stored; other metadata is checked and dropped.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define HEAD_PATH_MAX 160 /* longer than the path of any method; a longer path is ignored */

struct head {
	size_t size;            /* bytes of names and values, plus 32 per field */
	uint32_t seen;          /* bit set of the known fields received in this block */
	bool too_large;         /* true if the list exceeded the limit and the rest was not read */
	bool regular;           /* true once a field other than a pseudo-header was received */
	bool trailers;          /* true if this block follows the message */
	bool malformed;         /* true if the stream is to be reset with PROTOCOL_ERROR */
	bool grpc;              /* true if content-type is application/grpc */
	bool compressed;        /* true if grpc-encoding is not identity */
	int64_t content_length; /* value of content-length; -1: absent */

	/* Fields of a request. */
	bool post;          /* true if :method is POST */
	bool ambiguous;     /* true if :authority or host occurs more than once */
	int64_t timeout_ms; /* value of grpc-timeout; INT64_MAX: absent; -1: malformed */
	char path[HEAD_PATH_MAX];

	/* Fields of a response. */
	int http_status;     /* value of :status */
	int grpc_status;     /* value of grpc-status; -1: absent */
	char *message;       /* buffer of the caller for the decoded grpc-message; may be NULL */
	size_t message_size; /* size of the buffer for grpc-message */
};

/*
 * Prepare for a header list. The head is zeroed before the first call. message, message_size and
 * size keep their values: an interim response counts against the same limit as the final one.
 */
void head_init(struct head *head);

/*
 * Parse one field. Returns -1 if the list exceeds limit bytes with it: the caller passes no further
 * field. Other errors are recorded in head and return 0.
 */
int head_field(struct head *head, const uint8_t *name, size_t name_size, const uint8_t *value,
	       size_t value_size, size_t limit);

/*
 * Check the first header block of a request. Returns 0 for a gRPC call, or -1: then answer with the
 * status *ret_http_status and *err; or, if the status is 0, reset the stream with PROTOCOL_ERROR.
 */
int head_check_request(const struct head *head, int *ret_http_status, struct error *err);

/* Prepare for the block after the message. Values of the first block are kept. */
void head_begin_trailers(struct head *head);

/*
 * Evaluate the last header block of a response. Returns 0 for OK, else -1 with err->code set.
 * Before the call err->text must hold the grpc-message, or be empty; if empty, it is filled in.
 */
int head_outcome(const struct head *head, struct error *err);

#endif
