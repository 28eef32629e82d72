/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_WIRE_H
#define ZCSI_WIRE_H

/*
 * gRPC's small encodings, pure: the message prefix, grpc-timeout, the percent coding of
 * grpc-message, and the codes that HTTP and HTTP/2 outcomes stand for (gRPC
 * doc/PROTOCOL-HTTP2.md, doc/http-grpc-status-mapping.md).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

#define WIRE_PREFIX_SIZE 5 /* a flag byte, then the length in 32 bits, big endian */

/* A gRPC message as it arrives, in pieces of any size. All zeros is the empty state. */
struct wire_message {
	uint8_t prefix[WIRE_PREFIX_SIZE];
	uint8_t prefix_size; /* bytes of it seen */
	uint32_t length;     /* declared; known when the prefix is whole */
	size_t size;         /* bytes in data */
	size_t capacity;
	uint8_t *data; /* grows with what arrives, never past length */
};

/*
 * Take up to n bytes, not past the end of the message: how many. -1: ERR_RESOURCE_EXHAUSTED when
 * the declared length passes the limit (said from the prefix alone), ERR_UNIMPLEMENTED for a
 * compressed message, ERR_INTERNAL for a bad flag.
 */
ssize_t wire_message_take(struct wire_message *message, const uint8_t *bytes, size_t n,
			  size_t limit, struct error *err);
bool wire_message_whole(const struct wire_message *message);
void wire_message_fini(struct wire_message *message);
void wire_prefix_write(uint8_t prefix[WIRE_PREFIX_SIZE], size_t length);

#define WIRE_TIMEOUT_SIZE 10

/* "1500m" -> 1500, rounded up to milliseconds; -1 when it is no timeout. */
int64_t wire_timeout_parse(const char *text, size_t length);
/* Milliseconds, or else the next unit that fits into eight digits, rounded up. */
void wire_timeout_format(int64_t ms, char ret_text[WIRE_TIMEOUT_SIZE]);

/* Encode text for grpc-message, cut where size (at least 1) ends. Returns the length. */
size_t wire_percent_encode(const char *text, char *ret_text, size_t size);
/* The way back; what is not a valid escape stays as it is. Cut where size ends. */
void wire_percent_decode(const uint8_t *text, size_t length, char *ret_text, size_t size);

/* A code for an HTTP status without grpc-status, and for an RST_STREAM. */
enum error_code wire_code_of_http(int status);
enum error_code wire_code_of_reset(uint32_t http2_error);

/* Is it UTF-8 (RFC 3629) without a NUL byte? */
bool wire_is_text(const uint8_t *bytes, size_t n);

#endif
