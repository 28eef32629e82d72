/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_BUCKET_H
#define ZCSI_BUCKET_H

/*
 * A token bucket: it fills at a rate, and a byte may pass for each one in it. It holds what a
 * quarter of a second brings, so a caller that is late by less loses nothing, and in any period
 * not more than rate x period, plus one bucket, pass. Times are now_ms() values.
 */

#include <stdint.h>

#define BUCKET_MS      250 /* the time in which an empty bucket is full */
#define BUCKET_WAIT_MS 50  /* a caller that finds it empty comes back after so much */

struct bucket {
	uint64_t rate;   /* bytes a second, at most 2^40 */
	uint64_t credit; /* bytes that may pass, times 1000, so that no fraction is lost */
	int64_t since;   /* when the credit was counted */
};

/* Make an empty bucket. */
static inline void bucket_init(struct bucket *bucket, uint64_t rate, int64_t now)
{
	*bucket = (struct bucket){.rate = rate, .since = now};
}

/*
 * Fill the bucket, and return how many bytes may pass now, up to `most`. Returns 0 rather than less
 * than BUCKET_WAIT_MS brings or `most`, so that not every byte is passed by itself.
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
