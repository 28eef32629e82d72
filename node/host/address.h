/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_ADDRESS_H
#define ZCSI_NODE_HOST_ADDRESS_H

/*
 * IP addresses as text, of NFS servers and of their clients. Nothing is sent to these hosts. Any
 * thread.
 */

#include <netinet/in.h>
#include <stdbool.h>

#include "common/error.h"

#define ADDRESS_MAX INET6_ADDRSTRLEN

/* Returns true if the text is an IPv4 or IPv6 address and nothing else. */
bool address_is(const char *text);
/*
 * *ret is the address of the server in "server:/share". A name is resolved by the host's resolver,
 * which may take long. Returns 0, or -1 with ERR_UNAVAILABLE.
 */
int address_of_server(const char *source, char ret[ADDRESS_MAX], struct error *err);
/*
 * *ret is this host's address that the route to `other`, an IP address, selects. Returns 0, or -1
 * with *err.
 */
int address_towards(const char *other, char ret[ADDRESS_MAX], struct error *err);
/* *ret is this host's address that the default route selects; "" if there is no such route. */
void address_default(char ret[ADDRESS_MAX]);

#endif
