/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The health service, grpc.health.v1.
 *
 * The status of a service changes once, when the server starts to drain.
 *
 * Invariant: every open Watch is in server->watches, so that it receives this change.
 */
#include "transport/health.h"

#include <string.h>

#include "proto/health.h"
#include "transport/list.h"
#include "transport/server_stream.h"

typedef HealthCheckRequest CheckRequest;
typedef HealthCheckResponse CheckResponse;
typedef HealthListRequest ListRequest;
typedef HealthListResponse ListResponse;
typedef HealthCheckResponse_ServingStatus ServingStatus;

struct health_watch {
	struct rpc_stream *stream;
	const struct listener *listener;
	const char *service;
	struct health_watch *next, **link; /* neighbours in server->watches (list.h) */
};

static ServingStatus overall(const struct listener *listener)
{
	return listener->server->draining ? HEALTH_CHECK_RESPONSE_SERVING_STATUS_NOT_SERVING
					  : HEALTH_CHECK_RESPONSE_SERVING_STATUS_SERVING;
}

static ServingStatus status_of(const struct listener *listener, const char *service)
{
	if (!*service || rpc_service_find(listener->services, service, strlen(service)))
		return overall(listener);
	return HEALTH_CHECK_RESPONSE_SERVING_STATUS_SERVICE_UNKNOWN;
}

static int check(struct rpc_call *call, const CheckRequest *req, CheckResponse *rsp,
		 struct error *err)
{
	rsp->status = status_of(call->peer->listener, req->service);
	if (rsp->status != HEALTH_CHECK_RESPONSE_SERVING_STATUS_SERVICE_UNKNOWN)
		return 0;
	return fail(err, ERR_NOT_FOUND, "this endpoint has no service '%s'", req->service);
}

static void add_status(struct arena *arena, ListResponse *rsp, const char *service,
		       ServingStatus status)
{
	HealthListResponse_StatusesEntry *entry = new_health_list_response_statuses_entry(arena);

	entry->key = arena_strdup(arena, service);
	entry->value = new_health_check_response(arena);
	entry->value->status = status;
	rsp->statuses[rsp->n_statuses++] = entry;
}

static int list(struct rpc_call *call, const ListRequest *req, ListResponse *rsp, struct error *err)
{
	const struct listener *listener = call->peer->listener;
	size_t n = 0;

	(void)req, (void)err;
	while (listener->services[n])
		n++;
	rsp->statuses = arena_alloc(&call->arena, (n + 1) * sizeof(*rsp->statuses));
	add_status(&call->arena, rsp, "", overall(listener));
	for (size_t i = 0; i < n; i++)
		add_status(&call->arena, rsp, listener->services[i]->descriptor->name,
			   overall(listener));
	return 0;
}

/* Watch */

static void send_status(struct health_watch *watch)
{
	HealthCheckResponse response;

	grpc__health__v1__health_check_response__init(&response);
	response.status = status_of(watch->listener, watch->service);
	/* At most two messages are sent on a Watch, so the queue always has room. */
	rpc_stream_send(watch->stream, &response.base);
}

static void on_request(struct rpc_stream *stream, const void *message)
{
	const HealthCheckRequest *request = message;
	struct health_watch *watch = stream->arg;

	watch->service = arena_strdup(&stream->arena, request->service);
	send_status(watch);
}

static void on_closed(struct rpc_stream *stream, const struct error *outcome)
{
	struct health_watch *watch = stream->arg;

	(void)outcome;
	list_remove(watch);
}

static int watch(struct rpc_stream *stream, struct error *err)
{
	static const struct rpc_stream_events events = {
		.single = true, .message = on_request, .closed = on_closed};
	struct health_watch *watch = arena_alloc(&stream->arena, sizeof(*watch));

	(void)err;
	*watch = (struct health_watch){.stream = stream, .listener = server_listener(stream)};
	list_push(watch->listener->server->watches, watch);
	stream->arg = watch;
	stream->events = &events;
	return 0;
}

void health_stop(struct server *server)
{
	struct health_watch *next;
	struct error error;

	fail(&error, ERR_UNAVAILABLE, "the server is being stopped");
	for (struct health_watch *watch = server->watches; watch; watch = next) {
		next = watch->next;
		if (watch->service)
			send_status(watch);
		rpc_stream_finish(watch->stream, &error);
	}
}

#define HEALTH_METHODS(INLINE, PLAIN, KEYED, STREAM)                                               \
	INLINE(Check, check)                                                                       \
	INLINE(List, list)                                                                         \
	STREAM(Watch, watch)

RPC_SERVICE(health_service, grpc__health__v1__health__descriptor, HEALTH_METHODS);
