/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The scripted server: one thread accepts connections, and one thread per connection plays its
 * script. A test program includes this file once, because each program of tests/transport has a
 * single source file.
 */
#include "tests/transport/scripted_server.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/agent.h"

#define CONNECTIONS_MAX 64
#define FLOOD_MAX       ((size_t)32 << 20)

struct scripted ends;

/* An accepted connection, and the frame that is being read from it. */
struct accepted {
	const struct script *script;
	int fd;
	bool gone; /* the client has closed the connection */
	size_t preface;
	uint8_t head[9], payload[16 * 1024];
	size_t size;
	unsigned n_requests;
	pthread_t thread;
};

static struct {
	char folder[32];
	int listener;
	const struct script *scripts;
	size_t n_scripts;
	pthread_t thread;
	bool playing;
	struct accepted *accepted[CONNECTIONS_MAX];
} server;

enum { DATA_FRAME, PING_FRAME = 6, FLAG_ONE = 1 /* END_STREAM of DATA, ACK of PING */ };

static bool say(const struct accepted *it, const void *bytes, size_t n)
{
	return send(it->fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static void take_frame(struct accepted *it)
{
	bool flag = it->head[4] & FLAG_ONE;

	if (it->head[3] == DATA_FRAME && flag) {
		it->n_requests++;
		ends.n_requests++;
	} else if (it->head[3] == PING_FRAME && !flag) {
		ends.n_pings++;
		it->head[4] = FLAG_ONE;
		say(it, it->head, sizeof(it->head));
		say(it, it->payload, 8);
	}
}

static bool take_bytes(struct accepted *it, void *bytes, size_t n)
{
	if (recv(it->fd, bytes, n, MSG_WAITALL) == (ssize_t)n)
		return true;
	it->gone = true;
	return false;
}

/* Read one frame. Returns false if the client has closed the connection. */
static bool take(struct accepted *it)
{
	static const size_t preface = 24;

	if (it->preface == 0) {
		it->preface = preface;
		if (!take_bytes(it, it->payload, preface))
			return false;
	}
	if (!take_bytes(it, it->head, sizeof(it->head)))
		return false;
	size_t n = (size_t)it->head[0] << 16 | (size_t)it->head[1] << 8 | it->head[2];
	if (n > sizeof(it->payload))
		abort();
	if (n > 0 && !take_bytes(it, it->payload, n))
		return false;
	take_frame(it);
	return true;
}

static bool await_event(const struct accepted *it, short event, int ms)
{
	struct pollfd wait = {.fd = it->fd, .events = event};

	return poll(&wait, 1, ms) == 1;
}

static void await_turn(struct accepted *it, const struct turn *turn)
{
	while (!it->gone && (it->n_requests < turn->requests || ends.n_requests < turn->of_all))
		if (await_event(it, POLLIN, 1))
			take(it);
}

/* Send the bytes of the turn repeatedly until the client hangs up, or until FLOOD_MAX bytes were
 * sent. In the second case the server closes the connection. */
static void flood(struct accepted *it, const struct turn *turn)
{
	const size_t part = sizeof(it->payload) / turn->size * turn->size;

	for (size_t at = 0; at < part; at += turn->size)
		memcpy(it->payload + at, turn->bytes, turn->size);
	for (size_t total = 0; total < FLOOD_MAX && !it->gone; total += part)
		it->gone = !say(it, it->payload, part);
}

static void *play_script(void *arg)
{
	struct accepted *it = arg;
	const struct script *script = it->script;
	const struct turn *turn;

	for (turn = script->turns; turn->bytes && !it->gone; turn++) {
		await_turn(it, turn);
		if (!it->gone)
			say(it, turn->bytes, turn->size);
	}
	if (script->then == FLOOD && !it->gone)
		flood(it, turn - 1);
	while (script->then == STAY && take(it))
		;
	if (script->then == STAY_UNREAD)
		await_event(it, POLLRDHUP, PATIENCE * 1000);
	shutdown(it->fd, SHUT_RDWR);
	if (!it->gone && (script->then == LEAVE || script->then == FLOOD))
		ends.n_left++;
	else
		ends.n_hung_up++;
	return NULL;
}

static void *accept_all(void *arg)
{
	int fd;

	(void)arg;
	while ((fd = accept(server.listener, NULL, NULL)) >= 0) {
		struct accepted *it = mem_alloc(sizeof(*it));
		size_t which = ends.n_connections < server.n_scripts ? ends.n_connections
								     : server.n_scripts - 1;
		if (ends.n_connections == CONNECTIONS_MAX)
			abort();
		*it = (struct accepted){.script = &server.scripts[which], .fd = fd};
		server.accepted[ends.n_connections++] = it;
		if (pthread_create(&it->thread, NULL, play_script, it) != 0)
			abort();
	}
	return NULL;
}

void play(const struct script *scripts, size_t n)
{
	server.scripts = scripts;
	server.n_scripts = n;
	server.playing = true;
	assert_int_equal(pthread_create(&server.thread, NULL, accept_all, NULL), 0);
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strcpy(address.sun_path, path);
	server.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(server.listener, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return listen(server.listener, CONNECTIONS_MAX);
}

int scripted_start(void **state)
{
	const struct client_options options = {.limits = &ends.limits};
	struct error err;

	(void)state;
	memset(&ends, 0, sizeof(ends));
	memset(&server, 0, sizeof(server));
	ends.limits = limits_default;
	ends.limits.ping_ms = 100;
	snprintf(server.folder, sizeof(server.folder), "/tmp/zcsi-client-XXXXXX");
	if (!mkdtemp(server.folder))
		return -1;
	snprintf(ends.path, sizeof(ends.path), "%s/s", server.folder);
	snprintf(ends.endpoint, sizeof(ends.endpoint), "unix://%s", ends.path);
	arena_init(&ends.arena, SIZE_MAX);
	if (listen_at(ends.path) < 0 || loop_new(&ends.looper.loop, &err) < 0 ||
	    client_new(&ends.client, ends.looper.loop, ends.endpoint, &options, &err) < 0)
		return -1;
	looper_start(&ends.looper);
	return 0;
}

static void stop_server(void)
{
	shutdown(server.listener, SHUT_RDWR);
	if (server.playing)
		pthread_join(server.thread, NULL);
	for (size_t i = 0; i < ends.n_connections; i++) {
		pthread_join(server.accepted[i]->thread, NULL);
		close(server.accepted[i]->fd);
		free(server.accepted[i]);
	}
	close(server.listener);
}

int scripted_stop(void **state)
{
	(void)state;
	looper_do(&ends.looper, looper_stop, ends.looper.loop);
	pthread_join(ends.looper.thread, NULL);
	client_free(ends.client);
	loop_free(ends.looper.loop);
	arena_fini(&ends.arena);
	stop_server();
	unlink(ends.path);
	return rmdir(server.folder);
}

struct client_call *begin(int64_t ms)
{
	GetHostRequest *request = new_get_host_request(&ends.arena);

	return client_begin(ends.client, &ends.arena, &zcsi__v1__agent__descriptor, "GetHost",
			    &request->base, now_ms() + ms);
}

enum error_code finish(struct client_call *call, struct error *err)
{
	void *response;

	*err = (struct error){0};
	return client_finish(call, &response, err) == 0 ? ERR_OK : err->code;
}

enum error_code ask(int64_t ms, struct error *err)
{
	return finish(begin(ms), err);
}

void await_count(const atomic_uint *count, unsigned n)
{
	int64_t end = now_ms() + PATIENCE * 1000;

	while (*count < n) {
		assert_true(now_ms() < end);
		usleep(1000);
	}
}
