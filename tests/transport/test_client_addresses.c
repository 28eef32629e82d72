/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A host name with two addresses, from a fake resolver. The first address refuses connections or
 * does not answer; the server is at the second one.
 */
#include "tests/transport/tls_ends.c" /* NOLINT(bugprone-suspicious-include): see tls_ends.c */

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <stdatomic.h>

#define NAME   "two-addresses.test"
#define FIRST  "127.0.0.2"
#define SECOND "127.0.0.1"
#define NEVER  (2 * PATIENCE * 1000)

static struct end server, client;
static atomic_uint n_pauses;

/* Wrapped functions of the C library */

#define REAL(function) ((__typeof__(&(function)))(uintptr_t)dlsym(RTLD_NEXT, #function))

int getaddrinfo(const char *name, const char *port, const struct addrinfo *hints,
		struct addrinfo **ret)
{
	/* a DNS query may take seconds, so it must not run on the loop */
	if (pthread_equal(pthread_self(), client.looper.thread))
		abort();
	if (!name || strcmp(name, NAME) != 0)
		return REAL(getaddrinfo)(name, port, hints, ret);
	int result = REAL(getaddrinfo)(FIRST, port, hints, ret);
	return result ? result : REAL(getaddrinfo)(SECOND, port, hints, &(*ret)->ai_next);
}

/* The client calls this function for the jitter of a pause. */
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

/* Returns the number of sockets that are still trying to connect to the hole. */
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
 * one. The late attempt is closed. */
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(next_address_is_tried_at_once),
		TEST(silent_address_does_not_delay_the_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
