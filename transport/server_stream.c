/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The streams of the gRPC server: requests received, and time limits. Handlers use the messages;
 * server_answer.c sends the answers.
 *
 * Invariant: a stream that waits for its peer has a time limit, both for the rest of a message and
 * for the peer to read an answer. A stream that waits for its handler is limited only by the
 * deadline of the call.
 */
#include "transport/server_stream.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "transport/conn_stats.h"
#include "transport/metrics.h"
#include "transport/pump_inside.h"

/* The answer to a request that is not a gRPC call, kept until the request was received whole. */
struct refusal {
	int http_status;
	struct error error;
};

static struct server_stream *of_base(struct stream *base)
{
	return (struct server_stream *)base;
}

/* Timers of a call */

static void on_waits(struct exchange *exchange, bool waits)
{
	struct server_stream *stream = server_stream_of(exchange);

	if (!waits)
		waitlist_remove(&stream->receiving);
	else if (!stream->receiving.list)
		waitlist_add(&stream->peer->server->receiving, &stream->receiving);
}

static void on_broken(struct exchange *exchange, struct error *error)
{
	server_finish(exchange, error);
}

static void on_all_delivered(struct exchange *exchange)
{
	pump_end(exchange->in, &exchange_ok);
	if (exchange->rpc.events->ended)
		exchange->rpc.events->ended(&exchange->rpc);
}

static const struct exchange_side server_side = {
	.send = server_send,
	.finish = server_finish,
	.broken = on_broken,
	.ended = on_all_delivered,
	.waits = on_waits,
};

static void on_deadline(void *arg)
{
	struct server_stream *stream = arg;
	struct error error;

	fail(&error, ERR_DEADLINE_EXCEEDED, "the deadline passed while %s was running",
	     stream->target.method->name);
	rpc_stream_finish(&stream->exchange.rpc, &error);
}

void server_watch_deadline(struct server_stream *stream, int64_t ms, void (*passed)(void *arg))
{
	if (stream->exchange.rpc.deadline == NO_DEADLINE)
		return;
	stream->timer = loop_timer_new(stream->peer->server->loop, passed, stream);
	loop_timer_start(stream->timer, ms);
}

/* Callbacks of the connection */

static struct stream *on_open(struct conn *conn)
{
	struct peer *peer = conn_owner(conn);
	struct server *server = peer->server;

	if (peer->n_calls >= server->limits->connection_calls)
		return NULL;
	if (!peer->names)
		peer->names = conn_peer_names(conn);
	struct server_stream *stream = mem_alloc(sizeof(*stream));
	stream->peer = peer;
	exchange_init(&stream->exchange, &server_side, &stream->base, server->loop, server->limits,
		      &server->buffered);
	waitlist_add(&server->receiving, &stream->receiving);
	return &stream->base;
}

/*
 * Refuse a request. A gRPC answer is sent at once, because a gRPC client may wait for it before it
 * ends its request. An HTTP status is sent at the end of the request, or after receive_ms.
 */
static void refuse(struct server_stream *stream, int http_status, const struct error *error)
{
	stream->target = (struct rpc_target){0};
	if (http_status == 0) {
		conn_reset(&stream->base, NGHTTP2_PROTOCOL_ERROR);
	} else if (http_status == 200) {
		server_refuse(stream, http_status, error);
	} else {
		stream->refusal =
			arena_alloc(&stream->exchange.rpc.arena, sizeof(*stream->refusal));
		*stream->refusal = (struct refusal){http_status, *error};
	}
}

static void begin(struct server_stream *stream)
{
	struct exchange *exchange = &stream->exchange;
	int64_t started = loop_now_us(stream->peer->server->loop), now = started / 1000,
		timeout = stream->base.head.timeout_ms;
	const struct rpc_method *method = stream->target.method;
	const struct rpc_stream_events *none = exchange->rpc.events;
	struct error error;

	stream->started = started;
	server_peer_used(stream->peer);
	exchange->rpc.deadline = timeout > NO_DEADLINE - now ? NO_DEADLINE : now + timeout;
	exchange->rpc.app = stream->peer->listener->offer.app;
	exchange->rpc.caller = stream->peer->names;
	exchange->receives = stream->target.input;
	stream->peer->n_calls += !method->run;
	if (method->open(&exchange->rpc, &error) < 0) {
		exchange->rpc.events = none;
		server_finish(exchange, &error);
	} else if (!method->run) {
		server_watch_deadline(stream, timeout, on_deadline);
	}
	exchange_begin(exchange);
}

static void on_headed(struct stream *base)
{
	struct server_stream *stream = of_base(base);
	const struct head *head = &base->head;
	struct error error;
	int http_status;

	if (stream->started) {
		fail(&error, ERR_RESOURCE_EXHAUSTED, "the request's trailers are too large");
		server_finish(&stream->exchange, &error);
	} else if (head_check_request(head, &http_status, &error) < 0 ||
		   rpc_find(stream->peer->listener->services, head->path, &stream->target, &error) <
			   0 ||
		   server_check_allowed(stream->peer, &stream->target, &error) < 0) {
		refuse(stream, http_status, &error);
	} else {
		begin(stream);
	}
}

static void on_data(struct stream *base, const uint8_t *bytes, size_t n)
{
	struct server_stream *stream = of_base(base);

	if (stream->refusal)
		conn_consume(base, n);
	else
		exchange_take(&stream->exchange, bytes, n);
}

static void on_ended(struct stream *base)
{
	struct server_stream *stream = of_base(base);

	if (stream->refusal)
		server_refuse(stream, stream->refusal->http_status, &stream->refusal->error);
	else
		exchange_end(&stream->exchange);
}

static void on_emptied(struct stream *base)
{
	struct server_stream *stream = of_base(base);

	waitlist_remove(&stream->sending);
	exchange_emptied(&stream->exchange);
}

/* End the call, unless it is a unary call whose handler runs: the server waits for handlers. */
static void on_overdue(struct stream *base)
{
	struct server_stream *stream = of_base(base);
	struct error error;

	if (base->done || !stream->target.method) {
		conn_reset(base, NGHTTP2_CANCEL);
	} else if (!stream->call) {
		fail(&error, ERR_UNAVAILABLE, "the server is being stopped");
		server_finish(&stream->exchange, &error);
	}
}

static void on_closed(struct stream *base, uint32_t http2_error)
{
	struct server_stream *stream = of_base(base);
	struct error error;

	if (stream->target.method && !stream->outcome) {
		bool goes_on = stream->call && !server_call_withdraw(stream->call);
		fail(&error, ERR_CANCELLED, "the client went away (%s)%s",
		     nghttp2_http2_strerror(http2_error), goes_on ? "; the work goes on" : "");
		server_conclude(stream, &error);
	}
	exchange_fini(&stream->exchange, stream->outcome);
	stream->peer->n_calls -= stream->target.method && !stream->target.method->run;
	waitlist_remove(&stream->receiving);
	waitlist_remove(&stream->sending);
	loop_timer_free(stream->timer);
	free(stream);
}

static void on_leaving(struct conn *conn)
{
	(void)conn;
}

static void on_freed(struct conn *conn)
{
	struct peer *peer = conn_owner(conn);
	struct listener *listener = peer->listener;
	const char *endpoint = listener->acceptor.endpoint.text;
	char address[ADDRESS_TEXT_SIZE];

	conn_peer_address(conn, address);
	if (*conn_problem(conn))
		log_debug("connection is closed", log_str("endpoint", endpoint),
			  log_str("peer", address), log_str("reason", conn_problem(conn)));
	metrics_closed(endpoint, conn_outcome(conn));
	conn_traffic(conn, &listener->received, &listener->sent);
	peer->conn = NULL;
	server_peer_release(peer);
}

const struct conn_role server_role = {
	.is_server = true,
	.open = on_open,
	.headed = on_headed,
	.data = on_data,
	.ended = on_ended,
	.emptied = on_emptied,
	.overdue = on_overdue,
	.closed = on_closed,
	.leaving = on_leaving,
	.freed = on_freed,
};

void server_receive_expired(struct waiter *waiter)
{
	struct server_stream *stream = container_of(waiter, struct server_stream, receiving);
	struct error error;

	if (stream->target.method) {
		fail(&error, ERR_DEADLINE_EXCEEDED, "the request was not complete within %lld ms",
		     (long long)stream->peer->server->limits->receive_ms);
		server_finish(&stream->exchange, &error);
	} else if (stream->refusal) {
		server_refuse(stream, stream->refusal->http_status, &stream->refusal->error);
	} else {
		conn_reset(&stream->base, NGHTTP2_CANCEL);
	}
	conn_wake(stream->base.conn);
}

/*
 * Called once per write_ms for each stream that is sending. A stream that made progress since the
 * last call gets another write_ms; any other is reset.
 */
void server_send_expired(struct waiter *waiter)
{
	struct server_stream *stream = container_of(waiter, struct server_stream, sending);
	struct error error;

	if (stream->base.moved) {
		stream->base.moved = false;
		waitlist_add(&stream->peer->server->sending, waiter);
		return;
	}
	if (!stream->outcome && stream->target.method) {
		fail(&error, ERR_DEADLINE_EXCEEDED, "the client read nothing for %lld ms",
		     (long long)stream->peer->server->limits->write_ms);
		server_conclude(stream, &error);
	}
	conn_reset(&stream->base, NGHTTP2_CANCEL);
	conn_wake(stream->base.conn);
}
