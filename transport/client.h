/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLIENT_H
#define ZCSI_CLIENT_H

/*
 * The gRPC client: one connection to one endpoint, opened when a call needs it and opened again
 * after it is lost. All addresses of a host name are tried before a pause, which grows from 100 ms
 * to 10 s.
 *
 * A call without a connection waits for one, two seconds at most (limits.h: wait_ms), so that it
 * survives a restart of the server. Once the endpoint has been down for that long, a call starts
 * another attempt at once, or fails at once if an attempt has just failed. While the host name of
 * the endpoint is being looked up, a call waits until its deadline.
 *
 * A call is retried, within its deadline and three times at most (limits.h: repeats), if the server
 * certainly did not process it: the server refused the call, or the connection was lost before the
 * request was written. A call that the server may have seen is never retried.
 *
 * Calls are made from any thread but the loop's. To call several endpoints at the same time, begin
 * a call on each, then finish each. In between, the request and the call must stay in place. Every
 * call begun must be finished; client_finish returns by the deadline at the latest. client_begin
 * never blocks.
 */

#include <stdbool.h>
#include <stdint.h>
#include <protobuf-c/protobuf-c.h>

#include "common/error.h"
#include "common/mem.h"
#include "transport/limits.h"
#include "transport/loop.h"
#include "transport/tls.h"

struct client;
struct client_call;

/* Zeroed options are the defaults. The limits and tls outlive the client. */
struct client_options {
	const struct limits *limits; /* limits of the connection; NULL: limits_default */
	struct tls *tls;             /* credentials for TLS; NULL: plain text */
	bool allow_plaintext;        /* permit plain text to addresses beyond loopback */
	/* With TLS: another name that the server's certificate must have, copied. NULL: none. */
	const char *peer_name;
};

/*
 * Create a client without connecting. endpoint.h has the forms of an endpoint; options may be NULL.
 * Returns -1 with ERR_INVALID_ARGUMENT if the endpoint is malformed or has no host.
 */
int client_new(struct client **ret, struct loop *loop, const char *endpoint,
	       const struct client_options *options, struct error *err);
/* Free the client, on the loop thread, when no call is in flight. */
void client_free(struct client *client);
const char *client_endpoint(const struct client *client);
/* *ret is the last certificate that the server has shown, refused or not. Any thread. */
void client_certificate(struct client *client, struct tls_certificate *ret);
/* False if the last attempt to connect failed. Loop thread only. */
bool client_is_up(const struct client *client);

/*
 * Begin a call of a method, such as "GetDataset" of service. The result lives in the arena. The
 * deadline is a now_ms() value; NO_DEADLINE is replaced by limits->call_ms from now.
 */
struct client_call *client_begin(struct client *client, struct arena *arena,
				 const ProtobufCServiceDescriptor *service, const char *method,
				 const ProtobufCMessage *request, int64_t deadline);
/*
 * Block until the call ends. *ret_response, of the method's output type, lives in the arena of
 * client_begin. On -1 the code and text are the server's; if the server sent none, the code is
 * mostly ERR_UNAVAILABLE or ERR_DEADLINE_EXCEEDED and the text contains the endpoint.
 */
int client_finish(struct client_call *call, void *ret_response, struct error *err);

#endif
