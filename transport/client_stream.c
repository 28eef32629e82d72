/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The client's calls as streams of HTTP/2, unary calls included.
 *
 * A call ends for its owner when all messages are delivered, or at once when it is cancelled. Its
 * HTTP/2 stream ends when conn calls on_closed. Either may happen first.
 *
 * Invariant: the owner's closed callback runs once, on the loop, and never from within a function
 * that the owner called, except rpc_stream_resume.
 */
#include "transport/client_stream.h"

#include <stdio.h>
#include <stdlib.h>

#include "transport/client_inside.h"
#include "transport/dial.h"
#include "transport/pump_inside.h"

static struct client_stream *of_base(struct stream *base)
{
	return (struct client_stream *)base;
}

static struct client_stream *of_exchange(struct exchange *exchange)
{
	return of_base(exchange->wire);
}

static void release(struct client_stream *stream)
{
	if (stream->notified && !stream->base.conn)
		free(stream);
}

static void notify_closed(struct client_stream *stream)
{
	stream->notified = true;
	stream->base.done = true;
	loop_timer_free(stream->timer);
	stream->timer = NULL;
	/* At its deadline a server may cancel the call before our own timer expires. */
	if (stream->outcome.code == ERR_CANCELLED && time_left_ms(stream->waiter.deadline) == 0)
		stream->outcome.code = ERR_DEADLINE_EXCEEDED;
	exchange_fini(&stream->exchange, &stream->outcome);
	release(stream);
}

/* Set the outcome, unless the call has one already. */
static void conclude(struct client_stream *stream, const struct error *error)
{
	if (stream->concluded)
		return;
	stream->concluded = true;
	stream->outcome = *error;
}

static void give_up(struct client_stream *stream, const struct error *error)
{
	conclude(stream, error);
	stream->exchange.done_reading = true;
	if (stream->base.conn && !stream->base.done)
		conn_reset(&stream->base, NGHTTP2_CANCEL);
	else
		client_wait_end(stream->client, &stream->waiter);
	stream->base.done = true;
	if (stream->timer)
		loop_timer_start(stream->timer, 0);
}

static void on_timer(void *arg)
{
	struct client_stream *stream = arg;
	struct conn *conn = stream->base.conn; /* NULL if all was received and delivery is paused */
	struct error error;

	if (!stream->concluded) {
		fail(&error, ERR_DEADLINE_EXCEEDED, "'%s' did not answer %s in time",
		     client_endpoint(stream->client), stream->method->name);
		if (conn)
			conn_probe(&stream->base);
		give_up(stream, &error);
		if (conn)
			conn_wake(conn);
	}
	notify_closed(stream);
}

/* Callbacks of the exchange, which turns messages into bytes and back */

static void on_send(struct exchange *exchange, struct chunk *chunk)
{
	conn_send(exchange->wire, chunk);
}

static void on_finish(struct exchange *exchange, const struct error *error)
{
	if (error->code != ERR_OK)
		give_up(of_exchange(exchange), error);
	else if (!exchange_is_finished(exchange))
		conn_end(exchange->wire, NULL, 0);
}

static void on_broken(struct exchange *exchange, struct error *error)
{
	struct client_stream *stream = of_exchange(exchange);

	/* A server must not compress unless the client asked for it (gRPC doc/compression.md). */
	if (error->code == ERR_UNIMPLEMENTED)
		error->code = ERR_INTERNAL;
	fail_context(error, "the answer of '%s'", client_endpoint(stream->client));
	give_up(stream, error);
}

static void on_all_delivered(struct exchange *exchange)
{
	struct client_stream *stream = of_exchange(exchange);

	conclude(stream, &exchange_ok);
	pump_end(exchange->in, &stream->outcome);
	notify_closed(stream);
}

static void on_waits(struct exchange *exchange, bool waits)
{
	(void)exchange;
	(void)waits;
}

static const struct exchange_side client_side = {
	.send = on_send,
	.finish = on_finish,
	.broken = on_broken,
	.ended = on_all_delivered,
	.waits = on_waits,
};

/* Callbacks of the connection, for the answer of the server */

static void on_headed(struct stream *base)
{
	struct error error;

	if (!base->head.too_large)
		return;
	fail(&error, ERR_RESOURCE_EXHAUSTED, "its header list is too large");
	on_broken(&of_base(base)->exchange, &error);
}

static void on_data(struct stream *base, const uint8_t *bytes, size_t n)
{
	/* Only the body of HTTP status 200 is gRPC (gRPC doc/http-grpc-status-mapping.md). */
	if (base->head.http_status == 200)
		exchange_take(&of_base(base)->exchange, bytes, n);
	else
		conn_consume(base, n);
}

static void on_ended(struct stream *base)
{
	struct client_stream *stream = of_base(base);
	struct error *outcome = &stream->outcome;

	/* outcome->text is filled in already: it is the buffer that head.message points to. */
	stream->concluded = head_outcome(&base->head, outcome) < 0;
	if (stream->concluded && !stream->exchange.paused)
		notify_closed(stream);
	else
		exchange_end(&stream->exchange);
}

static void on_emptied(struct stream *base)
{
	exchange_emptied(&of_base(base)->exchange);
}

static void on_closed(struct stream *base, uint32_t http2_error)
{
	struct client_stream *stream = of_base(base);
	bool lost = !stream->concluded && !stream->exchange.ended;
	struct error error;

	if (lost) {
		stream->may_repeat = client_may_repeat(base, http2_error);
		client_fail_closed(stream->client, base, http2_error, &error);
		conclude(stream, &error);
	}
	base->conn = NULL;
	if (lost)
		notify_closed(stream);
	else
		release(stream);
}

const struct conn_role client_role = {
	.headed = on_headed,
	.data = on_data,
	.ended = on_ended,
	.emptied = on_emptied,
	.closed = on_closed,
	.ready = dial_on_ready,
	.leaving = dial_on_leaving,
	.freed = dial_on_freed,
};

/* Creation */

static void on_found(struct client_waiter *waiter, struct conn *conn, const struct error *err)
{
	struct client_stream *stream = container_of(waiter, struct client_stream, waiter);
	struct client_head head;

	if (!conn) {
		conclude(stream, err);
		notify_closed(stream);
		return;
	}
	client_head_init(&head, stream->client, stream->path, waiter->deadline);
	if (conn_request(conn, &stream->base, head.fields, COUNT(head.fields)) < 0)
		client_wait_again(stream->client, waiter);
	else if (waiter->deadline != NO_DEADLINE)
		loop_timer_start(stream->timer, time_left_ms(waiter->deadline));
}

struct client_stream *client_stream_new(struct client *client,
					const ProtobufCServiceDescriptor *service,
					const char *method, int64_t deadline,
					const struct rpc_stream_events *events, void *arg)
{
	struct client_stream *stream = mem_alloc(sizeof(*stream));

	stream->client = client;
	stream->method = protobuf_c_service_descriptor_get_method_by_name(service, method);
	snprintf(stream->path, sizeof(stream->path), "/%s/%s", service->name, method);
	stream->waiter.found = on_found;
	stream->waiter.deadline = deadline;
	stream->timer = loop_timer_new(client_loop(client), on_timer, stream);
	stream->base.head.message = stream->outcome.text;
	stream->base.head.message_size = sizeof(stream->outcome.text);
	exchange_init(&stream->exchange, &client_side, &stream->base, client_loop(client),
		      client_limits(client), &stream->buffered);
	stream->exchange.receives = stream->method->output;
	stream->exchange.rpc.deadline = deadline;
	stream->exchange.rpc.events = events;
	stream->exchange.rpc.arg = arg;
	return stream;
}

struct rpc_stream *client_stream_begin(struct client *client,
				       const ProtobufCServiceDescriptor *service,
				       const char *method, int64_t deadline,
				       const struct rpc_stream_events *events, void *arg)
{
	struct client_stream *stream =
		client_stream_new(client, service, method, deadline, events, arg);

	client_wait_again(client, &stream->waiter);
	return &stream->exchange.rpc;
}
