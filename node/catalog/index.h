/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_INDEX_H
#define ZCSI_NODE_CATALOG_INDEX_H

/*
 * Rows of any kind in the order of one of their texts, and of a second one where the first is
 * equal: a sorted array of pointers. Found by binary search; a row that comes or goes moves the
 * pointers behind it, 0.8 MB at most with 100,000 rows. It owns the array and not the rows.
 */

#include <stddef.h>

struct index {
	void **rows;
	size_t n, room;
	size_t key, tie; /* offsetof the char * in a row; tie may be key */
};

#define INDEX_BY(type, member) INDEX_BY_BOTH(type, member, member)
#define INDEX_BY_BOTH(type, first, other)                                                          \
	{                                                                                          \
		.key = offsetof(type, first), .tie = offsetof(type, other)                         \
	}

/*
 * Returns the position of the first row that does not come before key and tie; index->n when there
 * is none.
 */
size_t index_from(const struct index *index, const char *key, const char *tie);
/* Returns the position of the first row whose key comes after this one; tie must be key. */
size_t index_after(const struct index *index, const char *key);
/* NULL when there is none; tie must be key. */
void *index_get(const struct index *index, const char *key);

/* Put in a row, or take one out that is equal in both texts; the one that gave way, or NULL. */
void *index_put(struct index *index, void *row);
void *index_take(struct index *index, const void *row);

/* Rows without looking at their order; index_sort before anything else. */
void index_append(struct index *index, void *row);
void index_sort(struct index *index);
void index_fini(struct index *index);

#endif
