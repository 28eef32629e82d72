/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_HOST_VOLUME_PAIRS_H
#define ZCSI_HOST_VOLUME_PAIRS_H

#include "common/error.h"
#include "common/mem.h"
#include "common/volume/map.h"

/*
 * Parse an object of JSON whose values are strings; null is an empty map. *ret is in the arena.
 * Returns 0, or -1 with ERR_INVALID_ARGUMENT, which says at which byte the text is wrong. Pure.
 */
int pairs_parse(struct arena *arena, const char *text, struct map *ret, struct error *err);

#endif
