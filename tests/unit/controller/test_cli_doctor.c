/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of zcsi doctor: findings that cannot be planted on one host, and their order. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

static struct client *const a = &scripted[0], *const b = &scripted[1], *const c = &scripted[2];
static const char *page; /* the last one */

static void ask_doctor(bool wrong)
{
	int result;

	cli.degraded = false;
	cli.asked_ms = now_ms();
	page = printed(cli_doctor, "", &result);
	if (cli.degraded != wrong)
		print_error("%s", page);
	assert_int_equal(result, 0);
	assert_false(cli.failed);
	assert_int_equal(cli.degraded, wrong);
}

/* The page has a line that begins with `line` and ends with `type`. */
static void assert_says(const char *line, const char *type)
{
	const char *at = strstr(page, line), *end = at ? strchr(at, '\n') : NULL;

	if (!end || strncmp(end - strlen(type), type, strlen(type)) != 0)
		print_error("%s", page);
	assert_non_null(end);
	assert_memory_equal(end - strlen(type), type, strlen(type));
}

static void nothing_is_wrong(void **state)
{
	(void)state;
	add_dataset(a, "data", 1 << 20, "");
	add_push(a, "data", "b", 12);
	ask_doctor(false);
	assert_string_equal(page, "");
}

static void versions_differ(void **state)
{
	(void)state;
	b->version = "1.10.0";
	a->version = c->version = "1.9.1";
	ask_doctor(true);
	assert_says(
		"may stop\t-\ta\tits zcsi-node is of version 1.9.1, and that of node 'b' of 1.10.0",
		"\t-");
	assert_says("may stop\t-\tc\tits zcsi-node", "\t-");
	assert_null(strstr(page, "-\tb\t"));
}

static void clocks_differ(void **state)
{
	(void)state;
	a->ahead_us = 29 * (int64_t)1000000;
	b->ahead_us = 40 * (int64_t)1000000;
	c->ahead_us = -90 * (int64_t)1000000;
	ask_doctor(true);
	assert_says("may stop\t-\tb\tits clock is", "\t-");
	assert_non_null(strstr(page, "ahead of that of this host"));
	assert_says("may stop\t-\tc\tits clock is 2 min behind that of this host", "\t-");
	assert_null(strstr(page, "-\ta\t"));
}

static void an_old_answer_is_no_wrong_clock(void **state)
{
	(void)state;
	a->ahead_us = -40 * (int64_t)1000000;
	int result;
	cli.asked_ms = now_ms() - 20000;
	page = printed(cli_doctor, "", &result);
	assert_string_equal(page, "");
}

static void the_worst_comes_first(void **state)
{
	(void)state;
	add_dataset(a, "data", 1 << 20, "");
	add_push(a, "data", "b", 1)->paused = true;
	c->problem = "there is no pool 'tank' on this host";
	ask_doctor(true);
	assert_true(strncmp(page, "stops\t-\tc\tthere is no pool", 26) == 0);
	assert_says("may stop\tdata\ta\tthe copy on node 'b' is complete", "\tzcsi resume data");
}

static void a_trouble_of_a_node_is_said_once(void **state)
{
	(void)state;
	add_dataset(a, "one", 1 << 20, "");
	add_dataset(a, "two", 1 << 20, "");
	a->problem = "the pool is suspended";
	ask_doctor(true);
	assert_string_equal(page, "stops\t-\ta\tthe pool is suspended\t-\n");
}

static void a_pool_without_space(void **state)
{
	(void)state;
	add_dataset(a, "data", 8 << 20, "")->used = 1 << 20;
	a->names = 1;
	a->available = 1 << 10;
	ask_doctor(true);
	assert_says("may stop\t-\ta\tits pool is nearly full: 1.00K are left", "\t-");
	a->available = 0;
	ask_doctor(true);
	assert_says("stops\t-\ta\tits pool is full", "\t-");
}

static void a_move_is_a_fault_only_between_two_nodes(void **state)
{
	(void)state;
	Dataset *volume = add_dataset(a, "data", 1 << 20, "");
	MoveState *move = add_move(a, "data", "b");
	volume->lineage = arena_strdup(&call.arena, "00112233aabbccdd");
	a->closed = ERR_FAILED_PRECONDITION;
	ask_doctor(false);
	move->running = false;
	ask_doctor(true);
	assert_says("stops\tdata\ta\tnode 'a' refuses calls for it", "\t-");
	a->n_datasets = 0;
	move->running = move->given_up = true;
	ask_doctor(true);
	assert_says("stops\tdata\tb\tnode 'a' has given it up for node 'b'", "\t-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLI_TEST(nothing_is_wrong),      CLI_TEST(versions_differ),
		CLI_TEST(clocks_differ),         CLI_TEST(an_old_answer_is_no_wrong_clock),
		CLI_TEST(the_worst_comes_first), CLI_TEST(a_trouble_of_a_node_is_said_once),
		CLI_TEST(a_pool_without_space),  CLI_TEST(a_move_is_a_fault_only_between_two_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
