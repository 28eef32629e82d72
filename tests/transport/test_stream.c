/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Streaming calls as both sides see them: every message once, in order and whole, and the end as
 * the other side meant it.
 */
#include "tests/transport/stream_ends.h"

#include <string.h>

#include "common/clock.h"
#include "transport/exchange.h"

#define MANY 10000

static struct side *const server = &ends.at_server, *const client = &ends.at_client;

static void ten_thousand_messages_each_way(void **state)
{
	(void)state;
	call_begin(&(struct side){.says = MANY, .size = 100, .ends = WHEN_HEARD},
		   &(struct side){.says = MANY, .size = 100, .ends = WHEN_SAID}, NO_DEADLINE);
	call_end(ERR_OK, ERR_OK);
	assert_int_equal(server->heard, MANY);
	assert_int_equal(client->heard, MANY);
}

/* Each waits for the other's; the client's first is nobody's answer. */
static void one_for_one(void **state)
{
	(void)state;
	call_begin(&(struct side){.says = MANY, .answers = true, .ends = WHEN_HEARD},
		   &(struct side){.says = MANY, .answers = true, .ends = WHEN_SAID}, NO_DEADLINE);
	call_end(ERR_OK, ERR_OK);
	assert_int_equal(server->heard, MANY);
	assert_int_equal(client->heard, MANY);
}

/* Larger than a frame, than a window, than what may be queued. */
static void large_messages(void **state)
{
	static const struct side each[] = {{.says = 20, .size = 16 << 10},
					   {.says = 20, .size = 300 << 10},
					   {.says = 3, .size = (4 << 20) - 20}};

	(void)state;
	for (size_t i = 0; i < COUNT(each); i++) {
		struct side hears = each[i], says = each[i];
		hears.ends = WHEN_HEARD;
		says.ends = WHEN_SAID;
		call_begin(&hears, &says, NO_DEADLINE);
		call_end(ERR_OK, ERR_OK);
		assert_int_equal(server->heard, each[i].says);
		assert_int_equal(client->heard, each[i].says);
	}
}

static void empty_messages(void **state)
{
	(void)state;
	call_begin(&(struct side){.says = 1, .ends = WHEN_HEARD},
		   &(struct side){.says = 1, .ends = WHEN_SAID}, NO_DEADLINE);
	call_end(ERR_OK, ERR_OK);
	assert_int_equal(server->heard, 1);
	assert_int_equal(client->heard, 1);
}

static void no_messages_at_all(void **state)
{
	(void)state;
	call_begin(&(struct side){.ends = WHEN_HEARD}, &(struct side){.ends = WHEN_SAID},
		   NO_DEADLINE);
	call_end(ERR_OK, ERR_OK);
	assert_true(server->ended);
	assert_int_equal(server->heard + client->heard, 0);
}

static void server_speaks_after_the_client_has_ended(void **state)
{
	(void)state;
	call_begin(&(struct side){.says = 3, .answers = true, .holds = 3, .ends = WHEN_HEARD},
		   &(struct side){.says = 3, .ends = WHEN_SAID}, NO_DEADLINE);
	wait_for(&server->held);
	side_do(server, resume);
	call_end(ERR_OK, ERR_OK);
	assert_int_equal(client->heard, 3);
}

/* What the client had still to say is dropped, and that is no error. */
static void server_ends_first(void **state)
{
	(void)state;
	call_begin(&(struct side){.says = 1, .answers = true, .ends = WHEN_SAID},
		   &(struct side){.says = MANY, .size = 1000}, NO_DEADLINE);
	call_end(ERR_OK, ERR_OK);
	assert_int_equal(client->heard, 1);
	assert_true(server->heard < MANY);
}

static void errors_come_through(void **state)
{
	(void)state;
	/* before its first message, and after */
	for (unsigned says = 0; says < 3; says++) {
		call_begin(&(struct side){.says = says, .fails = 2, .code = ERR_DATA_LOSS},
			   &(struct side){.says = 2}, NO_DEADLINE);
		call_end(ERR_DATA_LOSS, ERR_DATA_LOSS);
		assert_string_equal(server->outcome.text, "given up");
		assert_string_equal(client->outcome.text, "given up");
		assert_int_equal(client->heard, says);
	}
}

/* A method of one request: it is told when no second can follow. */
static void single_message(void **state)
{
	static const struct {
		unsigned says;
		enum error_code code;
	} cases[] = {{1, ERR_OK}, {0, ERR_INTERNAL}, {2, ERR_INTERNAL}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		call_begin(&(struct side){.single = true, .says = 5, .ends = WHEN_HEARD},
			   &(struct side){.says = cases[i].says, .ends = WHEN_SAID}, NO_DEADLINE);
		call_end(cases[i].code, cases[i].code);
		assert_int_equal(server->heard, cases[i].code == ERR_OK);
	}
}

/* A method of one response, from the client's side. */
static void single_response(void **state)
{
	static const struct {
		unsigned says;
		enum error_code server, client;
	} cases[] = {{1, ERR_OK, ERR_OK}, {0, ERR_OK, ERR_INTERNAL}, {2, ERR_OK, ERR_INTERNAL}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		call_begin(&(struct side){.says = cases[i].says, .ends = WHEN_HEARD},
			   &(struct side){.single = true, .says = 5, .ends = WHEN_SAID},
			   NO_DEADLINE);
		call_end(cases[i].server, cases[i].client);
		assert_int_equal(client->heard, cases[i].client == ERR_OK);
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
	/* nothing sent; a part; all, and the server has not answered; and has */
	client_cancels(&(struct side){0}, &(struct side){0}, &server->begun);
	client_cancels(&(struct side){0}, &(struct side){.says = 5}, &server->begun);
	client_cancels(&(struct side){.holds = 5}, &(struct side){.says = 5, .ends = WHEN_SAID},
		       &server->held);
	client_cancels(&(struct side){.says = 5}, &(struct side){.ends = WHEN_SAID, .holds = 5},
		       &client->held);
}

static bool is_off_the_wire;

static void look_at_the_wire(struct side *side)
{
	is_off_the_wire = !((struct exchange *)side->stream)->wire->conn;
}

static void say_more(struct side *side)
{
	side->says++;
	say(side);
}

/* The server has answered, all of it has come, and the client is still told of it. */
static void client_acts_when_its_stream_is_closed(void **state)
{
	static const struct {
		void (*acts)(struct side *side);
		enum error_code code;
	} cases[] = {{finish, ERR_OK}, {say_more, ERR_OK}, {give_up, ERR_CANCELLED}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		call_begin(&(struct side){.says = 5, .ends = WHEN_SAID},
			   &(struct side){.holds = 1, .code = cases[i].code}, NO_DEADLINE);
		wait_for(&client->held);
		int64_t end = now_ms() + PATIENCE * 1000;
		do {
			assert_true(now_ms() < end);
			side_do(client, look_at_the_wire);
		} while (!is_off_the_wire);
		side_do(client, cases[i].acts);
		side_do(client, resume);
		call_end(ERR_OK, cases[i].code);
		assert_int_equal(client->heard, cases[i].code == ERR_OK ? 5 : 1);
	}
}

/* The server has not heard of it, and never does. */
static void client_cancels_before_there_is_a_connection(void **state)
{
	(void)state;
	ends_drain();
	call_begin(&(struct side){0}, &(struct side){.says = 5, .code = ERR_CANCELLED},
		   NO_DEADLINE);
	side_do(client, give_up);
	wait_for(&client->closed);
	assert_int_equal(client->outcome.code, ERR_CANCELLED);
}

static void nobody_there(void **state)
{
	(void)state;
	ends.client_limits.wait_ms = 100;
	ends_restart();
	ends_drain();
	call_begin(&(struct side){0}, &(struct side){.says = 5, .ends = WHEN_SAID}, NO_DEADLINE);
	wait_for(&client->closed);
	assert_int_equal(client->outcome.code, ERR_UNAVAILABLE);
}

static void connection_is_lost(void **state)
{
	(void)state;
	call_begin(&(struct side){.says = 1}, &(struct side){.holds = 1}, NO_DEADLINE);
	wait_for(&client->held);
	ends_kill();
	call_end(ERR_CANCELLED, ERR_UNAVAILABLE);
	ends_restart();
	call_begin(&(struct side){.ends = WHEN_HEARD}, &(struct side){.ends = WHEN_SAID},
		   NO_DEADLINE);
	call_end(ERR_OK, ERR_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_start, ends_stop)
		TEST(ten_thousand_messages_each_way),
		TEST(one_for_one),
		TEST(large_messages),
		TEST(empty_messages),
		TEST(no_messages_at_all),
		TEST(server_speaks_after_the_client_has_ended),
		TEST(server_ends_first),
		TEST(errors_come_through),
		TEST(single_message),
		TEST(single_response),
		TEST(client_cancels_at_each_stage),
		TEST(client_acts_when_its_stream_is_closed),
		TEST(client_cancels_before_there_is_a_connection),
		TEST(nobody_there),
		TEST(connection_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
