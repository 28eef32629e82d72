/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_QUOTE_H
#define ZCSI_QUOTE_H

/* Quoting of words for a POSIX shell on another host. No I/O; any thread. */

#include "common/mem.h"

/*
 * Returns the words as one command line that a shell splits into exactly these words. words ends
 * with NULL; the result is in the arena.
 */
char *quote_words(struct arena *arena, const char *const *words);

#endif
