/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_PARAMETER_VALUE_H
#define ZCSI_CONTROLLER_PARAMETER_VALUE_H

/* The values that a parameter may have. Pure. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

enum value_kind {
	VALUE_WORD, /* a text that matches one of the words */
	VALUE_SIZE, /* a text that matches one of the words, or a power of two from min to max */
	VALUE_ID,   /* a numeric user or group */
	VALUE_MODE, /* octal permissions */
	VALUE_TEXT, /* any text without control characters */
	VALUE_RATE, /* bytes a second, from 64K to 100000M, such as 500K or 50M, or none */
	VALUE_SCHEDULE, /* a text for schedule_parse, such as daily=30 */
	VALUE_TIME,     /* a word, or a time from 10s to 30d, such as 90, 5m, 2h or 1d */
};

struct parameter_rule {
	enum value_kind kind;
	const char *words; /* globs, separated by '|'; NULL: none */
	uint64_t min, max; /* bytes, for VALUE_SIZE */
};

/* Returns true if the rule accepts the value. */
bool parameter_value_fits(const struct parameter_rule *rule, const char *value);
/* Print the accepted values in words: "on, off" or "a power of two from 512 to 16M". */
void parameter_value_describe(const struct parameter_rule *rule, FILE *out);

/* Returns the bytes of "4096", "4k", "4K" or "1M"; 0 if the text is none of these. */
uint64_t parameter_value_bytes(const char *text);
/* Returns the seconds of "300", "300s", "5m", "2h" or "1d"; 0 if the text is none of these. */
uint64_t parameter_value_seconds(const char *text);

/* Returns true if the text has min to max bytes, all of them among these characters. */
bool parameter_value_consists_of(const char *characters, size_t min, size_t max, const char *text);

#endif
