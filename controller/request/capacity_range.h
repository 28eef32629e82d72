/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_CAPACITY_RANGE_H
#define ZCSI_CONTROLLER_CAPACITY_RANGE_H

/* Sizes of volumes, in bytes, and the CapacityRange of a request. Pure. */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/volume/format.h"
#include "proto/csi.h"

#define VOLUME_SIZE_MIN     ((int64_t)1 << 20)
#define VOLUME_SIZE_MAX     ((int64_t)1 << 60) /* more is taken for a mistake in the units */
#define VOLUME_SIZE_DEFAULT ((int64_t)1 << 30)

struct capacity_range {
	int64_t required; /* the smallest acceptable size; 0 if none was requested */
	int64_t limit;    /* the largest acceptable size; 0: no limit */
};

/*
 * Check and convert a range, which may be NULL if the request has none. Returns 0 with *ret filled,
 * or -1 with ERR_INVALID_ARGUMENT or ERR_OUT_OF_RANGE.
 */
int capacity_range_parse(const CapacityRange *range, struct capacity_range *ret, struct error *err);
/*
 * Restrict *range to the sizes that the format allows. Returns 0, or -1 with ERR_OUT_OF_RANGE if
 * no size is left.
 */
int capacity_range_take_format(struct capacity_range *range, const struct format *format,
			       struct error *err);
/* Returns the size for a new, empty volume. */
int64_t capacity_range_choose(const struct capacity_range *range);
/*
 * *ret is the size for a clone of a source that has `source` bytes. Returns 0, or -1 with
 * ERR_OUT_OF_RANGE if the range allows only smaller sizes than the source's.
 */
int capacity_range_choose_from(const struct capacity_range *range, int64_t source, int64_t *ret,
			       struct error *err);
/* Returns true if a volume of this size fits the range; size 0 is a volume without a quota. */
bool capacity_range_fits(const struct capacity_range *range, int64_t size);

#endif
