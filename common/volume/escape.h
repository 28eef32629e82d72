/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_VOLUME_ESCAPE_H
#define ZCSI_VOLUME_ESCAPE_H

/*
 * Escaping of volume ids for ZFS names. An id may contain any bytes, the last component of a
 * dataset's name only a few. [A-Za-z0-9.-] are kept; every other byte, including '_' and a leading
 * '.', becomes '_' and two upper-case hex digits: "vol[0]" <-> "vol_5B0_5D". Two texts never have
 * the same escape, and no escape starts with '_' and a lower-case letter, as our own names do
 * ("_trash").
 */

#include <stddef.h>

#include "common/error.h"
#include "common/mem.h"

#define ESCAPE_LEAF_MAX 120 /* bytes, so that pool/parent/leaf@snapshot stays below 256 */

/*
 * Write the last component of the dataset's name for an id. An escape of more than ESCAPE_LEAF_MAX
 * bytes is shortened to its first 55 bytes, "_h" and 32 hex digits of the SHA-256 of the id.
 */
void escape_leaf(const char *id, char ret_leaf[ESCAPE_LEAF_MAX + 1]);

/* Returns the complete escape, for property values: at most three times as long, in the arena. */
char *escape_text(struct arena *arena, const char *text);
/* Returns the text of an escape, in the arena; NULL if escape_text does not produce this escape. */
char *unescape_text(struct arena *arena, const char *escaped);

#endif
