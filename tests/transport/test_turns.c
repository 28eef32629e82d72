/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Peers that keep one busy: there is always one more to accept, always more to read, always room
 * for more to be written. The loop comes round all the same.
 */
#include "tests/transport/tls_ends.c" /* NOLINT(bugprone-suspicious-include): see there */

#define FRAME_SIZE ((size_t)16 * 1024)

enum what { NOTHING, ACCEPT, RECEIVE, SEND };

/* How much of it the server's loop did before the next thing's turn came. */
static struct endless {
	enum what what;
	size_t done, by_then;
	struct loop_task next;
	sem_t came_round;
} endless;

static struct end server, client;

static void come_round(struct loop_task *task)
{
	(void)task;
	endless.what = NOTHING;
	endless.by_then = endless.done;
	sem_post(&endless.came_round);
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

/* Frames of a kind that nobody knows, four of them in 64 KB. */
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
	endless.next.fn = come_round;
	sem_init(&endless.came_round, 0, 0);
	if (end_trust(&server, "ca", NULL, &err) < 0 || end_trust(&client, "ca", NULL, &err) < 0)
		return -1;
	server_start(&server);
	begin_endless(NOTHING); /* and the loop knows its thread */
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

/* The next thing may be found in the same turn or in the next one. */
static void assert_came_round(size_t most)
{
	wait_for(&endless.came_round);
	assert_in_range(endless.by_then, 1, 2 * most);
}

static void endless_visitors_take_turns(void **state)
{
	(void)state;
	begin_endless(ACCEPT);
	ask_ok();
	assert_came_round(limits_default.accepts);
}

static void endless_speech_takes_turns(void **state)
{
	(void)state;
	ask_ok();
	begin_endless(RECEIVE);
	ask_ok();
	assert_came_round(limits_default.reads);
}

/* What was sent meanwhile is lost, and with it the connection. */
static void endless_answers_take_turns(void **state)
{
	(void)state;
	ListDatasetsRequest *list = new_list_datasets_request(&client.arena);
	struct error err;

	list->max = 4000000;
	ask_ok();
	begin_endless(SEND);
	assert_int_not_equal(finish(begin(&client, "ListDatasets", &list->base), &err), ERR_OK);
	assert_came_round(limits_default.written + LOOP_BUFFER);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(endless_visitors_take_turns),
		TEST(endless_speech_takes_turns),
		TEST(endless_answers_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
