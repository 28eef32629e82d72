/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A malicious server: it sends too much, too often, or nothing. The client closes the connection in
 * time, and does not keep what it received.
 */
#include "tests/transport/scripted_server.c" /* NOLINT(bugprone-suspicious-include) */

#include <malloc.h>

#define KEPT_MAX                 ((size_t)1 << 20)

#define FLOODS(...)              SCRIPT(FLOOD, SAY(0, SETTINGS), SAY(1, ""), SAY(1, __VA_ARGS__))
#define FLOODS_AFTER(first, ...) SCRIPT(FLOOD, SAY(0, SETTINGS), SAY(1, first), SAY(1, __VA_ARGS__))

static const struct {
	const char *name;
	struct script script;
} floods[] = {
	{"PING", FLOODS(FRAME("\x8", "\6", "\0", "\0") "abcdefgh")},
	{"PING ACK", FLOODS(FRAME("\x8", "\6", "\1", "\0") "abcdefgh")},
	{"SETTINGS", FLOODS(SETTINGS)},
	{"SETTINGS that change", FLOODS(FRAME("\6", "\4", "\0", "\0") "\0\4\0\0\0\1")},
	{"WINDOW_UPDATE", FLOODS(FRAME("\4", "\x8", "\0", "\0") "\0\0\0\1")},
	{"PRIORITY", FLOODS(FRAME("\5", "\2", "\0", "\1") "\0\0\0\0\0")},
	{"frames of no known kind", FLOODS(FRAME("\1", "\xee", "\0", "\0") "x")},
	{"GOAWAY", FLOODS(GOAWAY("\1", "\0"))},
	{"interim responses", FLOODS(HEAD("\5", OPEN) STATUS("103"))},
	{"interim responses of a byte", FLOODS_AFTER(HEAD("\5", OPEN) "\x48\3"
								      "103",
						     HEAD("\1", OPEN) "\xbe")},
	{"empty DATA", FLOODS_AFTER(HEAD("\1", OPEN) STATUS_200, DATA("\0", "\0"))},
	{"padding", FLOODS_AFTER(HEAD("\1", OPEN) STATUS_200, DATA("\2", "\x8") "\1\0")},
	{"DATA without a head", FLOODS(DATA("\5", "\0") EMPTY)},
	{"CONTINUATION",
	 FLOODS_AFTER(FRAME("\1", "\1", "\0", "\1") STATUS_200, FRAME("\0", "\x9", "\0", "\1"))},
	{"CONTINUATION with a field",
	 FLOODS_AFTER(FRAME("\1", "\1", "\0", "\1") STATUS_200,
		      FRAME("\5", "\x9", "\0", "\1") FIELD("\1", "x", "\1", "y"))},
	{"PUSH_PROMISE", FLOODS(FRAME("\5", "\5", OPEN, "\1") "\0\0\0\2" STATUS_200)},
	{"streams of its own", FLOODS(HEAD_ON("\2", "\1", OPEN) STATUS_200)},
	{"messages where one is due",
	 FLOODS_AFTER(HEAD("\1", OPEN) STATUS_200, DATA("\5", "\0") EMPTY)},
};

static void flooded_client_closes_the_connection(void **state)
{
	(void)state;
	struct error err;

	for (size_t i = 0; i < COUNT(floods); i++) {
		assert_int_equal(scripted_start(NULL), 0);
		size_t before = mallinfo2().uordblks;
		play(&floods[i].script, 1);
		enum error_code code = ask(PATIENCE * 1000, &err);
		while (ends.n_hung_up + ends.n_left == 0)
			usleep(1000);
		size_t after = mallinfo2().uordblks;
		if (code == ERR_OK || code == ERR_DEADLINE_EXCEEDED || ends.n_left > 0)
			print_error("%s: %s: %s\n", floods[i].name, error_name(code), err.text);
		assert_true(code != ERR_OK && code != ERR_DEADLINE_EXCEEDED);
		assert_int_equal(ends.n_left, 0);
		assert_true(after < before + KEPT_MAX);
		assert_int_equal(scripted_stop(NULL), 0);
	}
}

/* After a number of malformed answers, each of which the client resets, the client closes the
 * connection. */
static void provoked_resets_are_bounded(void **state)
{
	(void)state;
	struct error err;

#define MALFORMED(id) HEAD_ON(id, "\6", END) STATUS_200 FIELD("\1", "X", "\1", "1")
	ends.limits.resets_sent = 3;
	PLAY(SCRIPT(STAY, SAY(0, SETTINGS), SAY(1, MALFORMED("\1")), SAY(2, MALFORMED("\3")),
		    SAY(3, MALFORMED("\5")), SAY(4, MALFORMED("\7"))),
	     SCRIPT(STAY, SAY(0, SETTINGS), SAY(1, ANSWER)));
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(ask(PATIENCE * 1000, &err), ERR_INTERNAL);
	await_count(&ends.n_hung_up, 1);
	assert_int_equal(ask(PATIENCE * 1000, &err), ERR_OK);
	assert_int_equal(ends.n_connections, 2);
}

/* The server accepts the connection, and sends nothing. */
static void silent_server_times_out(void **state)
{
	(void)state;
	struct error err;

	ends.limits.handshake_ms = ends.limits.connect_ms = 20;
	PLAY(SCRIPT(STAY_UNREAD, SAY(0, "")));
	assert_int_equal(ask(PATIENCE * 1000, &err), ERR_UNAVAILABLE);
	await_count(&ends.n_hung_up, 1);
	assert_non_null(strstr(err.text, "in time"));
}

static void settings_must_be_acknowledged(void **state)
{
	(void)state;
	struct error err;

	ends.limits.settings_ack_ms = 20;
	PLAY(SCRIPT(STAY, SAY(0, SETTINGS), SAY(1, "")));
	assert_int_equal(ask(PATIENCE * 1000, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "not acknowledged in time"));
}

/* The message is 32 bytes long and decodes to many unknown fields, which take more memory than the
 * limit. */
static void answer_is_bounded_in_memory(void **state)
{
	(void)state;
	struct error err;

	ends.limits.decoded = 300;
	PLAY(SCRIPT(STAY, SAY(0, SETTINGS),
		    SAY(1, HEAD("\1", OPEN) STATUS_200 DATA(
				   "\x25",
				   "\0") "\0\0\0\0\x20"
					 "\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0"
					 "\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0" HEAD(
						 "\xf", END) GRPC_STATUS("\1", "0"))));
	assert_int_equal(ask(PATIENCE * 1000, &err), ERR_RESOURCE_EXHAUSTED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scripted_start, scripted_stop)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flooded_client_closes_the_connection),
		TEST(provoked_resets_are_bounded),
		TEST(silent_server_times_out),
		TEST(settings_must_be_acknowledged),
		TEST(answer_is_bounded_in_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
