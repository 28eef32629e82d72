/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_HEAD_H
#define ZCSI_HEAD_H

/*
 * Header lists: what gRPC reads from one, field by field as HPACK yields them, and whether it is
 * well formed (RFC 9113 8.2, 8.3; gRPC doc/PROTOCOL-HTTP2.md). nghttp2's own check is off because
 * it refuses the :authority that many CSI clients send; :authority is never looked at here.
 * Nothing is stored but what is used; metadata is checked and dropped.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define HEAD_PATH_MAX 160 /* longer than any method's */

struct head {
	size_t size;            /* names + values + 32 each */
	uint32_t seen;          /* bits of known fields */
	bool too_large;         /* than the limit: the rest was not read */
	bool regular;           /* a field that is no pseudo-header came */
	bool trailers;          /* this block follows the message */
	bool malformed;         /* reset the stream with PROTOCOL_ERROR */
	bool grpc;              /* content-type application/grpc */
	bool compressed;        /* grpc-encoding other than identity */
	int64_t content_length; /* -1: not said */

	/* of a request */
	bool post;
	bool ambiguous;     /* several :authority or host */
	int64_t timeout_ms; /* INT64_MAX: none; -1: not a timeout */
	char path[HEAD_PATH_MAX];

	/* of a response */
	int http_status;
	int grpc_status; /* -1: not said */
	char *message;   /* where the decoded grpc-message goes, message_size bytes */
	size_t message_size;
};

/*
 * Zeroed before the first time. Where the message goes stays as it is, and the size: interim
 * responses count together with the one that follows.
 */
void head_init(struct head *head);

/* Take one field. -1 when the list is now larger than limit: take no more. */
int head_field(struct head *head, const uint8_t *name, size_t name_size, const uint8_t *value,
	       size_t value_size, size_t limit);

/*
 * Judge a request's first block. 0: it is a gRPC call. -1: answer with *ret_http_status and *err,
 * or, when that is 0, reset the stream with PROTOCOL_ERROR.
 */
int head_check_request(const struct head *head, int *ret_http_status, struct error *err);

/* A block that follows the message begins; what the first said stays. */
void head_begin_trailers(struct head *head);

/*
 * The outcome in a response's last header block. Returns 0 for OK, else -1 with *err filled, whose
 * text holds the grpc-message already, or is empty.
 */
int head_outcome(const struct head *head, struct error *err);

#endif
