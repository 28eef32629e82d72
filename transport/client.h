/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLIENT_H
#define ZCSI_CLIENT_H

/*
 * The gRPC client: one connection to one endpoint, made when a call needs it and made again
 * after it is lost. While the endpoint refuses, calls fail at once and it is tried again after a
 * growing pause (100 ms to 1 s).
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

/*
 * endpoint and allow_plaintext as in server.h; *err says what is wrong with the endpoint's form.
 * Nothing is connected yet. limits: NULL takes limits_default.
 */
int client_new(struct client **ret, struct loop *loop, const char *endpoint, bool allow_plaintext,
	       const struct limits *limits, struct error *err);
/* On the loop, with no call under way. */
void client_free(struct client *client);
const char *client_endpoint(const struct client *client);

/* method: "GetDataset" of the service. The call is allocated in the arena. */
struct client_call *client_begin(struct client *client, struct arena *arena,
				 const ProtobufCServiceDescriptor *service, const char *method,
				 const ProtobufCMessage *request, int64_t deadline);
/*
 * Wait for the answer. *ret_response (the method's output type) lives in the arena given to
 * client_begin. On -1 the code and text are the server's own; where it gave none, ERR_UNAVAILABLE
 * or ERR_DEADLINE_EXCEEDED and a text that names the endpoint.
 */
int client_finish(struct client_call *call, void *ret_response, struct error *err);

#endif
