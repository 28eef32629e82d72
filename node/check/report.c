/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Lines of the report that --check prints.
 *
 * Invariant: a thing that is missing has its remedy in the same line, and makes the check fail
 * only where it is needed.
 */
#include <stdarg.h>

#include "node/check/check.h"

/* remedy: NULL when it is there. */
static void put_line(struct check *check, enum need need, const char *thing, const char *remedy)
{
	if (!remedy)
		fprintf(check->out, "ok %s\n", thing);
	else
		fprintf(check->out, "%s %s: %s\n", need == NEEDED ? "MISSING" : "optional", thing,
			remedy);
	fflush(check->out); /* what comes next may take as long as --zfs-timeout */
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
