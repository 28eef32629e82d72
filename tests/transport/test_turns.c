/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Peers that keep the server busy: there is always another connection to accept, more data to read,
 * and room to write more. The loop must still handle its other events.
 */
#include "tests/transport/tls_ends.c" /* NOLINT(bugprone-suspicious-include): see tls_ends.c */

#define FRAME_SIZE ((size_t)16 * 1024)

enum what { NOTHING, ACCEPT, RECEIVE, SEND };

/* The amount of work that the server's loop did before it ran another task. */
static struct endless {
	enum what what;
	size_t done, before_task;
	struct loop_task next;
	sem_t task_ran;
} endless;

static struct end server, client;

static void on_task(struct loop_task *task)
{
	(void)task;
	endless.what = NOTHING;
	endless.before_task = endless.done;
	sem_post(&endless.task_ran);
}

static bool is_endless(enum what what)
{
	return pthread_equal(pthread_self(), server.looper.thread) && endless.what == what;
}

static void did(size_t n)
{
	if (endless.done == 0)
		loop_post(server.looper.loop, &endless.next);
	endless.done += n;
}

int __real_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
	int pair[2];

	if (!is_endless(ACCEPT))
		return __real_accept4(fd, address, size, flags);
	did(1);
	if (socketpair(AF_UNIX, SOCK_STREAM | flags, 0, pair) < 0)
		return -1;
	close(pair[1]);
	return pair[0];
}

/* Wrapped recv(2): an endless sender sends frames of an unknown type, four of them in 64 KB. */
ssize_t __real_recv(int fd, void *bytes, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t n, int flags)
{
	static const uint8_t head[9] = {0, (FRAME_SIZE - 9) >> 8, (FRAME_SIZE - 9) & 0xff, 0xee};

	if (!is_endless(RECEIVE))
		return __real_recv(fd, bytes, n, flags);
	did(1);
	assert_int_equal(n % FRAME_SIZE, 0);
	for (size_t at = 0; at < n; at += FRAME_SIZE)
		memcpy((uint8_t *)bytes + at, head, sizeof(head));
	return (ssize_t)n;
}

ssize_t __real_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags)
{
	if (!is_endless(SEND))
		return __real_send(fd, bytes, n, flags);
	did(n);
	return (ssize_t)n;
}

static void set(void *what)
{
	endless.what = *(enum what *)what;
}

static void begin_endless(enum what what)
{
	looper_do(&server.looper, set, &what);
}

static int start(void **state)
{
	struct error err;

	(void)state;
	memset(&endless, 0, sizeof(endless));
	endless.next.fn = on_task;
	sem_init(&endless.task_ran, 0, 0);
	if (end_trust(&server, "ca", NULL, &err) < 0 || end_trust(&client, "ca", NULL, &err) < 0)
		return -1;
	server_start(&server);
	begin_endless(NOTHING); /* wait until looper.thread is set */
	client.limits.wait_ms = PATIENCE * 1000;
	client.limits.stream_window = client.limits.connection_window = 8 << 20;
	client_start(&client, NULL, server.port);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	client_stop(&client);
	server_stop(&server);
	return 0;
}

static void ask_ok(void)
{
	struct error err;

	assert_int_equal(ask(&client, &err), ERR_OK);
}

/* A posted task may run in the same turn of the loop or in the next one. */
static void assert_task_ran(size_t most)
{
	wait_for(&endless.task_ran);
	assert_in_range(endless.before_task, 1, 2 * most);
}

static void endless_connections_do_not_block_the_loop(void **state)
{
	(void)state;
	begin_endless(ACCEPT);
	ask_ok();
	assert_task_ran(limits_default.accepts);
}

static void endless_data_does_not_block_the_loop(void **state)
{
	(void)state;
	ask_ok();
	begin_endless(RECEIVE);
	ask_ok();
	assert_task_ran(limits_default.reads);
}

/* The wrapped send(2) drops the data, so that the connection fails. */
static void endless_writes_do_not_block_the_loop(void **state)
{
	(void)state;
	ListDatasetsRequest *list = new_list_datasets_request(&client.arena);
	struct error err;

	list->max = 4000000;
	ask_ok();
	begin_endless(SEND);
	assert_int_not_equal(finish(begin(&client, "ListDatasets", &list->base), &err), ERR_OK);
	assert_task_ran(limits_default.written + LOOP_BUFFER);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(endless_connections_do_not_block_the_loop),
		TEST(endless_data_does_not_block_the_loop),
		TEST(endless_writes_do_not_block_the_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
