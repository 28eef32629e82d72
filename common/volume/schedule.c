/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Parsing the parameter keep, the schedule of a volume's snapshots.
 *
 * Invariant: a text is accepted as a whole or not at all, so no unit is forgotten by mistake.
 */
#include "common/volume/schedule.h"

#include <stdlib.h>
#include <string.h>

const char *const schedule_names[SCHEDULE_UNITS] = {
	[SCHEDULE_FREQUENTLY] = "frequently", [SCHEDULE_HOURLY] = "hourly",
	[SCHEDULE_DAILY] = "daily",           [SCHEDULE_WEEKLY] = "weekly",
	[SCHEDULE_MONTHLY] = "monthly",       [SCHEDULE_YEARLY] = "yearly",
};

/* Returns the number of the unit with this name; SCHEDULE_UNITS if there is none. */
static unsigned find_unit(const char *name, size_t length)
{
	unsigned unit = 0;

	while (unit < SCHEDULE_UNITS && (strlen(schedule_names[unit]) != length ||
					 strncmp(schedule_names[unit], name, length) != 0))
		unit++;
	return unit;
}

/* Parse "unit=number" at the start of the text. Returns the rest of the text; NULL on an error. */
static const char *parse_word(const char *text, struct schedule *schedule)
{
	size_t name = strcspn(text, "="), digits = strspn(text + name + !!text[name], "0123456789");
	unsigned unit = find_unit(text, name);

	if (!text[name] || unit == SCHEDULE_UNITS || schedule->keep[unit] || !digits || digits > 4)
		return NULL;
	schedule->keep[unit] = (unsigned)atoi(text + name + 1);
	if (!schedule->keep[unit] || schedule->keep[unit] > SCHEDULE_KEEP_MAX)
		return NULL;
	return text + name + 1 + digits;
}

bool schedule_parse(const char *text, struct schedule *ret)
{
	*ret = (struct schedule){0};
	if (strcmp(text, "none") == 0)
		return true;
	for (const char *at = parse_word(text, ret); at; at = parse_word(at + 1, ret))
		if (!*at)
			return true;
		else if (*at != ',')
			return false;
	return false;
}

bool schedule_is_set(const struct schedule *schedule)
{
	for (unsigned unit = 0; unit < SCHEDULE_UNITS; unit++)
		if (schedule->keep[unit])
			return true;
	return false;
}
