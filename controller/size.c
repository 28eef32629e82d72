/* SPDX-License-Identifier: MPL-2.0 */
/*
 * From CapacityRange to a size. Volumes are thin: a size is a promise of the quota, not of space,
 * so nothing here compares it with what a pool has left.
 *
 * Invariant: the size chosen for a range fits that range, so that a repeat finds its own volume.
 */
#include "controller/size.h"

#include <inttypes.h>

int size_range_parse(const CapacityRange *range, struct size_range *ret, struct error *err)
{
	*ret = (struct size_range){0};
	if (!range)
		return 0;
	if (range->required_bytes < 0 || range->limit_bytes < 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "capacity_range is negative (required_bytes=%" PRId64
			    ", limit_bytes=%" PRId64 ")",
			    range->required_bytes, range->limit_bytes);
	if (range->limit_bytes && range->limit_bytes < range->required_bytes)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "capacity_range.limit_bytes %" PRId64
			    " is less than required_bytes %" PRId64,
			    range->limit_bytes, range->required_bytes);
	if (range->limit_bytes && range->limit_bytes < VOLUME_SIZE_MIN)
		return fail(err, ERR_OUT_OF_RANGE,
			    "capacity_range.limit_bytes %" PRId64
			    " is less than the smallest volume, %" PRId64 " bytes",
			    range->limit_bytes, VOLUME_SIZE_MIN);
	if (range->required_bytes > VOLUME_SIZE_MAX)
		return fail(err, ERR_OUT_OF_RANGE,
			    "capacity_range.required_bytes %" PRId64
			    " is more than the largest volume, %" PRId64 " bytes",
			    range->required_bytes, VOLUME_SIZE_MAX);
	ret->required = range->required_bytes;
	ret->limit = range->limit_bytes;
	return 0;
}

int64_t size_range_choose(const struct size_range *range)
{
	int64_t size = range->required ? range->required : VOLUME_SIZE_DEFAULT;

	if (size < VOLUME_SIZE_MIN)
		size = VOLUME_SIZE_MIN;
	return range->limit && range->limit < size ? range->limit : size;
}

int size_range_choose_from(const struct size_range *range, int64_t source, int64_t *ret,
			   struct error *err)
{
	const bool nothing_asked = !range->required && source;

	if (range->required && range->required < source)
		return fail(err, ERR_OUT_OF_RANGE,
			    "capacity_range.required_bytes %" PRId64
			    " is less than the source of the volume has, %" PRId64 " bytes",
			    range->required, source);
	if (range->limit && range->limit < source)
		return fail(err, ERR_OUT_OF_RANGE,
			    "capacity_range.limit_bytes %" PRId64
			    " is less than the source of the volume has, %" PRId64 " bytes",
			    range->limit, source);
	*ret = nothing_asked ? source : size_range_choose(range);
	return 0;
}

bool size_range_fits(const struct size_range *range, int64_t size)
{
	if (size == 0)
		return range->limit == 0;
	return size >= range->required && (range->limit == 0 || size <= range->limit);
}
