/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Metrics: series of atomic numbers, written in Prometheus' text format.
 *
 * The series of a metric are a list that only grows, at its head, by compare and swap. A histogram
 * counts each bucket separately and sums them up when it is written, so that the written buckets
 * are cumulative and the written count equals the last bucket even while other threads count.
 *
 * Invariant: a series in the list is complete and never freed, so readers need no lock.
 */
#include "common/metrics.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/mem.h"
#include "common/utf8.h"

/*
 * Upper bounds of the buckets of a histogram: the shortest fit a call that the event loop answers
 * itself, the longest a zfs process that waits for its disks. The last bucket is +Inf.
 */
static const struct {
	int64_t us;
	const char *le; /* the bound in seconds, as the value of the label le */
} bounds[] = {
	{100, "0.0001"},  {500, "0.0005"},    {1000, "0.001"},     {2500, "0.0025"},
	{5000, "0.005"},  {10000, "0.01"},    {25000, "0.025"},    {50000, "0.05"},
	{100000, "0.1"},  {250000, "0.25"},   {500000, "0.5"},     {1000000, "1"},
	{2500000, "2.5"}, {5000000, "5"},     {10000000, "10"},    {30000000, "30"},
	{60000000, "60"}, {120000000, "120"}, {INT64_MAX, "+Inf"},
};

struct metric_series {
	struct metric_series *next;
	uint64_t hash; /* hash of values, compared before the values themselves */
	const char *values[METRIC_LABELS_MAX];
	_Atomic uint64_t amount;    /* value of a counter; sum of a histogram, in microseconds */
	_Atomic uint64_t buckets[]; /* histogram: counts, not cumulative */
};

static const char *const kind_names[] = {
	[METRIC_COUNTER] = "counter",
	[METRIC_GAUGE] = "gauge",
	[METRIC_HISTOGRAM] = "histogram",
};

static atomic_bool enabled;

void metrics_enable(void)
{
	atomic_store(&enabled, true);
}

/* Series */

static uint64_t hash_of(const char *const *values)
{
	uint64_t hash = HASH_START;

	for (size_t i = 0; i < METRIC_LABELS_MAX && values[i]; i++)
		hash = hash_text(hash, values[i]);
	return hash;
}

static bool is_of(const struct metric_series *series, const char *const *values)
{
	for (size_t i = 0; i < METRIC_LABELS_MAX && values[i]; i++)
		if (strcmp(series->values[i], values[i]) != 0)
			return false;
	return true;
}

static struct metric_series *find(struct metric_series *series, uint64_t hash,
				  const char *const *values)
{
	while (series && (series->hash != hash || !is_of(series, values)))
		series = series->next;
	return series;
}

static struct metric_series *make(const struct metric *metric, const char *const *values)
{
	size_t n_buckets = metric->kind == METRIC_HISTOGRAM ? COUNT(bounds) : 0;
	struct metric_series *made =
		mem_alloc(sizeof(*made) + n_buckets * sizeof(made->buckets[0]));

	for (size_t i = 0; i < METRIC_LABELS_MAX && values[i]; i++)
		made->values[i] = mem_strdup(values[i]);
	return made;
}

static void discard(struct metric_series *series)
{
	for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
		free((char *)series->values[i]);
	free(series);
}

static struct metric_series *series_of(struct metric *metric, const char *const *values)
{
	struct metric_series *first = atomic_load_explicit(&metric->series, memory_order_acquire);
	uint64_t hash = hash_of(values);
	struct metric_series *found = find(first, hash, values);

	if (found)
		return found;
	struct metric_series *made = make(metric, values);
	made->hash = hash;
	made->next = first;
	while (!atomic_compare_exchange_weak(&metric->series, &made->next, made)) {
		found = find(made->next, hash, values);
		if (found) {
			discard(made);
			return found;
		}
	}
	return made;
}

void metric_add(struct metric *metric, const char *const *values, uint64_t n)
{
	if (atomic_load_explicit(&enabled, memory_order_relaxed))
		atomic_fetch_add_explicit(&series_of(metric, values)->amount, n,
					  memory_order_relaxed);
}

void metric_observe(struct metric *metric, const char *const *values, int64_t us)
{
	size_t bucket = 0;

	if (!atomic_load_explicit(&enabled, memory_order_relaxed))
		return;
	while (us > bounds[bucket].us)
		bucket++;
	struct metric_series *series = series_of(metric, values);
	atomic_fetch_add_explicit(&series->buckets[bucket], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&series->amount, (uint64_t)us, memory_order_relaxed);
}

/* Text */

/*
 * Write the value of a label. Backslash, quote and line feed are escaped; a byte that is not UTF-8
 * becomes a question mark.
 */
static void put_value(FILE *out, const char *text)
{
	while (*text) {
		size_t length = utf8_sequence(text, strnlen(text, UTF8_MAX));
		if (length == 0)
			fputc('?', out);
		else if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '\\' || *text == '"')
			fprintf(out, "\\%c", *text);
		else
			fwrite(text, 1, length, out);
		text += length ? length : 1;
	}
}

/* Write one line. le is the bound of a histogram's bucket, or NULL. */
static void put_sample(const struct metric *metric, FILE *out, const char *suffix,
		       const char *const *values, const char *le, double value)
{
	const char *before = "{";

	fprintf(out, "%s%s", metric->name, suffix);
	for (size_t i = 0; i < METRIC_LABELS_MAX && metric->labels[i]; i++) {
		fprintf(out, "%s%s=\"", before, metric->labels[i]);
		put_value(out, values[i]);
		fputc('"', out);
		before = ",";
	}
	if (le)
		fprintf(out, "%sle=\"%s\"", before, le);
	fprintf(out, "%s %.16g\n", le || metric->labels[0] ? "}" : "", value);
}

static void put_histogram(const struct metric *metric, FILE *out,
			  const struct metric_series *series)
{
	uint64_t sum = atomic_load_explicit(&series->amount, memory_order_relaxed), count = 0;

	for (size_t i = 0; i < COUNT(bounds); i++) {
		count += atomic_load_explicit(&series->buckets[i], memory_order_relaxed);
		put_sample(metric, out, "_bucket", series->values, bounds[i].le, (double)count);
	}
	put_sample(metric, out, "_sum", series->values, NULL, (double)sum / 1e6);
	put_sample(metric, out, "_count", series->values, NULL, (double)count);
}

void metric_head(const struct metric *metric, FILE *out)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name,
		kind_names[metric->kind]);
}

void metric_tell(const struct metric *metric, FILE *out, const char *const *values, double value)
{
	put_sample(metric, out, "", values, NULL, value);
}

void metric_write(struct metric *metric, FILE *out)
{
	struct metric_series *series = atomic_load_explicit(&metric->series, memory_order_acquire);

	metric_head(metric, out);
	/* A metric without labels is written as 0 before it is first counted. */
	if (!series && !metric->labels[0])
		series = series_of(metric, METRIC_VALUES_());
	for (; series; series = series->next) {
		if (metric->kind == METRIC_HISTOGRAM)
			put_histogram(metric, out, series);
		else
			metric_tell(metric, out, series->values,
				    (double)atomic_load_explicit(&series->amount,
								 memory_order_relaxed));
	}
}
