/* SPDX-License-Identifier: MPL-2.0 */
/*
 * gRPC's small encodings, without I/O: message prefix, timeout, percent encoding, status codes.
 *
 * Invariant: the buffer of a message never exceeds twice the bytes received of it (or 512 bytes),
 * so a prefix that declares a large length allocates no memory.
 */
#include "transport/wire.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/utf8.h"

#define FIRST_CAPACITY ((size_t)512)

static int check_prefix(struct wire_message *message, size_t limit, struct error *err)
{
	const uint8_t *p = message->prefix;

	message->length = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4];
	if (p[0] == 1)
		return fail(err, ERR_UNIMPLEMENTED,
			    "the message is compressed: send it with encoding 'identity'");
	if (p[0] != 0)
		return fail(err, ERR_INTERNAL, "the message's flag byte is %d, not 0 or 1", p[0]);
	if (message->length > limit)
		return fail(err, ERR_RESOURCE_EXHAUSTED,
			    "the message has %u bytes, more than the %zu that are accepted",
			    message->length, limit);
	return 0;
}

static void reserve(struct wire_message *message, size_t more)
{
	size_t need = message->size + more;
	size_t capacity = message->capacity ? message->capacity : FIRST_CAPACITY;

	if (need <= message->capacity)
		return;
	while (capacity < need)
		capacity *= 2;
	if (capacity > message->length)
		capacity = message->length;
	message->data = mem_resize(message->data, capacity);
	message->capacity = capacity;
}

ssize_t wire_message_take(struct wire_message *message, const uint8_t *bytes, size_t n,
			  size_t limit, struct error *err)
{
	size_t taken = 0;

	while (taken < n && message->prefix_size < WIRE_PREFIX_SIZE) {
		message->prefix[message->prefix_size++] = bytes[taken++];
		if (message->prefix_size == WIRE_PREFIX_SIZE &&
		    check_prefix(message, limit, err) < 0)
			return -1;
	}
	size_t part = message->length - message->size;
	if (part > n - taken)
		part = n - taken;
	if (part == 0)
		return (ssize_t)taken;
	reserve(message, part);
	memcpy(message->data + message->size, bytes + taken, part);
	message->size += part;
	return (ssize_t)(taken + part);
}

bool wire_message_whole(const struct wire_message *message)
{
	return message->prefix_size == WIRE_PREFIX_SIZE && message->size == message->length;
}

void wire_message_fini(struct wire_message *message)
{
	free(message->data);
	*message = (struct wire_message){0};
}

void wire_prefix_write(uint8_t prefix[WIRE_PREFIX_SIZE], size_t length)
{
	prefix[0] = 0;
	for (int i = 1; i < WIRE_PREFIX_SIZE; i++)
		prefix[i] = (uint8_t)(length >> (8 * (WIRE_PREFIX_SIZE - 1 - i)));
}

bool wire_is_text(const uint8_t *bytes, size_t n)
{
	while (n > 0) {
		size_t size = utf8_sequence(bytes, n);
		if (size == 0)
			return false;
		bytes += size;
		n -= size;
	}
	return true;
}

/*
 * The units of grpc-timeout, each of ms / per_ms milliseconds. The units that wire_timeout_format
 * uses come first, in ascending order.
 */
static const struct {
	char unit;
	int64_t ms, per_ms;
} units[] = {{'m', 1, 1},       {'S', 1000, 1}, {'M', 60000, 1},
	     {'H', 3600000, 1}, {'u', 1, 1000}, {'n', 1, 1000000}};

#define TIMEOUT_MOST 99999999

int64_t wire_timeout_parse(const char *text, size_t length)
{
	int64_t value = 0;

	if (length < 2 || length > 9)
		return -1;
	for (size_t i = 0; i + 1 < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + (text[i] - '0');
	}
	for (size_t i = 0; i < COUNT(units); i++)
		if (text[length - 1] == units[i].unit)
			return (value * units[i].ms + units[i].per_ms - 1) / units[i].per_ms;
	return -1;
}

void wire_timeout_format(int64_t ms, char ret_text[WIRE_TIMEOUT_SIZE])
{
	size_t i = 0;

	if (ms < 0)
		ms = 0;
	while (units[i].unit != 'H' && ms > TIMEOUT_MOST * units[i].ms)
		i++;
	uint64_t value = (uint64_t)(ms / units[i].ms + (ms % units[i].ms > 0));
	snprintf(ret_text, WIRE_TIMEOUT_SIZE, "%llu%c",
		 (unsigned long long)(value < TIMEOUT_MOST ? value : TIMEOUT_MOST), units[i].unit);
}

static bool is_plain(uint8_t c)
{
	return c >= 0x20 && c <= 0x7e && c != '%';
}

/*
 * Clients decode the result as UTF-8, so bytes that are not UTF-8 become '?', and no character is
 * cut in two.
 */
size_t wire_percent_encode(const char *text, char *ret_text, size_t size)
{
	static const char hex[] = "0123456789ABCDEF";
	const uint8_t *from = (const uint8_t *)text;
	size_t left = strlen(text), n = 0;

	while (left > 0) {
		size_t character = utf8_sequence(from, left);
		size_t bytes = character ? character : 1;
		const uint8_t *c = character ? from : (const uint8_t *)"?";
		if (n + 3 * bytes >= size)
			break;
		for (size_t i = 0; i < bytes; i++) {
			if (is_plain(c[i])) {
				ret_text[n++] = (char)c[i];
				continue;
			}
			ret_text[n++] = '%';
			ret_text[n++] = hex[c[i] >> 4];
			ret_text[n++] = hex[c[i] & 15];
		}
		from += bytes;
		left -= bytes;
	}
	ret_text[n] = '\0';
	return n;
}

static int digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void wire_percent_decode(const uint8_t *text, size_t length, char *ret_text, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < length && n + 1 < size; i++) {
		int high = i + 2 < length && text[i] == '%' ? digit(text[i + 1]) : -1;
		int low = high >= 0 ? digit(text[i + 2]) : -1;
		if (low < 0) {
			ret_text[n++] = (char)text[i];
			continue;
		}
		ret_text[n++] = (char)(high << 4 | low);
		i += 2;
	}
	ret_text[n] = '\0';
}

enum error_code wire_code_of_http(int status)
{
	switch (status) {
	case 400:
	case 431:
		return ERR_INTERNAL;
	case 401:
		return ERR_UNAUTHENTICATED;
	case 403:
		return ERR_PERMISSION_DENIED;
	case 404:
		return ERR_UNIMPLEMENTED;
	case 429:
	case 502:
	case 503:
	case 504:
		return ERR_UNAVAILABLE;
	default:
		return ERR_UNKNOWN;
	}
}

enum error_code wire_code_of_reset(uint32_t http2_error)
{
	switch (http2_error) {
	case NGHTTP2_REFUSED_STREAM:
		return ERR_UNAVAILABLE;
	case NGHTTP2_CANCEL:
		return ERR_CANCELLED;
	case NGHTTP2_ENHANCE_YOUR_CALM:
		return ERR_RESOURCE_EXHAUSTED;
	case NGHTTP2_INADEQUATE_SECURITY:
		return ERR_PERMISSION_DENIED;
	default:
		return ERR_INTERNAL;
	}
}
