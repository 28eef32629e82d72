/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The counters and histograms of the transport: one table, and a function for each event. Gauges
 * are written by server_metrics.c, common/process.c and the daemons.
 *
 * Invariant: the value of a label is a service or method of ours, an error code, a fixed word, or
 * the endpoint of a server or client of this process, so a peer cannot create time series.
 */
#include "transport/metrics.h"

#include "common/mem.h"
#include "common/metrics.h"

enum { CALLS, SECONDS, REFUSED, QUEUE, KEY, ACCEPTED, CLOSED, DIALED, DIAL_FAILED };

static struct metric metrics[] = {
	[CALLS] = METRIC(COUNTER, "zcsi_rpc_calls_total", "Calls that have ended.", "service",
			 "method", "code"),
	[SECONDS] = METRIC(HISTOGRAM, "zcsi_rpc_duration_seconds",
			   "From a call's headers to its answer.", "service", "method"),
	[REFUSED] =
		METRIC(COUNTER, "zcsi_rpc_refused_total",
		       "Requests for no method that there is, malformed, or not allowed.", "code"),
	[QUEUE] = METRIC(HISTOGRAM, "zcsi_rpc_queue_wait_seconds",
			 "From a whole request to the start of its handler on a worker."),
	[KEY] = METRIC(
		HISTOGRAM, "zcsi_rpc_key_wait_seconds",
		"Of that, behind other calls for the same volume or name; of calls that have one."),
	[ACCEPTED] = METRIC(COUNTER, "zcsi_connections_accepted_total", "Connections accepted.",
			    "endpoint"),
	[CLOSED] = METRIC(COUNTER, "zcsi_connections_closed_total",
			  "Accepted connections that have ended.", "endpoint", "reason"),
	[DIALED] =
		METRIC(COUNTER, "zcsi_client_connects_total", "Attempts to connect.", "endpoint"),
	[DIAL_FAILED] = METRIC(COUNTER, "zcsi_client_connect_failures_total",
			       "Attempts to connect that have failed.", "endpoint"),
};

void metrics_call(const char *service, const char *method, enum error_code code, int64_t us)
{
	metric_count(&metrics[CALLS], service, method, error_name(code));
	metric_time(&metrics[SECONDS], us, service, method);
}

void metrics_refused(enum error_code code)
{
	metric_count(&metrics[REFUSED], error_name(code));
}

void metrics_queue_wait(int64_t us)
{
	metric_time(&metrics[QUEUE], us);
}

void metrics_key_wait(int64_t us)
{
	metric_time(&metrics[KEY], us);
}

void metrics_accepted(const char *endpoint)
{
	metric_count(&metrics[ACCEPTED], endpoint);
}

void metrics_closed(const char *endpoint, const char *reason)
{
	metric_count(&metrics[CLOSED], endpoint, reason);
}

void metrics_dialed(const char *endpoint)
{
	metric_count(&metrics[DIALED], endpoint);
	metric_begin(&metrics[DIAL_FAILED], endpoint);
}

void metrics_dial_failed(const char *endpoint)
{
	metric_count(&metrics[DIAL_FAILED], endpoint);
}

void metrics_write(FILE *out)
{
	for (size_t i = 0; i < COUNT(metrics); i++)
		metric_write(&metrics[i], out);
}
