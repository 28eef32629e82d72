/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Replacing dns:///HOST:PORT in a list of agents by an endpoint for each address of HOST.
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

#include "common/bounded_call.h"
#include "common/clock.h"

#define SCHEME     "dns:///"
#define RESOLVE_MS 5000

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

/* Append an endpoint. The array has room for a power of two, and is doubled when it is full. */
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

/* A lookup by the name servers. On the heap, because it may end after its caller timed out. */
struct lookup {
	char *host, *port;
	struct addrinfo *found; /* addresses, freed by lookup_free; NULL: none */
	int result;             /* result of getaddrinfo(3) */
};

static void look_up(void *work)
{
	struct addrinfo hints = {
		.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct lookup *lookup = work;

	lookup->result = getaddrinfo(lookup->host, lookup->port, &hints, &lookup->found);
	if (lookup->result != EAI_NONAME && lookup->result != EAI_NODATA)
		return;
	hints.ai_family = AF_INET6;
	lookup->result = getaddrinfo(lookup->host, lookup->port, &hints, &lookup->found);
}

static void lookup_free(void *work)
{
	struct lookup *lookup = work;

	if (lookup->found)
		freeaddrinfo(lookup->found);
	free(lookup->host);
	free(lookup->port);
	free(lookup);
}

/* Append an endpoint for each address that was found. */
static void add_addresses(struct arena *arena, const struct name *name, const struct lookup *lookup,
			  struct option_list *list)
{
	const size_t before = list->n;
	char text[INET6_ADDRSTRLEN];

	for (const struct addrinfo *at = lookup->found; at; at = at->ai_next) {
		const bool v6 = at->ai_family == AF_INET6;
		const struct sockaddr_in *in = (const void *)at->ai_addr;
		const struct sockaddr_in6 *in6 = (const void *)at->ai_addr;
		const void *address = v6 ? (const void *)&in6->sin6_addr : &in->sin_addr;
		if (inet_ntop(at->ai_family, address, text, sizeof(text)))
			append(arena, list,
			       arena_printf(arena, "tcp://%s%s%s:%s?name=%s", v6 ? "[" : "", text,
					    v6 ? "]" : "", name->port, name->host));
	}
	if (list->n > before)
		qsort(list->values + before, list->n - before, sizeof(*list->values), compare);
}

static int resolve(struct arena *arena, const char *endpoint, struct option_list *list,
		   struct error *err)
{
	struct name name;

	if (parse(arena, endpoint, &name, err) < 0)
		return -1;
	struct lookup *lookup = mem_alloc(sizeof(*lookup));
	*lookup = (struct lookup){.host = mem_strdup(name.host), .port = mem_strdup(name.port)};
	const struct bounded_call call = {"resolve", endpoint, look_up, lookup_free, lookup};
	if (bounded_call_run(&call, now_ms() + RESOLVE_MS) != 0)
		return fail(err, ERR_UNAVAILABLE,
			    "no name server answered for '%.128s' within %d s", endpoint,
			    RESOLVE_MS / 1000);
	int result = lookup->result;
	if (result == 0)
		add_addresses(arena, &name, lookup, list);
	lookup_free(lookup);
	return result == 0 ? 0
			   : fail(err, ERR_UNAVAILABLE, "cannot find the addresses of '%.128s': %s",
				  endpoint, gai_strerror(result));
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
