/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Choosing the size of a volume from a CapacityRange. By default a volume is thin: its size is a
 * quota and reserves no space, so a size is not compared with the free space of a pool.
 *
 * Invariant: the size chosen for a range fits that range, so a repeated CreateVolume accepts the
 * volume that the first one created.
 */
#include "controller/request/capacity_range.h"

#include <inttypes.h>

int capacity_range_parse(const CapacityRange *range, struct capacity_range *ret, struct error *err)
{
	*ret = (struct capacity_range){0};
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

int capacity_range_take_format(struct capacity_range *range, const struct format *format,
			       struct error *err)
{
	const int64_t grain = format->zvol ? FORMAT_GRAIN : 1;
	struct capacity_range fitting = {.required = (range->required + grain - 1) / grain * grain,
					 .limit = range->limit / grain * grain};

	if (range->limit && range->limit < format->size_min)
		return fail(err, ERR_OUT_OF_RANGE,
			    "capacity_range.limit_bytes %" PRId64 " is less than %s needs, %" PRId64
			    " bytes",
			    range->limit, format->description, format->size_min);
	if (fitting.required < format->size_min)
		fitting.required = range->required ? format->size_min : 0;
	if (range->limit && fitting.limit < fitting.required)
		return fail(err, ERR_OUT_OF_RANGE,
			    "no multiple of %" PRId64 " bytes is within capacity_range "
			    "(required_bytes=%" PRId64 ", limit_bytes=%" PRId64
			    "), and %s has such a size",
			    grain, range->required, range->limit, format->description);
	*range = fitting;
	return 0;
}

int64_t capacity_range_choose(const struct capacity_range *range)
{
	int64_t size = range->required ? range->required : VOLUME_SIZE_DEFAULT;

	if (size < VOLUME_SIZE_MIN)
		size = VOLUME_SIZE_MIN;
	return range->limit && range->limit < size ? range->limit : size;
}

int capacity_range_choose_from(const struct capacity_range *range, int64_t source, int64_t *ret,
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
	*ret = nothing_asked ? source : capacity_range_choose(range);
	return 0;
}

bool capacity_range_fits(const struct capacity_range *range, int64_t size)
{
	if (size == 0)
		return range->limit == 0;
	return size >= range->required && (range->limit == 0 || size <= range->limit);
}
