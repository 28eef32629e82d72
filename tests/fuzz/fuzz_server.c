/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A server whose peer sends anything, in pieces of any length and at any time, whether or not the
 * peer reads, and whether or not the workers run. Another client is served at any moment; the
 * memory for the first peer is bounded; and an idle peer cannot prevent the server from stopping.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/frames.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/service.h"
#include "tests/fuzz/world.h"

#define HELD_MAX  ((size_t)4 << 20)
#define SILENT_MS 300000 /* longer than all timeouts together */

/* The server under test, its start and its stop. */

static struct {
	struct loop *loop;
	struct workers *workers;
	struct server *server;
	struct world_socket *listener;
	size_t held; /* bytes of memory before the first peer */
	bool drains, drained;

	struct input input;
	struct world_socket *peer;
	struct frames frames;
} ends;

static void start(void)
{
	static const struct server_offer offer = {.services = services};
	static struct limits limits;
	struct error err;

	limits = limits_default;
	limits.streams = limits.connection_calls = 8;
	limits.calls = 12;
	limits.message = 64 * 1024;
	limits.messages = 128 * 1024;
	limits.decoded = 256 * 1024;
	limits.queued = 8 * 1024;
	MUST(loop_new(&ends.loop, &err) == 0);
	MUST(workers_new(&ends.workers, ends.loop, 1, &err) == 0);
	ends.server = server_new(ends.loop, ends.workers, &limits);
	MUST(server_listen(ends.server, "tcp://127.0.0.1:1", &offer, &err) == 0);
	for (unsigned i = 0; !ends.listener || !ends.listener->listens; i++)
		ends.listener = world_socket(i);
	ends.held = fuzz_allocated();
}

static void on_drained(void *arg)
{
	(void)arg;
	MUST(!ends.drained);
	ends.drained = true;
}

static void drain(void)
{
	if (!ends.drains)
		server_drain(ends.server, on_drained, NULL);
	ends.drains = true;
}

static void stop(void)
{
	server_free(ends.server);
	workers_free(ends.workers);
	loop_free(ends.loop);
}

/* Peers that connect to the server. */

static void on_data(struct world_socket *socket, const uint8_t *bytes, size_t n)
{
	frames_take(socket->peer, bytes, n);
}

/* Connect a peer, if the server still listens. Returns its socket, or NULL. */
static struct world_socket *connect_peer(struct frames *frames, size_t room)
{
	unsigned i = 0;

	if (!ends.listener->open)
		return NULL;
	*frames = (struct frames){0};
	*world_expect() = (struct world_socket){.room = room, .on_data = on_data, .peer = frames};
	while (world_socket(i))
		i++;
	ends.listener->n_waiting = 1;
	world_turn();
	return world_socket(i);
}

static void queue_input(size_t n)
{
	const uint8_t *bytes = input_take(&ends.input, n, &n);

	if (!ends.peer)
		return;
	if (ends.peer->n_incoming == 0)
		ends.peer->incoming = bytes;
	ends.peer->n_incoming += n;
}

#define REQUEST                                                                                    \
	FRAMES_PREFACE "\0\0\0\4\0\0\0\0\0"                                                        \
		       "\0\0\0\4\1\0\0\0\0"                                                        \
		       "\0\0\x3b\1\4\0\0\0\1\x83\x86\x04\x16/zcsi.v1.Agent/GetHost\x41\0\0\x0c"    \
		       "content-type\x10"                                                          \
		       "application/grpc"                                                          \
		       "\0\0\5\0\1\0\0\0\1\0\0\0\0\0"

/* A second client makes a call, and gets the answer although no time passes. */
static void check_other_client(void)
{
	static const char text[] = REQUEST;
	static struct frames frames;
	struct world_socket *other = ends.drains ? NULL : connect_peer(&frames, SIZE_MAX);

	if (!other)
		return;
	other->incoming = (const uint8_t *)text;
	other->n_incoming = sizeof(text) - 1;
	world_turn();
	const struct frame_stream *stream = frames_stream(&frames, 1);
	MUST(stream && stream->ended && !stream->reset);
	MUST(stream->data == 5 + 2 + strlen("here"));
	other->peer_closed = true;
	world_turn();
	MUST(!other->open);
}

/* Actions as the input chooses them: three bits for the action, five for its amount. */

static void act_data(unsigned amount)
{
	queue_input(amount < 24 ? amount + 1 : (size_t)64 << (amount - 24));
}

static void act_pass(unsigned amount)
{
	static const int64_t ms[] = {0, 1, 10, 90, 101, 999, 1001, 5001, 10001, 31000};

	world_pass(ms[amount % COUNT(ms)]);
}

static void act_room(unsigned amount)
{
	static const size_t room[] = {0, 1, 5, 9, 20, 100, 16393, SIZE_MAX};

	if (ends.peer)
		ends.peer->room = room[amount % COUNT(room)];
}

static void act_work(unsigned amount)
{
	(void)amount;
	world_work();
}

static void act_close(unsigned amount)
{
	static const int failures[] = {0, ECONNRESET, EPIPE, ETIMEDOUT};

	if (!ends.peer)
		return;
	ends.peer->failure = failures[amount % COUNT(failures)];
	ends.peer->peer_closed = true;
	world_turn();
	ends.peer = connect_peer(&ends.frames, SIZE_MAX);
}

static void act_rarely(unsigned amount)
{
	if (amount == 0)
		drain();
	else if (amount < 8)
		service_resume();
	else
		check_other_client();
}

static void (*const acts[8])(unsigned amount) = {act_data, act_data, act_data,  act_pass,
						 act_room, act_work, act_close, act_rarely};

static bool act(void)
{
	if (input_left(&ends.input) == 0)
		return false;
	uint8_t decision = input_decision(&ends.input);
	acts[decision & 7](decision >> 3);
	world_turn();
	MUST(fuzz_allocated() <= ends.held + HELD_MAX);
	return true;
}

/* Stop the server while the peer sends nothing more, does not close, and reads no more than
 * before. */
static void finish(void)
{
	check_other_client();
	drain();
	for (int i = 0; i < 3; i++) {
		world_work();
		world_pass(SILENT_MS / 3);
		service_resume();
	}
	MUST(ends.drained);
	service_end();
	stop();
}

/* The last byte of the input is the number of decisions. After all decisions, the rest of the input
 * is sent at once. */
void fuzz_one(const uint8_t *bytes, size_t n)
{
	memset(&ends, 0, sizeof(ends));
	ends.input = input_of(bytes, n);
	unsigned decisions = input_decision(&ends.input);
	world_begin();
	start();
	ends.peer = connect_peer(&ends.frames, SIZE_MAX);
	while (decisions-- > 0 && act())
		;
	queue_input(SIZE_MAX);
	world_turn();
	finish();
	world_end();
}
