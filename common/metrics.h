/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_METRICS_H
#define ZCSI_METRICS_H

/*
 * Metrics in Prometheus' text format, version 0.0.4. A metric is a static object with a series for
 * each combination of label values that was seen:
 *
 *	static struct metric runs = METRIC(COUNTER, "zcsi_runs_total", "Programs run.", "verb");
 *
 *	metric_count(&runs, "create");
 *
 * Counting takes no lock, in any thread, and does nothing before metrics_enable. A series is kept
 * for ever, so label values come from tables of ours and never from a peer.
 */

#include <stdint.h>
#include <stdio.h>

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

#define METRIC_LABELS_MAX 3

struct metric {
	enum metric_kind kind;
	const char *name; /* of base units, ..._total for a counter */
	const char *help; /* one line, no backslash */
	const char *labels[METRIC_LABELS_MAX];
	_Atomic(struct metric_series *) series; /* the registry's own */
};

#define METRIC(KIND, NAME, HELP, ...)                                                              \
	{                                                                                          \
		.kind = METRIC_##KIND, .name = (NAME), .help = (HELP), .labels = { __VA_ARGS__ }   \
	}

/* Count from now on. */
void metrics_enable(void);

/* The label values follow in the order of the labels. A histogram is of microseconds. */
#define metric_count(metric, ...)    metric_add(metric, METRIC_VALUES_(__VA_ARGS__), 1)
#define metric_time(metric, us, ...) metric_observe(metric, METRIC_VALUES_(__VA_ARGS__), us)

/* A counter or a histogram with all its series. */
void metric_write(struct metric *metric, FILE *out);

/* Write a metric whose values are looked up at that moment: its head, then each of its samples. */
void metric_head(const struct metric *metric, FILE *out);
#define metric_sample(metric, out, value, ...)                                                     \
	metric_tell(metric, out, METRIC_VALUES_(__VA_ARGS__), value)

/* With the values as an array. */
void metric_add(struct metric *metric, const char *const *values, uint64_t n);
void metric_observe(struct metric *metric, const char *const *values, int64_t us);
void metric_tell(const struct metric *metric, FILE *out, const char *const *values, double value);

#define METRIC_VALUES_(...)                                                                        \
	(const char *const[METRIC_LABELS_MAX])                                                     \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

#endif
