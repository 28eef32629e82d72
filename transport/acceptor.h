/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_ACCEPTOR_H
#define ZCSI_ACCEPTOR_H

/*
 * A socket that listens; what becomes of a connection is for its owner, who embeds it. Loop thread
 * only.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"
#include "transport/endpoint.h"
#include "transport/loop.h"

struct acceptor {
	struct endpoint endpoint;
	/* A connection, non-blocking and close-on-exec; the descriptor is handed over. */
	void (*accepted)(struct acceptor *acceptor, int fd);

	/* the acceptor's own */
	int fd;
	dev_t device; /* of the unix socket's file, to remove only our own */
	ino_t inode;
	struct event *event;
	struct loop_timer *retry; /* after running out of descriptors */
};

/*
 * Resolve where an acceptor would listen, without listening. Returns -1 when the endpoint is
 * invalid, or would be in plain text beyond loopback without allow_plaintext. Blocks as
 * endpoint_resolve does.
 */
int acceptor_address(const char *endpoint, bool allow_plaintext, struct endpoint *ret_endpoint,
		     struct address *ret_address, struct error *err);
/*
 * Listen: endpoint.h has the forms. A stale unix socket is replaced, a live one is an error. TCP
 * beyond loopback needs allow_plaintext. -1: there is nothing to close.
 */
int acceptor_open(struct acceptor *acceptor, struct loop *loop, const char *endpoint,
		  void (*accepted)(struct acceptor *acceptor, int fd), bool allow_plaintext,
		  struct error *err);
/* Stop listening and remove the unix socket. Does nothing when it is closed already. */
void acceptor_close(struct acceptor *acceptor);

#endif
