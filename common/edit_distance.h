/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_COMMON_EDIT_DISTANCE_H
#define ZCSI_COMMON_EDIT_DISTANCE_H

/* The similarity of two words, for suggesting the right name for a misspelt one. Pure. */

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns how many letters must be added, removed or replaced to turn a into b. Case is ignored.
 * Only the first 63 bytes of each are compared.
 */
size_t edit_distance(const char *a, const char *b);
/* Returns true if a typing error in `word` is likely to have this distance. */
bool edit_close(const char *word, size_t distance);

#endif
