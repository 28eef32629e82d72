/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_LOOKUP_H
#define ZCSI_LOOKUP_H

/*
 * Finding the addresses of a host name, on a thread of its own, because getaddrinfo(3) may wait for
 * name servers for longer than a caller can. Loop thread only.
 */

#include "transport/endpoint.h"
#include "transport/loop.h"

#define ADDRESSES_MAX 8

struct addresses {
	struct address list[ADDRESSES_MAX];
	unsigned n;
};

struct lookup;

/*
 * Begin to look up the endpoint's host. found(arg, addresses, err) is called once, on the loop,
 * after lookup_begin has returned; if addresses is empty, *err is the reason, ERR_UNAVAILABLE.
 * Returns NULL if no thread can start: try again later.
 */
struct lookup *lookup_begin(struct loop *loop, const struct endpoint *endpoint,
			    void (*found)(void *arg, const struct addresses *addresses,
					  const struct error *err),
			    void *arg);
/* Cancel a lookup whose found was not called yet, so that it never is. Does nothing for NULL. */
void lookup_cancel(struct lookup *lookup);

#endif
