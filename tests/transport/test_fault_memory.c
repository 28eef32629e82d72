/* SPDX-License-Identifier: MPL-2.0 */
/*
 * nghttp2, OpenSSL and protobuf-c run out of memory: at the first allocation, the second, and so
 * on, until a connection needs no further one; once, or from there on. A call on such a connection
 * ends with an error at once, not at its deadline; nothing leaks; and the next connection works.
 * (Allocations of the project itself abort on failure: their sizes are bounded.)
 */
#include "tests/transport/tls_ends.c" /* NOLINT(bugprone-suspicious-include): see tls_ends.c */

#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/log.h"
#include "tests/transport/all_kinds.h"
#include "tests/transport/scarcity.h"
#include "transport/message.h"

#define CALL_MS 10000 /* a deadline that no call reaches */
#define WAIT_MS 300   /* timeout of a connection */
#define SESSION 100   /* allocations; more than those of tls_session_new */

/* Connections that run out of memory, from their beginning to their end. */

static const struct certificate certificates[] = {
	{.name = "ca", .is_ca = true}, {.name = "a", .names = "IP:127.0.0.1", .issuer = "ca"}};

static struct end server;

/* Make calls of all kinds. Returns how many were answered; none may exceed its deadline. */
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

/* Let allocation n of a client's connections fail, with `stays` all later ones too. Then check that
 * a new connection works. Returns true if an allocation failed. */
static bool live_short_of_memory(const char *name, unsigned n, bool stays)
{
	struct end client;

	start_client(&client, name, WAIT_MS);
	scarcity_begin(LIBRARIES, n, stays);
	live(&client);
	bool failed = scarcity_end() > 0;
	client_stop(&client);
	start_client(&client, name, CALL_MS);
	assert_int_equal(live(&client), ALL_KINDS);
	client_stop(&client);
	return failed;
}

/* Let one allocation after the other fail; after the first `dense`, each of `step` of them. */
static void check_memory(const char *name, unsigned dense, unsigned step)
{
	struct error err;
	unsigned n = 0;

	assert_int_equal(log_setup("error", "logfmt", &err), 0);
	assert_int_equal(end_trust(&server, "ca", name, &err), 0);
	server_start(&server);
	live_short_of_memory(name, UINT_MAX, false);
	while (live_short_of_memory(name, n, false))
		n += n < dense ? 1 : step;
	print_message("# %u allocations\n", n);
	/* a call ends when it has waited WAIT_MS for a connection, so only ten starting points are
	 * tried */
	for (unsigned from = 0; from < n; from += n / 10 + 1)
		assert_true(live_short_of_memory(name, from, true));
	server_stop(&server);
}

static void failed_allocations_are_survived_without_tls(void **state)
{
	(void)state;
	check_memory(NULL, 0, 1);
}

/*
 * OpenSSL allocates thousands of times, so only every 41st allocation fails, unless STEP is set,
 * but each of those with which a session begins.
 */
static void failed_allocations_are_survived_with_tls(void **state)
{
	const char *step = getenv("STEP");

	(void)state;
	certificates_make(certificates, COUNT(certificates));
	check_memory("a", SESSION, step ? (unsigned)atoi(step) : 41);
	certificates_remove();
}

static void failed_credentials_have_an_error_text(void **state)
{
	struct end one;
	struct error err;
	int result = -1;

	(void)state;
	certificates_make(certificates, COUNT(certificates));
	for (unsigned n = 0; result < 0; n++) {
		scarcity_begin(LIBRARIES, n, false);
		result = end_trust(&one, "ca", "a", &err);
		scarcity_end();
		assert_true(result == 0 || *err.text);
	}
	trust_close(&one.trust);
	certificates_remove();
}

/* protobuf-c allocates in an arena, whose limit makes the allocations fail. */
static void messages_beyond_the_cap_are_refused(void **state)
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

/* In a child process, run a server and a client while allocation n fails. Standard error goes to
 * the pipe `words`. */
static void live_and_exit(unsigned n, int words)
{
	struct end client;

	alarm(PATIENCE);
	dup2(words, STDERR_FILENO);
	scarcity_begin(PROJECT, n, false);
	server_start(&server);
	start_client(&client, NULL, CALL_MS);
	unsigned answered = live(&client);
	client_stop(&client);
	server_stop(&server);
	_exit(scarcity_end() == 0 && answered == ALL_KINDS ? 0 : 1);
}

/* Run a process whose allocation n fails. Returns its wait status, which is 0 if the process needed
 * fewer allocations. Its standard error is in `words`. */
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

/* Allocations of libevent abort like those of the project, because the whole process depends on the
 * loop. */
static void own_failures_abort_with_a_message(void **state)
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
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failed_allocations_are_survived_without_tls),
		cmocka_unit_test(failed_allocations_are_survived_with_tls),
		cmocka_unit_test(failed_credentials_have_an_error_text),
		cmocka_unit_test(own_failures_abort_with_a_message),
		cmocka_unit_test(messages_beyond_the_cap_are_refused)};

	if (scarcity_prepare() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
