/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_LOG_H
#define ZCSI_LOG_H

/*
 * The log: one line per event on stderr, in logfmt or JSON, written by one write(2) so that lines
 * of several threads are never interleaved:
 *
 *	log_info("daemon is listening", log_str("endpoint", "unix:///run/zcsi/node.sock"));
 *	-> time=2026-01-31T12:00:00.123Z level=info msg="daemon is listening" ...
 *
 * A function logs an error or returns it, never both. A request body or a secret is never logged.
 * Any thread.
 */

#include <stdbool.h>

#include "common/error.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_LOGFMT, LOG_JSON };

struct log_field {
	const char *key;
	const char *text; /* value of the field; if NULL, number is the value */
	long long number;
};

static inline struct log_field log_str(const char *key, const char *text)
{
	return (struct log_field){.key = key, .text = text ? text : ""};
}

static inline struct log_field log_int(const char *key, long long number)
{
	return (struct log_field){.key = key, .number = number};
}

/*
 * Set the level (debug, info, warn or error; info at first) and the format (logfmt or json; logfmt
 * at first). Call before any thread starts. Returns -1 with ERR_INVALID_ARGUMENT for other names.
 */
int log_setup(const char *level, const char *format, struct error *err);

/* True if messages of this level are written. */
bool log_writes(enum log_level level);
/* Write one line with the time, the level and n_fields fields. Never blocks; keeps errno. */
void log_write(enum log_level level, const struct log_field *fields, unsigned n_fields);

#define log_at(level, message, ...)                                                                \
	log_write(level,                                                                           \
		  (const struct log_field[]){log_str("msg", message) __VA_OPT__(, ) __VA_ARGS__},  \
		  sizeof((const struct log_field[]){log_str("msg", "") __VA_OPT__(, )              \
							    __VA_ARGS__}) /                        \
			  sizeof(struct log_field))

#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_at(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)

#endif
