/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Pumps. A sending pump has one buffer and reads again only after the connection has taken the
 * previous bytes, so the peer's window and the socket set its pace; with a limit it waits for its
 * bucket too. A receiving pump pauses the stream while its descriptor is full; the message is not
 * copied.
 *
 * Invariant: exchange->out or exchange->in points to a pump until it is done, and then it is freed.
 */
#include "transport/pump.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/bucket.h"
#include "transport/exchange.h"
#include "transport/pump_inside.h"
#include "transport/message.h"

#define FIELD     1 /* number of the field in { bytes data = 1; } */
#define READ_MAX  ((size_t)256 * 1024)
#define PIPE_SIZE (1 << 20)
#define WINDOW    (512 << 10) /* ten windows and their messages fit into limits_default.messages */
#define HEAD_MAX  (WIRE_PREFIX_SIZE + 1 + 4) /* prefix, tag, and a length of up to 28 bits */

struct pump {
	struct exchange *exchange;
	struct pump **place; /* the exchange's pointer to this pump */
	int fd;
	struct event *event;
	pump_done_fn *done;
	uint64_t bytes;
	_Atomic uint64_t *count; /* sending: counter of pump_count; or NULL */

	struct chunk chunk;   /* sending: the bytes in buffer while they are queued */
	uint8_t *buffer;      /* sending: bytes read from fd, after HEAD_MAX bytes for the head */
	struct bucket bucket; /* sending: the rate limit, if there is a timer */
	struct loop_timer *timer; /* sending: runs while the bucket is empty; NULL: no limit */
	const uint8_t *rest; /* receiving: bytes of the message that are not written to fd yet */
	size_t rest_size;
};

static struct pump *pump_new(struct rpc_stream *stream, int fd, pump_done_fn *done)
{
	struct pump *pump = mem_alloc(sizeof(*pump));

	pump->exchange = (struct exchange *)stream;
	pump->fd = fd;
	pump->done = done;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	/* A larger pipe needs fewer turns. If it is not permitted, the size stays as it is. */
	int size = fcntl(fd, F_GETPIPE_SZ);
	if (size > 0 && size < PIPE_SIZE)
		fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
	return pump;
}

static void finish(struct pump *pump, const struct error *outcome)
{
	*pump->place = NULL;
	event_free(pump->event);
	loop_timer_free(pump->timer);
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

/* True if errno states that the descriptor is not ready. */
static bool must_wait(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* Sending */

/*
 * Write the gRPC prefix, tag and length in front of the n bytes at buffer + HEAD_MAX. Returns the
 * start of the complete message.
 */
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

/* Returns how many bytes may be read; if none, starts the timer. */
static size_t room_for_more(struct pump *pump)
{
	if (!pump->timer)
		return READ_MAX;
	size_t room = (size_t)bucket_room(&pump->bucket, READ_MAX, now_ms());
	if (!room)
		loop_timer_start(pump->timer, BUCKET_WAIT_MS);
	return room;
}

static void pump_some_out(struct pump *pump)
{
	struct exchange *exchange = pump->exchange;
	struct error error;
	size_t room;

	if (exchange_is_finished(exchange) || !(room = room_for_more(pump)))
		return;
	ssize_t n = read(pump->fd, pump->buffer + HEAD_MAX, room);
	if (n > 0) {
		if (pump->timer)
			bucket_take(&pump->bucket, (uint64_t)n);
		const uint8_t *head = write_head(pump->buffer, (size_t)n);
		size_t size = (size_t)(pump->buffer + HEAD_MAX + n - head);
		pump->bytes += (uint64_t)n;
		if (pump->count)
			*pump->count += (uint64_t)n;
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

void pump_count(struct rpc_stream *stream, _Atomic uint64_t *count)
{
	struct pump *pump = ((struct exchange *)stream)->out;

	if (pump)
		pump->count = count;
}

static void on_filled(void *arg)
{
	pump_some_out(arg);
}

void pump_limit(struct rpc_stream *stream, uint64_t rate)
{
	struct pump *pump = ((struct exchange *)stream)->out;

	if (!pump || !rate)
		return;
	pump->timer = loop_timer_new(pump->exchange->loop, on_filled, pump);
	bucket_init(&pump->bucket, rate, now_ms());
}

/* Receiving */

static void wait_for_room(struct pump *pump)
{
	rpc_stream_hold(&pump->exchange->rpc);
	event_add(pump->event, NULL);
}

/* Write the rest of the message. Returns false if the descriptor is full. */
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
	conn_widen(exchange->wire, WINDOW);
}
