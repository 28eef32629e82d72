/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The Levenshtein distance of two words, computed one row of its table at a time.
 *
 * Invariant: the number of steps is at most WORD_MAX squared, however long the words are.
 */
#include "common/edit_distance.h"

#include <ctype.h>
#include <string.h>

#define WORD_MAX 63

static size_t least(size_t a, size_t b, size_t c)
{
	size_t smaller = a < b ? a : b;

	return smaller < c ? smaller : c;
}

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

size_t edit_distance(const char *a, const char *b)
{
	size_t n_a = strnlen(a, WORD_MAX), n_b = strnlen(b, WORD_MAX);
	size_t row[WORD_MAX + 1];

	for (size_t k = 0; k <= n_b; k++)
		row[k] = k;
	for (size_t i = 1; i <= n_a; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t k = 1; k <= n_b; k++) {
			size_t changed = diagonal + !same_letter(a[i - 1], b[k - 1]);
			diagonal = row[k];
			row[k] = least(row[k] + 1, row[k - 1] + 1, changed);
		}
	}
	return row[n_b];
}

bool edit_close(const char *word, size_t distance)
{
	return distance <= 1 + strnlen(word, WORD_MAX) / 6;
}
