/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Bytes to messages and messages to bytes, with back-pressure in both directions.
 *
 * The bytes of an incomplete message are copied and returned to the window at once. Otherwise
 * streams that each hold half a message could use up the window of the connection and deadlock it.
 * Bytes that follow a message whose delivery is paused go to the backlog and are not returned, so
 * the peer's window closes.
 *
 * Invariant: a stream holds at most one message and one window of bytes.
 */
#include "transport/exchange.h"
#include "transport/pump_inside.h"

#include <string.h>

#include "transport/message.h"

const struct error exchange_ok = {.code = ERR_OK};

static const struct rpc_stream_events no_events;

void exchange_init(struct exchange *exchange, const struct exchange_side *side, struct stream *wire,
		   struct loop *loop, const struct limits *limits, size_t *buffered)
{
	*exchange = (struct exchange){.rpc.events = &no_events,
				      .side = side,
				      .wire = wire,
				      .loop = loop,
				      .limits = limits,
				      .buffered = buffered};
}

/* Update the sum *buffered, which the calls of a server share, by the change of this exchange. */
static void count(struct exchange *exchange)
{
	size_t now = exchange->message.capacity + exchange->backlog.capacity;

	*exchange->buffered += now - exchange->counted;
	exchange->counted = now;
}

/* Receiving */

static bool is_single(const struct exchange *exchange)
{
	return exchange->rpc.events->single;
}

static void broken(struct exchange *exchange, enum error_code code, const char *text)
{
	struct error error;

	fail(&error, code, "%s", text);
	exchange->side->broken(exchange, &error);
}

/* Check the limits after a change: bytes buffered, and the time for the rest of a message. */
static void settle(struct exchange *exchange)
{
	bool rest = is_single(exchange) ? !exchange->ended
					: exchange->message.prefix_size > 0 && !exchange->paused;

	count(exchange);
	if (*exchange->buffered > exchange->limits->messages && !exchange->done_reading)
		broken(exchange, ERR_RESOURCE_EXHAUSTED,
		       "too many large messages at the same time: try again");
	exchange->side->waits(exchange, rest && !exchange->done_reading);
}

/* Free the message. The message of a unary call may contain a secret, so it is erased first. */
static void drop_message(struct exchange *exchange)
{
	if (is_single(exchange) && exchange->message.data)
		explicit_bzero(exchange->message.data, exchange->message.size);
	wire_message_fini(&exchange->message);
}

static void used(struct exchange *exchange)
{
	drop_message(exchange);
	arena_fini(&exchange->decoded);
	exchange->delivered = is_single(exchange);
	count(exchange);
}

static void deliver_message(struct exchange *exchange)
{
	struct wire_message *message = &exchange->message;
	const struct rpc_stream_events *events = exchange->rpc.events;
	ProtobufCMessage *decoded;
	struct error error;

	exchange->side->waits(exchange, false);
	exchange->delivered = true;
	exchange->decoded.cap = message_decoded_max(message->length, exchange->limits);
	if (exchange->in)
		pump_take(exchange->in, message->data, message->length);
	else if (events->bytes)
		events->bytes(&exchange->rpc, message->data, message->length);
	else if (message_decode(&exchange->decoded, exchange->receives, message->data,
				message->length, &decoded, &error) < 0)
		exchange->side->broken(exchange, &error);
	else if (events->message)
		events->message(&exchange->rpc, decoded);
	if (!exchange->paused)
		used(exchange);
}

/*
 * Assemble messages from n bytes and deliver them until delivery is paused. Returns the number of
 * bytes used.
 */
static size_t deliver(struct exchange *exchange, const uint8_t *bytes, size_t n)
{
	size_t taken = 0;
	struct error error;

	exchange->delivering = true;
	while (taken < n && !exchange->paused && !exchange->done_reading) {
		ssize_t part = wire_message_take(&exchange->message, bytes + taken, n - taken,
						 exchange->limits->message, &error);
		if (part < 0)
			exchange->side->broken(exchange, &error);
		else if (part == 0)
			broken(exchange, ERR_INTERNAL, "more than one message in a call of one");
		else if (wire_message_whole(&exchange->message) && !is_single(exchange))
			deliver_message(exchange);
		taken += part > 0 ? (size_t)part : 0;
	}
	exchange->delivering = false;
	return exchange->done_reading ? n : taken;
}

/* Report the end of the messages, once all were delivered. */
static void deliver_end(struct exchange *exchange)
{
	bool whole = wire_message_whole(&exchange->message);

	if (!exchange->ended || exchange->paused || exchange->done_reading ||
	    outbox_waiting(&exchange->backlog) > 0)
		return;
	if (is_single(exchange) && !exchange->delivered && whole)
		deliver_message(exchange);
	else if (is_single(exchange) ? !exchange->delivered : exchange->message.prefix_size > 0)
		broken(exchange, ERR_INTERNAL, "the stream ended without a complete message");
	if (exchange->paused || exchange->done_reading)
		return;
	exchange->done_reading = true;
	exchange->side->ended(exchange);
}

void exchange_begin(struct exchange *exchange)
{
	settle(exchange);
}

void exchange_take(struct exchange *exchange, const uint8_t *bytes, size_t n)
{
	size_t taken = outbox_waiting(&exchange->backlog) > 0 ? 0 : deliver(exchange, bytes, n);

	if (taken < n)
		outbox_add(&exchange->backlog, bytes + taken, n - taken);
	conn_consume(exchange->wire, taken);
	settle(exchange);
}

void exchange_end(struct exchange *exchange)
{
	exchange->ended = true;
	settle(exchange);
	deliver_end(exchange);
}

void rpc_stream_hold(struct rpc_stream *stream)
{
	struct exchange *exchange = (struct exchange *)stream;

	exchange->paused = true;
	settle(exchange);
}

static void deliver_backlog(struct exchange *exchange)
{
	struct outbox *backlog = &exchange->backlog;
	size_t taken = deliver(exchange, backlog->bytes + backlog->at, outbox_waiting(backlog));

	backlog->at += taken;
	if (outbox_waiting(backlog) == 0)
		outbox_fini(backlog);
	if (!exchange->wire->conn)
		return;
	conn_consume(exchange->wire, taken);
	conn_wake(exchange->wire->conn);
}

void rpc_stream_resume(struct rpc_stream *stream)
{
	struct exchange *exchange = (struct exchange *)stream;

	if (!exchange->paused)
		return;
	exchange->paused = false;
	if (exchange->delivering)
		return;
	if (exchange->delivered)
		used(exchange);
	if (outbox_waiting(&exchange->backlog) > 0)
		deliver_backlog(exchange);
	settle(exchange);
	deliver_end(exchange);
}

/* Sending */

static void wake(const struct exchange *exchange)
{
	if (exchange->wire->conn)
		conn_wake(exchange->wire->conn);
}

void exchange_send(struct exchange *exchange, struct chunk *chunk)
{
	exchange->side->send(exchange, chunk);
	wake(exchange);
}

bool rpc_stream_send(struct rpc_stream *stream, const ProtobufCMessage *message)
{
	struct exchange *exchange = (struct exchange *)stream;

	if (exchange_is_finished(exchange))
		return true;
	exchange->full = exchange->wire->out.size >= exchange->limits->queued;
	if (exchange->full)
		return false;
	struct chunk *chunk = message_chunk(message);
	if (chunk->size - WIRE_PREFIX_SIZE <= exchange->limits->message) {
		exchange_send(exchange, chunk);
		return true;
	}
	struct error error;
	fail(&error, ERR_RESOURCE_EXHAUSTED,
	     "a message of %zu bytes is more than the %zu that the other side accepts",
	     chunk->size - WIRE_PREFIX_SIZE, exchange->limits->message);
	chunk->gone(chunk);
	rpc_stream_finish(stream, &error);
	return true;
}

void rpc_stream_finish(struct rpc_stream *stream, const struct error *error)
{
	struct exchange *exchange = (struct exchange *)stream;

	exchange->side->finish(exchange, error ? error : &exchange_ok);
	wake(exchange);
}

void exchange_emptied(struct exchange *exchange)
{
	if (!exchange->full)
		return;
	exchange->full = false;
	if (exchange->rpc.events->writable)
		exchange->rpc.events->writable(&exchange->rpc);
}

/* End of an exchange */

/* End both pumps with an error, also when the call succeeded: their remaining data is lost. */
static void end_pumps(struct exchange *exchange, const struct error *outcome)
{
	struct error error = *outcome;

	if (error.code == ERR_OK)
		fail(&error, ERR_CANCELLED, "the call was finished before");
	pump_end(exchange->in, &error);
	pump_end(exchange->out, &error);
}

void exchange_fini(struct exchange *exchange, const struct error *outcome)
{
	exchange->done_reading = true;
	chunks_drop(&exchange->wire->out);
	if (exchange->in || exchange->out)
		end_pumps(exchange, outcome);
	if (exchange->rpc.events->closed)
		exchange->rpc.events->closed(&exchange->rpc, outcome);
	drop_message(exchange);
	outbox_fini(&exchange->backlog);
	count(exchange);
	arena_fini(&exchange->decoded);
	arena_fini(&exchange->rpc.arena);
}
