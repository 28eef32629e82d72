/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Making and recognising the leafs of scheduled snapshots.
 *
 * Invariant: a leaf is recognised only if scheduled_leaf makes the same one again, so a snapshot of
 * another tool does not count as one of the schedule by chance.
 */
#include "node/record/scheduled.h"

#include <string.h>
#include <time.h>

#define FORMAT "%Y-%m-%dT%H:%M:%SZ"

char *scheduled_leaf(struct arena *arena, const struct scheduled *scheduled)
{
	const time_t time = scheduled->time;
	struct tm utc;
	char text[32] = "";

	if (gmtime_r(&time, &utc))
		strftime(text, sizeof(text), FORMAT, &utc);
	char *leaf = arena_strdup(arena, text);
	for (unsigned unit = 0; unit < SCHEDULE_UNITS; unit++)
		if (scheduled->units & 1U << unit)
			leaf = arena_printf(arena, "%s_%s", leaf, schedule_names[unit]);
	return leaf;
}

/* Returns the units in a text of their names, each after a '_'. */
static unsigned units_of(const char *text)
{
	unsigned units = 0;

	for (unsigned unit = 0; unit < SCHEDULE_UNITS; unit++) {
		size_t length = strlen(schedule_names[unit]);
		if (*text != '_' || strncmp(text + 1, schedule_names[unit], length) != 0)
			continue;
		units |= 1U << unit;
		text += 1 + length;
	}
	return units;
}

bool scheduled_parse(const char *leaf, struct scheduled *ret)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct tm utc = {0};
	const char *end = strptime(leaf, FORMAT, &utc);

	if (!end)
		return false;
	*ret = (struct scheduled){.time = timegm(&utc), .units = units_of(end)};
	return ret->units && strcmp(scheduled_leaf(&arena, ret), leaf) == 0;
}
