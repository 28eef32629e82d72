/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_INDEX_H
#define ZCSI_NODE_CATALOG_INDEX_H

/*
 * A sorted array of pointers to rows of any kind, for binary search. Rows are sorted by one of
 * their texts, the key, and by a second text, the tie, if the keys are equal. Inserting or removing
 * a row moves the pointers after it, at most 0.8 MB with 100,000 rows. The index owns the array but
 * not the rows. Not thread-safe.
 */

#include <stddef.h>

struct index {
	void **rows;
	size_t n, room;
	size_t key, tie; /* offsets of the key and the tie, each a char *, in a row; may be equal */
};

#define INDEX_BY(type, member) INDEX_BY_BOTH(type, member, member)
#define INDEX_BY_BOTH(type, first, other)                                                          \
	{                                                                                          \
		.key = offsetof(type, first), .tie = offsetof(type, other)                         \
	}

/*
 * Returns the position of the first row that is not less than key and tie; index->n if all rows are
 * less.
 */
size_t index_from(const struct index *index, const char *key, const char *tie);
/* Returns the position of the first row whose key is greater; index->tie must be index->key. */
size_t index_after(const struct index *index, const char *key);
/* Returns the row with this key, or NULL; index->tie must be index->key. */
void *index_get(const struct index *index, const char *key);

/* Insert a row. Returns the row with the same key and tie that it replaced, or NULL. */
void *index_put(struct index *index, void *row);
/* Remove the row that has the same key and tie as this one. Returns the removed row, or NULL. */
void *index_take(struct index *index, const void *row);

/* Append a row without keeping the order. Call index_sort before any other function. */
void index_append(struct index *index, void *row);
/* Sort the rows after index_append. */
void index_sort(struct index *index);
/* Free the array, but not the rows. */
void index_fini(struct index *index);

#endif
