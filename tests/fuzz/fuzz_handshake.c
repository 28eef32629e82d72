/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A TLS connection, as a server or as a client, whose peer has no valid certificate and sends
 * anything. It is never accepted: no call is served or answered, only valid TLS records are sent to
 * the peer, and the connection is closed in time.
 */
#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "proto/agent.h"
#include "tests/fuzz/credentials.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/service.h"
#include "tests/fuzz/world.h"
#include "transport/client.h"

#define HELD_MAX   ((size_t)4 << 20)
#define PATIENT_MS 20000 /* longer than the timeout of a handshake */
#define RECORD_MAX 16640 /* bytes, RFC 8446 section 5.2 */

static struct {
	struct loop *loop;
	struct input input;
	unsigned decisions;
	size_t held;

	int fd;          /* the descriptor of the connection */
	uint8_t head[5]; /* the head of the record that is being read from the code under test */
	size_t n_head, n_payload;
} ends;

/* Check the bytes that the code under test sends: handshake, change_cipher_spec, alert or encrypted
 * records, each of an allowed length. */
static void on_data(struct world_socket *socket, const uint8_t *bytes, size_t n)
{
	if (socket->fd != ends.fd)
		ends.n_head = ends.n_payload = 0;
	ends.fd = socket->fd;
	for (size_t i = 0; i < n; i++) {
		if (ends.n_payload > 0) {
			ends.n_payload--;
			continue;
		}
		ends.head[ends.n_head++] = bytes[i];
		if (ends.n_head < sizeof(ends.head))
			continue;
		MUST(ends.head[0] >= 20 && ends.head[0] <= 23);
		ends.n_payload = (size_t)ends.head[3] << 8 | ends.head[4];
		MUST(ends.n_payload > 0 && ends.n_payload <= RECORD_MAX);
		ends.n_head = 0;
	}
}

/* Let the peer send bytes, let time pass, or limit the room for data to the peer, as the input
 * chooses. */
static void act(struct world_socket *peer)
{
	static const int64_t ms[] = {1, 100, 1000, 4999};
	static const size_t room[] = {0, 1, 5, 100, SIZE_MAX};
	uint8_t decision = ends.decisions > 0 ? input_decision(&ends.input) : 0;
	unsigned amount = ends.decisions > 0 ? decision >> 2 : 63;
	size_t n = amount < 32 ? amount + 1 : (size_t)64 << ((amount - 32) / 4);

	ends.decisions -= ends.decisions > 0;
	if (decision % 4 == 2) {
		peer->room = room[amount % COUNT(room)];
	} else if (decision % 4 == 3) {
		world_pass(ms[amount % COUNT(ms)]);
	} else {
		const uint8_t *bytes = input_take(&ends.input, n, &n);
		if (peer->n_incoming == 0)
			peer->incoming = bytes;
		peer->n_incoming += n;
	}
	world_turn();
	MUST(fuzz_allocated() <= ends.held + HELD_MAX);
}

/* Returns the newest socket with a peer, or NULL. */
static struct world_socket *peer(void)
{
	struct world_socket *socket, *found = NULL;

	for (unsigned i = 0; (socket = world_socket(i)); i++)
		if (socket->on_data && !socket->listens)
			found = socket;
	return found;
}

static void ignore(void *arg)
{
	(void)arg;
}

static void serve(void)
{
	const struct trust trust = {.tls = credentials()};
	const struct server_offer offer = {.services = services, .trust = &trust};
	struct world_socket *listener = NULL;
	struct workers *workers;
	struct error err;

	MUST(workers_new(&workers, ends.loop, 1, &err) == 0);
	struct server *server = server_new(ends.loop, workers, NULL);
	MUST(server_listen(server, "tcp://127.0.0.1:1", &offer, &err) == 0);
	for (unsigned i = 0; !listener || !listener->listens; i++)
		listener = world_socket(i);
	listener->n_waiting = 1;
	world_turn();
	while (input_left(&ends.input))
		act(peer());
	world_pass(PATIENT_MS);
	MUST(!peer()->open);
	server_drain(server, ignore, NULL);
	server_free(server);
	workers_free(workers);
}

/* Run one step while the client under test waits for the answer to its call. */
static void meanwhile(void)
{
	struct world_socket *server = peer();

	world_turn();
	if (server && server->open && input_left(&ends.input))
		act(server);
	else
		world_pass(1000);
}

static void ask(void)
{
	const struct client_options options = {.tls = credentials()};
	struct client *client;
	struct arena arena;
	struct error err = {0};
	void *response;

	world_meanwhile = meanwhile;
	arena_init(&arena, SIZE_MAX);
	MUST(client_new(&client, ends.loop, "tcp://127.0.0.1:1", &options, &err) == 0);
	struct client_call *call =
		client_begin(client, &arena, &zcsi__v1__agent__descriptor, "GetHost",
			     &new_get_host_request(&arena)->base, world_now_ms() + PATIENT_MS);
	MUST(client_finish(call, &response, &err) < 0);
	fuzz_check_error(&err);
	client_free(client);
	world_turn();
	arena_fini(&arena);
}

/* The last byte of the input chooses client or server by its lowest bit. The other bits are the
 * number of decisions. */
void fuzz_one(const uint8_t *bytes, size_t n)
{
	struct error err;

	memset(&ends, 0, sizeof(ends));
	ends.input = input_of(bytes, n);
	uint8_t last = input_decision(&ends.input);
	ends.decisions = last / 2;
	world_begin();
	credentials();
	MUST(loop_new(&ends.loop, &err) == 0);
	*world_expect() = (struct world_socket){.room = SIZE_MAX, .on_data = on_data};
	ends.held = fuzz_allocated();
	if (last & 1)
		ask();
	else
		serve();
	loop_free(ends.loop);
	world_end();
}
