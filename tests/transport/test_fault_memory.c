/* SPDX-License-Identifier: MPL-2.0 */
/*
 * nghttp2, OpenSSL and protobuf-c run out of memory: at their first allocation, the second, the
 * third, until a connection lives without one failing; once, or from there on. A call that meets it
 * ends with an error, at once and not by its deadline; nothing is lost or kept; and the next
 * connection is as good as ever. (What we allocate ourselves aborts: its size is ours to bound.)
 */
#include "tests/transport/tls_ends.c" /* NOLINT(bugprone-suspicious-include): see there */

#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/log.h"
#include "tests/transport/all_kinds.h"
#include "tests/transport/scarcity.h"
#include "transport/message.h"

#define CALL_MS 10000 /* nothing takes that long */
#define WAIT_MS 300   /* for a connection */

/* A connection's life */

static const struct certificate certificates[] = {
	{.name = "ca", .is_ca = true}, {.name = "a", .names = "IP:127.0.0.1", .issuer = "ca"}};

static struct end server;

/* How many of its calls were answered. */
static unsigned live(struct end *client)
{
	enum error_code codes[ALL_KINDS];
	struct all_kinds all;
	unsigned answered = 0;

	all_kinds_begin(&all, client->client, &client->looper, now_ms() + CALL_MS);
	all_kinds_end(&all, codes);
	for (size_t i = 0; i < COUNT(codes); i++) {
		answered += codes[i] == ERR_OK;
		assert_int_not_equal(codes[i], ERR_DEADLINE_EXCEEDED);
	}
	return answered;
}

static void start_client(struct end *client, const char *name, int64_t wait_ms)
{
	struct error err;

	assert_int_equal(end_trust(client, "ca", name, &err), 0);
	client->limits.wait_ms = wait_ms;
	client_start(client, NULL, server.port);
}

/* Does any fail? Of the ones that one client's connections ask for, the n-th, or all from there. */
static bool live_short_of_memory(const char *name, unsigned n, bool stays)
{
	struct end client;

	start_client(&client, name, WAIT_MS);
	scarcity_begin(THEIRS, n, stays);
	live(&client);
	bool failed = scarcity_end() > 0;
	client_stop(&client);
	start_client(&client, name, CALL_MS);
	assert_int_equal(live(&client), ALL_KINDS);
	client_stop(&client);
	return failed;
}

static void check_memory(const char *name, unsigned step)
{
	struct error err;
	unsigned n = 0;

	assert_int_equal(log_setup("error", "logfmt", &err), 0);
	assert_int_equal(end_trust(&server, "ca", name, &err), 0);
	server_start(&server);
	live_short_of_memory(name, UINT_MAX, false);
	while (live_short_of_memory(name, n, false))
		n += step;
	print_message("# %u allocations\n", n);
	/* where it stays so, a call is over only when it no longer waits for a connection */
	for (unsigned from = 0; from < n; from += n / 10 + 1)
		assert_true(live_short_of_memory(name, from, true));
	server_stop(&server);
}

static void plain(void **state)
{
	(void)state;
	check_memory(NULL, 1);
}

/* OpenSSL asks thousands of times: every so often, unless STEP in the environment says 1. */
static void with_tls(void **state)
{
	const char *step = getenv("STEP");

	(void)state;
	certificates_make(certificates, COUNT(certificates));
	check_memory("a", step ? (unsigned)atoi(step) : 41);
	certificates_remove();
}

static void credentials_do_not_load(void **state)
{
	struct end one;
	struct error err;
	int result = -1;

	(void)state;
	certificates_make(certificates, COUNT(certificates));
	for (unsigned n = 0; result < 0; n++) {
		scarcity_begin(THEIRS, n, false);
		result = end_trust(&one, "ca", "a", &err);
		scarcity_end();
		assert_true(result == 0 || *err.text);
	}
	trust_close(&one.trust);
	certificates_remove();
}

/* protobuf-c, whose memory is an arena with a cap. */
static void messages_that_do_not_fit(void **state)
{
	CreateDatasetRequest request = ZCSI__V1__CREATE_DATASET_REQUEST__INIT;
	struct arena encoded, arena;
	ProtobufCMessage *decoded;
	uint8_t *bytes;
	struct error err;
	size_t size, cap = 0;
	int result = -1;

	(void)state;
	request.id = (char *)(uintptr_t) "volume";
	request.parameters = (char *)(uintptr_t) "owner=1";
	arena_init(&encoded, SIZE_MAX);
	message_encode(&encoded, &request.base, &bytes, &size);
	for (; result < 0; cap++) {
		arena_init(&arena, cap);
		result = message_decode(&arena, request.base.descriptor, bytes + 5, size - 5,
					&decoded, &err);
		assert_true(result == 0 || err.code == ERR_RESOURCE_EXHAUSTED);
		arena_fini(&arena);
	}
	assert_true(cap > sizeof(request));
	arena_fini(&encoded);
}

/* What a daemon does, in a process of its own; its words are read from the pipe. */
static void live_and_exit(unsigned n, int words)
{
	struct end client;

	alarm(PATIENCE);
	dup2(words, STDERR_FILENO);
	scarcity_begin(OURS, n, false);
	server_start(&server);
	start_client(&client, NULL, CALL_MS);
	unsigned answered = live(&client);
	client_stop(&client);
	server_stop(&server);
	_exit(scarcity_end() == 0 && answered == ALL_KINDS ? 0 : 1);
}

/* How the process ended whose n-th allocation failed; 0: none did. */
static int end_of(unsigned n, char *words, size_t size)
{
	int ends[2], status;

	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		live_and_exit(n, ends[1]);
	close(ends[1]);
	ssize_t length = read(ends[0], words, size - 1);
	words[length > 0 ? length : 0] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* libevent's are among them: the loop is everybody's. */
static void ours_say_so_and_abort(void **state)
{
	char words[256];
	unsigned n = 0;
	int status;

	(void)state;
	assert_int_equal(end_trust(&server, "ca", NULL, &(struct error){0}), 0);
	while ((status = end_of(n, words, sizeof(words))) != 0) {
		assert_string_equal(words, "out of memory\n");
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		n++;
	}
	print_message("# %u allocations\n", n);
	assert_true(n > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(plain), cmocka_unit_test(with_tls),
					   cmocka_unit_test(credentials_do_not_load),
					   cmocka_unit_test(ours_say_so_and_abort),
					   cmocka_unit_test(messages_that_do_not_fit)};

	if (scarcity_prepare() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
