/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The metrics of moves.
 *
 * Invariant: the node that a volume leaves counts its move, so each move is counted once.
 */
#include "node/move/move_metrics.h"

#include "common/metrics.h"

static struct metric duration =
	METRIC(HISTOGRAM, "zcsi_move_duration_seconds",
	       "How long moves of volumes away from this host took.", "outcome");
static const struct metric running =
	METRIC(GAUGE, "zcsi_moves",
	       "Moves that run: those whose volume is here, and those whose volume is on no host.",
	       "volume_is");

void move_metrics_ended(bool failed, int64_t us)
{
	metric_time(&duration, us, failed ? "failed" : "ok");
}

void move_metrics_write(struct mover *mover, FILE *out)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	size_t n = 0, here = 0, nowhere = 0;
	MoveState **rows = mover ? mover_list(mover, &arena, "", &n) : NULL;

	for (size_t i = 0; i < n; i++) {
		here += rows[i]->running && !rows[i]->given_up;
		nowhere += rows[i]->running && rows[i]->given_up;
	}
	metric_begin(&duration, "ok");
	metric_begin(&duration, "failed");
	metric_write(&duration, out);
	metric_head(&running, out);
	metric_sample(&running, out, (double)here, "here");
	metric_sample(&running, out, (double)nowhere, "nowhere");
}
