/* SPDX-License-Identifier: MPL-2.0 */
/*
 * dns:/// in lists of agents.
 *
 * Invariant: a name that is not resolved is an error, never a host without agents: a volume whose
 * agent is not on the list would seem to be missing.
 */
#include "common/agents_dns.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SCHEME "dns:///"

struct name {
	char *host, *port;
};

bool agents_dns_is(const char *endpoint)
{
	return strncmp(endpoint, SCHEME, strlen(SCHEME)) == 0;
}

bool agents_dns_any(const struct option_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (agents_dns_is(list->values[i]))
			return true;
	return false;
}

static int parse(struct arena *arena, const char *endpoint, struct name *ret, struct error *err)
{
	char *end;

	ret->host = arena_strdup(arena, endpoint + strlen(SCHEME));
	ret->port = strchr(ret->host, ':');
	if (ret->port)
		*ret->port++ = '\0';
	long port = ret->port ? strtol(ret->port, &end, 10) : 0;
	if (*ret->host && port >= 1 && port <= 65535 && !*end)
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "endpoint '%.128s' is not dns:///HOST:PORT, with a port from 1 to 65535",
		    endpoint);
}

int agents_dns_check(const char *endpoint, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct name ignored;

	return parse(&arena, endpoint, &ignored, err);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The array has room for a power of two, which doubles when it is full. */
static void append(struct arena *arena, struct option_list *list, const char *endpoint)
{
	if ((list->n & (list->n - 1)) == 0) {
		const char **values = arena_alloc(arena, (2 * list->n + 1) * sizeof(*values));
		if (list->n)
			memcpy(values, list->values, list->n * sizeof(*values));
		list->values = values;
	}
	list->values[list->n++] = endpoint;
}

/* Append an endpoint for each address of this family. */
static void append_all(struct arena *arena, const struct name *name, const struct addrinfo *found,
		       int family, struct option_list *list)
{
	const bool v6 = family == AF_INET6;
	char text[INET6_ADDRSTRLEN];

	for (const struct addrinfo *at = found; at; at = at->ai_next) {
		const struct sockaddr_in *in = (const void *)at->ai_addr;
		const struct sockaddr_in6 *in6 = (const void *)at->ai_addr;
		const void *address = v6 ? (const void *)&in6->sin6_addr : &in->sin_addr;
		if (at->ai_family == family && inet_ntop(family, address, text, sizeof(text)))
			append(arena, list,
			       arena_printf(arena, "tcp://%s%s%s:%s?name=%s", v6 ? "[" : "", text,
					    v6 ? "]" : "", name->port, name->host));
	}
}

static int resolve(struct arena *arena, const char *endpoint, struct option_list *list,
		   struct error *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	const size_t before = list->n;
	struct addrinfo *found;
	struct name name;

	if (parse(arena, endpoint, &name, err) < 0)
		return -1;
	int failed = getaddrinfo(name.host, name.port, &hints, &found);
	if (failed)
		return fail(err, ERR_UNAVAILABLE, "cannot find the addresses of '%.128s': %s",
			    endpoint, gai_strerror(failed));
	append_all(arena, &name, found, AF_INET, list);
	if (list->n == before)
		append_all(arena, &name, found, AF_INET6, list);
	freeaddrinfo(found);
	if (list->n > before)
		qsort(list->values + before, list->n - before, sizeof(*list->values), compare);
	return 0;
}

int agents_dns_expand(struct arena *arena, const struct option_list *list, struct option_list *ret,
		      struct error *err)
{
	struct option_list all = {.n = 0};

	for (size_t i = 0; i < list->n; i++) {
		if (!agents_dns_is(list->values[i]))
			append(arena, &all, list->values[i]);
		else if (resolve(arena, list->values[i], &all, err) < 0)
			return -1;
	}
	*ret = all;
	return 0;
}
