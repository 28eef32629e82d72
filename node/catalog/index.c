/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The index: a sorted array of rows, in strcmp order of their texts. Locking, and freeing the rows,
 * is left to the caller.
 *
 * Invariant: the array is sorted, except between index_append and index_sort.
 */
#include "node/catalog/index.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

static const char *text_at(const void *row, size_t offset)
{
	const char *text;

	memcpy(&text, (const char *)row + offset, sizeof(text));
	return text;
}

static int compare(const struct index *index, const void *row, const char *key, const char *tie)
{
	int order = strcmp(text_at(row, index->key), key);

	return order || index->tie == index->key ? order : strcmp(text_at(row, index->tie), tie);
}

size_t index_from(const struct index *index, const char *key, const char *tie)
{
	size_t low = 0, high = index->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare(index, index->rows[middle], key, tie) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the row's position, or the one where it would be inserted if *ret_found is false. */
static size_t place_of(const struct index *index, const void *row, bool *ret_found)
{
	const char *key = text_at(row, index->key), *tie = text_at(row, index->tie);
	size_t at = index_from(index, key, tie);

	*ret_found = at < index->n && !compare(index, index->rows[at], key, tie);
	return at;
}

void *index_get(const struct index *index, const char *key)
{
	size_t at = index_from(index, key, key);

	return at < index->n && !compare(index, index->rows[at], key, key) ? index->rows[at] : NULL;
}

size_t index_after(const struct index *index, const char *key)
{
	size_t at = index_from(index, key, key);

	return at + (at < index->n && !compare(index, index->rows[at], key, key));
}

void index_append(struct index *index, void *row)
{
	if (index->n == index->room) {
		index->room = index->room ? index->room * 2 : 64;
		index->rows = mem_resize(index->rows, index->room * sizeof(*index->rows));
	}
	index->rows[index->n++] = row;
}

static int by_texts(const void *left, const void *right, void *index)
{
	const void *const *a = left, *const *b = right;
	const struct index *by = index;

	return compare(by, *a, text_at(*b, by->key), text_at(*b, by->tie));
}

void index_sort(struct index *index)
{
	if (index->n)
		qsort_r(index->rows, index->n, sizeof(*index->rows), by_texts, index);
}

void *index_put(struct index *index, void *row)
{
	bool found;
	size_t at = place_of(index, row, &found);

	if (found) {
		void *old = index->rows[at];
		index->rows[at] = row;
		return old;
	}
	index_append(index, row);
	memmove(&index->rows[at + 1], &index->rows[at], (index->n - 1 - at) * sizeof(row));
	index->rows[at] = row;
	return NULL;
}

void *index_take(struct index *index, const void *row)
{
	bool found;
	size_t at = place_of(index, row, &found);

	if (!found)
		return NULL;
	void *old = index->rows[at];
	index->n--;
	memmove(&index->rows[at], &index->rows[at + 1], (index->n - at) * sizeof(old));
	return old;
}

void index_fini(struct index *index)
{
	free(index->rows);
	index->rows = NULL;
	index->n = index->room = 0;
}
