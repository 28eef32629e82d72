/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_ENDPOINT_H
#define ZCSI_ENDPOINT_H

/*
 * Endpoints: unix:///abs/path, unix://rel/path, unix:path, /abs/path; tcp://host:port,
 * tcp://[v6]:port (CSI spec "Security / Networking", gRPC doc/naming.md).
 */

#include <netdb.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/error.h"

struct endpoint {
	bool is_unix;
	char text[512]; /* as given, for messages */
	char host[256]; /* tcp: without brackets; empty listens on every address */
	char port[6];
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

struct address {
	struct sockaddr_storage storage;
	socklen_t size;
};

int endpoint_parse(const char *text, struct endpoint *ret, struct error *err);

/*
 * Resolve an endpoint to at most max addresses. Returns their number. Blocks on DNS when the host
 * is a name, for as long as the resolver takes.
 */
int endpoint_resolve(const struct endpoint *endpoint, struct address *ret, unsigned max,
		     struct error *err);
/* A unix socket or a loopback address. */
bool address_is_local(const struct address *address);

#define ADDRESS_TEXT_SIZE 64

/* "10.0.0.1 port 4711"; empty for a unix socket. */
void address_text(const struct address *address, char ret_text[ADDRESS_TEXT_SIZE]);

/*
 * Returns a listening, non-blocking socket. A unix socket has mode 0600; its directory is made when
 * only that is missing. A stale socket is replaced; a live one is ERR_FAILED_PRECONDITION.
 */
int endpoint_listen(const struct endpoint *endpoint, const struct address *address,
		    struct error *err);
/* A non-blocking socket on its way to the address: writable when it is there, or failed. */
int address_connect(const struct address *address, struct error *err);
/* The options every connection has: no delay, dead peers found by the kernel. */
void socket_prepare(int fd);

#endif
