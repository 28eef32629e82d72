/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_QUOTE_H
#define ZCSI_QUOTE_H

/* Words for a POSIX shell on another host, which is to take each of them as it is. Pure. */

#include "common/mem.h"

/* In single quotes, with blanks between them; in the arena. words: NULL-terminated. */
char *quote_words(struct arena *arena, const char *const *words);

#endif
