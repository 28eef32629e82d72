/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Quoting of words for a shell. See quote.h.
 *
 * Invariant: every word is in single quotes, between which a shell interprets no byte except the
 * single quote. A single quote is written outside of them: 'it'\''s'. An empty word is ''.
 */
#include "common/quote.h"

#include <string.h>

static char *put_word(char *to, const char *word)
{
	*to++ = '\'';
	for (; *word; word++) {
		if (*word == '\'')
			to = stpcpy(to, "'\\''");
		else
			*to++ = *word;
	}
	*to++ = '\'';
	return to;
}

char *quote_words(struct arena *arena, const char *const *words)
{
	size_t size = 1;

	for (const char *const *word = words; *word; word++)
		size += strlen("'\\''") * strlen(*word) + strlen(" ''");
	char *text = arena_alloc(arena, size), *to = text;
	for (const char *const *word = words; *word; word++) {
		if (to != text)
			*to++ = ' ';
		to = put_word(to, *word);
	}
	*to = '\0';
	return text;
}
