/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A client whose server answers anything, at any time, in pieces, refuses connections, hangs up.
 * Every call ends, once and by its deadline, with a message that is one or an error that says why.
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
#define CALLS     3 /* at a time */
#define ROUNDS    4
#define SILENT_MS 1000

static struct {
	struct loop *loop;
	struct client *client;
	size_t held; /* bytes of memory before the first call */
	struct input input;
	unsigned decisions;
	int64_t awaited; /* the deadline of the call that is waited for */
} ends;

/* The server's end of the connection that was made last, or NULL. */
static struct world_socket *server(void)
{
	struct world_socket *found = NULL, *socket;

	for (unsigned i = 0; (socket = world_socket(i)); i++) {
		if (socket->hears)
			found = socket;
	}
	return found && found->open ? found : NULL;
}

static void hears(struct world_socket *socket, const uint8_t *bytes, size_t n)
{
	if (!socket->peer) {
		struct frames *frames = mem_alloc(sizeof(*frames));
		frames->is_client = true;
		socket->peer = frames;
	}
	frames_take(socket->peer, bytes, n);
}

/* What happens, as the input has it: an act in three bits, how much of it in five. */

static void say(size_t n)
{
	const uint8_t *bytes = input_take(&ends.input, n, &n);
	struct world_socket *socket = server();

	if (!socket)
		return;
	if (socket->n_says == 0)
		socket->says = bytes;
	socket->n_says += n;
}

static void act_say(unsigned amount)
{
	say(amount < 24 ? amount + 1 : (size_t)64 << (amount - 24));
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

static void act_leave(unsigned amount)
{
	static const int problems[] = {0, ECONNRESET, EPIPE, ETIMEDOUT};
	struct world_socket *socket = server();

	if (!socket)
		return;
	socket->problem = problems[amount % COUNT(problems)];
	socket->left = true;
}

/* What the next connections are like: one that is never made has no room. */
static void act_expect(unsigned amount)
{
	struct world_socket *next = world_expect();

	if (amount >= 8) {
		asking_act(amount);
		return;
	}
	next->problem = amount & 1 ? ECONNREFUSED : 0;
	next->room = amount & 2 ? 0 : SIZE_MAX;
}

static void (*const acts[8])(unsigned amount) = {act_say,  act_say,  act_say,   act_say,
						 act_pass, act_room, act_leave, act_expect};

/* While a call is waited for. In the end the server says what there is left, and falls silent. */
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
		say(SIZE_MAX);
		input_take(&ends.input, SIZE_MAX, &(size_t){0});
	} else {
		world_pass(SILENT_MS);
	}
	world_turn();
}

/* Calls */

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
	*world_expect() = (struct world_socket){.room = SIZE_MAX, .hears = hears};
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

/* How many decisions there are is said last. */
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
