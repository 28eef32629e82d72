/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A client whose server sends anything, at any time and in pieces, refuses connections, or closes
 * them. Every call ends exactly once and by its deadline, with a message of the right type or with
 * an error that has a text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "proto/agent.h"
#include "tests/fuzz/asking.h"
#include "tests/fuzz/frames.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/world.h"
#include "transport/client.h"
#include "transport/wire.h"

#define AGENT     (&zcsi__v1__agent__descriptor)
#define HELD_MAX  ((size_t)4 << 20)
#define CALLS     3 /* number of concurrent calls */
#define ROUNDS    4
#define SILENT_MS 1000

static struct {
	struct loop *loop;
	struct client *client;
	size_t held; /* bytes of memory before the first call */
	struct input input;
	unsigned decisions;
	int64_t awaited; /* deadline of the call whose end is awaited */
} ends;

/* Returns the server's end of the newest connection, or NULL if it is closed. */
static struct world_socket *server(void)
{
	struct world_socket *found = NULL, *socket;

	for (unsigned i = 0; (socket = world_socket(i)); i++)
		if (socket->on_data)
			found = socket;
	return found && found->open ? found : NULL;
}

static void on_data(struct world_socket *socket, const uint8_t *bytes, size_t n)
{
	if (!socket->peer) {
		struct frames *frames = mem_alloc(sizeof(*frames));
		frames->is_client = true;
		socket->peer = frames;
	}
	frames_take(socket->peer, bytes, n);
}

/* Actions as the input chooses them: three bits for the action, five for its amount. */

static void queue_input(size_t n)
{
	const uint8_t *bytes = input_take(&ends.input, n, &n);
	struct world_socket *socket = server();

	if (!socket)
		return;
	if (socket->n_incoming == 0)
		socket->incoming = bytes;
	socket->n_incoming += n;
}

static void act_data(unsigned amount)
{
	queue_input(amount < 24 ? amount + 1 : (size_t)64 << (amount - 24));
}

static void act_pass(unsigned amount)
{
	static const int64_t ms[] = {0, 1, 10, 101, 999, 2001, 5001, 10001, 31000};

	world_pass(ms[amount % COUNT(ms)]);
}

static void act_room(unsigned amount)
{
	static const size_t room[] = {0, 1, 5, 9, 20, 100, 16393, SIZE_MAX};
	struct world_socket *socket = server();

	if (socket)
		socket->room = room[amount % COUNT(room)];
}

static void act_close(unsigned amount)
{
	static const int failures[] = {0, ECONNRESET, EPIPE, ETIMEDOUT};
	struct world_socket *socket = server();

	if (!socket)
		return;
	socket->failure = failures[amount % COUNT(failures)];
	socket->peer_closed = true;
}

/* Set the properties of the next connections: refused, or without room for data, so that connect()
 * never completes. An amount of 8 or more is an action on the streaming call instead. */
static void act_expect(unsigned amount)
{
	struct world_socket *next = world_expect();

	if (amount >= 8) {
		asking_act(amount);
		return;
	}
	next->failure = amount & 1 ? ECONNREFUSED : 0;
	next->room = amount & 2 ? 0 : SIZE_MAX;
}

static void (*const acts[8])(unsigned amount) = {act_data, act_data, act_data,  act_data,
						 act_pass, act_room, act_close, act_expect};

/* Run one step while a call is awaited. At the end of the input the server sends all that is left,
 * and then nothing more. */
static void meanwhile(void)
{
	world_turn();
	MUST(world_now_ms() <= ends.awaited);
	MUST(fuzz_allocated() <= ends.held + HELD_MAX);
	if (ends.decisions > 0 && input_left(&ends.input)) {
		uint8_t decision = input_decision(&ends.input);
		ends.decisions--;
		acts[decision & 7](decision >> 3);
	} else if (input_left(&ends.input)) {
		queue_input(SIZE_MAX);
		input_take(&ends.input, SIZE_MAX, &(size_t){0});
	} else {
		world_pass(SILENT_MS);
	}
	world_turn();
}

/* Functions that begin and finish the calls of the client. */

struct call {
	struct arena arena;
	struct client_call *call;
	int64_t deadline;
	bool answers_dataset;
};

static void begin(struct call *call, uint8_t choice)
{
	static const int64_t patience[] = {0, 10, 1500, 40000};
	size_t which = choice / 2 % (COUNT(patience) + 1);

	call->answers_dataset = choice & 1;
	call->deadline = which < COUNT(patience) ? world_now_ms() + patience[which] : NO_DEADLINE;
	arena_init(&call->arena, SIZE_MAX);
	if (call->answers_dataset) {
		GetDatasetRequest *request = new_get_dataset_request(&call->arena);
		request->id = arena_strdup(&call->arena, "vol");
		call->call = client_begin(ends.client, &call->arena, AGENT, "GetDataset",
					  &request->base, call->deadline);
	} else {
		GetHostRequest *request = new_get_host_request(&call->arena);
		call->call = client_begin(ends.client, &call->arena, AGENT, "GetHost",
					  &request->base, call->deadline);
	}
	if (call->deadline == NO_DEADLINE)
		call->deadline = world_now_ms() + limits_default.call_ms;
}

static void finish(struct call *call)
{
	struct error err = {0};
	ProtobufCMessage *response;

	ends.awaited = call->deadline;
	if (client_finish(call->call, &response, &err) < 0)
		fuzz_check_error(&err);
	else
		MUST(response->descriptor == (call->answers_dataset
						      ? &zcsi__v1__get_dataset_response__descriptor
						      : &zcsi__v1__get_host_response__descriptor));
	arena_fini(&call->arena);
}

static void round_of_calls(void)
{
	struct call calls[CALLS];
	int64_t deadline = world_now_ms() + 5000;

	for (size_t i = 0; i < CALLS; i++)
		begin(&calls[i], input_decision(&ends.input));
	asking_begin(ends.client, deadline);
	for (size_t i = 0; i < CALLS; i++)
		finish(&calls[i]);
	ends.awaited = deadline > world_now_ms() ? deadline : world_now_ms();
	while (!asking_is_over())
		meanwhile();
}

static void start(void)
{
	struct error err;

	MUST(loop_new(&ends.loop, &err) == 0);
	MUST(client_new(&ends.client, ends.loop, "unix:///s", NULL, &err) == 0);
	*world_expect() = (struct world_socket){.room = SIZE_MAX, .on_data = on_data};
	world_meanwhile = meanwhile;
	ends.held = fuzz_allocated();
}

static void stop(void)
{
	struct world_socket *socket;

	client_free(ends.client);
	world_turn();
	loop_free(ends.loop);
	for (unsigned i = 0; (socket = world_socket(i)); i++)
		free(socket->peer);
}

/* The last byte of the input is the number of decisions. */
void fuzz_one(const uint8_t *bytes, size_t n)
{
	memset(&ends, 0, sizeof(ends));
	ends.input = input_of(bytes, n);
	ends.decisions = input_decision(&ends.input);
	world_begin();
	start();
	for (int i = 0; i < ROUNDS && (i == 0 || input_left(&ends.input)); i++)
		round_of_calls();
	stop();
	world_end();
}
