/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The herald, the thread that calls the nodes with copies twice a minute.
 *
 * Invariant: no volume with copies is usable before its nodes were asked once, and what they have
 * answered is recorded (host/owner.h).
 */
#include "node/owner/herald.h"

#include "common/clock.h"
#include "node/host/owner.h"
#include "node/owner/beat.h"
#include "node/owner/diverged.h"

#define BEAT_S   30
#define HURRY_S  2 /* while a volume waits for its nodes */
#define FIRST_MS 60000
#define LOOK_MS  600000 /* interval of readings of what was put aside: a person may destroy it */

/*
 * If it is time, read which datasets were put aside: first a minute after the start, when fewer
 * calls wait for zfs. Returns the milliseconds until the next time.
 */
static int64_t look(const struct node *node)
{
	static int64_t next;

	if (!next)
		next = now_ms() + FIRST_MS;
	if (now_ms() >= next) {
		next = now_ms() + LOOK_MS;
		diverged_look(node);
	}
	return next - now_ms();
}

static int beat(struct rounds *rounds, void *arg, bool asked)
{
	const struct node *node = arg;
	const enum beat beat = beat_all(node, rounds);

	(void)asked;
	owners_asked(node->owners);
	/* Do not idle if the next diverged_look is near: the idle thread would be late for it. */
	if (look(node) > FIRST_MS && beat == BEAT_NONE)
		return ROUNDS_IDLE;
	return beat == BEAT_OPEN ? HURRY_S : BEAT_S;
}

int herald_start(struct rounds **ret, const struct node *node, struct loop *loop, struct error *err)
{
	const struct rounds_work work = {
		.what = "the thread that calls Hear", .round = beat, .arg = (void *)node};

	return rounds_start(ret, node, loop, &work, err);
}
