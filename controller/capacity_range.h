/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_SIZE_H
#define ZCSI_CONTROLLER_SIZE_H

/* Sizes of volumes, in bytes: what a CapacityRange asks for. Pure. */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/volume/format.h"
#include "proto/csi.h"

#define VOLUME_SIZE_MIN     ((int64_t)1 << 20)
#define VOLUME_SIZE_MAX     ((int64_t)1 << 60) /* beyond any pool: a mistake in the units */
#define VOLUME_SIZE_DEFAULT ((int64_t)1 << 30)

struct capacity_range {
	int64_t required; /* at least; 0 asks for nothing */
	int64_t limit;    /* at most; 0 is no limit */
};

/* range may be NULL: nothing is asked. ERR_INVALID_ARGUMENT, ERR_OUT_OF_RANGE. */
int capacity_range_parse(const CapacityRange *range, struct capacity_range *ret, struct error *err);
/*
 * Restrict a range to the sizes that a format can have. Returns -1 with ERR_OUT_OF_RANGE when none
 * is left.
 */
int capacity_range_take_format(struct capacity_range *range, const struct format *format,
			       struct error *err);
/* The size of a volume made for a parsed range. */
int64_t capacity_range_choose(const struct capacity_range *range);
/* The same of one cloned from something of that size; ERR_OUT_OF_RANGE: it would not fit. */
int capacity_range_choose_from(const struct capacity_range *range, int64_t source, int64_t *ret,
			       struct error *err);
/* Whether a volume of this size is what the range asks for; size 0 is a volume without quota. */
bool capacity_range_fits(const struct capacity_range *range, int64_t size);

#endif
