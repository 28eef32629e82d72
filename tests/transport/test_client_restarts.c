/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Sixteen callers and a server that is restarted: only calls in flight while it was killed may
 * fail. Further: the last stream id of a connection, which a wrapped function of nghttp2 sets,
 * since reaching it would take too long.
 */
#include "tests/cmocka.h"

#include <dirent.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <nghttp2/nghttp2.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "proto/agent.h"
#include "tests/transport/looper.h"
#include "tests/transport/service.h"
#include "transport/client.h"
#include "transport/server.h"

#define N_CALLERS  16
#define N_RESTARTS 10
#define N_ANSWERS  20 /* answers that each caller waits for between two restarts */
#define DOWN_MS    50

static struct {
	struct looper client_loop, server_loop;
	struct workers *workers;
	struct server *server;
	struct client *client;
	char folder[32], endpoint[64];
	atomic_uint kills; /* odd while the server is being killed */
	atomic_bool over;
	unsigned n_lost[N_CALLERS];
	atomic_uint n_answered[N_CALLERS];
	int32_t first_id;
	atomic_uint n_sessions;
} ends;

/* Wrapped function of nghttp2, which sets the first stream id. */

#define REAL(function) ((__typeof__(&(function)))(uintptr_t)dlsym(RTLD_NEXT, #function))

int nghttp2_session_client_new3(nghttp2_session **ret, const nghttp2_session_callbacks *callbacks,
				void *arg, const nghttp2_option *option, nghttp2_mem *memory)
{
	int result = REAL(nghttp2_session_client_new3)(ret, callbacks, arg, option, memory);

	ends.n_sessions++;
	if (result == 0 && ends.first_id)
		result = nghttp2_session_set_next_stream_id(*ret, ends.first_id);
	return result;
}

/* Functions that start and stop server and client. */

static void start_server(void)
{
	struct error err;

	assert_int_equal(loop_new(&ends.server_loop.loop, &err), 0);
	assert_int_equal(workers_new(&ends.workers, ends.server_loop.loop, 1, &err), 0);
	ends.server = server_new(ends.server_loop.loop, ends.workers, NULL);
	assert_int_equal(server_listen(ends.server, ends.endpoint,
				       &(struct server_offer){.services = services}, &err),
			 0);
	looper_start(&ends.server_loop);
}

static void drain(void *arg)
{
	(void)arg;
	server_drain(ends.server, looper_stop, ends.server_loop.loop);
}

static void stop_server(void (*how)(void *arg))
{
	looper_do(&ends.server_loop, how, ends.server_loop.loop);
	pthread_join(ends.server_loop.thread, NULL);
	server_free(ends.server);
	workers_free(ends.workers);
	loop_free(ends.server_loop.loop);
}

static int start_ends(void)
{
	struct error err;

	if (loop_new(&ends.client_loop.loop, &err) < 0 ||
	    client_new(&ends.client, ends.client_loop.loop, ends.endpoint, NULL, &err) < 0)
		return -1;
	looper_start(&ends.client_loop);
	start_server();
	return 0;
}

static int start_unix(void **state)
{
	(void)state;
	memset(&ends, 0, sizeof(ends));
	snprintf(ends.folder, sizeof(ends.folder), "/tmp/zcsi-restarts-XXXXXX");
	if (!mkdtemp(ends.folder))
		return -1;
	snprintf(ends.endpoint, sizeof(ends.endpoint), "unix://%s/s", ends.folder);
	return start_ends();
}

/* Returns a TCP port that is not in use. */
static int free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	return ntohs(address.sin_port);
}

static int start_tcp(void **state)
{
	(void)state;
	memset(&ends, 0, sizeof(ends));
	snprintf(ends.endpoint, sizeof(ends.endpoint), "tcp://127.0.0.1:%d", free_port());
	return start_ends();
}

static int stop_ends(void **state)
{
	(void)state;
	stop_server(drain);
	looper_do(&ends.client_loop, looper_stop, ends.client_loop.loop);
	pthread_join(ends.client_loop.thread, NULL);
	client_free(ends.client);
	loop_free(ends.client_loop.loop);
	return *ends.folder ? rmdir(ends.folder) : 0;
}

static enum error_code ask(struct error *err)
{
	struct arena arena;
	void *response;

	arena_init(&arena, SIZE_MAX);
	*err = (struct error){0};
	client_finish(client_begin(ends.client, &arena, &zcsi__v1__agent__descriptor, "GetHost",
				   &new_get_host_request(&arena)->base, NO_DEADLINE),
		      &response, err);
	arena_fini(&arena);
	return err->code;
}

/* Tests of restarts while calls are in flight. */

static void *call_until_over(void *arg)
{
	size_t i = (size_t)(uintptr_t)arg;
	struct error err;

	while (!ends.over) {
		unsigned before = ends.kills;
		if (ask(&err) == ERR_OK) {
			ends.n_answered[i]++;
			continue;
		}
		bool in_flight = before % 2 == 1 || ends.kills != before;
		if (err.code == ERR_UNAVAILABLE && in_flight &&
		    strstr(err.text, "may have been carried out")) {
			ends.n_lost[i]++;
			continue;
		}
		print_error("%s: %s\n", error_name(err.code), err.text);
		abort();
	}
	return NULL;
}

static void kill_server(void)
{
	ends.kills++;
	stop_server(looper_stop);
	ends.kills++;
}

static void drain_server(void)
{
	stop_server(drain);
}

/* Wait until each caller got N_ANSWERS more answers. */
static void wait_for_answers(void)
{
	int64_t end = now_ms() + PATIENCE * 1000;

	for (size_t i = 0; i < N_CALLERS; i++) {
		unsigned goal = ends.n_answered[i] + N_ANSWERS;
		while (ends.n_answered[i] < goal) {
			assert_true(now_ms() < end);
			usleep(1000);
		}
	}
}

static void restart_under_calls(void (*stop)(void))
{
	pthread_t threads[N_CALLERS];
	unsigned n_lost = 0;

	for (size_t i = 0; i < N_CALLERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_until_over,
						(void *)(uintptr_t)i),
				 0);
	for (unsigned i = 0; i < N_RESTARTS; i++) {
		wait_for_answers();
		stop();
		usleep(DOWN_MS * 1000);
		start_server();
	}
	wait_for_answers();
	ends.over = true;
	for (size_t i = 0; i < N_CALLERS; i++) {
		pthread_join(threads[i], NULL);
		n_lost += ends.n_lost[i];
	}
	assert_true(n_lost <= ends.kills / 2 * N_CALLERS);
}

static void kills_lose_only_calls_in_flight(void **state)
{
	(void)state;
	restart_under_calls(kill_server);
}

static void drains_lose_no_call(void **state)
{
	(void)state;
	restart_under_calls(drain_server);
	assert_int_equal(ends.kills, 0);
}

/* Tests of the last stream id. */

static unsigned n_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

/* A connection starts so near the last stream id that it has ids for two streams only. */
static void connection_without_ids_is_replaced(void **state)
{
	(void)state;
	struct error err;
	int64_t end = now_ms() + PATIENCE * 1000;
	unsigned before = n_fds();

	ends.first_id = INT32_MAX - 2;
	for (int i = 0; i < 10; i++)
		assert_int_equal(ask(&err), ERR_OK);
	assert_int_equal(ends.n_sessions, 5);
	/* the current connection has two descriptors, both in this process */
	while (n_fds() > before + 2) {
		assert_true(now_ms() < end);
		usleep(1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define UNIX(name) cmocka_unit_test_setup_teardown(name, start_unix, stop_ends)
#define TCP(name)  {#name " (tcp)", name, start_tcp, stop_ends, NULL}
		UNIX(kills_lose_only_calls_in_flight),
		UNIX(drains_lose_no_call),
		TCP(drains_lose_no_call),
		UNIX(connection_without_ids_is_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
