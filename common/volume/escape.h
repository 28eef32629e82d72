/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_VOLUME_ESCAPE_H
#define ZCSI_VOLUME_ESCAPE_H

/*
 * Volume ids and ZFS names. An id is any bytes; a dataset's last component takes few. Both
 * directions here keep [A-Za-z0-9.-] and write every other byte, '_' and a leading '.' included,
 * as '_' and two upper-case hex digits: "vol[0]" <-> "vol_5B0_5D". No two texts share an escape,
 * and none starts with '_' and a lower-case letter, which names of our own ("_trash") do.
 */

#include <stddef.h>

#include "common/error.h"
#include "common/mem.h"

#define ESCAPE_LEAF_MAX 120 /* bytes, so that pool/parent/leaf@snapshot stays below 256 */

/*
 * The dataset's last component for an id. Longer than ESCAPE_LEAF_MAX: its first 55 bytes, "_h",
 * 32 hex digits of the id's SHA-256.
 */
void escape_leaf(const char *id, char ret_leaf[ESCAPE_LEAF_MAX + 1]);

/* The escape whole, for property values: reversible, three times as long at most. In the arena. */
char *escape_text(struct arena *arena, const char *text);
/* The way back; NULL when it is no escape that escape_text makes. In the arena. */
char *unescape_text(struct arena *arena, const char *escaped);

#endif
