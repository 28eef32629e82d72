/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_ACCEPTOR_H
#define ZCSI_ACCEPTOR_H

/*
 * A listening socket, embedded in the structure of its owner, which handles the connections. Loop
 * thread only.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"
#include "transport/endpoint.h"
#include "transport/loop.h"

struct acceptor {
	struct endpoint endpoint;
	/* Called for each connection. fd is non-blocking and close-on-exec; the callee owns it. */
	void (*accepted)(struct acceptor *acceptor, int fd);

	/* Private to acceptor.c from here on. */
	int fd;
	dev_t device; /* device and inode identify our unix socket's file when it is removed */
	ino_t inode;
	struct event *event;
	struct loop_timer *retry; /* restarts accepting after the process ran out of descriptors */
};

/*
 * Parse and resolve an endpoint without listening. Returns -1 if the endpoint is invalid, cannot be
 * resolved, or would serve plain text beyond loopback and allow_plaintext is false. Blocks as
 * endpoint_resolve does.
 */
int acceptor_address(const char *endpoint, bool allow_plaintext, struct endpoint *ret_endpoint,
		     struct address *ret_address, struct error *err);
/*
 * Listen on an endpoint (endpoint.h has its forms) and call accepted for each connection. A stale
 * unix socket is replaced, a live one is an error. TCP beyond loopback needs allow_plaintext. After
 * -1 acceptor_close does nothing.
 */
int acceptor_open(struct acceptor *acceptor, struct loop *loop, const char *endpoint,
		  void (*accepted)(struct acceptor *acceptor, int fd), bool allow_plaintext,
		  struct error *err);
/* Stop listening and remove the unix socket. Does nothing if the acceptor is closed already. */
void acceptor_close(struct acceptor *acceptor);

#endif
