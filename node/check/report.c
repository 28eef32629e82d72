/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Printing the report of --check, a line at a time.
 *
 * Invariant: the line of a missing thing has its remedy. Only a missing thing that is NEEDED makes
 * --check fail.
 */
#include <stdarg.h>

#include "node/check/check.h"

/* Print the line of a thing; remedy: NULL if the thing is present. */
static void put_line(struct check *check, enum need need, const char *thing, const char *remedy)
{
	if (!remedy)
		fprintf(check->out, "ok %s\n", thing);
	else
		fprintf(check->out, "%s %s: %s\n", need == NEEDED ? "MISSING" : "optional", thing,
			remedy);
	fflush(check->out); /* the next check may take as long as --zfs-timeout */
	check->missing |= remedy && need == NEEDED;
}

void check_say(struct check *check, enum need need, const char *thing, int failed,
	       const struct error *err)
{
	put_line(check, need, thing, failed ? err->text : NULL);
}

void check_has(struct check *check, enum need need, const char *thing, bool has, const char *remedy,
	       ...)
{
	char text[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, remedy);
	vsnprintf(text, sizeof(text), remedy, ap);
	va_end(ap);
	put_line(check, need, thing, has ? NULL : text);
}
