/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_PRINT_AMOUNT_H
#define ZCSI_CLI_PRINT_AMOUNT_H

/* Amounts and moments as people read them. Texts are in the arena. */

#include <stdint.h>

#include "common/mem.h"

/* Returns bytes with three digits and a unit of 1024, as zfs(8) does: 512B, 1.50K, 40.0G. */
char *amount_bytes(struct arena *arena, uint64_t bytes);
/* Returns a number of seconds, rounded up, in its largest unit: 40 s, 7 min, 3 h, 12 days. */
char *amount_time(struct arena *arena, int64_t seconds);
/* Returns seconds since 1970 as local time, "2026-01-31 12:00". */
char *amount_moment(struct arena *arena, int64_t seconds);

#endif
