/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the log: the exact lines in both formats, hostile values, and lines longer than the
 * limit.
 */
#include "tests/cmocka.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"

static char captured[65536];

/* Run the statement with stderr redirected to a file, and copy the output into `captured`. */
#define capture(statement)                                                                         \
	do {                                                                                       \
		auto_close int saved_ = dup(STDERR_FILENO);                                        \
		auto_close int file_ = memfd_create("stderr", MFD_CLOEXEC);                        \
		assert_int_equal(dup2(file_, STDERR_FILENO), STDERR_FILENO);                       \
		statement;                                                                         \
		assert_int_equal(dup2(saved_, STDERR_FILENO), STDERR_FILENO);                      \
		ssize_t n_ = pread(file_, captured, sizeof(captured) - 1, 0);                      \
		assert_true(n_ >= 0);                                                              \
		captured[n_] = '\0';                                                               \
	} while (0)

/* Returns the captured line after its time. `before` is the text in front of the time (time= or
 * {"time":"), `after` is the text that must follow it. */
static const char *after_time(const char *before, const char *after)
{
	const size_t stamp = strlen("2026-01-31T12:00:00.123Z");

	assert_memory_equal(captured, before, strlen(before));
	assert_memory_equal(captured + strlen(before) + stamp, after, strlen(after));
	return captured + strlen(before) + stamp + strlen(after);
}

static void setup(const char *level, const char *format)
{
	struct error err;

	assert_int_equal(log_setup(level, format, &err), 0);
}

static void logfmt_quotes_only_what_needs_it(void **state)
{
	(void)state;
	static const struct {
		const char *value, *written;
	} cases[] = {
		{"unix:///run/a.sock", "unix:///run/a.sock"},
		{"", "\"\""},
		{"two words", "\"two words\""},
		{"a=b", "\"a=b\""},
		{"say \"x\"", "\"say \\\"x\\\"\""},
		{"a\\b", "\"a\\\\b\""},
		{"c1\xc2\x85\xc2\xa0", "\"c1\\u0085\xc2\xa0\""},
		{"line\nline\ttab\x01\x7f", "\"line\\nline\\ttab\\u0001\\u007f\""},
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{NULL, "\"\""},
	};
	char expected[200];

	setup("info", "logfmt");
	for (size_t i = 0; i < COUNT(cases); i++) {
		capture(log_warn("m", log_str("k", cases[i].value), log_int("n", -5)));
		snprintf(expected, sizeof(expected), "level=warn msg=m k=%s n=-5\n",
			 cases[i].written);
		assert_string_equal(after_time("time=", " "), expected);
	}
}

static void json_texts_are_escaped(void **state)
{
	(void)state;

	setup("info", "json");
	capture(log_error("a b", log_str("k", "\"\\\n\x02/\xe2\x82\xac"), log_int("n", INT64_MIN)));
	assert_string_equal(after_time("{\"time\":\"", "\","),
			    "\"level\":\"error\",\"msg\":\"a b\",\"k\":"
			    "\"\\\"\\\\\\n\\u0002/\xe2\x82\xac\",\"n\":-9223372036854775808}\n");
}

static void invalid_utf8_becomes_question_marks(void **state)
{
	(void)state;
	static const struct {
		const char *value, *written;
	} cases[] = {
		{"a\xff"
		 "b",
		 "a?b"},
		{"\xc0\xaf", "??"},
		{"\xe0\x80\x80", "???"},
		{"\xed\xa0\x80", "???"},
		{"\xf4\x90\x80\x80", "????"},
		{"\xf5", "?"},
		{"\xe2\x82", "??"},
		{"\xc3"
		 "a",
		 "?a"},
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
		{"\xef\xbf\xbf", "\xef\xbf\xbf"},
		{"\xed\x9f\xbf", "\xed\x9f\xbf"},
		{"\x80", "?"},
	};
	char expected[100];

	setup("info", "logfmt");
	for (size_t i = 0; i < COUNT(cases); i++) {
		capture(log_info("m", log_str("k", cases[i].value)));
		snprintf(expected, sizeof(expected), "level=info msg=m k=%s\n", cases[i].written);
		assert_string_equal(after_time("time=", " "), expected);
	}
}

/* A strict parser of one flat JSON object with string, integer and true values. */
static bool skip_string(const char **at)
{
	if (*(*at)++ != '"')
		return false;
	while (**at != '"') {
		if ((unsigned char)**at < ' ')
			return false;
		if (**at == '\\' && !strchr("\"\\/bfnrtu", *++*at))
			return false;
		if (**at == 'u' && (*at)[-1] == '\\' && strspn(*at + 1, "0123456789abcdef") < 4)
			return false;
		++*at;
	}
	++*at;
	return true;
}

static bool skip_value(const char **at)
{
	if (**at == '"')
		return skip_string(at);
	size_t digits = strspn(*at, "-0123456789"), truth = strncmp(*at, "true", 4) == 0 ? 4 : 0;
	*at += digits + truth;
	return digits + truth > 0;
}

static bool is_json_line(const char *at)
{
	if (*at++ != '{')
		return false;
	do {
		if (!skip_string(&at) || *at++ != ':' || !skip_value(&at))
			return false;
	} while (*at++ == ',');
	return strcmp(at - 1, "}\n") == 0;
}

/* Lines are cut at every offset in a range, because each offset interrupts the writer in another
 * state. */
static void overlong_lines_are_cut_and_stay_valid(void **state)
{
	(void)state;
	static const char *const units[] = {"x", "\"", "\x01", "\xf0\x9f\x98\x80"};
	char value[8192];

	for (size_t u = 0; u < COUNT(units); u++) {
		size_t unit = strlen(units[u]), n = 0;
		for (size_t lead = 3900; lead < 4100; lead++) {
			memset(value, 'a', lead);
			for (n = lead; n + unit < lead + 64; n += unit)
				memcpy(value + n, units[u], unit);
			value[n] = '\0';
			setup("info", "json");
			capture(log_info("m", log_str("k", value), log_int("number", 12345),
					 log_str("last", "end")));
			assert_true(is_json_line(captured));
			assert_true(strlen(captured) <= 4096);
			bool cut = strstr(captured, ",\"cut\":true}\n") != NULL;
			assert_int_equal(!cut, strstr(captured, "\"last\":\"end\"}\n") != NULL);
			setup("info", "logfmt");
			capture(log_info("m", log_str("k", value), log_int("number", 12345)));
			assert_true(strlen(captured) <= 4096);
			assert_ptr_equal(strchr(captured, '\n'), captured + strlen(captured) - 1);
			cut = strstr(captured, " cut=true\n") != NULL;
			assert_int_equal(!cut, strstr(captured, " number=12345\n") != NULL);
		}
	}
}

static void time_is_utc_now(void **state)
{
	(void)state;
	struct tm utc = {0};
	int milliseconds = -1;
	time_t before = time(NULL);

	setup("info", "logfmt");
	capture(log_info("m"));
	const char *rest = strptime(captured, "time=%Y-%m-%dT%H:%M:%S", &utc);
	assert_non_null(rest);
	assert_int_equal(sscanf(rest, ".%3dZ level", &milliseconds), 1);
	assert_in_range(milliseconds, 0, 999);
	time_t logged = timegm(&utc);
	assert_true(logged >= before && logged <= time(NULL));
}

static void level_filters_and_errno_survives(void **state)
{
	(void)state;

	setup("warn", "logfmt");
	capture(log_debug("m"); log_info("m"));
	assert_string_equal(captured, "");
	setup("debug", "logfmt");
	errno = EBUSY;
	capture(log_debug("m"));
	assert_int_equal(errno, EBUSY);
	assert_string_equal(after_time("time=", " "), "level=debug msg=m\n");
}

static void wrong_levels_and_formats_are_refused(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(log_setup("Debug", "logfmt", &err), -1);
	assert_string_equal(err.text, "log level 'Debug' is none of debug, info, warn, error");
	assert_int_equal(log_setup("", "logfmt", &err), -1);
	assert_int_equal(log_setup("info", "xml", &err), -1);
	assert_string_equal(err.text, "log format 'xml' is neither logfmt nor json");
	assert_int_equal(log_setup("error", "json", &err), 0);
}

/* A pipe that is not read holds 16 KiB of lines. If log_info() blocked on a full pipe, the test
 * would hang; alarm(2) ends it then. */
static void an_unread_pipe_drops_lines_and_counts_them(void **state)
{
	int pipe_fds[2], saved = dup(STDERR_FILENO), lines = 0;

	(void)state;
	setup("info", "logfmt");
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	assert_true(fcntl(pipe_fds[1], F_SETPIPE_SZ, 16384) > 0);
	assert_int_equal(dup2(pipe_fds[1], STDERR_FILENO), STDERR_FILENO);
	alarm(20);
	for (int i = 0; i < 1000; i++)
		log_info("line", log_int("number", i));
	alarm(0);
	ssize_t n = read(pipe_fds[0], captured, sizeof(captured) - 1);
	log_info("after");
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	assert_true(n > 0);
	for (ssize_t i = 0; i < n; i++)
		lines += captured[i] == '\n';
	n = read(pipe_fds[0], captured, sizeof(captured) - 1);
	assert_true(n > 0);
	captured[n] = '\0';
	const char *found = strstr(captured, "dropped=");
	assert_non_null(found);
	assert_int_equal(atoi(found + strlen("dropped=")) + lines, 1000);
	assert_non_null(strstr(found, "msg=after"));
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	close(saved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logfmt_quotes_only_what_needs_it),
		cmocka_unit_test(json_texts_are_escaped),
		cmocka_unit_test(invalid_utf8_becomes_question_marks),
		cmocka_unit_test(overlong_lines_are_cut_and_stay_valid),
		cmocka_unit_test(time_is_utc_now),
		cmocka_unit_test(level_filters_and_errno_survives),
		cmocka_unit_test(wrong_levels_and_formats_are_refused),
		cmocka_unit_test(an_unread_pipe_drops_lines_and_counts_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
