/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of metrics: the exact text, and the totals when several threads count at the same time.
 */
#include "tests/cmocka.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/metrics.h"
#include "common/process.h"

#define HEAD(name, kind) "# HELP " name " Help.\n# TYPE " name " " kind "\n"

static char *text_of(struct metric *metric)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	metric_write(metric, out);
	fclose(out);
	return text;
}

static void assert_text(struct metric *metric, const char *expected)
{
	auto_free char *text = text_of(metric);

	assert_string_equal(text, expected);
}

/* Returns the value of the line of text that begins with `line`. The test fails if there is no such
 * line. */
static double value_of(const char *text, const char *line)
{
	const char *found = strstr(text, line);

	assert_non_null(found);
	return strtod(found + strlen(line), NULL);
}

/* This test must be the first one: all others enable metrics, and they cannot be disabled again. */
static void nothing_is_counted_before_it_is_enabled(void **state)
{
	static struct metric counter = METRIC(COUNTER, "a_total", "Help.", "x");
	static struct metric times = METRIC(HISTOGRAM, "t_seconds", "Help.", "x");

	(void)state;
	metric_count(&counter, "1");
	metric_time(&times, 1000, "1");
	assert_text(&counter, HEAD("a_total", "counter"));
	assert_text(&times, HEAD("t_seconds", "histogram"));
	metrics_enable();
	metric_count(&counter, "1");
	assert_text(&counter, HEAD("a_total", "counter") "a_total{x=\"1\"} 1\n");
}

static void a_series_is_its_label_values(void **state)
{
	static struct metric counter = METRIC(COUNTER, "a_total", "Help.", "x", "y");
	char same[] = "1";

	(void)state;
	metric_count(&counter, "1", "2");
	metric_count(&counter, same, "2");
	metric_count(&counter, "2", "1");
	metric_count(&counter, "12", "");
	same[0] = '3';
	assert_text(&counter, HEAD("a_total", "counter") "a_total{x=\"12\",y=\"\"} 1\n"
							 "a_total{x=\"2\",y=\"1\"} 1\n"
							 "a_total{x=\"1\",y=\"2\"} 2\n");
}

static void a_metric_without_labels_is_written_as_0(void **state)
{
	static struct metric counter = METRIC(COUNTER, "a_total", "Help.");

	(void)state;
	assert_text(&counter, HEAD("a_total", "counter") "a_total 0\n");
	metric_count(&counter);
	assert_text(&counter, HEAD("a_total", "counter") "a_total 1\n");
}

static void a_series_that_was_begun_is_0(void **state)
{
	static struct metric counter = METRIC(COUNTER, "a_total", "Help.", "x");
	static struct metric times = METRIC(HISTOGRAM, "t_seconds", "Help.", "x");

	(void)state;
	metric_begin(&counter, "1");
	assert_text(&counter, HEAD("a_total", "counter") "a_total{x=\"1\"} 0\n");
	metric_count(&counter, "1");
	metric_begin(&counter, "1");
	assert_text(&counter, HEAD("a_total", "counter") "a_total{x=\"1\"} 1\n");
	metric_begin(&times, "a");
	auto_free char *text = text_of(&times);
	assert_non_null(strstr(text, "t_seconds_count{x=\"a\"} 0\n"));
}

static void label_values_are_escaped(void **state)
{
	static struct metric counters[7];
	static const struct {
		const char *value, *written;
	} cases[COUNT(counters)] = {
		{"", ""},
		{"{a=\"b\"}", "{a=\\\"b\\\"}"},
		{"C:\\dir\\", "C:\\\\dir\\\\"},
		{"two\nlines", "two\\nlines"},
		{"\\n", "\\\\n"},
		{"Größe \xf0\x9f\x92\xbe", "Größe \xf0\x9f\x92\xbe"},
		{"\xff\"\xc3", "?\\\"?"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_free char *expected = NULL;
		counters[i] = (struct metric)METRIC(COUNTER, "a_total", "Help.", "x");
		assert_true(asprintf(&expected, HEAD("a_total", "counter") "a_total{x=\"%s\"} 1\n",
				     cases[i].written) > 0);
		metric_count(&counters[i], cases[i].value);
		assert_text(&counters[i], expected);
	}
}

/* A value equal to a bound belongs to the bucket of that bound, and each bucket includes all
 * smaller ones. */
static void buckets_are_cumulative(void **state)
{
	static struct metric times = METRIC(HISTOGRAM, "t_seconds", "Help.", "x");

	(void)state;
	metric_time(&times, 0, "a");
	metric_time(&times, 1000, "a");
	metric_time(&times, 1001, "a");
	metric_time(&times, 120000001, "a");
	auto_free char *text = text_of(&times);
	static const struct {
		const char *line;
		double value;
	} expected[] = {
		{"t_seconds_bucket{x=\"a\",le=\"0.0001\"} ", 1},
		{"t_seconds_bucket{x=\"a\",le=\"0.0005\"} ", 1},
		{"t_seconds_bucket{x=\"a\",le=\"0.001\"} ", 2},
		{"t_seconds_bucket{x=\"a\",le=\"0.0025\"} ", 3},
		{"t_seconds_bucket{x=\"a\",le=\"120\"} ", 3},
		{"t_seconds_bucket{x=\"a\",le=\"+Inf\"} ", 4},
		{"t_seconds_sum{x=\"a\"} ", 120.002002},
		{"t_seconds_count{x=\"a\"} ", 4},
	};
	for (size_t i = 0; i < COUNT(expected); i++)
		assert_float_equal(value_of(text, expected[i].line), expected[i].value, 1e-9);
}

static void numbers_are_exact(void **state)
{
	static const struct metric gauge = METRIC(GAUGE, "g_bytes", "Help.");
	static const struct {
		double value;
		const char *written;
	} cases[] = {{0, "g_bytes 0\n"},
		     {0.1, "g_bytes 0.1\n"},
		     {1e15, "g_bytes 1000000000000000\n"},
		     {9007199254740991, "g_bytes 9007199254740991\n"},
		     {-1.5, "g_bytes -1.5\n"}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_free char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);
		metric_sample(&gauge, out, cases[i].value);
		fclose(out);
		assert_string_equal(text, cases[i].written);
	}
}

#define N_THREADS 4
#define N_ROUNDS  20000
#define N_SERIES  8

static struct metric shared = METRIC(COUNTER, "s_total", "Help.", "x");
static struct metric shared_times = METRIC(HISTOGRAM, "s_seconds", "Help.", "x");

static void *count(void *start)
{
	char name[] = "0";

	pthread_barrier_wait(start);
	for (int i = 0; i < N_ROUNDS; i++) {
		name[0] = (char)('0' + i % N_SERIES);
		metric_count(&shared, name);
		metric_time(&shared_times, 1000, name);
		if (i % 1000 == 0)
			free(text_of(&shared_times));
	}
	return NULL;
}

static void threads_lose_no_count(void **state)
{
	const double each = (double)N_THREADS * N_ROUNDS / N_SERIES;
	pthread_t threads[N_THREADS];
	pthread_barrier_t start;

	(void)state;
	pthread_barrier_init(&start, NULL, N_THREADS);
	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count, &start), 0);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&start);
	auto_free char *text = text_of(&shared), *times = text_of(&shared_times);
	for (int i = 0; i < N_SERIES; i++) {
		char line[64];
		snprintf(line, sizeof(line), "s_total{x=\"%d\"} ", i);
		assert_float_equal(value_of(text, line), each, 0);
		/* exactly one series per label value */
		assert_null(strstr(strstr(text, line) + 1, line));
		snprintf(line, sizeof(line), "s_seconds_count{x=\"%d\"} ", i);
		assert_float_equal(value_of(times, line), each, 0);
		snprintf(line, sizeof(line), "s_seconds_sum{x=\"%d\"} ", i);
		assert_float_equal(value_of(times, line), each / 1000, 1e-9);
	}
}

static double process_value(const char *line)
{
	auto_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	process_metrics(out, 1700000000);
	fclose(out);
	return value_of(text, line);
}

static void *wait_at(void *barrier)
{
	pthread_barrier_wait(barrier);
	return NULL;
}

/* A sanitizer may run a thread of its own, so the test compares with the number of threads at its
 * beginning. */
static void threads_are_counted(void **state)
{
	double before = process_value("\nprocess_threads ");
	pthread_barrier_t end;
	pthread_t thread;

	(void)state;
	pthread_barrier_init(&end, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, wait_at, &end), 0);
	assert_float_equal(process_value("\nprocess_threads "), before + 1, 0);
	pthread_barrier_wait(&end);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&end);
}

static void the_process_is_measured(void **state)
{
	double before = process_value("\nprocess_open_fds ");
	auto_close int one = open("/dev/null", O_RDONLY | O_CLOEXEC);
	auto_close int two = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(one >= 0 && two >= 0);
	assert_float_equal(process_value("\nprocess_open_fds "), before + 2, 0);
	assert_float_equal(process_value("\nprocess_start_time_seconds "), 1700000000, 0);
	assert_float_equal(process_value("\nzcsi_build_info{version=\"" ZCSI_VERSION "\"} "), 1, 0);
	double resident = process_value("\nprocess_resident_memory_bytes ");
	assert_true(resident > (1 << 20) &&
		    resident < process_value("\nprocess_virtual_memory_bytes "));
	assert_true(process_value("\nprocess_cpu_seconds_total ") > 0);
	assert_true(process_value("\nprocess_max_fds ") > before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_counted_before_it_is_enabled),
		cmocka_unit_test(a_series_is_its_label_values),
		cmocka_unit_test(a_metric_without_labels_is_written_as_0),
		cmocka_unit_test(a_series_that_was_begun_is_0),
		cmocka_unit_test(label_values_are_escaped),
		cmocka_unit_test(buckets_are_cumulative),
		cmocka_unit_test(numbers_are_exact),
		cmocka_unit_test(threads_lose_no_count),
		cmocka_unit_test(threads_are_counted),
		cmocka_unit_test(the_process_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
