/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The gRPC client. A call is the caller's, on a worker; its stream is the loop's. Either may end
 * first: a call whose deadline passes is finished at once and leaves the stream to be reset.
 *
 * Invariant: call->stream->call == call until the call is finished, and finish() posts its
 * semaphore exactly once.
 */
#include "transport/client.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "transport/conn.h"
#include "transport/endpoint.h"
#include "transport/message.h"

#define PAUSE_MIN_MS 100
#define PAUSE_MAX_MS 1000

struct client {
	struct loop *loop;
	const struct limits *limits;
	struct endpoint endpoint;
	bool allow_plaintext;
	atomic_bool connected; /* for client_begin: is an address needed? */
	atomic_uint failures;  /* to connect: each tries another address */

	/* the loop's */
	struct conn *conn;      /* takes new streams, or NULL */
	struct address address; /* tried last */
	int64_t pause_ms, next_attempt;
	char problem[256]; /* why the last attempt failed */
};

struct client_stream {
	struct stream base;
	struct client *client;
	struct client_call *call; /* NULL once it is finished */
	struct wire_message message;
	char text[ERROR_TEXT_MAX]; /* the server's grpc-message */
	uint8_t request[];
};

struct client_call {
	struct client *client;
	struct arena *arena;
	const ProtobufCMethodDescriptor *method;
	char path[HEAD_PATH_MAX];
	uint8_t *request;
	size_t request_size;
	int64_t deadline;
	struct address address;
	struct loop_task task;

	/* the loop's until it is finished */
	struct client_stream *stream;
	struct loop_timer *timer;
	struct wire_message response;
	struct error error;
	sem_t finished;
};

/* On the loop */

static void finish(struct client_call *call)
{
	if (call->stream)
		call->stream->call = NULL;
	call->stream = NULL;
	loop_timer_free(call->timer);
	call->timer = NULL;
	sem_post(&call->finished);
}

static struct client_stream *of_base(struct stream *base)
{
	return (struct client_stream *)base;
}

static void on_headed(struct stream *base)
{
	struct client_call *call = of_base(base)->call;

	if (!base->head.too_large || !call)
		return;
	fail(&call->error, ERR_RESOURCE_EXHAUSTED, "'%s' answered with too large a header list",
	     call->client->endpoint.text);
	finish(call);
	conn_reset(base, NGHTTP2_CANCEL);
}

static void on_data(struct stream *base, const uint8_t *bytes, size_t n)
{
	struct client_stream *stream = of_base(base);
	struct client_call *call = stream->call;

	if (!call || wire_message_feed(&stream->message, bytes, n, stream->client->limits->message,
				       &call->error) == 0)
		return;
	/* a server may not compress what nobody asked it to (gRPC doc/compression.md) */
	if (call->error.code == ERR_UNIMPLEMENTED)
		call->error.code = ERR_INTERNAL;
	fail_context(&call->error, "the answer of '%s'", stream->client->endpoint.text);
	finish(call);
	conn_reset(base, NGHTTP2_CANCEL);
}

static void on_ended(struct stream *base)
{
	struct client_stream *stream = of_base(base);
	struct client_call *call = stream->call;

	if (!call)
		return;
	snprintf(call->error.text, sizeof(call->error.text), "%s", stream->text);
	if (head_outcome(&base->head, &call->error) == 0) {
		call->error.code = ERR_OK;
		call->response = stream->message;
		stream->message = (struct wire_message){0};
		if (!wire_message_whole(&call->response))
			fail(&call->error, ERR_INTERNAL, "'%s' answered OK without a message",
			     stream->client->endpoint.text);
	}
	finish(call);
}

static void on_closed(struct stream *base, uint32_t http2_error)
{
	struct client_stream *stream = of_base(base);
	struct client_call *call = stream->call;
	const char *problem = conn_problem(base->conn);

	if (call) {
		if (*problem)
			fail(&call->error, ERR_UNAVAILABLE, "%s '%s': %s",
			     conn_was_ready(base->conn) ? "lost the connection to" : "cannot reach",
			     stream->client->endpoint.text, problem);
		else
			fail(&call->error, wire_code_of_reset(http2_error),
			     "'%s' ended the call: %s", stream->client->endpoint.text,
			     nghttp2_http2_strerror(http2_error));
		finish(call);
	}
	wire_message_fini(&stream->message);
	free(stream);
}

static void on_leaving(struct conn *conn)
{
	struct client *client = conn_owner(conn);

	if (client->conn != conn)
		return;
	client->conn = NULL;
	atomic_store(&client->connected, false);
}

static void back_off(struct client *client, const char *problem)
{
	atomic_fetch_add(&client->failures, 1);
	client->pause_ms = client->pause_ms ? client->pause_ms * 2 : PAUSE_MIN_MS;
	if (client->pause_ms > PAUSE_MAX_MS)
		client->pause_ms = PAUSE_MAX_MS;
	/* a fifth of jitter, so that many controllers do not come back in step */
	client->next_attempt = now_ms() + client->pause_ms - rand() % (client->pause_ms / 5);
	snprintf(client->problem, sizeof(client->problem), "%s", problem);
}

static void on_freed(struct conn *conn)
{
	struct client *client = conn_owner(conn);

	if (conn_was_ready(conn))
		client->pause_ms = 0;
	else
		back_off(client, conn_problem(conn));
}

static const struct conn_role client_role = {
	.headed = on_headed,
	.data = on_data,
	.ended = on_ended,
	.closed = on_closed,
	.leaving = on_leaving,
	.freed = on_freed,
};

static int connect_now(struct client *client, const struct address *address, struct error *err)
{
	if (client->conn)
		return 0;
	if (client->pause_ms && now_ms() < client->next_attempt)
		return fail(err, ERR_UNAVAILABLE, "cannot reach '%s': %s", client->endpoint.text,
			    client->problem);
	if (address->size)
		client->address = *address;
	int fd = address_connect(&client->address, err);
	if (fd < 0) {
		back_off(client, err->text);
		return fail(err, ERR_UNAVAILABLE, "cannot reach '%s': %s", client->endpoint.text,
			    client->problem);
	}
	client->conn = conn_new(client->loop, fd, true, &client_role, client->limits, client);
	atomic_store(&client->connected, true);
	return 0;
}

static int request(struct client *client, struct client_call *call)
{
	char timeout[WIRE_TIMEOUT_SIZE];
	const char *authority =
		client->endpoint.is_unix ? "localhost" : strstr(client->endpoint.text, "//") + 2;

	wire_timeout_format(time_left_ms(call->deadline), timeout);
	const nghttp2_nv fields[] = {conn_field(":method", "POST"),
				     conn_field(":scheme", "http"),
				     conn_field(":path", call->path),
				     conn_field(":authority", authority),
				     conn_field("te", "trailers"),
				     conn_field("grpc-timeout", timeout),
				     conn_field("content-type", "application/grpc"),
				     conn_field("user-agent", "zcsi/" ZCSI_VERSION)};
	struct client_stream *stream = mem_alloc(sizeof(*stream) + call->request_size);
	stream->client = client;
	memcpy(stream->request, call->request, call->request_size);
	stream->base.head.message = stream->text;
	stream->base.head.message_size = sizeof(stream->text);
	if (conn_request(client->conn, &stream->base, fields, COUNT(fields), stream->request,
			 call->request_size) < 0) {
		free(stream);
		return fail(&call->error, ERR_UNAVAILABLE,
			    "the connection to '%s' takes no more calls: try again",
			    client->endpoint.text);
	}
	stream->call = call;
	call->stream = stream;
	return 0;
}

static void on_deadline(void *arg)
{
	struct client_call *call = arg;
	struct client_stream *stream = call->stream;
	struct conn *conn = stream->base.conn;

	fail(&call->error, ERR_DEADLINE_EXCEEDED, "'%s' did not answer %s in time",
	     call->client->endpoint.text, call->method->name);
	finish(call);
	conn_reset(&stream->base, NGHTTP2_CANCEL);
	conn_pump(conn);
}

static void start_call(struct loop_task *task)
{
	struct client_call *call =
		(struct client_call *)((char *)task - offsetof(struct client_call, task));
	struct client *client = call->client;

	if (connect_now(client, &call->address, &call->error) < 0 || request(client, call) < 0) {
		finish(call);
		return;
	}
	call->timer = loop_timer_new(client->loop, on_deadline, call);
	loop_timer_start(call->timer, time_left_ms(call->deadline));
	conn_pump(client->conn);
}

int client_new(struct client **ret, struct loop *loop, const char *endpoint, bool allow_plaintext,
	       const struct limits *limits, struct error *err)
{
	struct client *client = mem_alloc(sizeof(*client));

	client->loop = loop;
	client->allow_plaintext = allow_plaintext;
	client->limits = limits ? limits : &limits_default;
	if (endpoint_parse(endpoint, &client->endpoint, err) < 0) {
		free(client);
		return -1;
	}
	*ret = client;
	return 0;
}

void client_free(struct client *client)
{
	if (!client)
		return;
	if (client->conn)
		conn_free(client->conn);
	free(client);
}

const char *client_endpoint(const struct client *client)
{
	return client->endpoint.text;
}

/* On the caller's thread */

static int find_address(struct client_call *call)
{
	struct client *client = call->client;

	if (atomic_load(&client->connected))
		return 0;
	if (endpoint_resolve(&client->endpoint, atomic_load(&client->failures) % 16, &call->address,
			     &call->error) < 0)
		return -1;
	if (client->allow_plaintext || address_is_local(&call->address))
		return 0;
	return fail(&call->error, ERR_FAILED_PRECONDITION,
		    "'%s' is another host and would be called in plain text: use a loopback "
		    "address, or say --insecure",
		    client->endpoint.text);
}

struct client_call *client_begin(struct client *client, struct arena *arena,
				 const ProtobufCServiceDescriptor *service, const char *method,
				 const ProtobufCMessage *message, int64_t deadline)
{
	struct client_call *call = arena_alloc(arena, sizeof(*call));
	int64_t latest = now_ms() + client->limits->call_ms;

	call->client = client;
	call->arena = arena;
	call->method = protobuf_c_service_descriptor_get_method_by_name(service, method);
	call->deadline = deadline == NO_DEADLINE ? latest : deadline;
	snprintf(call->path, sizeof(call->path), "/%s/%s", service->name, method);
	sem_init(&call->finished, 0, 0);
	message_encode(arena, message, &call->request, &call->request_size);
	if (find_address(call) < 0) {
		sem_post(&call->finished);
		return call;
	}
	call->task.fn = start_call;
	loop_post(client->loop, &call->task);
	return call;
}

int client_finish(struct client_call *call, void *ret_response, struct error *err)
{
	ProtobufCMessage *response;
	int result = -1;

	while (sem_wait(&call->finished) < 0 && errno == EINTR)
		;
	sem_destroy(&call->finished);
	if (call->error.code != ERR_OK) {
		*err = call->error;
	} else {
		call->arena->cap = call->arena->used + call->client->limits->decoded;
		result = message_decode(call->arena, call->method->output, call->response.data,
					call->response.length, &response, err);
		if (result == 0)
			memcpy(ret_response, &response, sizeof(response));
	}
	wire_message_fini(&call->response);
	return result;
}
