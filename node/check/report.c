/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The rows of the checks, and the lines of --check.
 *
 * Invariant: a row has a remedy if its thing is missing, and only then.
 */
#include <stdarg.h>

#include "node/check/check.h"

void check_begin(struct check *check, const struct settings *settings, struct arena *arena,
		 FILE *out)
{
	*check = (struct check){.settings = settings, .arena = arena, .out = out};
	check->end = &check->rows;
}

static void print(FILE *out, const struct check_row *row)
{
	if (!row->remedy)
		fprintf(out, "ok %s\n", row->thing);
	else
		fprintf(out, "%s %s: %s\n", row->need == NEEDED ? "MISSING" : "optional",
			row->thing, row->remedy);
	fflush(out); /* the next check may take as long as --zfs-timeout */
}

void check_add(struct check *check, const struct check_row *row)
{
	struct check_row *added = arena_alloc(check->arena, sizeof(*added));

	added->need = row->need;
	added->thing = arena_strdup(check->arena, row->thing);
	added->remedy = row->remedy ? arena_strdup(check->arena, row->remedy) : NULL;
	*check->end = added;
	check->end = &added->next;
	if (check->out)
		print(check->out, added);
}

void check_say(struct check *check, enum need need, const char *thing, int failed,
	       const struct error *err)
{
	check_add(check, &(struct check_row){.need = need,
					     .thing = thing,
					     .remedy = failed ? err->text : NULL});
}

void check_has(struct check *check, enum need need, const char *thing, bool has, const char *remedy,
	       ...)
{
	char text[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, remedy);
	vsnprintf(text, sizeof(text), remedy, ap);
	va_end(ap);
	check_add(check,
		  &(struct check_row){.need = need, .thing = thing, .remedy = has ? NULL : text});
}
