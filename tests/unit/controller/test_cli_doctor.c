/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of zcsi doctor: findings that cannot be planted on one host, and their order. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

static struct client *const a = &scripted[0], *const b = &scripted[1], *const c = &scripted[2];
static const char *page; /* output of the last zcsi doctor */

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

/* Assert that the page has a line that begins with `line` and ends with `type`. */
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

static void volumes_beyond_a_limit(void **state)
{
	SizeLimit limit = *new_size_limit(&call.arena);
	char option[] = "--overcommit 2", by_prefix[] = "--limit prod-=2097152", prefix[] = "prod-";

	(void)state;
	limit.limit = limit.promised = 2 << 20;
	limit.option = option;
	a->size_limit = &limit;
	ask_doctor(false);
	assert_string_equal(page, "");
	limit.promised = 3 << 20;
	ask_doctor(false);
	assert_says("note\t-\ta\tits volumes have the size 3.00M in all, more than the 2.00M of "
		    "--overcommit 2: none is created or grown there",
		    "\t-");
	limit.option = by_prefix;
	limit.prefix = prefix;
	ask_doctor(false);
	assert_says("note\t-\ta\tits volumes whose names begin with 'prod-' have the size 3.00M",
		    "\t-");
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

static void a_node_that_is_no_host_is_to_have_a_copy(void **state)
{
	(void)state;
	add_dataset(a, "data", 1 << 20, "");
	add_push(a, "data", "n9", 12);
	ask_doctor(true);
	assert_says("may stop\tdata\ta\tnode 'n9', which is to have a copy, is none of the agents",
		    "\tzcsi copy drop data n9 --gone");
	c->silent = ERR_UNAVAILABLE; /* c may be node n9 */
	ask_doctor(true);
	assert_null(strstr(page, "none of the agents"));
}

static void the_copy_of_a_node_that_was_replaced(void **state)
{
	(void)state;
	add_dataset(a, "data", 1 << 20, "");
	PushState *push = add_push(a, "data", "b", -1);
	push->owed = true;
	ask_doctor(false); /* the copy is dropped soon */
	push->failed = 1;
	push->error = (char *)"it is mounted";
	ask_doctor(true);
	assert_says("waits\tdata\ta\tnode 'b', which was replaced", "\tzcsi copy drop data b");
	push->node_id = (char *)"n9";
	ask_doctor(true);
	assert_says("waits\tdata\ta\tnode 'n9' did not answer", "\tzcsi copy drop data n9 --gone");
}

/* Returns a backup on node b of volume "data", which is on node a. */
static BackupState *add_backup(int64_t age)
{
	const int64_t now = wall_us() / 1000000;
	BackupState *backup = new_backup_state(&call.arena);

	add_dataset(a, "data", 1 << 20, "");
	backup->id = (char *)"data";
	backup->name = (char *)"tank/zcsi/_backup/data";
	backup->every = 3600;
	backup->verified = now;
	backup->snapshots = arena_alloc(&call.arena, sizeof(CopySnapshot *));
	backup->snapshots[backup->n_snapshots++] = new_copy_snapshot(&call.arena);
	backup->snapshots[0]->creation = now - age;
	b->backup = backup;
	return backup;
}

static void backups_that_are_well(void **state)
{
	(void)state;
	BackupState *backup = add_backup(7100);
	ask_doctor(false);
	assert_string_equal(page, "");
	backup->verified = 0;
	ask_doctor(false);
	assert_says("note\tdata\tb\tits backup was never read back", "\tzcsi backup verify data b");
	backup->verified = wall_us() / 1000000 - 91 * (int64_t)86400;
	ask_doctor(false);
	assert_says("note\tdata\tb\tits backup was not read back for 90 days", "verify data b");
}

static void backups_that_have_to_be_run(void **state)
{
	(void)state;
	BackupState *backup = add_backup(7300);
	ask_doctor(true);
	assert_says("may stop\tdata\tb\tits backup is 3 h old, and is to be made every 1 h",
		    "\tzcsi backup run data b");
	backup->busy = true;
	ask_doctor(false);
	assert_string_equal(page, "");
	backup->busy = false;
	backup->token = (char *)"1-2-3";
	ask_doctor(true);
	assert_says("may stop\tdata\tb\tthe stream to its backup was interrupted", "run data b");
	backup->n_snapshots = 0;
	ask_doctor(true);
	assert_says("may stop\tdata\tb\tits backup has no data yet", "run data b");
}

static void backups_that_failed(void **state)
{
	(void)state;
	BackupState *backup = add_backup(60);
	backup->error = (char *)"no agent answers as node 'a'";
	ask_doctor(true);
	assert_says("may stop\tdata\tb\tits backup failed: no agent", "\tzcsi backup run data b");
	backup->verify_failed = true;
	ask_doctor(true);
	assert_says("may stop\tdata\tb\tits backup could not be read back: no agent",
		    "\tzcsi backup verify data b");
	backup->verify_failed = false;
	backup->error = (char *)"nothing in common: destroy it with 'zcsi backup drop data b'";
	ask_doctor(true);
	assert_says("may stop\tdata\tb\tits backup does not go on: nothing in common",
		    "\tzfs rename tank/zcsi/_backup/data tank/data-backup");
}

static void a_backup_whose_volume_is_gone(void **state)
{
	(void)state;
	BackupState *backup = add_backup(60);
	a->n_datasets = 0;
	backup->error = (char *)"volume 'data' does not exist";
	ask_doctor(true);
	assert_says("waits\tdata\tb\tit is on no node any more",
		    "\tzcsi backup restore data --node b");
	c->silent = ERR_UNAVAILABLE; /* c may have the volume */
	ask_doctor(true);
	assert_says("may stop\tdata\tb\tits backup failed", "\tzcsi backup run data b");
}

static void a_copy_whose_volume_is_gone(void **state)
{
	(void)state;
	b->copy = new_copy_state(&call.arena);
	b->copy->name = (char *)"tank/zcsi/_replica/data";
	ask_doctor(true);
	assert_says("waits\tdata\tb\tno node has the volume of this copy",
		    "\tzfs rename tank/zcsi/_replica/data tank/data-copy");
	add_push(a, "data", "b", -1)->deleted = true; /* the copy is dropped soon */
	ask_doctor(false);
	a->n_pushes = 0;
	c->silent = ERR_UNAVAILABLE; /* c may have the volume */
	ask_doctor(true);
	assert_null(strstr(page, "no node has the volume"));
	c->silent = ERR_OK;
	add_dataset(a, "data", 1 << 20, "");
	ask_doctor(false);
}

static void a_copy_that_is_not_complete_replaces_no_volume(void **state)
{
	CopySnapshot *snapshot = new_copy_snapshot(&call.arena);

	(void)state;
	snapshot->creation = 1;
	for (int i = 0; i < 2; i++) {
		scripted[i].copy = new_copy_state(&call.arena);
		scripted[i].speaker = "z";
	}
	ask_doctor(true);
	assert_says(
		"stops\tdata\tz\tthe node that has it does not answer, and the copy on node 'a' "
		"is not complete",
		"\t-");
	b->copy->snapshots = arena_alloc(&call.arena, sizeof(snapshot));
	b->copy->snapshots[b->copy->n_snapshots++] = snapshot;
	ask_doctor(true);
	assert_says("stops\tdata\tz\tthe node that has it does not answer; node 'b' has a copy",
		    "\tzcsi failover data --lost z");
	assert_null(strstr(page, "node 'a'"));
}

static void faults_that_agents_tell(void **state)
{
	(void)state;
	Dataset *volume = add_dataset(a, "data", 1 << 20, "");
	Trouble *trouble = new_trouble(&call.arena);
	trouble->text = (char *)"its schedule cannot be read";
	volume->troubles = arena_alloc(&call.arena, sizeof(trouble));
	volume->troubles[volume->n_troubles++] = trouble;
	ask_doctor(true);
	assert_says("may stop\tdata\ta\tits schedule cannot be read", "\t-");
	trouble->remedy = (char *)"zcsi modify data keep=none";
	ask_doctor(true);
	assert_says("may stop\tdata\ta\tits schedule", "\tzcsi modify data keep=none");
}

static void the_command_that_an_agent_names_against_its_problem(void **state)
{
	(void)state;
	c->pool = "tank/zcsi";
	c->problem = "there is no pool 'tank' on this host; import it with 'zpool import tank'";
	ask_doctor(true);
	assert_says("stops\t-\tc\tthere is no pool 'tank'", "\tzpool import tank");
	c->problem = "the pool 'tank' is suspended; repair it and run 'zpool clear tank'";
	ask_doctor(true);
	assert_says("stops\t-\tc\tthe pool 'tank' is suspended", "\tzpool clear tank");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLI_TEST(nothing_is_wrong),
		CLI_TEST(versions_differ),
		CLI_TEST(clocks_differ),
		CLI_TEST(an_old_answer_is_no_wrong_clock),
		CLI_TEST(the_worst_comes_first),
		CLI_TEST(a_trouble_of_a_node_is_said_once),
		CLI_TEST(a_pool_without_space),
		CLI_TEST(volumes_beyond_a_limit),
		CLI_TEST(a_move_is_a_fault_only_between_two_nodes),
		CLI_TEST(a_node_that_is_no_host_is_to_have_a_copy),
		CLI_TEST(the_copy_of_a_node_that_was_replaced),
		CLI_TEST(backups_that_are_well),
		CLI_TEST(backups_that_have_to_be_run),
		CLI_TEST(backups_that_failed),
		CLI_TEST(a_backup_whose_volume_is_gone),
		CLI_TEST(a_copy_whose_volume_is_gone),
		CLI_TEST(a_copy_that_is_not_complete_replaces_no_volume),
		CLI_TEST(faults_that_agents_tell),
		CLI_TEST(the_command_that_an_agent_names_against_its_problem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
