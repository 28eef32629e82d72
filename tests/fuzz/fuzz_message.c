/* SPDX-License-Identifier: MPL-2.0 */
/*
 * protobuf messages, nested ones with maps, lists and oneofs. A decoded message fits into the limit
 * of memory, its strings are valid text, and after it was encoded and decoded again it is the same.
 */
#include <string.h>

#include "proto/agent.h"
#include "proto/csi.h"
#include "tests/fuzz/fuzz.h"
#include "transport/message.h"
#include "transport/wire.h"

static const ProtobufCMessageDescriptor *const types[] = {
	&csi__v1__create_volume_request__descriptor,
	&csi__v1__node_publish_volume_request__descriptor,
	&csi__v1__create_volume_group_snapshot_response__descriptor,
	&zcsi__v1__list_datasets_response__descriptor,
};

static void check_value(const ProtobufCFieldDescriptor *field, const void *value);

/* Check every string of a message, at any depth. */
static void check_strings(const ProtobufCMessage *message)
{
	const char *bytes = (const char *)message;

	for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
		const void *member = bytes + field->offset;
		uint32_t which = field->id;
		size_t n = 0;
		if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
			memcpy(&which, bytes + field->quantifier_offset, sizeof(which));
		if (which != field->id)
			continue;
		if (field->label != PROTOBUF_C_LABEL_REPEATED) {
			check_value(field, member);
			continue;
		}
		memcpy(&n, bytes + field->quantifier_offset, sizeof(n));
		for (size_t k = 0; k < n; k++)
			check_value(field, *(void *const *const *)member + k);
	}
}

static void check_value(const ProtobufCFieldDescriptor *field, const void *value)
{
	bool is_string = field->type == PROTOBUF_C_TYPE_STRING;
	const void *pointer;

	if (!is_string && field->type != PROTOBUF_C_TYPE_MESSAGE)
		return;
	memcpy(&pointer, value, sizeof(pointer));
	if (is_string && pointer)
		MUST(wire_is_text(pointer, strlen(pointer)));
	else if (pointer)
		check_strings(pointer);
}

static void check_round_trip(struct arena *arena, const ProtobufCMessage *message)
{
	ProtobufCMessage *again;
	uint8_t *bytes, *bytes_again;
	size_t n, n_again;
	struct error err;

	arena->cap = SIZE_MAX;
	message_encode(arena, message, &bytes, &n);
	MUST(n >= WIRE_PREFIX_SIZE);
	MUST(message_decode(arena, message->descriptor, bytes + WIRE_PREFIX_SIZE,
			    n - WIRE_PREFIX_SIZE, &again, &err) == 0);
	message_encode(arena, again, &bytes_again, &n_again);
	MUST(n == n_again && memcmp(bytes, bytes_again, n) == 0);
}

void fuzz_one(const uint8_t *bytes, size_t n)
{
	struct input input = input_of(bytes, n);
	uint8_t choice = input_decision(&input);
	const ProtobufCMessageDescriptor *type = types[choice % COUNT(types)];
	size_t cap = choice & 128 ? (size_t)(choice & 127) * 64 : (size_t)1 << 20;
	ProtobufCMessage *message;
	struct arena arena;
	struct error err = {0};

	arena_init(&arena, cap);
	int result = message_decode(&arena, type, input.at, input_left(&input), &message, &err);
	MUST(arena.used <= cap);
	if (result < 0) {
		fuzz_check_error(&err);
	} else {
		check_strings(message);
		check_round_trip(&arena, message);
	}
	arena_fini(&arena);
}
