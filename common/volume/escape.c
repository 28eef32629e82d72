/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Escaping of volume ids for names of datasets and values of properties. Callers check whether an
 * id is valid.
 *
 * Invariant: different ids have different escapes. Every byte has one form, no form is a prefix of
 * another, and no form contains "_h", which marks a shortened leaf.
 */
#include "common/volume/escape.h"

#include <sha2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FORM_MAX    3  /* bytes of the longest form, "_XX" */
#define LEAF_HEAD   55 /* bytes of the escape that a shortened leaf keeps, for readability */
#define LEAF_DIGEST 32 /* hexadecimal digits of SHA-256 in a shortened leaf */

static const char upper_hex[] = "0123456789ABCDEF";

static bool is_plain(char byte, bool first)
{
	return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
	       (byte >= '0' && byte <= '9') || byte == '-' || (byte == '.' && !first);
}

/* Write the form of one byte. Returns its length. */
static size_t escape_byte(char byte, bool first, char ret_form[FORM_MAX])
{
	if (is_plain(byte, first)) {
		ret_form[0] = byte;
		return 1;
	}
	ret_form[0] = '_';
	ret_form[1] = upper_hex[(unsigned char)byte >> 4];
	ret_form[2] = upper_hex[byte & 0x0f];
	return FORM_MAX;
}

/*
 * Shorten a leaf that contains the first bytes of the escape: replace all after LEAF_HEAD by "_h"
 * and a digest of the id.
 */
static void shorten_leaf(const char *id, char leaf[ESCAPE_LEAF_MAX + 1])
{
	char digest[SHA256_DIGEST_STRING_LENGTH];

	SHA256Data((const uint8_t *)id, strlen(id), digest);
	snprintf(leaf + LEAF_HEAD, ESCAPE_LEAF_MAX + 1 - LEAF_HEAD, "_h%.*s", LEAF_DIGEST, digest);
}

void escape_leaf(const char *id, char ret_leaf[ESCAPE_LEAF_MAX + 1])
{
	size_t used = 0;
	char form[FORM_MAX];

	for (const char *byte = id; *byte; byte++) {
		size_t length = escape_byte(*byte, byte == id, form);
		if (used + length > ESCAPE_LEAF_MAX) {
			shorten_leaf(id, ret_leaf);
			return;
		}
		memcpy(ret_leaf + used, form, length);
		used += length;
	}
	ret_leaf[used] = '\0';
}

char *escape_text(struct arena *arena, const char *text)
{
	char *escaped = arena_alloc(arena, FORM_MAX * strlen(text) + 1);
	char *end = escaped;

	for (const char *byte = text; *byte; byte++)
		end += escape_byte(*byte, byte == text, end);
	return escaped;
}

static int hex_value(char digit)
{
	const char *found = digit ? strchr(upper_hex, digit) : NULL;

	return found ? (int)(found - upper_hex) : -1;
}

char *unescape_text(struct arena *arena, const char *escaped)
{
	char *text = arena_alloc(arena, strlen(escaped) + 1);
	char *end = text;

	for (const char *at = escaped; *at; at++) {
		if (*at != '_') {
			*end++ = *at;
			continue;
		}
		int high = hex_value(at[1]);
		int low = high < 0 ? -1 : hex_value(at[2]);
		if (low < 0)
			return NULL;
		*end++ = (char)(high << 4 | low);
		at += 2;
	}
	/* Escape the result again, to refuse every other text that escape_text does not produce. */
	return strcmp(escape_text(arena, text), escaped) == 0 ? text : NULL;
}
