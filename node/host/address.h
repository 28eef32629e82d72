/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_ADDRESS_H
#define ZCSI_NODE_HOST_ADDRESS_H

/* IP addresses as text, of hosts that export and of hosts that mount. Nothing is sent to them. */

#include <netinet/in.h>
#include <stdbool.h>

#include "common/error.h"

#define ADDRESS_MAX INET6_ADDRSTRLEN

/* An IPv4 or IPv6 address and nothing else. */
bool address_is(const char *text);
/*
 * Resolve the server in "server:/share". Asks the host's resolver when it is a name, which may take
 * long.
 */
int address_of_server(const char *source, char ret[ADDRESS_MAX], struct error *err);
/* Our own, as the other one sees it. */
int address_towards(const char *other, char ret[ADDRESS_MAX], struct error *err);
/* Our own where the default route leads; "" when there is none. */
void address_default(char ret[ADDRESS_MAX]);

#endif
