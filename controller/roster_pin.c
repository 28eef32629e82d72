/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Pinning the set of agents for an RPC.
 *
 * Invariant: an RPC has at most one pin, in call->state, which its arena releases.
 */
#include "controller/roster_pin.h"

#include "common/clock.h"

static void unpin(void *what)
{
	struct pin *pin = what;

	roster_put(pin->roster, pin->set);
}

/*
 * Wait until the first roll call has ended. If the deadline passes before, the set of agents to ask
 * is still empty. Call it with the lock.
 */
static void wait_until_open(struct roster *roster, int64_t deadline)
{
	const struct timespec until = {.tv_sec = deadline / 1000,
				       .tv_nsec = deadline % 1000 * 1000000};

	while (roster->closed && time_left_ms(deadline) > 0)
		pthread_cond_clockwait(&roster->opened, &roster->lock, CLOCK_MONOTONIC, &until);
}

const struct pin *roster_pin(struct roster *roster, struct rpc_call *call)
{
	struct pin *pin = call->state;

	if (pin)
		return pin;
	pin = arena_alloc(&call->arena, sizeof(*pin));
	scoped_lock(&roster->lock);
	wait_until_open(roster, call->deadline);
	roster->asked->n_users++;
	*pin = (struct pin){roster, roster->asked, roster->epoch};
	arena_own(&call->arena, unpin, pin);
	call->state = pin;
	return pin;
}
