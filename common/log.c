/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The log: one line per event, built on the stack and written by one write(2).
 *
 * Invariant: for any contents of the fields, a line is well-formed in its format and valid UTF-8. A
 * line that is too long is cut, closed properly and has the field cut=true. Both formats quote as
 * JSON does. Logging never blocks: while stderr is full, lines are dropped and counted, and the
 * next line that can be written has the count.
 */
#include "common/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/utf8.h"

/* PIPE_BUF: a longer write to a pipe may be interleaved with those of other processes. */
#define LINE_BYTES ((size_t)4096)
/* Bytes reserved to close a cut line: end of string, field cut, end of object, newline. */
#define TAIL_BYTES sizeof("\",\"cut\":true}\n")

struct line {
	size_t used;
	bool cut;
	char bytes[LINE_BYTES];
};

static const struct {
	const char *first_key, *next_key, *after_key, *cut, *close;
} punctuation[] = {
	[LOG_LOGFMT] = {"", " ", "=", " cut=true", "\n"},
	[LOG_JSON] = {"{\"", ",\"", "\":", ",\"cut\":true", "}\n"},
};

static const char *const level_names[] = {
	[LOG_DEBUG] = "debug",
	[LOG_INFO] = "info",
	[LOG_WARN] = "warn",
	[LOG_ERROR] = "error",
};

static const char *const format_names[] = {
	[LOG_LOGFMT] = "logfmt",
	[LOG_JSON] = "json",
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long dropped; /* lines dropped since the last one written; guarded by mutex */
static enum log_level min_level = LOG_INFO;
static enum log_format line_format = LOG_LOGFMT;

static int index_of(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return (int)i;
	return -1;
}

int log_setup(const char *level, const char *format, struct error *err)
{
	int level_index = index_of(level_names, COUNT(level_names), level);
	int format_index = index_of(format_names, COUNT(format_names), format);

	if (level_index < 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "log level '%s' is none of debug, info, warn, error", level);
	if (format_index < 0)
		return fail(err, ERR_INVALID_ARGUMENT, "log format '%s' is neither logfmt nor json",
			    format);
	min_level = (enum log_level)level_index;
	line_format = (enum log_format)format_index;
	return 0;
}

/*
 * Append n bytes, all or none. Returns false if they do not fit, which cuts the line: later calls
 * append nothing.
 */
static bool put(struct line *line, const char *bytes, size_t n)
{
	if (line->cut || line->used + n > LINE_BYTES - TAIL_BYTES) {
		line->cut = true;
		return false;
	}
	memcpy(line->bytes + line->used, bytes, n);
	line->used += n;
	return true;
}

static bool put_text(struct line *line, const char *text)
{
	return put(line, text, strlen(text));
}

/* Append text to the reserved TAIL_BYTES, also to a line that was cut. */
static void put_tail(struct line *line, const char *text)
{
	size_t n = strlen(text);

	memcpy(line->bytes + line->used, text, n);
	line->used += n;
}

static bool put_control(struct line *line, char byte)
{
	static const char short_forms[] = "\b\t\n\f\r", letters[] = "btnfr";
	const char *found = strchr(short_forms, byte);
	char escape[sizeof("\\u0000")];

	if (found)
		snprintf(escape, sizeof(escape), "\\%c", letters[found - short_forms]);
	else
		snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)byte & 0xff);
	return put_text(line, escape);
}

/* Append one character, escaped for quotes. Returns the number of bytes of text that it used. */
static size_t put_character(struct line *line, const char *text)
{
	size_t length = utf8_sequence(text, strnlen(text, UTF8_MAX));

	if (length == 0) {
		put(line, "?", 1);
		return 1;
	}
	if (utf8_control(text))
		put_control(line, text[length - 1]);
	else if (*text == '"' || *text == '\\')
		put(line, (const char[]){'\\', *text}, 2);
	else
		put(line, text, length);
	return length;
}

static bool needs_quotes(const char *text)
{
	const char *byte = text;

	while (*byte && *byte != ' ' && *byte != '"' && *byte != '=' && *byte != '\\' &&
	       !utf8_control(byte))
		byte++;
	return *byte || byte == text;
}

static void put_value(struct line *line, const char *text)
{
	bool quoted = line_format == LOG_JSON || needs_quotes(text);

	if (quoted && !put(line, "\"", 1))
		return;
	while (*text && !line->cut)
		text += put_character(line, text);
	if (quoted)
		put_tail(line, "\"");
}

static void put_field(struct line *line, struct log_field field)
{
	size_t before = line->used;

	put_text(line, line->used ? punctuation[line_format].next_key
				  : punctuation[line_format].first_key);
	put_text(line, field.key);
	put_text(line, punctuation[line_format].after_key);
	size_t head = line->used;
	if (field.text) {
		put_value(line, field.text);
	} else {
		char digits[24];
		snprintf(digits, sizeof(digits), "%lld", field.number);
		put_text(line, digits);
	}
	/* Remove a key whose value did not fit, or that was itself cut. */
	if (line->cut && line->used == head)
		line->used = before;
}

static void put_time(struct line *line)
{
	struct timespec now;
	struct tm utc;
	char seconds[40], text[64];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text, sizeof(text), "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
	put_field(line, log_str("time", text));
}

bool log_writes(enum log_level level)
{
	return level >= min_level;
}

static void build(struct line *line, enum log_level level, const struct log_field *fields,
		  unsigned n_fields)
{
	line->used = 0;
	line->cut = false;
	put_time(line);
	put_field(line, log_str("level", level_names[level]));
	for (unsigned i = 0; i < n_fields; i++)
		put_field(line, fields[i]);
	if (line->cut)
		put_tail(line, punctuation[line_format].cut);
	put_tail(line, punctuation[line_format].close);
}

/*
 * Write a line. Returns false if the write would block. A pipe that poll reports as writable has
 * room for a line (pipe(7)) as long as one thread at a time writes to it. O_NONBLOCK is not used
 * because it would apply to all processes that share stderr.
 */
static bool write_line(const struct line *line)
{
	struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};

	if (poll(&ready, 1, 0) == 0)
		return false;
	/* An error of the log itself cannot be reported. */
	ssize_t written = write(STDERR_FILENO, line->bytes, line->used);
	(void)written;
	return true;
}

static void report_dropped(void)
{
	const struct log_field fields[] = {log_str("msg",
						   "cannot write the log, lines were dropped"),
					   log_int("dropped", (long long)dropped)};
	struct line line;

	build(&line, LOG_WARN, fields, COUNT(fields));
	if (write_line(&line))
		dropped = 0;
}

static void write_or_drop(const struct line *line)
{
	scoped_lock(&mutex);

	if (dropped)
		report_dropped();
	if (dropped || !write_line(line))
		dropped++;
}

void log_write(enum log_level level, const struct log_field *fields, unsigned n_fields)
{
	int saved_errno = errno;
	struct line line;

	if (!log_writes(level))
		return;
	build(&line, level, fields, n_fields);
	write_or_drop(&line);
	errno = saved_errno;
}
