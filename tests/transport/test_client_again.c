/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Retries of the client: when it connects again and when it repeats a call, and when it does not.
 * Each script is one connection of the server.
 */
#include "tests/transport/scripted_server.c" /* NOLINT(bugprone-suspicious-include) */

#define HELLO      SAY(0, SETTINGS)
#define ONE_ANSWER SCRIPT(STAY, HELLO, SAY(1, ANSWER))

static void assert_answered(struct client_call *call)
{
	struct error err;

	if (finish(call, &err) != ERR_OK)
		print_error("%s\n", err.text);
	assert_int_equal(err.code, ERR_OK);
}

/* Assert that a call is sent and exceeds its deadline of `ms`. If the call has waited for a
 * connection until the deadline, it was not sent, and is repeated with twice the time. */
static void assert_timed_out(int64_t ms)
{
	struct error err;

	do {
		assert_int_equal(ask(ms, &err), ERR_DEADLINE_EXCEEDED);
		ms *= 2;
	} while (!strstr(err.text, "did not answer"));
}

static void assert_asked(unsigned n_requests, unsigned n_connections)
{
	assert_int_equal(ends.n_requests, n_requests);
	assert_int_equal(ends.n_connections, n_connections);
}

/* Tests of repeated calls. */

static void refused_call_is_repeated(void **state)
{
	(void)state;
	PLAY(SCRIPT(STAY, HELLO, SAY(1, RESET("\7")), SAY(2, ANSWER_ON("\3"))));
	assert_answered(begin(PATIENCE * 1000));
	assert_asked(2, 1);
}

static void refused_call_is_repeated_three_times_at_most(void **state)
{
	(void)state;
	struct error err;

	PLAY(SCRIPT(STAY, HELLO, SAY(1, RESET("\7")), SAY(2, RESET_ON("\3", "\7")),
		    SAY(3, RESET_ON("\5", "\7")), SAY(4, RESET_ON("\7", "\7"))));
	assert_int_equal(ask(PATIENCE * 1000, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "refused"));
	assert_asked(4, 1);
}

/* The server began to answer before it refused the stream, so the call may have been carried
 * out. */
static void call_refused_after_its_head_is_not_repeated(void **state)
{
	(void)state;
	struct error err;

	PLAY(SCRIPT(STAY, HELLO, SAY(1, HEAD("\1", OPEN) STATUS_200 RESET("\7"))));
	assert_int_equal(ask(PATIENCE * 1000, &err), ERR_UNAVAILABLE);
	assert_asked(1, 1);
}

static void call_after_goaway_is_repeated(void **state)
{
	(void)state;
	PLAY(SCRIPT(STAY, HELLO, SAY(1, GOAWAY("\0", "\0"))), ONE_ANSWER);
	assert_answered(begin(PATIENCE * 1000));
	assert_asked(2, 2);
	await_count(&ends.n_hung_up, 1);
}

static void goaway_of_every_connection_fails_the_call(void **state)
{
	(void)state;
	struct error err;

	PLAY(SCRIPT(STAY, HELLO, SAY(1, GOAWAY("\0", "\0"))));
	assert_int_equal(ask(PATIENCE * 1000, &err), ERR_UNAVAILABLE);
	assert_asked(4, 4);
}

/* After GOAWAY a call up to the last stream id stays on the connection; a later one is repeated on
 * another connection. */
static void goaway_moves_only_later_calls(void **state)
{
	(void)state;
	PLAY(SCRIPT(STAY, HELLO, SAY(2, GOAWAY("\1", "\0") ANSWER)), ONE_ANSWER);
	struct client_call *first = begin(PATIENCE * 1000), *second = begin(PATIENCE * 1000);
	assert_answered(first);
	assert_answered(second);
	assert_asked(3, 2);
}

static void old_connection_finishes_its_calls(void **state)
{
	(void)state;
	PLAY(SCRIPT(STAY, HELLO, SAY(1, GOAWAY("\1", "\0")), SAY_AFTER_ALL(2, ANSWER)), ONE_ANSWER);
	struct client_call *old = begin(PATIENCE * 1000);
	await_count(&ends.n_requests, 1);
	assert_answered(begin(PATIENCE * 1000));
	assert_answered(old);
	assert_asked(2, 2);
}

/* The second call waits inside nghttp2 until the stream of the first one is closed. */
static void calls_wait_for_a_free_stream(void **state)
{
	(void)state;
	PLAY(SCRIPT(STAY, SAY(0, MAX_STREAMS("\1")), SAY(1, ANSWER), SAY(2, ANSWER_ON("\3"))));
	struct client_call *first = begin(PATIENCE * 1000), *second = begin(PATIENCE * 1000);
	assert_answered(first);
	assert_answered(second);
	assert_asked(2, 1);
}

static void call_that_was_not_sent_is_repeated(void **state)
{
	(void)state;
	struct error err;

	PLAY(SCRIPT(LEAVE, SAY(0, MAX_STREAMS("\1")), SAY(1, "")), ONE_ANSWER);
	struct client_call *sent = begin(PATIENCE * 1000), *waiting = begin(PATIENCE * 1000);
	assert_int_equal(finish(sent, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "may have been carried out"));
	assert_answered(waiting);
	assert_asked(2, 2);
}

static void repeated_call_keeps_its_deadline(void **state)
{
	(void)state;
	ends.limits.repeats = UINT32_MAX;
	PLAY(SCRIPT(STAY, HELLO, SAY(1, RESET("\7"))));
	assert_timed_out(1000);
	assert_asked(2, 1);
}

/* Tests of repeated connections. */

static void lost_connection_is_made_again(void **state)
{
	(void)state;
	PLAY(SCRIPT(LEAVE, HELLO, SAY(1, ANSWER)));
	for (unsigned i = 1; i <= 5; i++) {
		assert_answered(begin(PATIENCE * 1000));
		await_count(&ends.n_left, i);
	}
	assert_asked(5, 5);
}

/* If a server drops every connection, the client does not connect again for each call. */
static void attempts_are_spaced(void **state)
{
	(void)state;
	struct error err;
	int64_t start = now_ms(), end = start + PATIENCE * 1000;

	ends.limits.wait_ms = 100;
	PLAY(SCRIPT(LEAVE, SAY(0, "")));
	for (unsigned n_asked = 0; n_asked < 100 || ends.n_connections < 4; n_asked++) {
		assert_true(now_ms() < end);
		assert_int_equal(ask(5000, &err), ERR_UNAVAILABLE);
	}
	/* the first pause is 80 ms at least, each further one 100 ms at least */
	assert_true(now_ms() - start >= 280);
}

/* Without a limit of the pauses, here 40 ms, the last of the 20 pauses would take minutes. */
static void pauses_stop_growing(void **state)
{
	(void)state;
	ends.limits.wait_ms = PATIENCE * 1000;
	ends.limits.pause_ms = 20;
	ends.limits.pause_most_ms = 40;
	PLAY([0 ... 19] = SCRIPT(LEAVE, SAY(0, "")), [20] = ONE_ANSWER);
	assert_answered(begin(PATIENCE * 1000));
	assert_asked(1, 21);
}

static void connection_that_takes_no_calls_is_a_failure(void **state)
{
	(void)state;
	struct error err;

	PLAY(SCRIPT(STAY, SAY(0, SETTINGS GOAWAY("\0", "\0"))));
	assert_int_equal(ask(PATIENCE * 1000, &err), ERR_UNAVAILABLE);
	assert_in_range(ends.n_connections, 2, 10);
}

static void missing_server_fails_soon_then_at_once(void **state)
{
	(void)state;
	struct error err;
	const unsigned n = 100;

	unlink(ends.path);
	assert_int_equal(ask(PATIENCE * 1000, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, ends.endpoint));
	assert_non_null(strstr(err.text, "No such file"));
	int64_t start = now_ms();
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(ask(PATIENCE * 1000, &err), ERR_UNAVAILABLE);
	assert_true(now_ms() - start < n * ends.limits.wait_ms);
}

/* A call ends a long pause between attempts to connect, but not before the shortest pause would
 * have ended. */
static void call_ends_a_long_pause(void **state)
{
	(void)state;
	char aside[sizeof(ends.path) + 1];
	struct error err;
	int64_t end = now_ms() + PATIENCE * 1000;

	ends.limits.wait_ms = 50;
	ends.limits.pause_ms = ends.limits.pause_most_ms = 2 * PATIENCE * 1000;
	snprintf(aside, sizeof(aside), "%s-", ends.path);
	assert_int_equal(rename(ends.path, aside), 0);
	assert_int_equal(ask(PATIENCE * 1000, &err), ERR_UNAVAILABLE);
	assert_int_equal(rename(aside, ends.path), 0);
	PLAY(ONE_ANSWER);
	assert_int_equal(ask(PATIENCE * 1000, &err), ERR_UNAVAILABLE);
	assert_asked(0, 0);
	ends.limits.pause_ms = 0;
	while (ask(PATIENCE * 1000, &err) != ERR_OK)
		assert_true(now_ms() < end);
	assert_asked(1, 1);
}

static void deadline_ends_the_wait(void **state)
{
	(void)state;
	struct error err;

	int64_t end = now_ms() + PATIENCE * 1000;

	ends.limits.wait_ms = 2 * PATIENCE * 1000;
	unlink(ends.path);
	assert_int_equal(ask(50, &err), ERR_DEADLINE_EXCEEDED);
	assert_non_null(strstr(err.text, "No such file"));
	assert_true(now_ms() < end);
}

static void every_call_has_a_deadline(void **state)
{
	(void)state;
	struct error err;
	const GetHostRequest *request = new_get_host_request(&ends.arena);

	ends.limits.call_ms = 50;
	PLAY(SCRIPT(STAY, HELLO));
	assert_int_equal(finish(client_begin(ends.client, &ends.arena, &zcsi__v1__agent__descriptor,
					     "GetHost", &request->base, NO_DEADLINE),
				&err),
			 ERR_DEADLINE_EXCEEDED);
}

/* The kernel accepts what is sent to the peer, but the peer answers nothing, not even a PING. */
static void peer_without_a_ping_ack_is_closed(void **state)
{
	(void)state;
	struct error err;

	PLAY(SCRIPT(STAY_UNREAD, HELLO), ONE_ANSWER);
	struct client_call *patient = begin(PATIENCE * 1000);
	assert_timed_out(100);
	assert_int_equal(finish(patient, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "PING"));
	assert_answered(begin(PATIENCE * 1000));
	assert_int_equal(ends.n_connections, 2);
}

/* The second call waits for longer than the timeout of a PING. */
static void slow_peer_is_kept(void **state)
{
	(void)state;
	ends.limits.ping_ms = 1000;
	PLAY(SCRIPT(STAY, HELLO, SAY(3, ANSWER_ON("\5"))));
	assert_timed_out(100);
	await_count(&ends.n_pings, 1);
	assert_timed_out(1500);
	assert_answered(begin(PATIENCE * 1000));
	assert_asked(3, 1);
}

/* Data that the peer sent since the call began shows that it is alive. */
static void sending_peer_is_not_pinged(void **state)
{
	(void)state;
	PLAY(SCRIPT(STAY, HELLO, SAY(1, HEAD("\1", OPEN) STATUS_200), SAY(2, ANSWER_ON("\3"))));
	assert_timed_out(1000);
	assert_answered(begin(PATIENCE * 1000));
	assert_int_equal(ends.n_pings, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scripted_start, scripted_stop)
	const struct CMUnitTest tests[] = {
		TEST(refused_call_is_repeated),
		TEST(refused_call_is_repeated_three_times_at_most),
		TEST(call_refused_after_its_head_is_not_repeated),
		TEST(call_after_goaway_is_repeated),
		TEST(goaway_of_every_connection_fails_the_call),
		TEST(goaway_moves_only_later_calls),
		TEST(old_connection_finishes_its_calls),
		TEST(calls_wait_for_a_free_stream),
		TEST(call_that_was_not_sent_is_repeated),
		TEST(repeated_call_keeps_its_deadline),
		TEST(lost_connection_is_made_again),
		TEST(attempts_are_spaced),
		TEST(pauses_stop_growing),
		TEST(connection_that_takes_no_calls_is_a_failure),
		TEST(missing_server_fails_soon_then_at_once),
		TEST(call_ends_a_long_pause),
		TEST(deadline_ends_the_wait),
		TEST(every_call_has_a_deadline),
		TEST(peer_without_a_ping_ack_is_closed),
		TEST(slow_peer_is_kept),
		TEST(sending_peer_is_not_pinged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
