/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The server's timeouts, each 500 ms here: peers that do not start, do not finish a request, do not
 * read, or do not open their window. Each peer is a socket that sends fixed bytes; the server
 * closes its connection. Limits that need no waiting are tested from Python.
 */
#include "tests/cmocka.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "proto/agent.h"
#include "tests/transport/looper.h"
#include "transport/endpoint.h"
#include "transport/server.h"

#define SHORT_MS 500
#define RESETS   5

static struct {
	struct limits limits;
	struct looper looper;
	struct workers *workers;
	struct server *server;
	bool drained;
	char folder[32], endpoint[64];
	int fd; /* the socket of the peer */
} ends;

static int get_host(struct rpc_call *call, const GetHostRequest *req, GetHostResponse *rsp,
		    struct error *err)
{
	(void)req;
	(void)err;
	rsp->problem = arena_alloc(&call->arena, 1 << 20);
	memset(rsp->problem, 'x', (1 << 20) - 1);
	return 0;
}

#define TEST_METHODS(INLINE, PLAIN, KEYED, STREAM) INLINE(GetHost, get_host)
RPC_SERVICE(test_service, zcsi__v1__agent__descriptor, TEST_METHODS);
static const struct rpc_service *const services[] = {&test_service, NULL};

static int connect_peer(void)
{
	struct endpoint endpoint;
	struct address address;
	struct error err;

	if (endpoint_parse(ends.endpoint, &endpoint, &err) < 0 ||
	    endpoint_resolve(&endpoint, &address, 1, &err) < 0)
		return -1;
	return address_connect(&address, &err);
}

static int start(void **state)
{
	struct error err;

	(void)state;
	memset(&ends, 0, sizeof(ends));
	ends.limits = limits_default;
	ends.limits.handshake_ms = ends.limits.settings_ack_ms = ends.limits.receive_ms =
		ends.limits.write_ms = ends.limits.goaway_ms = SHORT_MS;
	ends.limits.resets_received = RESETS;
	ends.limits.resets_per_second = 1;
	snprintf(ends.folder, sizeof(ends.folder), "/tmp/zcsi-limits-XXXXXX");
	if (!mkdtemp(ends.folder))
		return -1;
	snprintf(ends.endpoint, sizeof(ends.endpoint), "unix://%s/s", ends.folder);
	if (loop_new(&ends.looper.loop, &err) < 0 ||
	    workers_new(&ends.workers, ends.looper.loop, 1, &err) < 0)
		return -1;
	ends.server = server_new(ends.looper.loop, ends.workers, &ends.limits);
	if (server_listen(ends.server, ends.endpoint, &(struct server_offer){.services = services},
			  &err) < 0)
		return -1;
	looper_start(&ends.looper);
	ends.fd = connect_peer();
	return ends.fd < 0 ? -1 : 0;
}

static void drain(void *arg)
{
	(void)arg;
	server_drain(ends.server, looper_stop, ends.looper.loop);
}

static void drain_to_the_end(void)
{
	looper_do(&ends.looper, drain, NULL);
	pthread_join(ends.looper.thread, NULL);
	ends.drained = true;
}

static int stop(void **state)
{
	(void)state;
	close(ends.fd);
	if (!ends.drained)
		drain_to_the_end();
	server_free(ends.server);
	workers_free(ends.workers);
	loop_free(ends.looper.loop);
	return rmdir(ends.folder);
}

/* Frames that the peer sends: length in 24 bits, type, flags, stream id in 32 bits. */
#define PREFACE     "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define SETTINGS    "\0\0\0\4\0\0\0\0\0"
#define ACK         "\0\0\0\4\1\0\0\0\0"
#define NO_WINDOW   "\0\0\6\4\0\0\0\0\0\0\4\0\0\0\0"
#define WIDE_WINDOW "\0\0\4\x8\0\0\0\0\0\x7f\0\0\0\0\0\6\4\0\0\0\0\0\0\4\x7f\0\0\0"
#define REQUEST                                                                                    \
	"\0\0\x3b\1\4\0\0\0\1\x83\x86\x04\x16/zcsi.v1.Agent/GetHost\x41\0"                         \
	"\0\x0c"                                                                                   \
	"content-type\x10"                                                                         \
	"application/grpc"
#define PING                                                                                       \
	"\0\0\x8\6\0\0\0\0\0"                                                                      \
	"abcdefgh"
#define PONG                                                                                       \
	"\0\0\x8\6\1\0\0\0\0"                                                                      \
	"abcdefgh"
#define EMPTY_MESSAGE "\0\0\5\0\1\0\0\0\1\0\0\0\0\0"
#define LONG_MESSAGE  "\0\0\5\0\0\0\0\0\1\0\0\0\xff\xff"
#define ITS_BYTE      "\0\0\1\0\0\0\0\0\1\0"
#define RESET         "\0\0\4\3\0\0\0\0\1\0\0\0\x8"

#define SAY(text)     say(text, sizeof(text) - 1)

static void say(const char *bytes, size_t n)
{
	assert_int_equal(send(ends.fd, bytes, n, MSG_NOSIGNAL), n);
}

/* Read until the server closes the connection, which must take about SHORT_MS, not less than half
 * of it. */
static void assert_hung_up(int64_t began)
{
	char bytes[4096];
	ssize_t n = 1;

	while (n > 0) {
		struct pollfd wait = {.fd = ends.fd, .events = POLLIN};
		assert_int_equal(poll(&wait, 1, PATIENCE * 1000), 1);
		n = recv(ends.fd, bytes, sizeof(bytes), 0);
	}
	assert_true(now_ms() - began >= SHORT_MS / 2);
}

static void silent_peer_times_out(void **state)
{
	(void)state;
	assert_hung_up(now_ms());
}

static void preface_without_settings_times_out(void **state)
{
	(void)state;
	int64_t began = now_ms();

	SAY(PREFACE);
	assert_hung_up(began);
}

static void settings_must_be_acknowledged(void **state)
{
	(void)state;
	int64_t began = now_ms();

	SAY(PREFACE SETTINGS);
	assert_hung_up(began);
	assert_true(now_ms() - began >= SHORT_MS * 3 / 2);
}

/* Read until the text has arrived. */
static void await(const char *text, size_t n)
{
	char bytes[1 << 16];
	size_t size = 0;

	for (;;) {
		struct pollfd wait = {.fd = ends.fd, .events = POLLIN};
		assert_int_equal(poll(&wait, 1, PATIENCE * 1000), 1);
		ssize_t got = recv(ends.fd, bytes + size, sizeof(bytes) - size, 0);
		assert_true(got > 0);
		size += (size_t)got;
		if (memmem(bytes, size, text, n))
			return;
	}
}

/* After its early answer the server sends RST_STREAM(NO_ERROR) on stream 1. */
static void request_must_end(void **state)
{
	(void)state;
	static const char reset[] = "\0\0\4\3\0\0\0\0\1\0\0\0\0";
	int64_t began = now_ms();

	SAY(PREFACE SETTINGS ACK REQUEST);
	await(reset, sizeof(reset) - 1);
	assert_true(now_ms() - began >= SHORT_MS / 2);
	/* The connection stays usable. */
	SAY(PING);
	await(PONG, sizeof(PONG) - 1);
}

/* The timeout is for the whole request; single bytes do not extend it. */
static void trickling_request_must_end(void **state)
{
	(void)state;
	struct pollfd wait = {.fd = ends.fd, .events = POLLIN};
	int64_t began = now_ms();

	SAY(PREFACE SETTINGS ACK REQUEST LONG_MESSAGE PING);
	await(PONG, sizeof(PONG) - 1);
	while (poll(&wait, 1, SHORT_MS / 10) == 0) {
		SAY(ITS_BYTE);
		assert_true(now_ms() - began < PATIENCE * 1000);
	}
	assert_true(now_ms() - began >= SHORT_MS / 2);
}

/* Open and reset RESETS streams. Returns false if the server closes the connection within a
 * second. */
static bool reset_some(unsigned first)
{
	char bytes[] = REQUEST RESET, answer[4096];
	const size_t reset = sizeof(bytes) - sizeof(RESET);
	struct pollfd wait = {.fd = ends.fd, .events = POLLIN};

	for (unsigned id = first; id < first + 2 * RESETS; id += 2) {
		bytes[8] = bytes[reset + 8] = (char)id;
		say(bytes, sizeof(bytes) - 1);
	}
	while (poll(&wait, 1, 1100) > 0)
		if (recv(ends.fd, answer, sizeof(answer), 0) <= 0)
			return false;
	return true;
}

/* The server allows RESETS resets of streams, and one more per second. If the peer resets as many
 * streams again a second later, the server closes the connection. */
static void resets_are_rate_limited(void **state)
{
	(void)state;
	SAY(PREFACE SETTINGS ACK);
	assert_true(reset_some(1));
	assert_false(reset_some(1 + 2 * RESETS));
}

static void window_must_open(void **state)
{
	(void)state;
	static const char cancel[] = "\0\0\4\3\0\0\0\0\1\0\0\0\x8";
	int64_t began = now_ms();

	SAY(PREFACE SETTINGS ACK NO_WINDOW REQUEST EMPTY_MESSAGE);
	await(cancel, sizeof(cancel) - 1);
	assert_true(now_ms() - began >= SHORT_MS / 2);
	SAY(PING);
	await(PONG, sizeof(PONG) - 1);
}

/* A megabyte is waiting to be sent, and the peer does not read. Only poll() shows that the server
 * has closed the connection. */
static void peer_must_read(void **state)
{
	(void)state;
	int64_t began = now_ms();
	struct pollfd wait = {.fd = ends.fd};

	SAY(PREFACE SETTINGS ACK WIDE_WINDOW REQUEST EMPTY_MESSAGE);
	assert_int_equal(poll(&wait, 1, PATIENCE * 1000), 1);
	assert_true(wait.revents & POLLHUP);
	assert_true(now_ms() - began >= SHORT_MS / 2);
}

static void closed_window_does_not_delay_a_drain(void **state)
{
	(void)state;
	SAY(PREFACE SETTINGS ACK NO_WINDOW REQUEST EMPTY_MESSAGE PING);
	await(PONG, sizeof(PONG) - 1);
	drain_to_the_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
		TEST(silent_peer_times_out),
		TEST(preface_without_settings_times_out),
		TEST(settings_must_be_acknowledged),
		TEST(request_must_end),
		TEST(trickling_request_must_end),
		TEST(resets_are_rate_limited),
		TEST(window_must_open),
		TEST(peer_must_read),
		TEST(closed_window_does_not_delay_a_drain),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
