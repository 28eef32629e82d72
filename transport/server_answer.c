/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Answers of the gRPC server: a header list, messages, and trailers with the outcome; or a single
 * header list if the call fails before its first message (gRPC doc/PROTOCOL-HTTP2.md,
 * "Trailers-Only").
 *
 * Invariant: a call has one outcome, and is logged once, when its outcome is known.
 */
#include "transport/server_stream.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "transport/metrics.h"

/* The header fields of a failed call: all five in a Trailers-Only answer, else the last two. */
struct ending {
	char http[12], code[12], text[3 * ERROR_TEXT_MAX + 1];
	nghttp2_nv fields[5];
};

#define TRAILERS 2

static void ending_init(struct ending *ending, int http_status, const struct error *error)
{
	snprintf(ending->http, sizeof(ending->http), "%d", http_status);
	snprintf(ending->code, sizeof(ending->code), "%d", (int)error->code);
	wire_percent_encode(error->text, ending->text, sizeof(ending->text));
	ending->fields[0] = conn_field(":status", ending->http);
	ending->fields[1] = conn_field("content-type", "application/grpc");
	ending->fields[2] = conn_field("grpc-accept-encoding", "identity");
	ending->fields[3] = conn_field("grpc-status", ending->code);
	ending->fields[4] = conn_field("grpc-message", ending->text);
}

/*
 * Log a failed call, up to limits->log_lines lines per period, then one line that further lines are
 * omitted. A client can cause failures more cheaply than they can be logged.
 */
static void log_failure(struct server *server, const struct log_field *fields, unsigned n)
{
	const struct limits *limits = server->limits;

	if (!rate_exceeds(&server->failures, 1, limits->log_lines, limits->rate_ms))
		log_write(LOG_INFO, fields, n);
	else if (server->failures.count == limits->log_lines + 1)
		log_warn("log of failed calls is rate-limited");
}

/*
 * Log one line per call. A successful call of an INLINE method (such as Probe, called every few
 * seconds) is logged at level debug, all others at info.
 */
static void log_call(const struct server_stream *stream, const struct error *error)
{
	const struct rpc_method *method = stream->target.method;
	const ProtobufCMessage *request = stream->call ? stream->call->request : NULL;
	enum log_level level = error->code == ERR_OK && method->on_loop ? LOG_DEBUG : LOG_INFO;
	struct log_field fields[6];
	int64_t us = now_us() - stream->started;
	unsigned n = 0;

	metrics_call(stream->target.service, method->name, error->code, us);
	if (error->code == ERR_OK && !log_writes(level))
		return;
	fields[n++] = log_str("msg", "rpc");
	fields[n++] = log_str("method", stream->base.head.path + 1);
	if (method->key && request)
		fields[n++] = log_str("id", method->key(request));
	fields[n++] = log_str("code", error_name(error->code));
	fields[n++] = log_int("ms", us / 1000);
	if (error->code == ERR_OK) {
		log_write(level, fields, n);
		return;
	}
	fields[n++] = log_str("error", error->text);
	log_failure(stream->peer->server, fields, n);
}

void server_conclude(struct server_stream *stream, const struct error *error)
{
	struct error *failed;

	log_call(stream, error);
	waitlist_remove(&stream->receiving);
	stream->base.done = true;
	stream->exchange.done_reading = true;
	stream->outcome = &exchange_ok;
	if (error->code == ERR_OK)
		return;
	failed = arena_alloc(&stream->exchange.rpc.arena, sizeof(*failed));
	*failed = *error;
	stream->outcome = failed;
}

static void watch_sending(struct server_stream *stream)
{
	if (!stream->sending.list)
		waitlist_add(&stream->peer->server->sending, &stream->sending);
}

static void begin(struct server_stream *stream)
{
	static const nghttp2_nv fields[] = {CONN_FIELD(":status", "200"),
					    CONN_FIELD("content-type", "application/grpc")};

	if (!stream->begun)
		conn_respond(&stream->base, fields, COUNT(fields));
	stream->begun = true;
}

void server_send(struct exchange *exchange, struct chunk *chunk)
{
	struct server_stream *stream = server_stream_of(exchange);

	begin(stream);
	conn_send(&stream->base, chunk);
	watch_sending(stream);
}

static void end_ok(struct server_stream *stream)
{
	static const nghttp2_nv trailers[] = {CONN_FIELD("grpc-status", "0")};

	begin(stream);
	conn_end(&stream->base, trailers, COUNT(trailers));
}

static void end_failed(struct server_stream *stream, const struct error *error)
{
	struct ending *ending = arena_alloc(&stream->exchange.rpc.arena, sizeof(*ending));

	ending_init(ending, 200, error);
	conn_end(&stream->base, ending->fields + COUNT(ending->fields) - TRAILERS, TRAILERS);
}

static void answer_only(struct server_stream *stream, int http_status, const struct error *error)
{
	struct ending ending;

	ending_init(&ending, http_status, error);
	conn_respond_only(&stream->base, ending.fields, COUNT(ending.fields));
}

/* Answer a client that does not speak gRPC with a text. */
static void answer_http(struct server_stream *stream, int http_status, const struct error *error)
{
	struct ending *ending = arena_alloc(&stream->exchange.rpc.arena, sizeof(*ending));
	size_t n = strlen(error->text) + 1;
	uint8_t *text;
	struct chunk *body = chunk_new(n, &text);

	ending_init(ending, http_status, error);
	ending->fields[1] = conn_field("content-type", "text/plain; charset=utf-8");
	conn_respond(&stream->base, ending->fields, COUNT(ending->fields) - TRAILERS);
	memcpy(text, error->text, n - 1);
	text[n - 1] = '\n';
	conn_send(&stream->base, body);
	conn_end(&stream->base, ending->fields + COUNT(ending->fields) - TRAILERS, TRAILERS);
	stream->base.done = true;
}

void server_finish(struct exchange *exchange, const struct error *error)
{
	struct server_stream *stream = server_stream_of(exchange);

	if (stream->outcome)
		return;
	server_conclude(stream, error);
	if (error->code == ERR_OK)
		end_ok(stream);
	else if (stream->begun)
		end_failed(stream, error);
	else
		answer_only(stream, 200, error);
	watch_sending(stream);
}

void server_refuse(struct server_stream *stream, int http_status, const struct error *error)
{
	const struct log_field fields[] = {
		log_str("msg", "rpc"),
		log_str("method", stream->base.head.path),
		log_str("code", error_name(error->code)),
		log_str("error", error->text),
	};

	waitlist_remove(&stream->receiving);
	metrics_refused(error->code);
	log_failure(stream->peer->server, fields, COUNT(fields));
	if (http_status == 200)
		answer_only(stream, http_status, error);
	else
		answer_http(stream, http_status, error);
	watch_sending(stream);
}
