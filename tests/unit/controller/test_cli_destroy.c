/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of --destroy, without which no backup, no last copy, no deleted volume and nothing put
 * aside is destroyed. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

#include "controller/cli/print/statement.h"
#include "controller/cli/stream/send.h"

static struct client *const a = &scripted[0], *const b = &scripted[1];
static unsigned removed, dropped; /* calls of RemoveMember and of DropDiverged */
static unsigned emptied;          /* calls of DestroyTrashedDataset */
static bool is_stuck;             /* DestroyTrashedDataset fails */

typeof(fleet_ask) __real_fleet_ask, __wrap_fleet_ask;

struct reply *__wrap_fleet_ask(struct fleet *fleet, struct arena *arena, const char *method,
			       const ProtobufCMessage *request)
{
	if (strcmp(method, "ListDiverged") != 0)
		return __real_fleet_ask(fleet, arena, method, request);
	struct reply *replies = arena_alloc(arena, N_AGENTS * sizeof(*replies));
	ListDivergedResponse *list = new_list_diverged_response(arena);
	DivergedVolume *volume = new_diverged_volume(arena);
	volume->id = (char *)"data";
	volume->name = (char *)"data-0";
	list->volumes = arena_alloc(arena, sizeof(DivergedVolume *));
	list->volumes[list->n_volumes++] = volume;
	replies[0].response = list;
	for (size_t i = 1; i < N_AGENTS; i++)
		replies[i].response = new_list_diverged_response(arena);
	return replies;
}

typeof(send_to_stdout) __wrap_send_to_stdout;

int __wrap_send_to_stdout(struct cli *with, const struct member *from,
			  const struct download *download, struct error *why)
{
	(void)with;
	(void)from;
	(void)download;
	return fail(why, ERR_UNIMPLEMENTED, "no stream is tested here");
}

typeof(fleet_ask_member) __real_fleet_ask_member, __wrap_fleet_ask_member;

struct reply __wrap_fleet_ask_member(struct fleet *fleet, struct arena *arena,
				     const struct member *member, const char *method,
				     const ProtobufCMessage *request)
{
	if (strcmp(method, "RemoveMember") == 0) {
		removed++;
		return (struct reply){.response = new_remove_member_response(arena)};
	}
	if (strcmp(method, "DropDiverged") == 0) {
		dropped++;
		return (struct reply){.response = new_drop_diverged_response(arena)};
	}
	if (strcmp(method, "DestroyTrashedDataset") == 0) {
		struct reply reply = {.response = new_destroy_trashed_dataset_response(arena)};
		emptied++;
		if (is_stuck && fail(&reply.error, ERR_FAILED_PRECONDITION, "it is mounted"))
			reply.response = NULL;
		return reply;
	}
	return __real_fleet_ask_member(fleet, arena, member, method, request);
}

static int begin(void **state)
{
	removed = dropped = emptied = 0;
	is_stuck = false;
	return cli_begin(state);
}

static const struct line {
	command_fn *run;
	const char *const *words;
	size_t n;
} copy = {cli_copy, (const char *const[]){"drop", "data", "b"}, 3},
  other_copy = {cli_copy, (const char *const[]){"drop", "data", "n9"}, 3},
  backup = {cli_backup, (const char *const[]){"drop", "data", "b"}, 3},
  diverged = {cli_diverged, (const char *const[]){"drop", "data-0"}, 2},
  trash = {cli_trash, (const char *const[]){"empty"}, 1}, *typed;

static int run_typed(struct cli *of, struct error *error)
{
	of->args = typed->words;
	of->n_args = typed->n;
	return typed->run(of, error);
}

/* Run a command line with this value of --destroy. Returns 0, CLI_DEGRADED if the command requires
 * --destroy, or -1 with err. */
static int type(const struct line *line, const char *destroy)
{
	int result;

	typed = line;
	cli.destroy = destroy;
	cli.degraded = false;
	printed(run_typed, "", &result);
	return result < 0 ? -1 : cli.degraded ? CLI_DEGRADED : 0;
}

static DatasetCopy *add_copy(Dataset *volume, const char *node, bool known, bool complete)
{
	DatasetCopy *added = new_dataset_copy(&call.arena);

	if (!volume->copies)
		volume->copies = arena_alloc(&call.arena, 8 * sizeof(added));
	added->node_id = (char *)node;
	added->known = known;
	added->complete = complete;
	volume->copies[volume->n_copies++] = added;
	return added;
}

static void the_number_has_to_be_right(void **state)
{
	const struct destruction two = {"zcsi x", "there are 2", "them", 2};

	(void)state;
	assert_int_equal(statement_check(&two, NULL, &err), 0);
	assert_int_equal(statement_check(&two, "2", &err), 1);
	assert_failed(statement_check(&two, "3", &err), ERR_FAILED_PRECONDITION,
		      "since there are 2, not 3: look again, and run 'zcsi x --destroy 2'");
	assert_failed(statement_check(&two, "", &err), ERR_INVALID_ARGUMENT, "not a number");
	assert_failed(statement_check(&two, "2x", &err), ERR_INVALID_ARGUMENT, "not a number");
}

static void the_last_complete_copy_wants_a_statement(void **state)
{
	(void)state;
	add_copy(add_dataset(a, "data", 1 << 20, ""), "b", true, true);
	assert_int_equal(type(&copy, NULL), CLI_DEGRADED);
	assert_int_equal(type(&copy, "2"), -1);
	assert_int_equal(removed, 0);
	assert_int_equal(type(&copy, "1"), 0);
	assert_int_equal(removed, 1);
}

static void a_copy_of_which_the_owner_does_not_know_yet_may_be_the_last(void **state)
{
	Dataset *volume = add_dataset(a, "data", 1 << 20, "");

	(void)state;
	add_copy(volume, "b", false, false);
	add_copy(volume, "c", true, false);
	assert_int_equal(type(&copy, NULL), CLI_DEGRADED);
	assert_int_equal(removed, 0);
}

static void another_copy_is_dropped_at_once(void **state)
{
	Dataset *volume = add_dataset(a, "data", 1 << 20, "");
	DatasetCopy *first = add_copy(volume, "b", true, true);
	DatasetCopy *second = add_copy(volume, "c", true, true);

	(void)state;
	assert_int_equal(type(&copy, NULL), 0);
	second->complete = first->complete = false;
	assert_int_equal(type(&copy, NULL), 0);
	assert_int_equal(type(&other_copy, NULL), 0);
	assert_int_equal(removed, 3);
}

static void a_copy_that_is_lost_with_its_node_needs_no_other_statement(void **state)
{
	(void)state;
	add_copy(add_dataset(a, "data", 1 << 20, ""), "b", true, true);
	cli.gone = true;
	assert_int_equal(type(&copy, NULL), CLI_DEGRADED); /* node b answers */
	b->silent = ERR_UNAVAILABLE;
	assert_int_equal(type(&copy, NULL), 0);
	assert_int_equal(removed, 1);
}

static void the_snapshots_of_a_backup_are_counted(void **state)
{
	(void)state;
	b->backup = new_backup_state(&call.arena);
	b->backup->count = 31;
	assert_int_equal(type(&backup, NULL), CLI_DEGRADED);
	assert_int_equal(type(&backup, "30"), -1);
	assert_non_null(strstr(err.text, "the backup has 31 snapshots, not 30"));
	assert_non_null(b->backup);
	type(&backup, "31");
	assert_null(b->backup);
}

static void a_backup_without_a_snapshot_is_dropped_at_once(void **state)
{
	(void)state;
	b->backup = new_backup_state(&call.arena);
	type(&backup, NULL);
	assert_null(b->backup);
}

static void what_was_put_aside_wants_a_statement(void **state)
{
	(void)state;
	assert_int_equal(type(&diverged, NULL), CLI_DEGRADED);
	assert_int_equal(type(&diverged, "0"), -1);
	assert_non_null(strstr(err.text, "'zcsi diverged drop data-0 --node a --destroy 1'"));
	cli.dry_run = true;
	assert_int_equal(type(&diverged, NULL), 0);
	assert_int_equal(type(&diverged, "1"), 0);
	assert_int_equal(dropped, 0);
	cli.dry_run = false;
	assert_int_equal(type(&diverged, "1"), 0);
	assert_int_equal(dropped, 1);
}

/* Add a deleted volume with a snapshot. until: when its time in the trash ends; 0: never. */
static void add_deleted(struct client *client, const char *id, int64_t until)
{
	TrashedDataset *entry = client->trashed = new_trashed_dataset(&call.arena);

	entry->id = entry->leaf = (char *)id;
	entry->until = until;
	entry->snapshots = 1;
}

static void a_volume_that_is_kept_for_its_snapshots_does_not_count(void **state)
{
	(void)state;
	add_deleted(a, "one", 1);
	add_deleted(b, "two", 0);
	assert_int_equal(type(&trash, NULL), CLI_DEGRADED);
	is_stuck = true;
	assert_int_equal(type(&trash, "1"), -1);
	assert_non_null(strstr(err.text, "1 of 1 deleted volumes stay"));
	is_stuck = false;
	assert_int_equal(type(&trash, "1"), 0);
	assert_int_equal(emptied, 2);
	a->trashed = NULL;
	assert_int_equal(type(&trash, NULL), 0);
	assert_int_equal(type(&trash, "0"), 0);
	assert_int_equal(emptied, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, cli_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_number_has_to_be_right),
		TEST(the_last_complete_copy_wants_a_statement),
		TEST(a_copy_of_which_the_owner_does_not_know_yet_may_be_the_last),
		TEST(another_copy_is_dropped_at_once),
		TEST(a_copy_that_is_lost_with_its_node_needs_no_other_statement),
		TEST(the_snapshots_of_a_backup_are_counted),
		TEST(a_backup_without_a_snapshot_is_dropped_at_once),
		TEST(what_was_put_aside_wants_a_statement),
		TEST(a_volume_that_is_kept_for_its_snapshots_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
