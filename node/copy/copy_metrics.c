/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The metrics of copies.
 *
 * Invariant: writing the metrics runs no program. A copy that never was up to date has no time and
 * no lag, and a copy has no lag in bytes before ZFS has reported its missing bytes, because 0 would
 * be wrong. The old copy of a node that was replaced has only zcsi_copy_owed.
 */
#include "node/copy/copy_metrics.h"

#include "common/clock.h"
#include "common/metrics.h"

#define USEC 1e6

static struct metric pushes =
	METRIC(COUNTER, "zcsi_copy_pushes_total", "Pushes that ended: ok or failed.", "outcome");
static struct metric sent = METRIC(COUNTER, "zcsi_copy_sent_bytes_total",
				   "Bytes of the streams that were pushed to other nodes.");

static const struct metric synced =
	METRIC(GAUGE, "zcsi_copy_synced_timestamp_seconds",
	       "A copy has all that was written before, in seconds since 1970.", "volume", "node");
static const struct metric lag =
	METRIC(GAUGE, "zcsi_copy_lag_seconds", "Seconds since a copy had all that was written.",
	       "volume", "node");
static const struct metric unsent = METRIC(
	GAUGE, "zcsi_copy_lag_bytes",
	"Bytes written to a volume since the newest snapshot that a copy has, when zcsi-node "
	"looked last.",
	"volume", "node");
static const struct metric allowed = METRIC(GAUGE, "zcsi_copy_lag_allowed_seconds",
					    "Seconds that a copy may be behind.", "volume", "node");
static const struct metric failing =
	METRIC(GAUGE, "zcsi_copy_failing", "1: the last push of a copy failed.", "volume", "node");

static const struct metric paused = METRIC(
	GAUGE, "zcsi_copy_paused", "1: nothing is sent until zcsi resume.", "volume", "node");

static const struct metric owed =
	METRIC(GAUGE, "zcsi_copy_owed",
	       "1: the node was replaced, and its old copy is dropped when it answers.", "volume",
	       "node");

void copy_metrics_pushed(bool failed)
{
	metric_count(&pushes, failed ? "failed" : "ok");
}

void copy_metrics_sent(uint64_t bytes)
{
	metric_add(&sent, METRIC_VALUES_(NULL), bytes);
}

/*
 * Write the rows that are owed, and move the others to the front. Returns the number of the others.
 */
static size_t take_owed(struct pushed *rows, size_t n, FILE *out)
{
	size_t left = 0;

	metric_head(&owed, out);
	for (size_t i = 0; i < n; i++)
		if (rows[i].owed)
			metric_sample(&owed, out, 1, rows[i].id, rows[i].to);
		else
			rows[left++] = rows[i];
	return left;
}

void copy_metrics_write(struct pusher *pusher, FILE *out)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	size_t n = 0;
	struct pushed *rows = pusher ? pusher_list(pusher, &arena, &n) : NULL;
	const double now = (double)wall_us();

	metric_begin(&pushes, "ok");
	metric_begin(&pushes, "failed");
	metric_write(&pushes, out);
	metric_write(&sent, out);
	n = take_owed(rows, n, out);
	metric_head(&synced, out);
	for (size_t i = 0; i < n; i++)
		if (rows[i].synced)
			metric_sample(&synced, out, (double)rows[i].synced / USEC, rows[i].id,
				      rows[i].to);
	metric_head(&lag, out);
	for (size_t i = 0; i < n; i++)
		if (rows[i].synced)
			metric_sample(&lag, out, (now - (double)rows[i].synced) / USEC, rows[i].id,
				      rows[i].to);
	metric_head(&unsent, out);
	for (size_t i = 0; i < n; i++)
		if (rows[i].unsent >= 0)
			metric_sample(&unsent, out, (double)rows[i].unsent, rows[i].id, rows[i].to);
	metric_head(&allowed, out);
	for (size_t i = 0; i < n; i++)
		metric_sample(&allowed, out, (double)rows[i].every, rows[i].id, rows[i].to);
	metric_head(&failing, out);
	for (size_t i = 0; i < n; i++)
		metric_sample(&failing, out, rows[i].failed > 0, rows[i].id, rows[i].to);
	metric_head(&paused, out);
	for (size_t i = 0; i < n; i++)
		metric_sample(&paused, out, rows[i].paused, rows[i].id, rows[i].to);
}
