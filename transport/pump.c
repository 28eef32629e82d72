/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Pumps. One that sends has a single buffer: it reads when the connection has taken what it read
 * before, so it is the peer's window and the socket that pull the bytes out of the pipe. One that
 * receives holds the stream while its descriptor is full, and the message stays where it is.
 *
 * Invariant: a pump is its stream's (exchange->out, exchange->in) until it is done, and then gone.
 */
#include "transport/pump.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/exchange.h"
#include "transport/pump_inside.h"
#include "transport/message.h"

#define FIELD     1
#define READ_MAX  ((size_t)256 * 1024)
#define PIPE_SIZE (1 << 20)
#define HEAD_MAX  (WIRE_PREFIX_SIZE + 1 + 4) /* a tag, and a length of at most 28 bits */

struct pump {
	struct exchange *exchange;
	struct pump **place; /* where the exchange keeps it */
	int fd;
	struct event *event;
	pump_done_fn *done;
	uint64_t bytes;

	struct chunk chunk; /* out: what was read, between two reads */
	uint8_t *buffer;
	const uint8_t *rest; /* in: what the descriptor has not taken of the message */
	size_t rest_size;
};

static struct pump *pump_new(struct rpc_stream *stream, int fd, pump_done_fn *done)
{
	struct pump *pump = mem_alloc(sizeof(*pump));

	pump->exchange = (struct exchange *)stream;
	pump->fd = fd;
	pump->done = done;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	/* fewer turns; where that may not be it goes as it is */
	int size = fcntl(fd, F_GETPIPE_SZ);
	if (size > 0 && size < PIPE_SIZE)
		fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
	return pump;
}

static void finish(struct pump *pump, const struct error *outcome)
{
	*pump->place = NULL;
	event_free(pump->event);
	close(pump->fd);
	pump->done(&pump->exchange->rpc, pump->bytes, outcome);
	free(pump->buffer);
	free(pump);
}

void pump_end(struct pump *pump, const struct error *outcome)
{
	if (pump)
		finish(pump, outcome);
}

/* Is there nothing to do until the descriptor is ready? errno says. */
static bool must_wait(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* Out */

/* The message's head in front of its n bytes, which begin at HEAD_MAX. */
static const uint8_t *write_head(uint8_t *buffer, size_t n)
{
	uint8_t varint[4];
	size_t size = 0, length = n;
	uint8_t *at = buffer + HEAD_MAX;

	for (; length > 0x7f; length >>= 7)
		varint[size++] = (uint8_t)(length | 0x80);
	varint[size++] = (uint8_t)length;
	at -= size;
	memcpy(at, varint, size);
	*--at = FIELD << 3 | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
	at -= WIRE_PREFIX_SIZE;
	wire_prefix_write(at, 1 + size + n);
	return at;
}

static void on_gone(struct chunk *chunk);

static void pump_some_out(struct pump *pump)
{
	struct exchange *exchange = pump->exchange;
	struct error error;

	if (exchange_is_finished(exchange))
		return;
	ssize_t n = read(pump->fd, pump->buffer + HEAD_MAX, READ_MAX);
	if (n > 0) {
		const uint8_t *head = write_head(pump->buffer, (size_t)n);
		size_t size = (size_t)(pump->buffer + HEAD_MAX + n - head);
		pump->bytes += (uint64_t)n;
		pump->chunk = (struct chunk){.bytes = head, .size = size, .gone = on_gone};
		exchange_send(exchange, &pump->chunk);
	} else if (n == 0) {
		finish(pump, &exchange_ok);
	} else if (must_wait()) {
		event_add(pump->event, NULL);
	} else {
		fail_errno(&error, "cannot read what is to be sent");
		finish(pump, &error);
	}
}

static void on_gone(struct chunk *chunk)
{
	pump_some_out(container_of(chunk, struct pump, chunk));
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	pump_some_out(arg);
}

void pump_out(struct rpc_stream *stream, int fd, pump_done_fn *done)
{
	struct pump *pump = pump_new(stream, fd, done);
	struct exchange *exchange = pump->exchange;

	pump->buffer = mem_resize(NULL, HEAD_MAX + READ_MAX);
	pump->event = event_new(loop_base(exchange->loop), fd, EV_READ, on_readable, pump);
	pump->place = &exchange->out;
	exchange->out = pump;
	event_active(pump->event, EV_READ, 0);
}

/* In */

static void wait_for_room(struct pump *pump)
{
	rpc_stream_hold(&pump->exchange->rpc);
	event_add(pump->event, NULL);
}

/* False: the descriptor is full. */
static bool pump_some_in(struct pump *pump)
{
	struct error error;

	while (pump->rest_size > 0) {
		ssize_t n = write(pump->fd, pump->rest, pump->rest_size);
		if (n < 0 && must_wait())
			return false;
		if (n < 0) {
			fail_errno(&error, "cannot write what was received");
			finish(pump, &error);
			return true;
		}
		pump->bytes += (uint64_t)n;
		pump->rest += n;
		pump->rest_size -= (size_t)n;
	}
	return true;
}

void pump_take(struct pump *pump, const uint8_t *bytes, size_t n)
{
	struct error error;

	if (message_bytes(bytes, n, FIELD, &pump->rest, &pump->rest_size) < 0) {
		fail(&error, ERR_INTERNAL, "the message is no chunk of data");
		finish(pump, &error);
	} else if (!pump_some_in(pump)) {
		wait_for_room(pump);
	}
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct pump *pump = arg;
	struct rpc_stream *stream = &pump->exchange->rpc;

	(void)fd;
	(void)what;
	if (pump_some_in(pump))
		rpc_stream_resume(stream);
	else
		wait_for_room(pump);
}

void pump_in(struct rpc_stream *stream, int fd, pump_done_fn *done)
{
	struct pump *pump = pump_new(stream, fd, done);
	struct exchange *exchange = pump->exchange;

	pump->event = event_new(loop_base(exchange->loop), fd, EV_WRITE, on_writable, pump);
	pump->place = &exchange->in;
	exchange->in = pump;
}
