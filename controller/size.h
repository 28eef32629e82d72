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

struct size_range {
	int64_t required; /* at least; 0 asks for nothing */
	int64_t limit;    /* at most; 0 is no limit */
};

/* range may be NULL: nothing is asked. ERR_INVALID_ARGUMENT, ERR_OUT_OF_RANGE. */
int size_range_parse(const CapacityRange *range, struct size_range *ret, struct error *err);
/* What is left of a range for the sizes that a format has; ERR_OUT_OF_RANGE: none. */
int size_range_take_format(struct size_range *range, const struct format *format,
			   struct error *err);
/* The size of a volume made for a parsed range. */
int64_t size_range_choose(const struct size_range *range);
/* The same of one cloned from something of that size; ERR_OUT_OF_RANGE: it would not fit. */
int size_range_choose_from(const struct size_range *range, int64_t source, int64_t *ret,
			   struct error *err);
/* Whether a volume of this size is what the range asks for; size 0 is a volume without quota. */
bool size_range_fits(const struct size_range *range, int64_t size);

#endif
