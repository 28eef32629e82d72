/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Streaming calls as both sides see them: every message arrives once, complete and in order, and
 * both sides get the right outcome.
 */
#include "tests/transport/stream_ends.h"

#include <string.h>

#include "common/clock.h"
#include "transport/exchange.h"

#define MANY 10000

static struct side *const server = &ends.at_server, *const client = &ends.at_client;

static void messages_pass_both_ways(void **state)
{
	(void)state;
	call_begin(&(struct side){.to_send = MANY, .size = 100, .ends = WHEN_RECEIVED},
		   &(struct side){.to_send = MANY, .size = 100, .ends = WHEN_SENT}, NO_DEADLINE);
	call_end(ERR_OK, ERR_OK);
	assert_int_equal(server->received, MANY);
	assert_int_equal(client->received, MANY);
}

/* Each side sends its next message after it received one of the other; the client starts. */
static void sides_can_take_turns(void **state)
{
	(void)state;
	call_begin(&(struct side){.to_send = MANY, .answers = true, .ends = WHEN_RECEIVED},
		   &(struct side){.to_send = MANY, .answers = true, .ends = WHEN_SENT},
		   NO_DEADLINE);
	call_end(ERR_OK, ERR_OK);
	assert_int_equal(server->received, MANY);
	assert_int_equal(client->received, MANY);
}

/* Messages are larger than a frame, than a window, and than the queue. */
static void large_messages_arrive(void **state)
{
	static const struct side each[] = {{.to_send = 20, .size = 16 << 10},
					   {.to_send = 20, .size = 300 << 10},
					   {.to_send = 3, .size = (4 << 20) - 20}};

	(void)state;
	for (size_t i = 0; i < COUNT(each); i++) {
		struct side receiver = each[i], sender = each[i];
		receiver.ends = WHEN_RECEIVED;
		sender.ends = WHEN_SENT;
		call_begin(&receiver, &sender, NO_DEADLINE);
		call_end(ERR_OK, ERR_OK);
		assert_int_equal(server->received, each[i].to_send);
		assert_int_equal(client->received, each[i].to_send);
	}
}

static void empty_messages_arrive(void **state)
{
	(void)state;
	call_begin(&(struct side){.to_send = 1, .ends = WHEN_RECEIVED},
		   &(struct side){.to_send = 1, .ends = WHEN_SENT}, NO_DEADLINE);
	call_end(ERR_OK, ERR_OK);
	assert_int_equal(server->received, 1);
	assert_int_equal(client->received, 1);
}

static void a_stream_may_have_no_messages(void **state)
{
	(void)state;
	call_begin(&(struct side){.ends = WHEN_RECEIVED}, &(struct side){.ends = WHEN_SENT},
		   NO_DEADLINE);
	call_end(ERR_OK, ERR_OK);
	assert_true(server->ended);
	assert_int_equal(server->received + client->received, 0);
}

static void server_speaks_after_the_client_has_ended(void **state)
{
	(void)state;
	call_begin(
		&(struct side){
			.to_send = 3, .answers = true, .pause_after = 3, .ends = WHEN_RECEIVED},
		&(struct side){.to_send = 3, .ends = WHEN_SENT}, NO_DEADLINE);
	wait_for(&server->paused);
	side_do(server, resume);
	call_end(ERR_OK, ERR_OK);
	assert_int_equal(client->received, 3);
}

/* Messages of the client that were not yet sent are dropped, which is not an error. */
static void server_ends_first(void **state)
{
	(void)state;
	call_begin(&(struct side){.to_send = 1, .answers = true, .ends = WHEN_SENT},
		   &(struct side){.to_send = MANY, .size = 1000}, NO_DEADLINE);
	call_end(ERR_OK, ERR_OK);
	assert_int_equal(client->received, 1);
	assert_true(server->received < MANY);
}

static void errors_reach_the_client(void **state)
{
	(void)state;
	/* The server fails the call before its first message, between messages, and after them. */
	for (unsigned to_send = 0; to_send < 3; to_send++) {
		call_begin(
			&(struct side){.to_send = to_send, .fail_after = 2, .code = ERR_DATA_LOSS},
			&(struct side){.to_send = 2}, NO_DEADLINE);
		call_end(ERR_DATA_LOSS, ERR_DATA_LOSS);
		assert_string_equal(server->outcome.text, "given up");
		assert_string_equal(client->outcome.text, "given up");
		assert_int_equal(client->received, to_send);
	}
}

/* A method with one request gets the request only when the client has ended, so that a second one
 * is an error. */
static void a_single_request_must_be_exactly_one(void **state)
{
	static const struct {
		unsigned to_send;
		enum error_code code;
	} cases[] = {{1, ERR_OK}, {0, ERR_INTERNAL}, {2, ERR_INTERNAL}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		call_begin(&(struct side){.single = true, .to_send = 5, .ends = WHEN_RECEIVED},
			   &(struct side){.to_send = cases[i].to_send, .ends = WHEN_SENT},
			   NO_DEADLINE);
		call_end(cases[i].code, cases[i].code);
		assert_int_equal(server->received, cases[i].code == ERR_OK);
	}
}

/* For the client of a method with one response, any other number of responses is an error. */
static void a_single_response_must_be_exactly_one(void **state)
{
	static const struct {
		unsigned to_send;
		enum error_code server, client;
	} cases[] = {{1, ERR_OK, ERR_OK}, {0, ERR_OK, ERR_INTERNAL}, {2, ERR_OK, ERR_INTERNAL}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		call_begin(&(struct side){.to_send = cases[i].to_send, .ends = WHEN_RECEIVED},
			   &(struct side){.single = true, .to_send = 5, .ends = WHEN_SENT},
			   NO_DEADLINE);
		call_end(cases[i].server, cases[i].client);
		assert_int_equal(client->received, cases[i].client == ERR_OK);
	}
}

static void client_cancels(const struct side *like_server, struct side *like_client, sem_t *when)
{
	like_client->code = ERR_CANCELLED;
	call_begin(like_server, like_client, NO_DEADLINE);
	wait_for(when);
	side_do(client, give_up);
	call_end(ERR_CANCELLED, ERR_CANCELLED);
	assert_string_equal(client->outcome.text, "given up");
}

static void client_cancels_at_each_stage(void **state)
{
	(void)state;
	/* Stages: nothing sent; some sent; all sent but not answered; answered. */
	client_cancels(&(struct side){0}, &(struct side){0}, &server->begun);
	client_cancels(&(struct side){0}, &(struct side){.to_send = 5}, &server->begun);
	client_cancels(&(struct side){.pause_after = 5},
		       &(struct side){.to_send = 5, .ends = WHEN_SENT}, &server->paused);
	client_cancels(&(struct side){.to_send = 5},
		       &(struct side){.ends = WHEN_SENT, .pause_after = 5}, &client->paused);
}

static bool is_off_the_wire;

static void look_at_the_wire(struct side *side)
{
	is_off_the_wire = !((struct exchange *)side->stream)->wire->conn;
}

static void send_more(struct side *side)
{
	side->to_send++;
	send_all(side);
}

/* All answers of the server have arrived, but some are not yet delivered to the client. */
static void client_acts_when_its_stream_is_closed(void **state)
{
	static const struct {
		void (*acts)(struct side *side);
		enum error_code code;
	} cases[] = {{finish, ERR_OK}, {send_more, ERR_OK}, {give_up, ERR_CANCELLED}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		call_begin(&(struct side){.to_send = 5, .ends = WHEN_SENT},
			   &(struct side){.pause_after = 1, .code = cases[i].code}, NO_DEADLINE);
		wait_for(&client->paused);
		int64_t end = now_ms() + PATIENCE * 1000;
		do {
			assert_true(now_ms() < end);
			side_do(client, look_at_the_wire);
		} while (!is_off_the_wire);
		side_do(client, cases[i].acts);
		side_do(client, resume);
		call_end(ERR_OK, cases[i].code);
		assert_int_equal(client->received, cases[i].code == ERR_OK ? 5 : 1);
	}
}

/* The server never receives the call. */
static void client_cancels_before_there_is_a_connection(void **state)
{
	(void)state;
	ends_drain();
	call_begin(&(struct side){0}, &(struct side){.to_send = 5, .code = ERR_CANCELLED},
		   NO_DEADLINE);
	side_do(client, give_up);
	wait_for(&client->closed);
	assert_int_equal(client->outcome.code, ERR_CANCELLED);
}

static void missing_server_is_unavailable(void **state)
{
	(void)state;
	ends.client_limits.wait_ms = 100;
	ends_restart();
	ends_drain();
	call_begin(&(struct side){0}, &(struct side){.to_send = 5, .ends = WHEN_SENT}, NO_DEADLINE);
	wait_for(&client->closed);
	assert_int_equal(client->outcome.code, ERR_UNAVAILABLE);
}

static void a_lost_connection_ends_its_streams(void **state)
{
	(void)state;
	call_begin(&(struct side){.to_send = 1}, &(struct side){.pause_after = 1}, NO_DEADLINE);
	wait_for(&client->paused);
	ends_kill();
	call_end(ERR_CANCELLED, ERR_UNAVAILABLE);
	ends_restart();
	call_begin(&(struct side){.ends = WHEN_RECEIVED}, &(struct side){.ends = WHEN_SENT},
		   NO_DEADLINE);
	call_end(ERR_OK, ERR_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_start, ends_stop)
		TEST(messages_pass_both_ways),
		TEST(sides_can_take_turns),
		TEST(large_messages_arrive),
		TEST(empty_messages_arrive),
		TEST(a_stream_may_have_no_messages),
		TEST(server_speaks_after_the_client_has_ended),
		TEST(server_ends_first),
		TEST(errors_reach_the_client),
		TEST(a_single_request_must_be_exactly_one),
		TEST(a_single_response_must_be_exactly_one),
		TEST(client_cancels_at_each_stage),
		TEST(client_acts_when_its_stream_is_closed),
		TEST(client_cancels_before_there_is_a_connection),
		TEST(missing_server_is_unavailable),
		TEST(a_lost_connection_ends_its_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
