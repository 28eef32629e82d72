/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The gRPC server's streams: a request on its way in, an answer on its way out. What happens
 * between the two is server_call.c's.
 *
 * Invariant: a stream is in one list at most: receiving until its request is complete or answered,
 * sending from its answer to its end; so neither can take a peer for ever.
 */
#include "transport/server_call.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"

static struct server_stream *of_base(struct stream *base)
{
	return (struct server_stream *)base;
}

static struct server_stream *of_waiter(struct waiter *waiter)
{
	return (struct server_stream *)((char *)waiter - offsetof(struct server_stream, waiter));
}

/* Answers */

static void received(struct server_stream *stream)
{
	stream->peer->server->buffered -= stream->message.capacity;
	wire_message_fini(&stream->message);
	waitlist_remove(&stream->waiter);
}

static void respond(struct server_stream *stream, const nghttp2_nv *fields, size_t n,
		    const uint8_t *reply, size_t size, const nghttp2_nv *trailers,
		    size_t n_trailers)
{
	received(stream);
	conn_respond(&stream->base, fields, n, reply, size, trailers, n_trailers);
	waitlist_add(&stream->peer->server->sending, &stream->waiter);
}

static void answer_ok(struct server_stream *stream, const uint8_t *reply, size_t size)
{
	const nghttp2_nv fields[] = {conn_field(":status", "200"),
				     conn_field("content-type", "application/grpc")};
	static const nghttp2_nv trailers[] = {
		{(uint8_t *)"grpc-status", (uint8_t *)"0", sizeof("grpc-status") - 1, 1, 0}};

	respond(stream, fields, COUNT(fields), reply, size, trailers, COUNT(trailers));
}

static void answer_error(struct server_stream *stream, int http_status, const struct error *error)
{
	char http[12], code[12], text[3 * ERROR_TEXT_MAX + 1];

	snprintf(http, sizeof(http), "%d", http_status);
	snprintf(code, sizeof(code), "%d", (int)error->code);
	wire_percent_encode(error->text, text, sizeof(text));
	const nghttp2_nv fields[] = {conn_field(":status", http),
				     conn_field("content-type", "application/grpc"),
				     conn_field("grpc-status", code),
				     conn_field("grpc-message", text),
				     conn_field("grpc-accept-encoding", "identity")};
	respond(stream, fields, COUNT(fields), NULL, 0, NULL, 0);
}

/* One line a call; an OK of what runs on the loop (Probe, every few seconds) only for debugging. */
void server_log(const struct server_stream *stream, const struct error *error)
{
	const struct rpc_method *method = stream->target.method;
	const ProtobufCMessage *request = stream->call ? stream->call->request : NULL;
	struct log_field fields[6] = {log_str("msg", "rpc")};
	unsigned n = 1;
	char name[128];

	snprintf(name, sizeof(name), "%s/%s", stream->target.service, method->name);
	fields[n++] = log_str("method", name);
	if (method->key && request)
		fields[n++] = log_str("id", method->key(request));
	fields[n++] = log_str("code", error_name(error->code));
	fields[n++] = log_int("ms", now_ms() - stream->started);
	if (error->code != ERR_OK)
		fields[n++] = log_str("error", error->text);
	log_write(error->code == ERR_OK && method->on_loop ? LOG_DEBUG : LOG_INFO, fields, n);
}

void server_answer(struct server_stream *stream, const struct error *error)
{
	server_log(stream, error);
	if (error->code == ERR_OK)
		answer_ok(stream, stream->call->reply, stream->call->reply_size);
	else
		answer_error(stream, 200, error);
}

/* What the connection reports */

static struct stream *on_open(struct conn *conn)
{
	struct peer *peer = conn_owner(conn);

	if (peer->n_calls >= peer->server->limits->streams)
		return NULL;
	struct server_stream *stream = mem_alloc(sizeof(*stream));
	stream->peer = peer;
	waitlist_add(&peer->server->receiving, &stream->waiter);
	return &stream->base;
}

static void refuse(struct server_stream *stream, int http_status, const struct error *error)
{
	if (http_status == 0) {
		conn_reset(&stream->base, NGHTTP2_PROTOCOL_ERROR);
		return;
	}
	log_info("rpc", log_str("method", stream->base.head.path),
		 log_str("code", error_name(error->code)), log_str("error", error->text));
	answer_error(stream, http_status, error);
}

static void on_headed(struct stream *base)
{
	struct server_stream *stream = of_base(base);
	const struct head *head = &base->head;
	struct error error;
	int http_status;

	if (head_check_request(head, &http_status, &error) < 0 ||
	    rpc_find(stream->peer->listener->services, head->path, &stream->target, &error) < 0) {
		refuse(stream, http_status, &error);
		return;
	}
	stream->started = now_ms();
	stream->deadline = head->timeout_ms > NO_DEADLINE - stream->started
				   ? NO_DEADLINE
				   : stream->started + head->timeout_ms;
}

static void on_data(struct stream *base, const uint8_t *bytes, size_t n)
{
	struct server_stream *stream = of_base(base);
	struct server *server = stream->peer->server;
	size_t before = stream->message.capacity;
	struct error error;
	int result = wire_message_feed(&stream->message, bytes, n, server->limits->message, &error);

	server->buffered += stream->message.capacity - before;
	if (result == 0 && server->buffered > server->limits->messages)
		result = fail(&error, ERR_RESOURCE_EXHAUSTED,
			      "too many large requests at the same time: try again");
	if (result < 0)
		server_answer(stream, &error);
}

static void on_ended(struct stream *base)
{
	struct server_stream *stream = of_base(base);
	struct error error;

	if (!wire_message_whole(&stream->message)) {
		fail(&error, ERR_INTERNAL, "the request has no complete message");
		server_answer(stream, &error);
	} else if (time_left_ms(stream->deadline) == 0) {
		fail(&error, ERR_DEADLINE_EXCEEDED, "the deadline passed before the call began");
		server_answer(stream, &error);
	} else {
		server_call_begin(stream);
		if (!base->done)
			received(stream);
	}
}

static void on_closed(struct stream *base, uint32_t http2_error)
{
	struct server_stream *stream = of_base(base);

	if (stream->call)
		server_call_end(stream, http2_error);
	received(stream);
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

	if (*conn_problem(conn))
		log_debug("connection ended", log_str("endpoint", peer->listener->endpoint.text),
			  log_str("reason", conn_problem(conn)));
	peer->conn = NULL;
	server_peer_release(peer);
}

const struct conn_role server_role = {
	.is_server = true,
	.open = on_open,
	.headed = on_headed,
	.data = on_data,
	.ended = on_ended,
	.closed = on_closed,
	.leaving = on_leaving,
	.freed = on_freed,
};

void server_receive_expired(struct waiter *waiter)
{
	struct server_stream *stream = of_waiter(waiter);
	struct conn *conn = stream->base.conn;
	struct error error;

	fail(&error, ERR_DEADLINE_EXCEEDED, "the request was not complete within %lld ms",
	     (long long)stream->peer->server->limits->receive_ms);
	if (stream->target.method)
		server_answer(stream, &error);
	else
		conn_reset(&stream->base, NGHTTP2_CANCEL);
	conn_pump(conn);
}

void server_send_expired(struct waiter *waiter)
{
	struct server_stream *stream = of_waiter(waiter);
	struct conn *conn = stream->base.conn;

	conn_reset(&stream->base, NGHTTP2_CANCEL);
	conn_pump(conn);
}
