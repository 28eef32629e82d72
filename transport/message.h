/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_MESSAGE_H
#define ZCSI_MESSAGE_H

/* Decoding and encoding of protobuf messages, with the checks that protobuf-c leaves out. */

#include <stddef.h>
#include <stdint.h>
#include <protobuf-c/protobuf-c.h>

#include "common/error.h"
#include "common/mem.h"
#include "transport/chunk.h"
#include "transport/limits.h"

/*
 * Decode n bytes as a message of a type into the arena, which may grow to its cap. Returns -1 with
 * ERR_INVALID_ARGUMENT and the field's name if a string is not UTF-8 or contains a NUL, with
 * ERR_INTERNAL if the bytes are not such a message, or with ERR_RESOURCE_EXHAUSTED if the message
 * exceeds the cap.
 */
int message_decode(struct arena *arena, const ProtobufCMessageDescriptor *type,
		   const uint8_t *bytes, size_t n, ProtobufCMessage **ret, struct error *err);

/* Returns the bytes of memory that a message of n encoded bytes may use when decoded. */
size_t message_decoded_max(size_t n, const struct limits *limits);

/* Returns the encoded message with its gRPC prefix, in a chunk of its own. */
struct chunk *message_chunk(const ProtobufCMessage *message);
/* Encode a message with its gRPC prefix into the arena, as *ret_size bytes at *ret. */
void message_encode(struct arena *arena, const ProtobufCMessage *message, uint8_t **ret,
		    size_t *ret_size);

/*
 * Find a length-delimited field, given by its number, in an encoded message. *ret points into
 * bytes; *ret_size is 0 if the field is absent. Returns -1 if the bytes are not a message.
 */
int message_bytes(const uint8_t *bytes, size_t n, unsigned field, const uint8_t **ret,
		  size_t *ret_size);

/* Returns an initialised message of a type, in the arena. */
void *message_new(struct arena *arena, const ProtobufCMessageDescriptor *type);

#endif
