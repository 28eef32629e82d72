/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_COMMON_AGENTS_DNS_H
#define ZCSI_COMMON_AGENTS_DNS_H

/*
 * dns:///HOST:PORT in a list of agents: an agent at each address of HOST (gRPC doc/naming.md), such
 * as a headless Service of Kubernetes.
 */

#include <stdbool.h>

#include "common/error.h"
#include "common/mem.h"
#include "common/options.h"

/* True if the endpoint begins with dns:///. */
bool agents_dns_is(const char *endpoint);
/* True if an endpoint of the list begins with dns:///. */
bool agents_dns_any(const struct option_list *list);
/* Check that the endpoint has the form dns:///HOST:PORT. Returns -1 with ERR_INVALID_ARGUMENT. */
int agents_dns_check(const char *endpoint, struct error *err);
/*
 * *ret is the list with tcp://ADDRESS:PORT?name=HOST, sorted, in place of each dns:///HOST:PORT:
 * one for each IPv4 address of HOST, or, if it has none, for each IPv6 address. All is in the
 * arena. Blocks on DNS for five seconds a name at most. Returns -1 with ERR_INVALID_ARGUMENT, or
 * ERR_UNAVAILABLE if a name is not resolved.
 */
int agents_dns_expand(struct arena *arena, const struct option_list *list, struct option_list *ret,
		      struct error *err);

#endif
