/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The statement without which a command destroys nothing: the option --destroy, with the number of
 * things to be destroyed.
 *
 * Invariant: if the number of things has changed since the operator read it, nothing is destroyed.
 */
#include "controller/cli/print/statement.h"

#include <stdio.h>
#include <stdlib.h>

int statement_check(const struct destruction *destruction, const char *value, struct error *err)
{
	char *end;

	if (!value)
		return 0;
	unsigned long long number = strtoull(value, &end, 10);
	if (*end || end == value)
		return fail(err, ERR_INVALID_ARGUMENT, "--destroy '%s' is not a number", value);
	if (number == destruction->n)
		return 1;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "nothing was done, since %s, not %s: look again, and run '%s --destroy %zu'",
		    destruction->fact, value, destruction->command, destruction->n);
}

void statement_ask(const struct destruction *destruction)
{
	fprintf(stderr, "zcsi: nothing was done; to destroy %s for good, run '%s --destroy %zu'\n",
		destruction->what, destruction->command, destruction->n);
}
