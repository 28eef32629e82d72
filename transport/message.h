/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_MESSAGE_H
#define ZCSI_MESSAGE_H

/* protobuf messages in and out of an arena, with the checks that protobuf-c leaves out. */

#include <stddef.h>
#include <stdint.h>
#include <protobuf-c/protobuf-c.h>

#include "common/error.h"
#include "common/mem.h"
#include "transport/chunk.h"
#include "transport/limits.h"

/*
 * Decode into the arena, which may grow to its cap. -1: ERR_INVALID_ARGUMENT for a string that is
 * not UTF-8 or holds a NUL, naming the field; ERR_INTERNAL for what is no such message;
 * ERR_RESOURCE_EXHAUSTED when it does not fit under the cap.
 */
int message_decode(struct arena *arena, const ProtobufCMessageDescriptor *type,
		   const uint8_t *bytes, size_t n, ProtobufCMessage **ret, struct error *err);

/* How much memory n encoded bytes may become. */
size_t message_decoded_max(size_t n, const struct limits *limits);

/* Encode with its length prefix: in memory of its own, or in the arena. */
struct chunk *message_chunk(const ProtobufCMessage *message);
void message_encode(struct arena *arena, const ProtobufCMessage *message, uint8_t **ret,
		    size_t *ret_size);

/* The bytes of a field, in place; none if it is not there. -1: it is no message. */
int message_bytes(const uint8_t *bytes, size_t n, unsigned field, const uint8_t **ret,
		  size_t *ret_size);

/* An initialised message of a type, in the arena. */
void *message_new(struct arena *arena, const ProtobufCMessageDescriptor *type);

#endif
