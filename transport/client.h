/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLIENT_H
#define ZCSI_CLIENT_H

/*
 * The gRPC client: one connection to one endpoint, made when a call needs it and made again after
 * it is lost; all addresses of a name are tried before a pause, which grows from 100 ms to 10 s.
 *
 * A call that finds no connection waits for one, two seconds at most (limits.h: wait_ms), so that
 * it survives a restart of the server. Once the endpoint has refused for that long, a call has it
 * tried at once, or fails at once if that was done just before: a dead server costs those who ask
 * many little, and one that is back is found by the first who asks.
 *
 * A call is begun again, within its deadline and three times at most (limits.h: repeats), when the
 * server is known to have done nothing about it: it refused the call, or the connection was lost
 * before the request left. One that the server may have seen is never repeated.
 *
 * Calls are made from any thread but the loop's. To ask several endpoints at the same time, begin a
 * call on each, then finish each. Between the two the request and the call must stay where they
 * are; every call begun must be finished, and client_finish returns by the deadline at the latest.
 * client_begin may wait for DNS, when the endpoint is a name and there is no connection.
 */

#include <stdbool.h>
#include <stdint.h>
#include <protobuf-c/protobuf-c.h>

#include "common/error.h"
#include "common/mem.h"
#include "transport/limits.h"
#include "transport/loop.h"

struct client;
struct client_call;
struct tls;

/* Zeroed holds the defaults. What it points to outlives the client. */
struct client_options {
	const struct limits *limits; /* NULL: limits_default */
	struct tls *tls;             /* NULL: plain text */
	bool allow_plaintext;        /* beyond loopback too */
};

/*
 * endpoint as in server.h; *err says what is wrong with its form. Nothing is connected yet.
 * options: NULL takes the defaults.
 */
int client_new(struct client **ret, struct loop *loop, const char *endpoint,
	       const struct client_options *options, struct error *err);
/* On the loop, with no call under way. */
void client_free(struct client *client);
const char *client_endpoint(const struct client *client);
/* False when the last attempt to connect failed. On the loop. */
bool client_is_up(const struct client *client);

/* method: "GetDataset" of the service. The call is allocated in the arena. */
struct client_call *client_begin(struct client *client, struct arena *arena,
				 const ProtobufCServiceDescriptor *service, const char *method,
				 const ProtobufCMessage *request, int64_t deadline);
/*
 * Wait for the answer. *ret_response (the method's output type) lives in the arena given to
 * client_begin. On -1 the code and text are the server's own; where it gave none, mostly
 * ERR_UNAVAILABLE or ERR_DEADLINE_EXCEEDED, and a text that names the endpoint.
 */
int client_finish(struct client_call *call, void *ret_response, struct error *err);

/*
 * Learn the endpoint's addresses, before the first call, on a thread that may wait for DNS. Returns
 * -1 when they are unknown, or the endpoint is not to be called in plain text.
 */
int client_prepare(struct client *client, struct error *err);

#endif
