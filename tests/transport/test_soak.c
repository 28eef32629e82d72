/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A long run: threads each create a client, make a hundred calls with it (some answered on the
 * loop, some by workers) beside a stream, and free the client, again and again. Memory, descriptors
 * and threads of the process must not grow after the first tenth. CALLS in the environment is the
 * number of calls.
 */
#include "tests/cmocka.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "tests/transport/all_kinds.h"
#include "tests/transport/service.h"
#include "transport/client.h"

#define AGENT      (&zcsi__v1__agent__descriptor)
#define CALLS      50000L
#define CALLERS    4
#define A_CLIENT   100 /* calls of one connection */
#define AT_A_TIME  20
#define GROWTH_MAX (1L << 20)

__attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes(void);

static struct {
	char folder[32], endpoint[64];
	struct looper server_loop, client_loop;
	struct workers *workers;
	struct server *server;
} ends;

static int start(void **state)
{
	static const struct server_offer offer = {.services = services};
	struct error err;

	(void)state;
	snprintf(ends.folder, sizeof(ends.folder), "/tmp/zcsi-soak-XXXXXX");
	if (!mkdtemp(ends.folder) || log_setup("error", "logfmt", &err) < 0)
		return -1;
	snprintf(ends.endpoint, sizeof(ends.endpoint), "unix://%s/s", ends.folder);
	if (loop_new(&ends.server_loop.loop, &err) < 0 ||
	    loop_new(&ends.client_loop.loop, &err) < 0 ||
	    workers_new(&ends.workers, ends.server_loop.loop, 4, &err) < 0)
		return -1;
	ends.server = server_new(ends.server_loop.loop, ends.workers, NULL);
	if (server_listen(ends.server, ends.endpoint, &offer, &err) < 0)
		return -1;
	looper_start(&ends.server_loop);
	looper_start(&ends.client_loop);
	return 0;
}

static void drain(void *arg)
{
	(void)arg;
	server_drain(ends.server, looper_stop, ends.server_loop.loop);
}

static int stop(void **state)
{
	(void)state;
	looper_do(&ends.client_loop, looper_stop, ends.client_loop.loop);
	pthread_join(ends.client_loop.thread, NULL);
	looper_do(&ends.server_loop, drain, NULL);
	pthread_join(ends.server_loop.thread, NULL);
	server_free(ends.server);
	workers_free(ends.workers);
	loop_free(ends.server_loop.loop);
	loop_free(ends.client_loop.loop);
	return rmdir(ends.folder);
}

/* Threads that make calls. */

static struct client_call *begin(struct client *client, struct arena *arena, int i)
{
	GetDatasetRequest *get = new_get_dataset_request(arena);

	if (i % 2)
		return client_begin(client, arena, AGENT, "GetHost",
				    &new_get_host_request(arena)->base, NO_DEADLINE);
	get->id = arena_strdup(arena, "volume");
	return client_begin(client, arena, AGENT, "GetDataset", &get->base, NO_DEADLINE);
}

static void call_some(struct client *client)
{
	struct client_call *calls[AT_A_TIME];
	struct arena arena;
	struct error err;
	void *response;

	arena_init(&arena, SIZE_MAX);
	for (int i = 0; i < AT_A_TIME; i++)
		calls[i] = begin(client, &arena, i);
	for (int i = 0; i < AT_A_TIME; i++) {
		if (client_finish(calls[i], &response, &err) == 0)
			continue;
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	arena_fini(&arena);
}

static void free_client(void *client)
{
	client_free(client);
}

static void *make_calls(void *arg)
{
	struct questions questions;
	struct client *client;
	struct error err;

	for (long left = *(const long *)arg; left > 0; left -= A_CLIENT) {
		if (client_new(&client, ends.client_loop.loop, ends.endpoint, NULL, &err) < 0)
			abort();
		questions_begin(&questions, client, &ends.client_loop, NO_DEADLINE);
		for (int i = 0; i < A_CLIENT / AT_A_TIME; i++)
			call_some(client);
		if (questions_end(&questions, &err) != ERR_OK)
			abort();
		looper_do(&ends.client_loop, free_client, client);
	}
	return NULL;
}

static void call(long n)
{
	pthread_t callers[CALLERS];
	long each = n / CALLERS;

	for (int i = 0; i < CALLERS; i++)
		assert_int_equal(pthread_create(&callers[i], NULL, make_calls, &each), 0);
	for (int i = 0; i < CALLERS; i++)
		pthread_join(callers[i], NULL);
}

/* Resources of the process. */

struct resources {
	long bytes;
	unsigned descriptors, threads;
};

static unsigned entries(const char *path)
{
	DIR *folder = opendir(path);
	unsigned n = 0;

	assert_non_null(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

/* Returns the memory of the process. A sanitizer delays freeing, so with a sanitizer the result is
 * the number of bytes that it counts as allocated. */
static long memory(void)
{
	long pages = 0;
	FILE *file;

	if (__sanitizer_get_current_allocated_bytes)
		return (long)__sanitizer_get_current_allocated_bytes();
	file = fopen("/proc/self/statm", "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*d %ld", &pages), 1);
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}

static struct resources resources(void)
{
	return (struct resources){memory(), entries("/proc/self/fd"), entries("/proc/self/task")};
}

/* Wait until the server, too, has closed the last connection. Returns the resources then. */
static struct resources resources_at_rest(unsigned descriptors)
{
	int64_t until = now_ms() + PATIENCE * 1000;

	while (entries("/proc/self/fd") != descriptors && now_ms() < until)
		sched_yield();
	return resources();
}

static void resources_do_not_grow(void **state)
{
	const char *wanted = getenv("CALLS");
	long calls = wanted ? atol(wanted) : CALLS;
	unsigned descriptors = resources().descriptors;
	int64_t began = now_ms();

	(void)state;
	call(calls / 10);
	struct resources before = resources_at_rest(descriptors);
	call(calls - calls / 10);
	struct resources after = resources_at_rest(descriptors);
	print_message("%ld calls in %ld ms, %ld kB, then %ld kB\n", calls, (long)(now_ms() - began),
		      before.bytes / 1024, after.bytes / 1024);
	assert_true(after.bytes - before.bytes < GROWTH_MAX);
	assert_int_equal(before.descriptors, descriptors);
	assert_int_equal(after.descriptors, descriptors);
	assert_int_equal(after.threads, before.threads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(resources_do_not_grow, start, stop)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
