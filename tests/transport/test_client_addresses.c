/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Host names from a fake resolver. The host NAME has two addresses: the first one refuses
 * connections or does not answer; the server is at the second one. The name servers of the host
 * SILENT do not answer.
 */
#include "tests/transport/tls_ends.c" /* NOLINT(bugprone-suspicious-include): see tls_ends.c */

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

/* NOLINTNEXTLINE(bugprone-suspicious-include): see counted_threads.c */
#include "tests/transport/counted_threads.c"

#define NAME   "two-addresses.test"
#define SILENT "silent.test"
#define FIRST  "127.0.0.2"
#define SECOND "127.0.0.1"
#define NEVER  (2 * PATIENCE * 1000)

static struct end server, client;
static atomic_uint n_pauses;
static sem_t answer; /* lets one lookup of the host SILENT end */

/* Wrapped functions of the C library. */

#define REAL(function) ((__typeof__(&(function)))(uintptr_t)dlsym(RTLD_NEXT, #function))

int getaddrinfo(const char *name, const char *port, const struct addrinfo *hints,
		struct addrinfo **ret)
{
	if (hints->ai_flags & AI_NUMERICHOST)
		return REAL(getaddrinfo)(name, port, hints, ret);
	/* a DNS query may take seconds, so it must not run on the loop */
	if (pthread_equal(pthread_self(), client.looper.thread))
		abort();
	if (name && strcmp(name, SILENT) == 0) {
		sem_wait(&answer);
		return REAL(getaddrinfo)(SECOND, port, hints, ret);
	}
	if (!name || strcmp(name, NAME) != 0)
		return REAL(getaddrinfo)(name, port, hints, ret);
	int result = REAL(getaddrinfo)(FIRST, port, hints, ret);
	return result ? result : REAL(getaddrinfo)(SECOND, port, hints, &(*ret)->ai_next);
}

/* Count the pauses of the client, which calls this function for the jitter of each pause. */
uint32_t arc4random_uniform(uint32_t bound)
{
	n_pauses++;
	return REAL(arc4random_uniform)(bound);
}

static int start(void **state)
{
	struct error err;

	(void)state;
	memset(&client, 0, sizeof(client));
	sem_init(&answer, 0, 0);
	n_pauses = 0;
	assert_int_equal(end_trust(&server, "ca", NULL, &err), 0);
	server_start(&server);
	return end_trust(&client, "ca", NULL, &err);
}

static int stop(void **state)
{
	(void)state;
	client_stop(&client);
	server_stop(&server);
	return 0;
}

static void assert_answered(void)
{
	struct error err;

	client.limits.wait_ms = NEVER;
	client_start(&client, NAME, server.port);
	if (ask(&client, &err) != ERR_OK)
		print_error("%s\n", err.text);
	assert_int_equal(err.code, ERR_OK);
	assert_int_equal(n_pauses, 0);
}

static void next_address_is_tried_at_once(void **state)
{
	(void)state;
	client.limits.happy_eyeballs_ms = NEVER;
	assert_answered();
}

/* A listening socket whose queue is full: TCP drops further SYNs, so that the address does not
 * answer. */
struct hole {
	int listener, full[8];
	unsigned n;
};

static void hole_dig(struct hole *hole)
{
	const struct sockaddr_in address = {.sin_family = AF_INET,
					    .sin_addr.s_addr = inet_addr(FIRST),
					    .sin_port = htons((uint16_t)server.port)};
	struct pollfd asks = {.events = POLLOUT};

	*hole = (struct hole){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	assert_int_equal(bind(hole->listener, (const struct sockaddr *)&address, sizeof(address)),
			 0);
	assert_int_equal(listen(hole->listener, 0), 0);
	do {
		assert_true(hole->n < COUNT(hole->full));
		asks.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		assert_int_equal(
			connect(asks.fd, (const struct sockaddr *)&address, sizeof(address)), -1);
		hole->full[hole->n++] = asks.fd;
	} while (poll(&asks, 1, 200) == 1);
}

static void hole_fill_in(struct hole *hole)
{
	while (hole->n > 0)
		close(hole->full[--hole->n]);
	close(hole->listener);
}

/* Returns the number of sockets that are still connecting to the address that does not answer. */
static unsigned n_trying(void)
{
	char line[256], port[24];
	FILE *file = fopen("/proc/net/tcp", "re");
	unsigned n = 0;

	snprintf(port, sizeof(port), " 0200007F:%04X 02 ", (unsigned)server.port);
	while (fgets(line, sizeof(line), file))
		n += strstr(line, port) != NULL;
	fclose(file);
	return n;
}

/* Without a second attempt in parallel, the call would wait until the kernel gives up the first
 * one. The attempt that comes too late is closed. */
static void silent_address_does_not_delay_the_call(void **state)
{
	struct hole hole;

	(void)state;
	hole_dig(&hole);
	unsigned before = n_trying();
	client.limits.connect_ms = NEVER;
	int64_t end = now_ms() + limits_default.unacked_ms;
	assert_answered();
	assert_true(now_ms() < end);
	assert_int_equal(n_trying(), before);
	hole_fill_in(&hole);
}

/* The time of a lookup is not part of the two seconds for which a call waits for a connection. */
static void call_waits_for_a_name_server_until_its_deadline(void **state)
{
	const int64_t deadline = now_ms() + 300;
	struct error err;

	(void)state;
	client.limits.wait_ms = 100;
	client_start(&client, SILENT, server.port);
	assert_int_equal(finish(begin_get_by(&client, "a", deadline), &err), ERR_DEADLINE_EXCEEDED);
	assert_true(now_ms() >= deadline);
	assert_non_null(strstr(err.text, "no name server has answered"));
	sem_post(&answer);
	assert_int_equal(ask(&client, &err), ERR_OK);
}

static void client_ends_while_its_name_is_looked_up(void **state)
{
	struct error err;

	(void)state;
	client_start(&client, SILENT, server.port);
	assert_int_equal(finish(begin_get_by(&client, "a", now_ms() + 10), &err),
			 ERR_DEADLINE_EXCEEDED);
}

/* The teardown of a test in which the client ends before the thread of its lookup. */
static int stop_before_the_answer(void **state)
{
	int failed = stop(state);

	sem_post(&answer);
	while (threads > 0)
		sched_yield();
	return failed;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(next_address_is_tried_at_once),
		TEST(silent_address_does_not_delay_the_call),
		TEST(call_waits_for_a_name_server_until_its_deadline),
		cmocka_unit_test_setup_teardown(client_ends_while_its_name_is_looked_up, start,
						stop_before_the_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
