/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Decoding protobuf messages into an arena, and encoding them.
 *
 * protobuf-c accepts any bytes as a string and cuts it at its first NUL, so the strings of the
 * encoded message are checked before it is decoded.
 *
 * Invariant: every string of a decoded message is UTF-8 and complete.
 */
#include "transport/message.h"

#include <stdbool.h>

#include "transport/wire.h"

struct cursor {
	const uint8_t *at, *end;
};

/* Returns a cursor over n bytes; bytes may be NULL if n is 0. */
static struct cursor cursor_of(const uint8_t *bytes, size_t n)
{
	return (struct cursor){bytes, n ? bytes + n : bytes};
}

static bool read_varint(struct cursor *c, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; shift < 70 && c->at < c->end; shift += 7) {
		uint8_t byte = *c->at++;
		if (shift < 64)
			*ret |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/*
 * Skip the value of a field. *ret_value is the content of a length-delimited value, and empty for
 * other wire types. Returns false if the value is malformed.
 */
static bool read_value(struct cursor *c, unsigned wire_type, struct cursor *ret_value)
{
	uint64_t n = 0;

	*ret_value = (struct cursor){c->at, c->at};
	switch (wire_type) {
	case PROTOBUF_C_WIRE_TYPE_VARINT:
		return read_varint(c, &n);
	case PROTOBUF_C_WIRE_TYPE_64BIT:
		n = 8;
		break;
	case PROTOBUF_C_WIRE_TYPE_32BIT:
		n = 4;
		break;
	case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
		if (!read_varint(c, &n))
			return false;
		break;
	default:
		return false;
	}
	if (n > (uint64_t)(c->end - c->at))
		return false;
	if (wire_type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
		*ret_value = (struct cursor){c->at, c->at + n};
	c->at += n;
	return true;
}

static int check_strings(const ProtobufCMessageDescriptor *type, struct cursor c, unsigned depth,
			 struct error *err)
{
	if (depth > limits_default.nesting)
		return fail(err, ERR_INVALID_ARGUMENT, "the message is nested too deeply");
	while (c.at < c.end) {
		struct cursor value;
		uint64_t tag;
		/* Field numbers start at 1. A tag is the number times 8 plus the wire type. */
		if (!read_varint(&c, &tag) || tag < 8 || !read_value(&c, tag & 7, &value))
			return fail(err, ERR_INTERNAL, "the message is not a %s", type->name);
		const ProtobufCFieldDescriptor *field =
			protobuf_c_message_descriptor_get_field(type, (unsigned)(tag >> 3));
		if (!field || (tag & 7) != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
			continue;
		if (field->type == PROTOBUF_C_TYPE_STRING &&
		    !wire_is_text(value.at, (size_t)(value.end - value.at)))
			return fail(err, ERR_INVALID_ARGUMENT,
				    "field '%s' of %s is not UTF-8 text without NUL bytes",
				    field->name, type->short_name);
		if (field->type == PROTOBUF_C_TYPE_MESSAGE &&
		    check_strings(field->descriptor, value, depth + 1, err) < 0)
			return -1;
	}
	return 0;
}

struct decoder {
	struct arena *arena;
	bool full; /* true if the arena refused an allocation */
};

static void *pb_alloc(void *data, size_t size)
{
	struct decoder *decoder = data;
	void *memory = arena_try(decoder->arena, size);

	decoder->full |= !memory;
	return memory;
}

static void pb_free(void *data, void *memory)
{
	(void)data;
	(void)memory;
}

int message_decode(struct arena *arena, const ProtobufCMessageDescriptor *type,
		   const uint8_t *bytes, size_t n, ProtobufCMessage **ret, struct error *err)
{
	struct decoder decoder = {.arena = arena};
	ProtobufCAllocator allocator = {pb_alloc, pb_free, &decoder};

	if (check_strings(type, cursor_of(bytes, n), 0, err) < 0)
		return -1;
	*ret = protobuf_c_message_unpack(type, &allocator, n, bytes);
	if (*ret)
		return 0;
	if (decoder.full)
		return fail(err, ERR_RESOURCE_EXHAUSTED, "the %s is too large in memory",
			    type->short_name);
	return fail(err, ERR_INTERNAL, "the message is not a %s", type->name);
}

size_t message_decoded_max(size_t n, const struct limits *limits)
{
	size_t max = limits->decoded_base + limits->decoded_per_byte * n;

	return max < limits->decoded ? max : limits->decoded;
}

static void encode(const ProtobufCMessage *message, size_t length, uint8_t *bytes)
{
	wire_prefix_write(bytes, length);
	protobuf_c_message_pack(message, bytes + WIRE_PREFIX_SIZE);
}

struct chunk *message_chunk(const ProtobufCMessage *message)
{
	size_t length = protobuf_c_message_get_packed_size(message);
	uint8_t *bytes;
	struct chunk *chunk = chunk_new(WIRE_PREFIX_SIZE + length, &bytes);

	encode(message, length, bytes);
	return chunk;
}

void message_encode(struct arena *arena, const ProtobufCMessage *message, uint8_t **ret,
		    size_t *ret_size)
{
	size_t length = protobuf_c_message_get_packed_size(message);

	*ret = arena_alloc(arena, WIRE_PREFIX_SIZE + length);
	encode(message, length, *ret);
	*ret_size = WIRE_PREFIX_SIZE + length;
}

int message_bytes(const uint8_t *bytes, size_t n, unsigned field, const uint8_t **ret,
		  size_t *ret_size)
{
	struct cursor c = cursor_of(bytes, n), value = c;
	uint64_t tag;

	*ret = bytes;
	*ret_size = 0;
	while (c.at < c.end) {
		if (!read_varint(&c, &tag) || !read_value(&c, tag & 7, &value))
			return -1;
		if (tag >> 3 != field)
			continue;
		*ret = value.at;
		*ret_size = (size_t)(value.end - value.at);
	}
	return 0;
}

void *message_new(struct arena *arena, const ProtobufCMessageDescriptor *type)
{
	void *message = arena_alloc(arena, type->sizeof_message);

	protobuf_c_message_init(type, message);
	return message;
}
