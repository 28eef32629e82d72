/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Checking the value of a parameter against its kind, and describing the accepted values.
 *
 * Invariant: an accepted value has no control character, whatever its kind.
 */
#include "controller/request/parameter_value.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "common/volume/schedule.h"

#define ID_MAX   (UINT32_MAX - 1) /* UINT32_MAX means "unchanged" in chown(2) */
#define TEXT_MAX 1024
#define RATE_MIN (64 * KIB) /* bytes a second */
#define RATE_MAX (100000 * MIB)
#define TIME_MIN 10 /* seconds */
#define TIME_MAX (30 * 86400)

static bool is_word(const char *words, const char *value)
{
	while (words && *words) {
		size_t length = strcspn(words, "|");
		char word[32];

		snprintf(word, sizeof(word), "%.*s", (int)length, words);
		if (fnmatch(word, value, 0) == 0)
			return true;
		words += length + (words[length] == '|');
	}
	return false;
}

uint64_t parameter_value_bytes(const char *text)
{
	char *end;

	if (*text < '0' || *text > '9')
		return 0;
	errno = 0;
	uint64_t number = strtoull(text, &end, 10);
	uint64_t unit = *end == 'k' || *end == 'K' ? KIB : *end == 'm' || *end == 'M' ? MIB : 1;
	if (unit != 1)
		end++;
	return errno || *end || number > UINT64_MAX / unit ? 0 : number * unit;
}

static bool is_power(const struct parameter_rule *rule, const char *value)
{
	uint64_t size = parameter_value_bytes(value);

	return size && size >= rule->min && size <= rule->max && (size & (size - 1)) == 0;
}

bool parameter_value_consists_of(const char *digits, size_t min, size_t max, const char *value)
{
	size_t length = strlen(value);

	return length >= min && length <= max && strspn(value, digits) == length;
}

uint64_t parameter_value_seconds(const char *text)
{
	static const char units[] = "smhd";
	static const uint64_t seconds[] = {1, 60, 3600, 86400};
	size_t digits = strspn(text, "0123456789");
	const char *unit = text[digits] ? strchr(units, text[digits]) : units;

	if (!digits || digits > 9 || !unit || (text[digits] && text[digits + 1]))
		return 0;
	return strtoull(text, NULL, 10) * seconds[unit - units];
}

static bool is_rate(const char *value)
{
	uint64_t rate = parameter_value_bytes(value);

	return (rate >= RATE_MIN && rate <= RATE_MAX) || strcmp(value, "none") == 0;
}

static bool is_time(const char *value)
{
	uint64_t seconds = parameter_value_seconds(value);

	return seconds >= TIME_MIN && seconds <= TIME_MAX;
}

static bool is_text(const char *value)
{
	const char *at = value;

	while (*at && !utf8_control(at))
		at++;
	return *value && !*at && strlen(value) <= TEXT_MAX;
}

bool parameter_value_fits(const struct parameter_rule *rule, const char *value)
{
	struct schedule ignored;

	switch (rule->kind) {
	case VALUE_WORD:
		return is_word(rule->words, value);
	case VALUE_SIZE:
		return is_word(rule->words, value) || is_power(rule, value);
	case VALUE_ID:
		return parameter_value_consists_of("0123456789", 1, 10, value) &&
		       strtoull(value, NULL, 10) <= ID_MAX;
	case VALUE_MODE:
		return parameter_value_consists_of("01234567", 3, 4, value);
	case VALUE_TEXT:
		return is_text(value);
	case VALUE_RATE:
		return is_rate(value);
	case VALUE_SCHEDULE:
		return schedule_parse(value, &ignored);
	case VALUE_TIME:
		return is_word(rule->words, value) || is_time(value);
	}
	return false;
}

static void print_size(uint64_t size, FILE *out)
{
	if (size >= MIB)
		fprintf(out, "%juM", (uintmax_t)(size / MIB));
	else if (size >= KIB)
		fprintf(out, "%juK", (uintmax_t)(size / KIB));
	else
		fprintf(out, "%ju", (uintmax_t)size);
}

static void describe_words(const struct parameter_rule *rule, FILE *out)
{
	for (const char *at = rule->words; at && *at; at++)
		fputs(*at == '|' ? ", " : (const char[]){*at, '\0'}, out);
}

static void describe_schedule(FILE *out)
{
	fputs("how many snapshots to keep of each unit, such as hourly=24,daily=30, or none; the "
	      "units are",
	      out);
	for (unsigned unit = 0; unit < SCHEDULE_UNITS; unit++)
		fprintf(out, "%s %s", unit ? "," : "", schedule_names[unit]);
}

void parameter_value_describe(const struct parameter_rule *rule, FILE *out)
{
	describe_words(rule, out);
	switch (rule->kind) {
	case VALUE_WORD:
		break;
	case VALUE_SIZE:
		fprintf(out, "%sa power of two from ", rule->words ? ", or " : "");
		print_size(rule->min, out);
		fputs(" to ", out);
		print_size(rule->max, out);
		break;
	case VALUE_ID:
		fputs("a number, as of chown", out);
		break;
	case VALUE_MODE:
		fputs("three or four octal digits, as of chmod", out);
		break;
	case VALUE_TEXT:
		fprintf(out, "text of at most %d bytes without control characters", TEXT_MAX);
		break;
	case VALUE_RATE:
		fputs("bytes a second from 64K to 100000M, such as 500K or 50M, or none", out);
		break;
	case VALUE_SCHEDULE:
		describe_schedule(out);
		break;
	case VALUE_TIME:
		fprintf(out, "%sa time from 10s to 30d, such as 90s, 5m or 2h",
			rule->words ? ", or " : "");
		break;
	}
}
