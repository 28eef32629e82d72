/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_BUCKET_H
#define ZCSI_BUCKET_H

/*
 * A token bucket: it fills with tokens at a rate, and each token lets one byte pass. It holds the
 * tokens of a quarter of a second, so a caller that is late by less loses none. In any period at
 * most rate x period bytes pass, plus one full bucket. Times are now_ms() values.
 */

#include <stdint.h>

#define BUCKET_MS      250 /* ms in which an empty bucket fills up */
#define BUCKET_WAIT_MS 50  /* ms after which a caller that found the bucket empty asks again */

struct bucket {
	uint64_t rate;   /* bytes a second, at most 2^40 */
	uint64_t credit; /* bytes that may pass, times 1000, so that no fraction is lost */
	int64_t since;   /* now_ms() value when credit was counted last */
};

/* Make an empty bucket. */
static inline void bucket_init(struct bucket *bucket, uint64_t rate, int64_t now)
{
	*bucket = (struct bucket){.rate = rate, .since = now};
}

/*
 * Fill the bucket, and return how many bytes may pass now, up to `most`. Returns 0 while the bucket
 * has neither `most` bytes nor the bytes of BUCKET_WAIT_MS, so that the caller does not pass bytes
 * one by one.
 */
static inline uint64_t bucket_room(struct bucket *bucket, uint64_t most, int64_t now)
{
	int64_t elapsed = now - bucket->since;
	uint64_t full = bucket->rate * BUCKET_MS, least = bucket->rate * BUCKET_WAIT_MS / 1000;

	bucket->since = now;
	bucket->credit += bucket->rate * (uint64_t)(elapsed < BUCKET_MS ? elapsed : BUCKET_MS);
	if (bucket->credit > full)
		bucket->credit = full;
	uint64_t room = bucket->credit / 1000;
	if (room >= most)
		return most;
	return room >= least ? room : 0;
}

/* Count n bytes that passed, not more than bucket_room returned. */
static inline void bucket_take(struct bucket *bucket, uint64_t n)
{
	bucket->credit -= n * 1000;
}

#endif
