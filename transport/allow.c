/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The list of --allow: which names may call which services and methods.
 *
 * Invariant: if the list has an entry, a name that is not in the list is refused for every service,
 * including services that no entry mentions.
 */
#include "transport/allow.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

#define SCOPE_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./"

/*
 * Returns the start of NAME in an entry "SCOPE=NAME" or "NAME", where SCOPE is a service or
 * "SERVICE/METHOD". NAME may be a URI that contains "=" itself, but only after a ":".
 */
static const char *name_in(const char *entry)
{
	size_t n = strspn(entry, SCOPE_LETTERS);

	return n > 0 && entry[n] == '=' ? entry + n + 1 : entry;
}

/* True if the entry permits all services, the whole service, or the method of the service. */
static bool covers(const char *entry, const char *service, const char *method)
{
	const char *name = name_in(entry);
	size_t n = strlen(service);

	if (name == entry)
		return true;
	if (strncmp(entry, service, n) != 0)
		return false;
	const char *rest = entry + n, *end = name - 1;
	return rest == end || (*rest == '/' && (size_t)(end - rest - 1) == strlen(method) &&
			       memcmp(rest + 1, method, strlen(method)) == 0);
}

int allow_check_list(const struct option_list *allow, struct error *err)
{
	for (size_t i = 0; i < allow->n; i++)
		if (!*name_in(allow->values[i]))
			return fail(err, ERR_INVALID_ARGUMENT,
				    "--allow '%s' has no name: write --allow NAME, SERVICE=NAME "
				    "or SERVICE/METHOD=NAME",
				    allow->values[i]);
	return 0;
}

int allow_check(const struct option_list *allow, const struct tls_names *names, const char *service,
		const char *method, struct error *err)
{
	if (allow->n == 0)
		return 0;
	for (size_t i = 0; i < allow->n; i++) {
		const char *entry = allow->values[i];
		if (covers(entry, service, method) && tls_names_have(names, name_in(entry)))
			return 0;
	}
	auto_free char *text = tls_names_text(names);
	return fail(err, ERR_PERMISSION_DENIED,
		    "the caller's certificate is for %s, and no --allow lets that call %s/%s", text,
		    service, method);
}
