/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of message_decode(): texts are valid UTF-8, messages are complete, and memory is bounded.
 */
#include "tests/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "proto/agent.h"
#include "proto/csi.h"
#include "transport/message.h"
#include "transport/wire.h"

#define CAP ((size_t)1 << 20)

/* Decode the bytes as a message of the type, with at most CAP bytes of memory. *ret is in the
 * arena, which the caller frees. */
static int decode_as(struct arena *arena, const ProtobufCMessageDescriptor *type, const void *bytes,
		     size_t n, ProtobufCMessage **ret, struct error *err)
{
	*err = (struct error){0};
	*ret = NULL;
	arena_init(arena, CAP);
	return message_decode(arena, type, bytes, n, ret, err);
}

static void assert_refused(const ProtobufCMessageDescriptor *type, const void *bytes, size_t n,
			   enum error_code code)
{
	struct arena arena;
	struct error err;
	ProtobufCMessage *message;

	assert_int_equal(decode_as(&arena, type, bytes, n, &message, &err), -1);
	assert_int_equal(err.code, code);
	assert_true(*err.text != '\0');
	arena_fini(&arena);
}

static void message_survives_encoding_and_decoding(void **state)
{
	(void)state;
	struct arena arena;
	struct error err;
	ProtobufCMessage *back;
	uint8_t *bytes;
	size_t n;

	arena_init(&arena, CAP);
	CreateVolumeRequest *sent = new_create_volume_request(&arena);
	CreateVolumeRequest_ParametersEntry *entry =
		new_create_volume_request_parameters_entry(&arena);
	entry->key = (char *)"zfs.compression";
	entry->value = (char *)"gr\xc3\xbcn";
	sent->name = (char *)"vol \xf0\x9f\x98\x80";
	sent->n_parameters = 1;
	sent->parameters = &entry;
	message_encode(&arena, &sent->base, &bytes, &n);
	assert_int_equal(bytes[0], 0);
	assert_int_equal(bytes[4], n - WIRE_PREFIX_SIZE);

	assert_int_equal(message_decode(&arena, sent->base.descriptor, bytes + WIRE_PREFIX_SIZE,
					n - WIRE_PREFIX_SIZE, &back, &err),
			 0);
	CreateVolumeRequest *got = (CreateVolumeRequest *)back;
	assert_string_equal(got->name, sent->name);
	assert_int_equal(got->n_parameters, 1);
	assert_string_equal(got->parameters[0]->key, entry->key);
	assert_string_equal(got->parameters[0]->value, entry->value);
	arena_fini(&arena);
}

static void an_empty_message_is_valid(void **state)
{
	(void)state;
	struct arena arena;
	struct error err;
	ProtobufCMessage *message;

	assert_int_equal(
		decode_as(&arena, &csi__v1__probe_request__descriptor, NULL, 0, &message, &err), 0);
	arena_fini(&arena);
}

static void unknown_fields_are_skipped(void **state)
{
	(void)state;
	/* unknown field 1000 is a varint, unknown field 1001 is not text, field 1 is "a" */
	static const uint8_t bytes[] = {0xc0, 0x3e, 0x96, 0x01, 0xca, 0x3e,
					0x02, 0xff, 0x00, 0x0a, 0x01, 'a'};
	struct arena arena;
	struct error err;
	ProtobufCMessage *message;

	assert_int_equal(decode_as(&arena, &zcsi__v1__get_dataset_request__descriptor, bytes,
				   sizeof(bytes), &message, &err),
			 0);
	assert_string_equal(((GetDatasetRequest *)message)->id, "a");
	arena_fini(&arena);
}

static void text_is_checked_wherever_it_is(void **state)
{
	(void)state;
	static const struct {
		const ProtobufCMessageDescriptor *type;
		const char *bytes;
		size_t n;
	} cases[] = {
#define CASE(type, bytes) {&(type), bytes, sizeof(bytes) - 1}
		/* a NUL byte, and bytes that are no UTF-8, in a field of the message */
		CASE(zcsi__v1__get_dataset_request__descriptor, "\x0a\x02"
								"a\0"),
		CASE(zcsi__v1__get_dataset_request__descriptor, "\x0a\x02\xc3\x28"),
		/* invalid text that is overwritten, because the field is given twice */
		CASE(zcsi__v1__get_dataset_request__descriptor, "\x0a\x01\xff\x0a\x01"
								"a"),
		/* invalid text in a nested message */
		CASE(zcsi__v1__get_dataset_response__descriptor, "\x0a\x03\x0a\x01\xff"),
		/* invalid text in the second element of a repeated message */
		CASE(zcsi__v1__list_datasets_response__descriptor, "\x0a\x03\x0a\x01"
								   "a\x0a\x03\x0a\x01\x80"),
		/* invalid text in a message that is nested two levels deep */
		CASE(zcsi__v1__list_datasets_response__descriptor, "\x0a\x05\x3a\x03\x0a\x01\xfe"),
		/* invalid text as the key of a map, a NUL byte in the value of a map */
		CASE(csi__v1__create_volume_request__descriptor, "\x22\x06\x0a\x01\xff\x12\x01"
								 "v"),
		CASE(csi__v1__create_volume_request__descriptor, "\x22\x06\x0a\x01"
								 "k\x12\x01\0"),
#undef CASE
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_refused(cases[i].type, cases[i].bytes, cases[i].n, ERR_INVALID_ARGUMENT);
}

static void refusal_names_the_field(void **state)
{
	(void)state;
	struct arena arena;
	struct error err;
	ProtobufCMessage *message;

	assert_int_equal(decode_as(&arena, &zcsi__v1__unpublish_dataset_request__descriptor,
				   "\x12\x01\xff", 3, &message, &err),
			 -1);
	assert_non_null(strstr(err.text, "'node_id'"));
	arena_fini(&arena);
}

static const struct {
	const char *bytes;
	size_t n;
} broken[] = {
#define CASE(bytes)                                                                                \
	{                                                                                          \
		bytes, sizeof(bytes) - 1                                                           \
	}
	/* the length of a text is missing */
	CASE("\x0a"),
	/* the text is cut off */
	CASE("\x0a\x05"
	     "abc"),
	/* the length of a text is 2^64 - 1 bytes */
	CASE("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
	/* the varint has no end */
	CASE("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
	/* the varint is missing */
	CASE("\x10"),
	/* the varint is cut off */
	CASE("\x10\x80"),
	/* a value of 64 bits is cut off */
	CASE("\x11\0\0\0\0"),
	/* a value of 32 bits is cut off */
	CASE("\x15\0\0"),
	/* the tag is cut off */
	CASE("\x80"),
	/* a varint is given for the field `id`, which is a text */
	CASE("\x08\x01"),
	/* a value of 64 bits is given for the field `id`, which is a text */
	CASE("\x09\0\0\0\0\0\0\0\0"),
	/* a group, which proto3 does not have */
	CASE("\x0b\x0c"),
	/* wire type 6 does not exist */
	CASE("\x0e\x01"),
	/* wire type 7 does not exist */
	CASE("\x0f\x01"),
	/* field number 0 is invalid */
	CASE("\x02\x01"
	     "a"),
	/* the nested message is cut off */
	CASE("\x1a\x02\x0a\x05"),
#undef CASE
};

static void broken_messages_are_refused(void **state)
{
	(void)state;

	for (size_t i = 0; i < COUNT(broken); i++) {
		struct arena arena;
		struct error err;
		ProtobufCMessage *message;
		int result = decode_as(&arena, &zcsi__v1__create_dataset_request__descriptor,
				       broken[i].bytes, broken[i].n, &message, &err);
		if (result == 0)
			print_error("case %zu was accepted\n", i);
		assert_int_equal(result, -1);
		arena_fini(&arena);
	}
}

/* A type that contains itself in field 1; no message of CSI does. */
struct nest {
	ProtobufCMessage base;
	struct nest *inner;
};

extern const ProtobufCMessageDescriptor nest_type;
static const ProtobufCFieldDescriptor nest_field = {.name = "inner",
						    .id = 1,
						    .label = PROTOBUF_C_LABEL_OPTIONAL,
						    .type = PROTOBUF_C_TYPE_MESSAGE,
						    .offset = offsetof(struct nest, inner),
						    .descriptor = &nest_type};
static const unsigned nest_by_name[] = {0};
static const ProtobufCIntRange nest_ranges[] = {{1, 0}, {0, 1}};
const ProtobufCMessageDescriptor nest_type = {.magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
					      .name = "Nest",
					      .short_name = "Nest",
					      .c_name = "Nest",
					      .package_name = "",
					      .sizeof_message = sizeof(struct nest),
					      .n_fields = 1,
					      .fields = &nest_field,
					      .fields_sorted_by_name = nest_by_name,
					      .n_field_ranges = 1,
					      .field_ranges = nest_ranges};

/* Write `levels` nested messages into ret, at most 63. Returns the number of bytes. */
static size_t make_nest(uint8_t *ret, unsigned levels)
{
	for (unsigned i = 0; i < levels; i++) {
		ret[2 * i] = 0x0a;
		ret[2 * i + 1] = (uint8_t)(2 * (levels - i - 1));
	}
	return 2 * levels;
}

static void depth_is_bounded(void **state)
{
	(void)state;
	uint8_t bytes[126];
	struct arena arena;
	struct error err;
	ProtobufCMessage *message;
	size_t n = make_nest(bytes, 16);

	assert_int_equal(decode_as(&arena, &nest_type, bytes, n, &message, &err), 0);
	arena_fini(&arena);
	n = make_nest(bytes, 17);
	assert_refused(&nest_type, bytes, n, ERR_INVALID_ARGUMENT);
	n = make_nest(bytes, 63);
	assert_refused(&nest_type, bytes, n, ERR_INVALID_ARGUMENT);
}

/* protobuf-c allocates 218 MB for this message, because every two bytes become a struct of more
 * than 100 bytes. */
static void memory_is_bounded(void **state)
{
	(void)state;
	const size_t n = (size_t)4 << 20;
	auto_free uint8_t *bytes = mem_alloc(n);
	struct arena arena;
	struct error err;
	ProtobufCMessage *message;

	for (size_t i = 0; i < n; i += 2)
		bytes[i] = 0x0a;
	assert_int_equal(decode_as(&arena, &zcsi__v1__list_datasets_response__descriptor, bytes, n,
				   &message, &err),
			 -1);
	assert_int_equal(err.code, ERR_RESOURCE_EXHAUSTED);
	assert_true(arena.used <= CAP);
	arena_fini(&arena);
}

/* A submessage that is given repeatedly is merged each time. Without the memory limit the cost
 * would be quadratic. */
static void merging_is_bounded(void **state)
{
	(void)state;
	const size_t n = (size_t)1 << 20;
	auto_free uint8_t *bytes = mem_alloc(n);
	struct arena arena;
	struct error err;
	ProtobufCMessage *message;

	for (size_t i = 0; i < n; i += 4)
		memcpy(bytes + i, "\x0a\x02\x3a\x00", 4);
	assert_int_equal(decode_as(&arena, &zcsi__v1__get_dataset_response__descriptor, bytes, n,
				   &message, &err),
			 -1);
	assert_int_equal(err.code, ERR_RESOURCE_EXHAUSTED);
	assert_true(arena.used <= CAP);
	arena_fini(&arena);
}

/* Decoding random damage gives an error or a message. The sanitizers detect invalid memory
 * accesses. */
static void damaged_messages_do_no_harm(void **state)
{
	(void)state;
	static const char good[] = "\x0a\x0f\x0a\x01"
				   "a\x12\x01"
				   "b\x18\x05\x3a\x03\x0a\x01"
				   "n\x10\x01"
				   "\x0a\x03\x0a\x01"
				   "z";
	unsigned seed = 1;

	for (int round = 0; round < 20000; round++) {
		uint8_t bytes[sizeof(good) - 1];
		struct arena arena;
		struct error err;
		ProtobufCMessage *message;
		memcpy(bytes, good, sizeof(bytes));
		for (int i = 0; i < 2; i++)
			bytes[(size_t)rand_r(&seed) % sizeof(bytes)] = (uint8_t)rand_r(&seed);
		size_t n = (size_t)rand_r(&seed) % (sizeof(bytes) + 1);
		if (decode_as(&arena, &zcsi__v1__list_datasets_response__descriptor, bytes, n,
			      &message, &err) < 0)
			assert_true(err.code != ERR_OK);
		else
			assert_non_null(message);
		arena_fini(&arena);
	}
}

static void bytes_of_a_field_are_found_in_place(void **state)
{
	static const struct {
		const char *message;
		size_t n;
		int result;
		const char *found;
	} cases[] = {
		{"", 0, 0, ""},
		{"\012\003abc", 5, 0, "abc"},
		{"\012\000", 2, 0, ""},
		/* the field is given twice, between other fields; the last one counts */
		{"\020\005\012\001a\022\001x\012\002bc", 12, 0, "bc"},
		{"\022\003abc", 5, 0, ""},
		{"\010\005", 2, 0, ""},
		{"\012\004abc", 5, -1, ""},
		{"\012", 1, -1, ""},
		{"\013", 1, -1, ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const uint8_t *bytes = (const uint8_t *)cases[i].message, *found = NULL;
		size_t n = 0;
		assert_int_equal(message_bytes(bytes, cases[i].n, 1, &found, &n), cases[i].result);
		if (cases[i].result < 0)
			continue;
		assert_int_equal(n, strlen(cases[i].found));
		assert_memory_equal(found, cases[i].found, n);
		assert_in_range((uintptr_t)found, (uintptr_t)bytes, (uintptr_t)bytes + cases[i].n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_survives_encoding_and_decoding),
		cmocka_unit_test(an_empty_message_is_valid),
		cmocka_unit_test(unknown_fields_are_skipped),
		cmocka_unit_test(text_is_checked_wherever_it_is),
		cmocka_unit_test(refusal_names_the_field),
		cmocka_unit_test(broken_messages_are_refused),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(merging_is_bounded),
		cmocka_unit_test(damaged_messages_do_no_harm),
		cmocka_unit_test(bytes_of_a_field_are_found_in_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
