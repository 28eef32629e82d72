/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_WIRE_H
#define ZCSI_WIRE_H

/*
 * gRPC's small encodings: the message prefix, grpc-timeout, the percent encoding of grpc-message,
 * and the gRPC codes for HTTP and HTTP/2 errors (gRPC doc/PROTOCOL-HTTP2.md,
 * doc/http-grpc-status-mapping.md). The functions do no I/O. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

#define WIRE_PREFIX_SIZE 5 /* a flag byte, then the length as 32 bits, big endian */

/* A gRPC message that is received in pieces of any size. A zeroed message is empty. */
struct wire_message {
	uint8_t prefix[WIRE_PREFIX_SIZE];
	uint8_t prefix_size; /* number of prefix bytes received */
	uint32_t length;     /* length in the prefix; valid once prefix_size is 5 */
	size_t size;         /* number of message bytes in data */
	size_t capacity;     /* bytes allocated for data */
	uint8_t *data;       /* message bytes; grows as they are received, up to length */
};

/*
 * Take up to n bytes, not beyond the end of the message. Returns the number of bytes taken, or -1:
 * ERR_RESOURCE_EXHAUSTED as soon as the prefix declares more than limit bytes, ERR_UNIMPLEMENTED
 * for a compressed message, ERR_INTERNAL for an invalid flag byte.
 */
ssize_t wire_message_take(struct wire_message *message, const uint8_t *bytes, size_t n,
			  size_t limit, struct error *err);
/* True if prefix and message are complete. */
bool wire_message_whole(const struct wire_message *message);
/* Free the data. The message is empty afterwards. */
void wire_message_fini(struct wire_message *message);
/* Write the prefix of an uncompressed message of length bytes. */
void wire_prefix_write(uint8_t prefix[WIRE_PREFIX_SIZE], size_t length);

#define WIRE_TIMEOUT_SIZE 10

/* Parse a grpc-timeout such as "1500m". Returns milliseconds, rounded up; -1 if malformed. */
int64_t wire_timeout_parse(const char *text, size_t length);
/* Write ms as a grpc-timeout, in the finest unit from ms on that needs at most eight digits. */
void wire_timeout_format(int64_t ms, char ret_text[WIRE_TIMEOUT_SIZE]);

/* Percent-encode text for grpc-message, cut to size - 1 bytes. Returns the length. */
size_t wire_percent_encode(const char *text, char *ret_text, size_t size);
/* Decode a grpc-message, cut to size - 1 bytes. Invalid escapes are kept unchanged. */
void wire_percent_decode(const uint8_t *text, size_t length, char *ret_text, size_t size);

/* Returns the gRPC code for an HTTP status in an answer without grpc-status. */
enum error_code wire_code_of_http(int status);
/* Returns the gRPC code for a stream that was reset with an HTTP/2 error code. */
enum error_code wire_code_of_reset(uint32_t http2_error);

/* True if the n bytes are UTF-8 (RFC 3629) without a NUL byte. */
bool wire_is_text(const uint8_t *bytes, size_t n);

#endif
