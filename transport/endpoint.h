/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_ENDPOINT_H
#define ZCSI_ENDPOINT_H

/*
 * Endpoints. Their forms are unix:///abs/path, unix:path, /abs/path, and tcp://host:port,
 * tcp://[v6]:port (CSI spec "Security / Networking", gRPC doc/naming.md); a TCP endpoint to connect
 * to may end with ?name=NAME.
 */

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/error.h"

struct endpoint {
	bool is_unix;
	char text[512]; /* the endpoint as given, for error messages and logs */
	char host[256]; /* TCP host without brackets; empty: listen on every address */
	char name[256]; /* with TLS, name in the server's certificate instead of host; or "" */
	char port[6];
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

struct address {
	struct sockaddr_storage storage;
	socklen_t size;
};

/* Parse an endpoint. Returns -1 with ERR_INVALID_ARGUMENT if text is not of a valid form. */
int endpoint_parse(const char *text, struct endpoint *ret, struct error *err);

/*
 * Resolve an endpoint to at most max addresses. Returns their number, or -1 with ERR_UNAVAILABLE.
 * Blocks on DNS, without a time limit of ours, if the host is a name.
 */
int endpoint_resolve(const struct endpoint *endpoint, struct address *ret, unsigned max,
		     struct error *err);
/* Write the address of an endpoint. Returns false if its host is a name. Never blocks. */
bool endpoint_address(const struct endpoint *endpoint, struct address *ret);
/* True for a unix socket or a loopback address. */
bool address_is_local(const struct address *address);

#define ADDRESS_TEXT_SIZE 64

/* Write an address as text, such as "10.0.0.1 port 4711"; "" for a unix socket. */
void address_text(const struct address *address, char ret_text[ADDRESS_TEXT_SIZE]);

/*
 * Returns a listening, non-blocking socket, or -1. A unix socket has mode 0600, and the last
 * component of its directory is created if missing. A stale socket is replaced; a socket that
 * another process listens on is ERR_FAILED_PRECONDITION.
 */
int endpoint_listen(const struct endpoint *endpoint, const struct address *address,
		    struct error *err);
/*
 * Start to connect. Returns a non-blocking socket, which becomes writable when it is connected or
 * has failed; or -1.
 */
int address_connect(const struct address *address, struct error *err);
/*
 * Returns a number that all connections of one peer have in common: of one process if fd is a unix
 * socket, else of one host. The IPv6 hosts of one 64-bit network count as one host, because a
 * network has one owner. The processes of all PID namespaces whose ids are not visible here count
 * as one process.
 */
uint64_t socket_origin(int fd);
/* Set the socket options of every connection: no delay, detection of lost peers by the kernel. */
void socket_prepare(int fd);

#endif
