/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Claims: the wall clock's microseconds, shifted left, with random bits below.
 *
 * Invariant: a new claim is higher than every claim that this process made or received before, even
 * if the clock of another controller is ahead.
 */
#include "controller/claim.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"

#define RANDOM_BITS 12
#define PAUSE_MS    30

static _Atomic uint64_t highest;

void claim_heard(uint64_t claim)
{
	uint64_t seen = atomic_load(&highest);

	while (seen < claim && !atomic_compare_exchange_weak(&highest, &seen, claim))
		;
}

uint64_t claim_next(void)
{
	uint64_t us = (uint64_t)wall_us();
	uint64_t after = (atomic_load(&highest) >> RANDOM_BITS) + 1;
	uint64_t claim = (us > after ? us : after) << RANDOM_BITS;
	claim |= arc4random_uniform(1U << RANDOM_BITS);
	claim_heard(claim);
	return claim;
}

bool claim_pause(int64_t deadline)
{
	struct timespec pause = {.tv_nsec = (1 + arc4random_uniform(PAUSE_MS)) * 1000000L};

	if (time_left_ms(deadline) < 2 * PAUSE_MS)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

bool claim_again(const struct error *err, int64_t deadline)
{
	return err->code == ERR_ABORTED && claim_pause(deadline);
}
