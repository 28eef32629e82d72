/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The small encodings of gRPC. A message read in pieces is the same as read at once, an encoded
 * value decodes to itself, and a second implementation decides in the same way what is valid UTF-8.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "tests/fuzz/fuzz.h"
#include "transport/wire.h"

#define LIMIT             1000 /* bytes of a message */
#define LONGEST_CHARACTER 12   /* four bytes, each %XX */

static bool is_timeout(const char *text, size_t n)
{
	size_t digits = 0;

	while (digits < n && text[digits] >= '0' && text[digits] <= '9')
		digits++;
	return digits >= 1 && digits <= 8 && digits + 1 == n && memchr("HMSmun", text[digits], 6);
}

static void check_timeout(const uint8_t *bytes, size_t n)
{
	char text[WIRE_TIMEOUT_SIZE];
	int64_t ms = wire_timeout_parse((const char *)bytes, n);

	MUST((ms >= 0) == is_timeout((const char *)bytes, n));
	if (ms < 0)
		return;
	wire_timeout_format(ms, text);
	MUST(is_timeout(text, strlen(text)));
	int64_t back = wire_timeout_parse(text, strlen(text));
	/* a formatted timeout is rounded up by less than one unit, which is an hour at most */
	MUST(back >= ms && back - ms < 3600000);
	MUST(ms > 99999999 || back == ms);
}

/* Encode the decoded text into `size` bytes: as much of it as fits must be there. */
static void check_percent(const uint8_t *bytes, size_t n, size_t size)
{
	auto_free char *text = mem_alloc(n + 1), *encoded = mem_alloc(size),
		       *back = mem_alloc(n + 1);

	wire_percent_decode(bytes, n, text, n + 1);
	size_t length = wire_percent_encode(text, encoded, size);
	MUST(length < size && strlen(encoded) == length);
	for (size_t i = 0; i < length; i++)
		MUST(encoded[i] >= 0x20 && encoded[i] <= 0x7e);
	wire_percent_decode((const uint8_t *)encoded, length, back, n + 1);
	for (size_t i = 0; back[i]; i++)
		MUST(back[i] == text[i] || back[i] == '?');
	MUST(wire_is_text((const uint8_t *)back, strlen(back)));
	MUST(strlen(back) == strlen(text) || length + LONGEST_CHARACTER >= size);
}

/* Check UTF-8 by code points, while wire.c does it by bytes: shortest form, below 0x110000, no
 * surrogate. */
static bool is_text(const uint8_t *bytes, size_t n)
{
	static const uint32_t least[] = {0, 1, 0x80, 0x800, 0x10000};
	size_t size;

	for (size_t i = 0; i < n; i += size) {
		size = bytes[i] < 0x80 ? 1 : bytes[i] < 0xe0 ? 2 : bytes[i] < 0xf0 ? 3 : 4;
		uint32_t point = size == 1 ? bytes[i] : bytes[i] & (0x7fu >> size);
		if ((bytes[i] >= 0x80 && bytes[i] < 0xc0) || bytes[i] >= 0xf8 || n - i < size)
			return false;
		for (size_t k = 1; k < size; k++) {
			if ((bytes[i + k] & 0xc0) != 0x80)
				return false;
			point = point << 6 | (bytes[i + k] & 0x3f);
		}
		if (point < least[size] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
			return false;
	}
	return true;
}

/* Read a message until it fails or is complete, in pieces whose lengths follow from the seed.
 * Returns true if it failed. */
static bool feed(struct wire_message *message, struct input input, uint8_t seed, struct error *err)
{
	ssize_t taken = 0;
	size_t n = 0;

	while (taken == (ssize_t)n && input_left(&input)) {
		seed = (uint8_t)(seed * 5 + 3);
		const uint8_t *bytes = input_take(&input, 1 + seed % 16, &n);
		taken = wire_message_take(message, bytes, n, LIMIT, err);
		MUST(taken <= (ssize_t)n);
		MUST(message->capacity <= LIMIT && message->size <= message->capacity);
	}
	return taken < 0;
}

static void check_message(struct input input, uint8_t seed)
{
	struct wire_message pieces = {0}, whole = {0};
	struct error of_pieces = {0}, of_whole = {0};
	bool failed = feed(&pieces, input, seed, &of_pieces);

	MUST((wire_message_take(&whole, input.at, input_left(&input), LIMIT, &of_whole) < 0) ==
	     failed);
	MUST(of_pieces.code == of_whole.code);
	if (failed) {
		fuzz_check_error(&of_pieces);
	} else {
		MUST(pieces.size == whole.size && pieces.length == whole.length);
		MUST(pieces.size == 0 || memcmp(pieces.data, whole.data, whole.size) == 0);
		MUST(wire_message_whole(&pieces) == wire_message_whole(&whole));
	}
	wire_message_fini(&pieces);
	wire_message_fini(&whole);
}

static void check_codes(int number)
{
	MUST(wire_code_of_http(number) > ERR_OK);
	MUST(wire_code_of_http(number) <= ERR_UNAUTHENTICATED);
	MUST(wire_code_of_reset((uint32_t)number) > ERR_OK);
	MUST(wire_code_of_reset((uint32_t)number) <= ERR_UNAUTHENTICATED);
}

void fuzz_one(const uint8_t *bytes, size_t n)
{
	struct input input = input_of(bytes, n);
	uint8_t choice = input_decision(&input);

	check_timeout(bytes, n);
	check_percent(bytes, n, 1 + (size_t)choice);
	MUST(wire_is_text(bytes, n) == (is_text(bytes, n) && !memchr(bytes, 0, n)));
	check_message(input, choice);
	for (size_t i = 0; i + 1 < n; i++)
		check_codes(bytes[i] << 8 | bytes[i + 1]);
}
