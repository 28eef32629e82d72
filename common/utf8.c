/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Validation of UTF-8 by the syntax of RFC 3629, section 4, and its control characters.
 *
 * Invariant: overlong forms, surrogates and values above U+10FFFF are not accepted; the range of
 * the second byte excludes them. The caller decides how to treat invalid bytes.
 */
#include "common/utf8.h"

#include <stdint.h>

#include "common/mem.h"

size_t utf8_sequence(const void *bytes, size_t n)
{
	static const struct {
		uint8_t first, last, low, high; /* bounds of the first and of the second byte */
		uint8_t size;
	} forms[] = {{0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2},
		     {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
		     {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
		     {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
		     {0xf4, 0xf4, 0x80, 0x8f, 4}};
	const uint8_t *s = bytes;

	for (size_t i = 0; i < COUNT(forms); i++) {
		if (s[0] < forms[i].first || s[0] > forms[i].last)
			continue;
		if (forms[i].size > n)
			return 0;
		if (forms[i].size > 1 && (s[1] < forms[i].low || s[1] > forms[i].high))
			return 0;
		for (size_t k = 2; k < forms[i].size; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].size;
	}
	return 0;
}

size_t utf8_control(const char *text)
{
	const uint8_t *s = (const uint8_t *)text;

	if (s[0] == 0xc2 && s[1] >= 0x80 && s[1] <= 0x9f)
		return 2;
	return (s[0] && s[0] < 0x20) || s[0] == 0x7f;
}
