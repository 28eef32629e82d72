/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Quoting. See quote.h.
 *
 * Invariant: between single quotes a shell reads every byte as itself but the single quote, which
 * is written outside of them: 'it'\''s'. An empty word is '', and none is left out.
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
