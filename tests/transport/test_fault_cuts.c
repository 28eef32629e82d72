/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Somebody between client and server does something to their connection, after each of its frames
 * (with TLS, of its records) in turn: hangs up on one or both, resets a stream, talks nonsense,
 * falls silent. Whatever it is and whenever, each call ends, with an answer or an error that says
 * something; the server serves the next one; and nobody keeps a descriptor.
 */
#include "tests/transport/tls_ends.c" /* NOLINT(bugprone-suspicious-include): see there */

#include <dirent.h>
#include <sched.h>

#include "common/log.h"
#include "tests/transport/all_kinds.h"
#include "tests/transport/middle.h"

#define CALL_MS 100 /* of calls that may be left without an answer */
#define SHORT   50

static const struct fault faults[] = {
#define SAY(to, text)        to, text, sizeof(text) - 1
#define FRAME(n, type, rest) "\0\0" n type "\0\0\0\0" rest
	{"hangs up", SAY(0, ""), HANG_UP},
	{"resets the connection", SAY(0, ""), RESET_BOTH},
	{"leaves the server", SAY(0, ""), LEAVE_SERVER},
	{"leaves the client", SAY(0, ""), LEAVE_CLIENT},
	{"falls silent", SAY(0, ""), SILENCE},
	{"is deaf to the server", SAY(0, ""), DEAF_TO_SERVER},
	{"talks nonsense to the server", SAY(TO_SERVER, "nonsense, and more of it"), NOTHING},
	{"talks nonsense to the client", SAY(TO_CLIENT, "nonsense, and more of it"), NOTHING},
	/* those of HTTP/2 come last */
	{"cancels", SAY(TO_SERVER, FRAME("\4", "\3", "\1\0\0\0\x8")), NOTHING},
	{"refuses", SAY(TO_CLIENT, FRAME("\4", "\3", "\1\0\0\0\7")), NOTHING},
	{"resets the third", SAY(TO_CLIENT, FRAME("\4", "\3", "\5\0\0\0\2")), NOTHING},
	{"says goodbye", SAY(TO_CLIENT, FRAME("\x8", "\7", "\0\0\0\0\1\0\0\0\0")), NOTHING},
	{"shuts the window", SAY(TO_SERVER, FRAME("\6", "\4", "\0\0\4\0\0\0\0")), NOTHING},
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

/* Did it happen? If all is well without, they have said less than that. */
static bool suffer(const struct fault *fault, unsigned after, const char *name, bool *ret_well)
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

/* Nobody between. On a busy host the server may find us too slow: then we ask again. */
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

/* After each frame that there is. A call may be late on a busy host, and is asked again. */
static void suffer_everywhere(const struct fault *fault, const char *name)
{
	unsigned after = 1;
	bool well = false;

	while (!well || after < 10) {
		bool happened = suffer(fault, after, name, &well);
		after += happened;
		well &= !happened;
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
		suffer_everywhere(&faults[i], name);
		await_descriptors(held);
	}
	server_stop(&server);
}

static void plain(void **state)
{
	(void)state;
	check_faults(NULL, COUNT(faults));
}

static void with_tls(void **state)
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(plain), cmocka_unit_test(with_tls)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
