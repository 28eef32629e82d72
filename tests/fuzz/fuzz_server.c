/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A server whose peer says anything, in pieces of any length and at any time, while it listens or
 * does not, and workers work or do not. Another peer is answered at any moment; what is held for
 * the first one is bounded; and a peer that has fallen silent cannot keep the server from ending.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/frames.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/service.h"
#include "tests/fuzz/world.h"

#define HELD_MAX  ((size_t)4 << 20)
#define SILENT_MS 300000 /* longer than any of the limits taken together */

/* The server */

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
	limits.streams = 8;
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

/* Peers */

static void hears(struct world_socket *socket, const uint8_t *bytes, size_t n)
{
	frames_take(socket->peer, bytes, n);
}

/* One comes, if the server still lets it; what it will say is what it has not said yet. */
static struct world_socket *come(struct frames *frames, size_t room)
{
	unsigned i = 0;

	if (!ends.listener->open)
		return NULL;
	*frames = (struct frames){0};
	*world_expect() = (struct world_socket){.room = room, .hears = hears, .peer = frames};
	while (world_socket(i))
		i++;
	ends.listener->coming = 1;
	world_turn();
	return world_socket(i);
}

static void say(size_t n)
{
	const uint8_t *bytes = input_take(&ends.input, n, &n);

	if (!ends.peer)
		return;
	if (ends.peer->n_says == 0)
		ends.peer->says = bytes;
	ends.peer->n_says += n;
}

#define REQUEST                                                                                    \
	FRAMES_PREFACE "\0\0\0\4\0\0\0\0\0"                                                        \
		       "\0\0\0\4\1\0\0\0\0"                                                        \
		       "\0\0\x3b\1\4\0\0\0\1\x83\x86\x04\x16/zcsi.v1.Agent/GetHost\x41\0\0\x0c"    \
		       "content-type\x10"                                                          \
		       "application/grpc"                                                          \
		       "\0\0\5\0\1\0\0\0\1\0\0\0\0\0"

/* Somebody else asks, and has the answer before any time has passed. */
static void check_neighbour(void)
{
	static const char text[] = REQUEST;
	static struct frames frames;
	struct world_socket *neighbour = ends.drains ? NULL : come(&frames, SIZE_MAX);

	if (!neighbour)
		return;
	neighbour->says = (const uint8_t *)text;
	neighbour->n_says = sizeof(text) - 1;
	world_turn();
	const struct frame_stream *stream = frames_stream(&frames, 1);
	MUST(stream && stream->ended && !stream->reset);
	MUST(stream->data == 5 + 2 + strlen("here"));
	neighbour->left = true;
	world_turn();
	MUST(!neighbour->open);
}

/* What happens, as the input has it: an act in three bits, how much of it in five. */

static void act_say(unsigned amount)
{
	say(amount < 24 ? amount + 1 : (size_t)64 << (amount - 24));
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

static void act_leave(unsigned amount)
{
	static const int problems[] = {0, ECONNRESET, EPIPE, ETIMEDOUT};

	if (!ends.peer)
		return;
	ends.peer->problem = problems[amount % COUNT(problems)];
	ends.peer->left = true;
	world_turn();
	ends.peer = come(&ends.frames, SIZE_MAX);
}

static void act_rarely(unsigned amount)
{
	if (amount == 0)
		drain();
	else if (amount < 8)
		service_resume();
	else
		check_neighbour();
}

static void (*const acts[8])(unsigned amount) = {act_say,  act_say,  act_say,   act_pass,
						 act_room, act_work, act_leave, act_rarely};

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

/* The peer says nothing more, and neither leaves nor reads more than it did. */
static void finish(void)
{
	check_neighbour();
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

/* How many decisions there are is said last; then all that is left is said at once. */
void fuzz_one(const uint8_t *bytes, size_t n)
{
	memset(&ends, 0, sizeof(ends));
	ends.input = input_of(bytes, n);
	unsigned decisions = input_decision(&ends.input);
	world_begin();
	start();
	ends.peer = come(&ends.frames, SIZE_MAX);
	while (decisions-- > 0 && act())
		;
	say(SIZE_MAX);
	world_turn();
	finish();
	world_end();
}
