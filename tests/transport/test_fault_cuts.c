/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A relay between client and server causes a fault after each frame in turn (with TLS, after each
 * record): it closes one or both connections, resets a stream, sends garbage, or stops forwarding.
 * After each fault every call ends, with an answer or with an error that has a text; the server
 * serves the next call; and no descriptor leaks.
 */
#include "tests/transport/tls_ends.c" /* NOLINT(bugprone-suspicious-include): see tls_ends.c */

#include <dirent.h>
#include <sched.h>

#include "common/log.h"
#include "tests/transport/all_kinds.h"
#include "tests/transport/middle.h"

#define CALL_MS 100 /* deadline of calls that may get no answer */
#define SHORT   50

static const struct fault faults[] = {
#define SAY(to, text)        to, text, sizeof(text) - 1
#define FRAME(n, type, rest) "\0\0" n type "\0\0\0\0" rest
	{"closes both", SAY(0, ""), CLOSE_BOTH},
	{"resets the connection", SAY(0, ""), RESET_BOTH},
	{"ends the data to the server", SAY(0, ""), END_TO_SERVER},
	{"ends the data to the client", SAY(0, ""), END_TO_CLIENT},
	{"drops all data", SAY(0, ""), DROP_ALL},
	{"drops the data to the client", SAY(0, ""), DROP_TO_CLIENT},
	{"sends garbage to the server", SAY(TO_SERVER, "garbage, and more of it"), NOTHING},
	{"sends garbage to the client", SAY(TO_CLIENT, "garbage, and more of it"), NOTHING},
	/* faults of HTTP/2 come last, because they are impossible with TLS */
	{"cancels", SAY(TO_SERVER, FRAME("\4", "\3", "\1\0\0\0\x8")), NOTHING},
	{"refuses", SAY(TO_CLIENT, FRAME("\4", "\3", "\1\0\0\0\7")), NOTHING},
	{"resets the third", SAY(TO_CLIENT, FRAME("\4", "\3", "\5\0\0\0\2")), NOTHING},
	{"sends GOAWAY", SAY(TO_CLIENT, FRAME("\x8", "\7", "\0\0\0\0\1\0\0\0\0")), NOTHING},
	{"closes the window", SAY(TO_SERVER, FRAME("\6", "\4", "\0\0\4\0\0\0\0")), NOTHING},
#undef FRAME
#undef SAY
};
#define FAULTS_OF_TLS 8

static struct end server;

static unsigned descriptors(void)
{
	DIR *entries = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(entries);
	while (readdir(entries))
		n++;
	closedir(entries);
	return n;
}

static void await_descriptors(unsigned n)
{
	int64_t until = now_ms() + PATIENCE * 1000;

	while (descriptors() != n && now_ms() < until)
		sched_yield();
	assert_int_equal(descriptors(), n);
}

/* Make calls of all kinds through the relay. Returns true if the fault occurred; false if fewer
 * frames were sent. *ret_well is true if all calls succeeded. */
static bool call_with_fault(const struct fault *fault, unsigned after, const char *name,
			    bool *ret_well)
{
	enum error_code codes[ALL_KINDS];
	struct all_kinds all;
	struct end client;
	struct error err;

	*ret_well = true;
	assert_int_equal(end_trust(&client, "ca", name, &err), 0);
	client.limits.ping_ms = SHORT;
	client_start(&client, NULL, middle_start(fault, after, name != NULL, server.port));
	all_kinds_begin(&all, client.client, &client.looper, now_ms() + CALL_MS);
	all_kinds_end(&all, codes);
	for (size_t i = 0; i < COUNT(codes); i++)
		*ret_well &= codes[i] == ERR_OK;
	client_stop(&client);
	return middle_stop();
}

/* Call the server directly. On a busy host the server may time out the client; then the call is
 * repeated. */
static void check_next_call(const char *name)
{
	struct end client;
	struct error err;

	assert_int_equal(end_trust(&client, "ca", name, &err), 0);
	client.limits.wait_ms = PATIENCE * 1000;
	client_start(&client, NULL, server.port);
	int64_t until = now_ms() + PATIENCE * 1000;
	while (finish(begin_get(&client, "a"), &err) == ERR_UNAVAILABLE && now_ms() < until)
		continue;
	if (err.code != ERR_OK)
		print_error("%s\n", err.text);
	assert_int_equal(err.code, ERR_OK);
	client_stop(&client);
}

/* Cause the fault after every frame. On a busy host a call may exceed its deadline without a fault;
 * then it is repeated. */
static void check_fault_after_each_frame(const struct fault *fault, const char *name)
{
	unsigned after = 1;
	bool well = false;

	while (!well || after < 10) {
		bool occurred = call_with_fault(fault, after, name, &well);
		after += occurred;
		well &= !occurred;
		check_next_call(name);
	}
	print_message("# %s: %u times\n", fault->name, after - 1);
}

static void check_faults(const char *name, size_t n)
{
	struct error err;

	assert_int_equal(log_setup("error", "logfmt", &err), 0);
	assert_int_equal(end_trust(&server, "ca", name, &err), 0);
	server.limits.handshake_ms = server.limits.settings_ack_ms = server.limits.receive_ms =
		server.limits.write_ms = SHORT;
	server_start(&server);
	unsigned held = descriptors();
	for (size_t i = 0; i < n; i++) {
		check_fault_after_each_frame(&faults[i], name);
		await_descriptors(held);
	}
	server_stop(&server);
}

static void cut_connections_end_cleanly_without_tls(void **state)
{
	(void)state;
	check_faults(NULL, COUNT(faults));
}

static void cut_connections_end_cleanly_with_tls(void **state)
{
	static const struct certificate certificates[] = {
		{.name = "ca", .is_ca = true},
		{.name = "a", .names = "IP:127.0.0.1", .issuer = "ca"}};

	(void)state;
	certificates_make(certificates, COUNT(certificates));
	check_faults("a", FAULTS_OF_TLS);
	certificates_remove();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_connections_end_cleanly_without_tls),
		cmocka_unit_test(cut_connections_end_cleanly_with_tls)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
