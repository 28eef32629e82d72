/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the small encodings of gRPC: message prefix, timeouts, percent-encoding, codes, and
 * UTF-8.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "common/mem.h"
#include "transport/wire.h"

#define LIMIT 1000

/* Write a message of n bytes (0, 1, 2 ...) with its prefix. Returns the total size. */
static size_t make_message(uint8_t *ret, size_t n)
{
	wire_prefix_write(ret, n);
	for (size_t i = 0; i < n; i++)
		ret[WIRE_PREFIX_SIZE + i] = (uint8_t)i;
	return WIRE_PREFIX_SIZE + n;
}

static struct error err;

static ssize_t take(struct wire_message *message, const uint8_t *bytes, size_t n)
{
	return wire_message_take(message, bytes, n, LIMIT, &err);
}

static void message_arrives_in_any_two_pieces(void **state)
{
	(void)state;
	uint8_t bytes[WIRE_PREFIX_SIZE + 20];
	size_t n = make_message(bytes, 20);

	for (size_t cut = 0; cut <= n; cut++) {
		struct wire_message message = {0};
		assert_int_equal(take(&message, bytes, cut), cut);
		assert_int_equal(wire_message_whole(&message), cut == n);
		assert_int_equal(take(&message, bytes + cut, n - cut), n - cut);
		assert_true(wire_message_whole(&message));
		assert_int_equal(message.length, 20);
		assert_memory_equal(message.data, bytes + WIRE_PREFIX_SIZE, 20);
		wire_message_fini(&message);
	}
}

static void message_arrives_byte_by_byte_in_little_memory(void **state)
{
	(void)state;
	uint8_t bytes[WIRE_PREFIX_SIZE + LIMIT];
	size_t n = make_message(bytes, LIMIT);
	struct wire_message message = {0};

	for (size_t i = 0; i < n; i++) {
		assert_false(wire_message_whole(&message));
		assert_int_equal(take(&message, bytes + i, 1), 1);
		assert_true(message.capacity <= 512 || message.capacity <= 2 * message.size);
	}
	assert_true(wire_message_whole(&message));
	assert_memory_equal(message.data, bytes + WIRE_PREFIX_SIZE, LIMIT);
	wire_message_fini(&message);
}

static void message_may_be_empty(void **state)
{
	(void)state;
	static const uint8_t prefix[WIRE_PREFIX_SIZE] = {0};
	struct wire_message message = {0};

	assert_false(wire_message_whole(&message));
	assert_int_equal(take(&message, prefix, sizeof(prefix)), sizeof(prefix));
	assert_true(wire_message_whole(&message));
	assert_null(message.data);
	wire_message_fini(&message);
}

static void bad_prefixes_are_refused_without_the_body(void **state)
{
	(void)state;
	static const struct {
		uint8_t prefix[WIRE_PREFIX_SIZE];
		enum error_code code;
	} cases[] = {
		{{0, 0, 0, 0x03, 0xe9}, ERR_RESOURCE_EXHAUSTED}, /* the length is LIMIT + 1 */
		{{0, 0xff, 0xff, 0xff, 0xff}, ERR_RESOURCE_EXHAUSTED},
		{{1, 0, 0, 0, 0}, ERR_UNIMPLEMENTED},
		{{2, 0, 0, 0, 0}, ERR_INTERNAL},
		{{0xff, 0, 0, 0, 1}, ERR_INTERNAL},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct wire_message message = {0};
		assert_int_equal(take(&message, cases[i].prefix, 4), 4);
		assert_int_equal(take(&message, cases[i].prefix + 4, 1), -1);
		assert_int_equal(err.code, cases[i].code);
		assert_int_equal(message.capacity, 0);
		wire_message_fini(&message);
	}
}

static void largest_message_is_taken(void **state)
{
	(void)state;
	uint8_t bytes[WIRE_PREFIX_SIZE + LIMIT];
	size_t n = make_message(bytes, LIMIT);
	struct wire_message message = {0};

	assert_int_equal(take(&message, bytes, n), n);
	assert_true(wire_message_whole(&message));
	wire_message_fini(&message);
}

static void second_message_is_left(void **state)
{
	(void)state;
	uint8_t bytes[2 * (WIRE_PREFIX_SIZE + 3)];
	size_t n = make_message(bytes, 3);
	struct wire_message message = {0};

	make_message(bytes + n, 3);
	assert_int_equal(take(&message, bytes, 2 * n), n);
	assert_true(wire_message_whole(&message));
	assert_int_equal(take(&message, bytes + n, n), 0);
	wire_message_fini(&message);
	assert_int_equal(take(&message, bytes + n, n), n);
	assert_true(wire_message_whole(&message));
	wire_message_fini(&message);
}

static void timeouts_are_read(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t ms;
	} cases[] = {
		{"1H", 3600000},
		{"2M", 120000},
		{"3S", 3000},
		{"4m", 4},
		{"1u", 1},
		{"1000u", 1},
		{"1001u", 2},
		{"1n", 1},
		{"1000000n", 1},
		{"1000001n", 2},
		{"0n", 0},
		{"0H", 0},
		{"00000001S", 1000},
		{"99999999m", 99999999},
		{"99999999H", INT64_C(99999999) * 3600000},
		/* The following timeouts are invalid. */
		{"", -1},
		{"1", -1},
		{"S", -1},
		{"1s", -1},
		{"1h", -1},
		{"-1S", -1},
		{"+1S", -1},
		{" 1S", -1},
		{"1S ", -1},
		{"1.5S", -1},
		{"0x1S", -1},
		{"123456789S", -1},
		{"1234567890123S", -1},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t ms = wire_timeout_parse(cases[i].text, strlen(cases[i].text));
		if (ms != cases[i].ms)
			print_error("'%s'\n", cases[i].text);
		assert_int_equal(ms, cases[i].ms);
	}
}

static void timeouts_are_written_no_shorter(void **state)
{
	(void)state;
	static const int64_t times[] = {0,         1,         999,        99999999,
					100000000, 100000001, 1234567890, 99999998000};

	for (size_t i = 0; i < COUNT(times); i++) {
		char text[WIRE_TIMEOUT_SIZE];
		wire_timeout_format(times[i], text);
		assert_true(strlen(text) <= 9);
		int64_t back = wire_timeout_parse(text, strlen(text));
		assert_true(back >= times[i]);
		assert_true(back <= times[i] + 1000);
	}
}

static void endless_and_past_timeouts_are_written(void **state)
{
	(void)state;
	char text[WIRE_TIMEOUT_SIZE];

	wire_timeout_format(INT64_MAX, text);
	assert_string_equal(text, "99999999H");
	wire_timeout_format(INT64_C(99999999) * 1000 + 1, text);
	assert_string_equal(text, "1666667M");
	wire_timeout_format(-5, text);
	assert_string_equal(text, "0m");
}

static void percent_coding_follows_grpc(void **state)
{
	(void)state;
	static const struct {
		const char *text, *coded;
	} cases[] = {
		{"", ""},
		{"plain ~text!", "plain ~text!"},
		{"100%", "100%25"},
		{"a\tb\r\nc\x7f", "a%09b%0D%0Ac%7F"},
		{"gr\xc3\xb6\xc3\x9f"
		 "e",
		 "gr%C3%B6%C3%9Fe"},
		{"\xf0\x9f\x98\x80", "%F0%9F%98%80"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[64];
		size_t n = wire_percent_encode(cases[i].text, text, sizeof(text));
		assert_string_equal(text, cases[i].coded);
		assert_int_equal(n, strlen(text));
		wire_percent_decode((const uint8_t *)cases[i].coded, n, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

static void invalid_utf8_is_encoded_as_question_marks(void **state)
{
	(void)state;
	char text[64];

	wire_percent_encode("a\xff"
			    "b\xc3",
			    text, sizeof(text));
	assert_string_equal(text, "a?b?");
}

static void encoding_is_cut_between_characters(void **state)
{
	(void)state;
	/* each of the two characters takes nine bytes when it is percent-encoded */
	static const char euros[] = "\xe2\x82\xac\xe2\x82\xac";

	for (size_t size = 1; size <= 24; size++) {
		char text[24];
		size_t n = wire_percent_encode(euros, text, size);
		assert_int_equal(n, size > 18 ? 18 : size > 9 ? 9 : 0);
		assert_int_equal(text[n], '\0');
	}
}

static void bad_escapes_are_decoded_as_they_are(void **state)
{
	(void)state;
	static const struct {
		const char *coded, *text;
	} cases[] = {{"%", "%"},     {"%4", "%4"},      {"%zz", "%zz"},   {"%4g1", "%4g1"},
		     {"%41%", "A%"}, {"%%41", "%A"},    {"%6a%6A", "jj"}, {"%@0%`0", "%@0%`0"},
		     {"%0", "%0"},   {"100%!", "100%!"}};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[16];
		wire_percent_decode((const uint8_t *)cases[i].coded, strlen(cases[i].coded), text,
				    sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

static void decoding_stops_at_the_end_of_the_buffer(void **state)
{
	(void)state;
	char text[4];

	wire_percent_decode((const uint8_t *)"%41%42%43%44", 12, text, sizeof(text));
	assert_string_equal(text, "ABC");
	wire_percent_decode((const uint8_t *)"abc", 3, text, 1);
	assert_string_equal(text, "");
}

static void text_is_utf8_without_nul(void **state)
{
	(void)state;
	static const char *const good[] = {
		"",
		"a",
		"\x7f",
		"\xc2\x80",
		"\xdf\xbf",
		"\xe0\xa0\x80",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xef\xbf\xbf",
		"\xf0\x90\x80\x80",
		"\xf4\x8f\xbf\xbf",
		"a\xc3\xa4z",
	};
	static const char *const bad[] = {
		"\x80",             /* begins with a continuation byte */
		"\xbf",             /* begins with a continuation byte */
		"\xc0\x80",         /* overlong encoding of NUL */
		"\xc1\xbf",         /* overlong encoding of U+007F */
		"\xe0\x9f\xbf",     /* overlong encoding of U+07FF */
		"\xf0\x8f\xbf\xbf", /* overlong encoding of U+FFFF */
		"\xed\xa0\x80",     /* the surrogate U+D800 */
		"\xed\xbf\xbf",     /* the surrogate U+DFFF */
		"\xf4\x90\x80\x80", /* a code point beyond U+10FFFF */
		"\xf5\x80\x80\x80", /* a code point beyond U+10FFFF */
		"\xff",             /* a byte that never occurs in UTF-8 */
		"\xc3",             /* the character is cut off */
		"\xe2\x82",         /* the character is cut off */
		"\xf0\x9f\x98",     /* the character is cut off */
		"\xc3(",            /* the second byte is no continuation */
		"\xe2\x28\xa1",     /* the second byte is no continuation */
		"\xe2\x82\x28",     /* the third byte is no continuation */
		"\xf0\x9f\x98\x28", /* the fourth byte is no continuation */
		"good then \xfe",
	};

	for (size_t i = 0; i < COUNT(good); i++)
		assert_true(wire_is_text((const uint8_t *)good[i], strlen(good[i])));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(wire_is_text((const uint8_t *)bad[i], strlen(bad[i])));
	assert_false(wire_is_text((const uint8_t *)"ab\0cd", 5));
	assert_false(wire_is_text((const uint8_t *)"", 1));
}

static void http_outcomes_have_codes(void **state)
{
	(void)state;
	static const struct {
		int status;
		enum error_code code;
	} cases[] = {{400, ERR_INTERNAL},          {401, ERR_UNAUTHENTICATED},
		     {403, ERR_PERMISSION_DENIED}, {404, ERR_UNIMPLEMENTED},
		     {429, ERR_UNAVAILABLE},       {431, ERR_INTERNAL},
		     {502, ERR_UNAVAILABLE},       {503, ERR_UNAVAILABLE},
		     {504, ERR_UNAVAILABLE},       {200, ERR_UNKNOWN},
		     {500, ERR_UNKNOWN},           {0, ERR_UNKNOWN}};

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(wire_code_of_http(cases[i].status), cases[i].code);
}

static void resets_have_codes(void **state)
{
	(void)state;
	/* the codes of RFC 9113 section 7 in ascending order, and one unknown code */
	static const enum error_code codes[] = {
		ERR_INTERNAL,          ERR_INTERNAL, ERR_INTERNAL, ERR_INTERNAL,
		ERR_INTERNAL,          ERR_INTERNAL, ERR_INTERNAL, ERR_UNAVAILABLE,
		ERR_CANCELLED,         ERR_INTERNAL, ERR_INTERNAL, ERR_RESOURCE_EXHAUSTED,
		ERR_PERMISSION_DENIED, ERR_INTERNAL, ERR_INTERNAL};

	for (uint32_t i = 0; i < COUNT(codes); i++)
		assert_int_equal(wire_code_of_reset(i), codes[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_arrives_in_any_two_pieces),
		cmocka_unit_test(message_arrives_byte_by_byte_in_little_memory),
		cmocka_unit_test(message_may_be_empty),
		cmocka_unit_test(bad_prefixes_are_refused_without_the_body),
		cmocka_unit_test(largest_message_is_taken),
		cmocka_unit_test(second_message_is_left),
		cmocka_unit_test(timeouts_are_read),
		cmocka_unit_test(timeouts_are_written_no_shorter),
		cmocka_unit_test(endless_and_past_timeouts_are_written),
		cmocka_unit_test(percent_coding_follows_grpc),
		cmocka_unit_test(invalid_utf8_is_encoded_as_question_marks),
		cmocka_unit_test(encoding_is_cut_between_characters),
		cmocka_unit_test(bad_escapes_are_decoded_as_they_are),
		cmocka_unit_test(decoding_stops_at_the_end_of_the_buffer),
		cmocka_unit_test(text_is_utf8_without_nul),
		cmocka_unit_test(http_outcomes_have_codes),
		cmocka_unit_test(resets_have_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
