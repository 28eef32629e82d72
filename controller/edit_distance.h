/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_SPELLING_H
#define ZCSI_CONTROLLER_SPELLING_H

/* The name that a misspelt one may have meant. Pure. */

#include <stdbool.h>
#include <stddef.h>

/*
 * How many letters have to be added, dropped or changed to make one word of the other; case does
 * not count. Only the first 63 bytes of each are looked at.
 */
size_t edit_distance(const char *a, const char *b);
/* The distance is one that a slip of the fingers makes in a word as long as this. */
bool edit_close(const char *word, size_t distance);

#endif
