/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The client against servers that do not do their duty: one that is silent, talks garbage, leaves
 * half way, refuses, says goodbye. Each is a few bytes that a thread sends on an accepted
 * connection when the request has come.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "proto/agent.h"
#include "tests/transport/looper.h"
#include "transport/client.h"

/* What the server does with each connection. */
struct script {
	const char *bytes;
	size_t size;
	bool early; /* before the request */
	bool stay;  /* leave it open until the client goes */
};

static struct {
	char folder[32], path[40], endpoint[64];
	int listener;
	struct script script;
	atomic_uint n_accepted;
	pthread_t thread;
	struct looper looper;
	struct client *client;
	struct arena arena;
} ends;

/* Read until the first stream has ended, or the client is gone. */
static void await_request(int fd)
{
	static const size_t preface = 24, frame_head = 9;
	uint8_t bytes[8192];
	size_t size = 0, at = preface;

	for (;;) {
		ssize_t n = read(fd, bytes + size, sizeof(bytes) - size);
		if (n <= 0)
			return;
		size += (size_t)n;
		while (at + frame_head <= size) {
			const uint8_t *f = bytes + at;
			if (f[3] == 0 && f[4] & 1 && f[8] == 1)
				return;
			at += frame_head + ((size_t)f[0] << 16 | (size_t)f[1] << 8 | f[2]);
		}
	}
}

static void *serve(void *arg)
{
	char rest[4096];
	int fd;

	(void)arg;
	while ((fd = accept(ends.listener, NULL, NULL)) >= 0) {
		ends.n_accepted++;
		if (!ends.script.early)
			await_request(fd);
		if (ends.script.size > 0)
			send(fd, ends.script.bytes, ends.script.size, MSG_NOSIGNAL);
		while (ends.script.stay && read(fd, rest, sizeof(rest)) > 0)
			;
		close(fd);
	}
	return NULL;
}

static void stop_loop(void *loop)
{
	loop_stop(loop);
}

static int start(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct error err;

	(void)state;
	memset(&ends, 0, sizeof(ends));
	snprintf(ends.folder, sizeof(ends.folder), "/tmp/zcsi-client-XXXXXX");
	if (!mkdtemp(ends.folder))
		return -1;
	snprintf(ends.path, sizeof(ends.path), "%s/s", ends.folder);
	snprintf(ends.endpoint, sizeof(ends.endpoint), "unix://%s", ends.path);
	strcpy(address.sun_path, ends.path);
	ends.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(ends.listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(ends.listener, 8) < 0)
		return -1;
	arena_init(&ends.arena, SIZE_MAX);
	if (loop_new(&ends.looper.loop, &err) < 0 ||
	    client_new(&ends.client, ends.looper.loop, ends.endpoint, false, NULL, &err) < 0)
		return -1;
	looper_start(&ends.looper);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	looper_do(&ends.looper, stop_loop, ends.looper.loop);
	pthread_join(ends.looper.thread, NULL);
	client_free(ends.client);
	loop_free(ends.looper.loop);
	arena_fini(&ends.arena);
	shutdown(ends.listener, SHUT_RDWR);
	if (ends.thread)
		pthread_join(ends.thread, NULL);
	close(ends.listener);
	unlink(ends.path);
	return rmdir(ends.folder);
}

static void play(struct script script)
{
	ends.script = script;
	assert_int_equal(pthread_create(&ends.thread, NULL, serve, NULL), 0);
}

static enum error_code ask(int64_t ms, struct error *err)
{
	GetHostRequest *request = new_get_host_request(&ends.arena);
	void *response;
	struct client_call *call =
		client_begin(ends.client, &ends.arena, &zcsi__v1__agent__descriptor, "GetHost",
			     &request->base, now_ms() + ms);

	*err = (struct error){0};
	return client_finish(call, &response, err) == 0 ? ERR_OK : err->code;
}

/* What servers say, frame by frame: length in 24 bits, type, flags, stream in 32 bits. */
#define SETTINGS                 "\0\0\0\4\0\0\0\0\0"
#define HEAD(n, end)             "\0\0" n "\1" end "\0\0\0\1"
#define DATA(n, end)             "\0\0" n "\0" end "\0\0\0\1"
#define OPEN                     "\4" /* END_HEADERS */
#define END                      "\5" /* and END_STREAM */
#define STATUS_200               "\x88"
#define STATUS(code)             "\x08\3" code
#define FIELD(n, name, m, value) "\0" n name m value
#define GRPC_STATUS(m, value)    FIELD("\x0b", "grpc-status", m, value)
#define RESET(code)              "\0\0\4\3\0\0\0\0\1\0\0\0" code
#define GOAWAY(last, code)       "\0\0\x8\7\0\0\0\0\0\0\0\0" last "\0\0\0" code
#define EMPTY                    "\0\0\0\0\0"

#define SCRIPT(text, ...)                                                                          \
	{                                                                                          \
		.bytes = text, .size = sizeof(text) - 1, __VA_ARGS__                               \
	}

static const struct {
	const char *name;
	struct script script;
	enum error_code code;
} scripts[] = {
	{"answers OK",
	 SCRIPT(SETTINGS HEAD("\1", OPEN) STATUS_200 DATA("\5", "\0") EMPTY HEAD("\xf", END)
			GRPC_STATUS("\1", "0")),
	 ERR_OK},
	{"interim response first",
	 SCRIPT(SETTINGS HEAD("\5", OPEN) STATUS("103") HEAD("\1", OPEN) STATUS_200 DATA("\5", "\0")
			EMPTY HEAD("\xf", END) GRPC_STATUS("\1", "0")),
	 ERR_OK},
	{"interim response last", SCRIPT(SETTINGS HEAD("\5", END) STATUS("103")), ERR_INTERNAL},
	{"trailers only", SCRIPT(SETTINGS HEAD("\x10", END) STATUS_200 GRPC_STATUS("\1", "5")),
	 ERR_NOT_FOUND},
	{"OK without a message",
	 SCRIPT(SETTINGS HEAD("\x10", END) STATUS_200 GRPC_STATUS("\1", "0")), ERR_INTERNAL},
	{"half a message",
	 SCRIPT(SETTINGS HEAD("\1", OPEN) STATUS_200 DATA("\3", "\0") "\0\0\0" HEAD("\xf", END)
			GRPC_STATUS("\1", "0")),
	 ERR_INTERNAL},
	{"two messages",
	 SCRIPT(SETTINGS HEAD("\1", OPEN) STATUS_200 DATA("\xa", "\0") EMPTY EMPTY HEAD("\xf", END)
			GRPC_STATUS("\1", "0")),
	 ERR_INTERNAL},
	{"compressed message",
	 SCRIPT(SETTINGS HEAD("\1", OPEN) STATUS_200 DATA("\5", "\0") "\1\0\0\0\0", .stay = true),
	 ERR_INTERNAL},
	{"huge message",
	 SCRIPT(SETTINGS HEAD("\1", OPEN) STATUS_200 DATA("\5", "\0") "\0\xff\xff\xff\xff",
		.stay = true),
	 ERR_RESOURCE_EXHAUSTED},
	{"no protobuf",
	 SCRIPT(SETTINGS HEAD("\1", OPEN) STATUS_200 DATA("\6", "\0") "\0\0\0\0\1\xff" HEAD(
		 "\xf", END) GRPC_STATUS("\1", "0")),
	 ERR_INTERNAL},
	{"ends without a status",
	 SCRIPT(SETTINGS HEAD("\1", OPEN) STATUS_200 DATA("\5", "\1") EMPTY), ERR_UNKNOWN},
	{"HTTP 503", SCRIPT(SETTINGS HEAD("\5", END) STATUS("503")), ERR_UNAVAILABLE},
	{"HTTP 404", SCRIPT(SETTINGS HEAD("\5", END) STATUS("404")), ERR_UNIMPLEMENTED},
	{"no HTTP status", SCRIPT(SETTINGS HEAD("\xf", END) GRPC_STATUS("\1", "0")), ERR_INTERNAL},
	{"message before the head", /* nghttp2 ends the connection */
	 SCRIPT(SETTINGS DATA("\5", "\0") EMPTY, .stay = true), ERR_UNAVAILABLE},
	{"upper case field",
	 SCRIPT(SETTINGS HEAD("\6", END) STATUS_200 FIELD("\1", "X", "\1", "1")), ERR_INTERNAL},
	{"refused stream", SCRIPT(SETTINGS RESET("\7"), .stay = true), ERR_UNAVAILABLE},
	{"cancelled stream", SCRIPT(SETTINGS RESET("\x8"), .stay = true), ERR_CANCELLED},
	{"protocol error", SCRIPT(SETTINGS RESET("\1"), .stay = true), ERR_INTERNAL},
	{"enhance your calm", SCRIPT(SETTINGS RESET("\xb"), .stay = true), ERR_RESOURCE_EXHAUSTED},
	{"goaway", SCRIPT(SETTINGS GOAWAY("\0", "\0"), .stay = true), ERR_UNAVAILABLE},
	{"goaway, then leaves", SCRIPT(SETTINGS GOAWAY("\1", "\0")), ERR_UNAVAILABLE},
	{"goaway at once", SCRIPT(SETTINGS GOAWAY("\0", "\0"), .early = true, .stay = true),
	 ERR_UNAVAILABLE},
	{"leaves at once", SCRIPT("", .early = true), ERR_UNAVAILABLE},
	{"leaves before SETTINGS", SCRIPT(""), ERR_UNAVAILABLE},
	{"leaves after SETTINGS", SCRIPT(SETTINGS), ERR_UNAVAILABLE},
	{"leaves after the head", SCRIPT(SETTINGS HEAD("\1", OPEN) STATUS_200), ERR_UNAVAILABLE},
	{"leaves in a frame", SCRIPT(SETTINGS HEAD("\x10", END) STATUS_200 "\0"), ERR_UNAVAILABLE},
	{"HTTP/1.1", SCRIPT("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", .stay = true),
	 ERR_UNAVAILABLE},
	{"garbage",
	 SCRIPT("\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7\xf6\xf5\xf4", .early = true, .stay = true),
	 ERR_UNAVAILABLE},
	{"answers on another stream",
	 SCRIPT(SETTINGS "\0\0\1\1\5\0\0\0\7" STATUS_200, .stay = true), ERR_UNAVAILABLE},
	{"says nothing", SCRIPT("", .stay = true), ERR_DEADLINE_EXCEEDED},
	{"says nothing after SETTINGS", SCRIPT(SETTINGS, .stay = true), ERR_DEADLINE_EXCEEDED},
	{"says nothing after the head", SCRIPT(SETTINGS HEAD("\1", OPEN) STATUS_200, .stay = true),
	 ERR_DEADLINE_EXCEEDED},
};

static void outcome_is_told(void **state)
{
	(void)state;
	struct error err;

	for (size_t i = 0; i < COUNT(scripts); i++) {
		bool silent = scripts[i].code == ERR_DEADLINE_EXCEEDED;
		assert_int_equal(start(NULL), 0);
		play(scripts[i].script);
		enum error_code code = ask(silent ? 200 : PATIENCE * 1000, &err);
		if (code != scripts[i].code)
			print_error("%s: %s: %s\n", scripts[i].name, error_name(code), err.text);
		assert_int_equal(code, scripts[i].code);
		assert_true(code == ERR_OK || code == ERR_NOT_FOUND ||
			    strstr(err.text, ends.endpoint) ||
			    strstr(err.text, "GetHostResponse") || strstr(err.text, "status"));
		assert_int_equal(stop(NULL), 0);
	}
}

static void lost_connection_is_made_again(void **state)
{
	(void)state;
	struct error err;
	const struct script good = scripts[0].script;

	play(good);
	for (int i = 0; i < 5; i++)
		assert_int_equal(ask(PATIENCE * 1000, &err), ERR_OK);
	assert_in_range(ends.n_accepted, 5, 6);
}

/* A server that drops everyone is not asked again with every call. */
static void attempts_are_spaced(void **state)
{
	(void)state;
	struct error err;
	int64_t end = now_ms() + 1000;
	unsigned n_asked = 0;

	play((struct script){.early = true});
	for (; now_ms() < end; n_asked++)
		assert_int_equal(ask(5000, &err), ERR_UNAVAILABLE);
	assert_true(n_asked > 100);
	/* at most after 80, 160, 320, 640 ms */
	assert_in_range(ends.n_accepted, 2, 5);
}

static void nobody_there_is_said_at_once(void **state)
{
	(void)state;
	struct error err;
	int64_t began = now_ms();

	unlink(ends.path);
	assert_int_equal(ask(PATIENCE * 1000, &err), ERR_UNAVAILABLE);
	assert_int_equal(ask(PATIENCE * 1000, &err), ERR_UNAVAILABLE);
	assert_true(now_ms() - began < 1000);
	assert_non_null(strstr(err.text, ends.endpoint));
	assert_non_null(strstr(err.text, "No such file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outcome_is_told),
		cmocka_unit_test_setup_teardown(lost_connection_is_made_again, start, stop),
		cmocka_unit_test_setup_teardown(attempts_are_spaced, start, stop),
		cmocka_unit_test_setup_teardown(nobody_there_is_said_at_once, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
