/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Amounts and moments as people read them. With -p the numbers are printed instead, so a rounded
 * amount is never read by a program. Dates are in local time; 1024 bytes are a K, as zfs(8) has
 * it.
 */
#include "controller/cli/print/amount.h"

#include <time.h>

char *amount_bytes(struct arena *arena, uint64_t bytes)
{
	static const char units[] = "BKMGTPE";
	size_t unit = 0;
	double amount = (double)bytes;

	/* An amount of 999.5 or more would be rounded to four digits, so use the next unit. */
	for (; amount >= 999.5 && units[unit + 1]; unit++)
		amount /= 1024;
	if (unit == 0)
		return arena_printf(arena, "%uB", (unsigned)bytes);
	int decimals = amount < 9.995 ? 2 : amount < 99.95 ? 1 : 0;
	return arena_printf(arena, "%.*f%c", decimals, amount, units[unit]);
}

char *amount_time(struct arena *arena, int64_t seconds)
{
	static const struct {
		int64_t seconds, most; /* most: from this number on, use the next unit */
		const char *name;
	} units[] = {{1, 60, "s"}, {60, 60, "min"}, {3600, 48, "h"}, {86400, INT64_MAX, "days"}};
	size_t i = 0;
	int64_t n;

	while ((n = (seconds + units[i].seconds - 1) / units[i].seconds) >= units[i].most)
		i++;
	return arena_printf(arena, "%lld %s", (long long)n, units[i].name);
}

char *amount_moment(struct arena *arena, int64_t seconds)
{
	char text[32] = "-";
	time_t moment = (time_t)seconds;
	struct tm local;

	if (localtime_r(&moment, &local))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &local);
	return arena_strdup(arena, text);
}
