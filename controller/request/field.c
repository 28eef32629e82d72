/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Checks of the text fields of requests, shared by all RPCs.
 *
 * Invariant: a mistake has the same error text in every RPC, and the text begins with the name of
 * the field.
 */
#include "controller/request/field.h"

#include <stdbool.h>
#include <string.h>

#include "common/utf8.h"

int field_check_present(const char *field, const char *text, struct error *err)
{
	if (!*text)
		return fail(err, ERR_INVALID_ARGUMENT, "%s is missing", field);
	return 0;
}

int field_check_size(const char *field, const char *text, struct error *err)
{
	size_t size = strlen(text);

	if (size > TEXT_SIZE_MAX)
		return fail(err, ERR_INVALID_ARGUMENT, "%s has %zu bytes; at most %d are accepted",
			    field, size, TEXT_SIZE_MAX);
	return 0;
}

/*
 * Returns true if a code point begins here that spec.md forbids in names: C0 except tab, LF and CR;
 * DEL; C1.
 */
static bool banned(const char *at)
{
	return utf8_control(at) && !strchr("\t\n\r", *at);
}

int field_check_name(const char *field, const char *text, struct error *err)
{
	if (field_check_present(field, text, err) < 0 || field_check_size(field, text, err) < 0)
		return -1;
	for (const char *at = text; *at; at++)
		if (banned(at))
			return fail(err, ERR_INVALID_ARGUMENT,
				    "%s has a control character at byte %td: names may hold any "
				    "character but those",
				    field, at - text);
	return 0;
}
