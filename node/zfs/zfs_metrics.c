/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Metrics of the zfs(8) and zpool(8) processes that zcsi-node runs.
 *
 * Invariant: each process is counted once, when it has ended, timed out, or could not be started.
 */
#include "node/zfs/zfs_metrics.h"

#include "common/child.h"
#include "common/metrics.h"

static struct metric runs =
	METRIC(COUNTER, "zcsi_zfs_processes_total",
	       "Processes of zfs and zpool that have ended, or could not be run.", "command",
	       "verb", "outcome");
static struct metric run_seconds =
	METRIC(HISTOGRAM, "zcsi_zfs_process_duration_seconds",
	       "From the start of a zfs or zpool process to its end.", "command", "verb");

static const char *outcome_of(enum error_code code, int status)
{
	if (code != ERR_OK)
		return code == ERR_UNAVAILABLE ? "timeout"
		       : code == ERR_CANCELLED ? "killed"
					       : "not_run";
	if (child_signal(status))
		return "killed";
	return status == 0 ? "ok" : "refused";
}

void zfs_metrics_begin(const char *const *argv)
{
	metric_begin(&runs, argv[0], argv[1], "timeout");
}

void zfs_metrics_count(const char *const *argv, enum error_code code, int status, int64_t us)
{
	metric_count(&runs, argv[0], argv[1], outcome_of(code, status));
	metric_time(&run_seconds, us, argv[0], argv[1]);
}

void zfs_metrics_write(FILE *out)
{
	metric_write(&runs, out);
	metric_write(&run_seconds, out);
}
