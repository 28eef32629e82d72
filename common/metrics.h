/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_METRICS_H
#define ZCSI_METRICS_H

/*
 * Metrics in Prometheus' text format, version 0.0.4. A metric is a static object with a series for
 * each combination of label values that was counted:
 *
 *	static struct metric runs = METRIC(COUNTER, "zcsi_runs_total", "Programs run.", "verb");
 *
 *	metric_count(&runs, "create");
 *
 * Counting needs no lock, in any thread, and does nothing before metrics_enable. A series is never
 * freed, so label values must come from our own tables and never from a peer.
 */

#include <stdint.h>
#include <stdio.h>

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

#define METRIC_LABELS_MAX 3

struct metric {
	enum metric_kind kind;
	const char *name; /* name with its unit, such as _seconds; a counter's ends with _total */
	const char *help; /* description, one line without backslash */
	const char *labels[METRIC_LABELS_MAX];
	_Atomic(struct metric_series *) series; /* private to metrics.c */
};

#define METRIC(KIND, NAME, HELP, ...)                                                              \
	{                                                                                          \
		.kind = METRIC_##KIND, .name = (NAME), .help = (HELP), .labels = { __VA_ARGS__ }   \
	}

/* Start to count. Before this call, all counting functions do nothing. */
void metrics_enable(void);

/*
 * Make a series of a counter or a histogram begin with 0. A series that begins with its first event
 * hides that one from increase() of Prometheus, which needs a value from before.
 */
#define metric_begin(metric, ...)    metric_add(metric, METRIC_VALUES_(__VA_ARGS__), 0)
/* Add 1 to a counter, or us microseconds to a histogram. Label values follow in label order. */
#define metric_count(metric, ...)    metric_add(metric, METRIC_VALUES_(__VA_ARGS__), 1)
#define metric_time(metric, us, ...) metric_observe(metric, METRIC_VALUES_(__VA_ARGS__), us)

/* Write a counter or a histogram with all its series. */
void metric_write(struct metric *metric, FILE *out);

/* Write a metric without stored values: first its head, then metric_sample for each value. */
void metric_head(const struct metric *metric, FILE *out);
#define metric_sample(metric, out, value, ...)                                                     \
	metric_tell(metric, out, METRIC_VALUES_(__VA_ARGS__), value)

/* Functions behind the macros above, with the label values as an array. */
void metric_add(struct metric *metric, const char *const *values, uint64_t n);
void metric_observe(struct metric *metric, const char *const *values, int64_t us);
void metric_tell(const struct metric *metric, FILE *out, const char *const *values, double value);

#define METRIC_VALUES_(...)                                                                        \
	(const char *const[METRIC_LABELS_MAX])                                                     \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

#endif
