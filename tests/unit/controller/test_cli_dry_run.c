/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of --dry-run: a command prints a sentence, and sends nothing to agents but calls that
 * read. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

#include <signal.h>
#include <sys/wait.h>

#include "controller/cli/dry_run.h"

static struct client *const a = &scripted[0], *const b = &scripted[1], *const c = &scripted[2];

/* A command line of up to four words, and what it prints. */
struct line {
	command_fn *run;
	const char *words[4];
	const char *printed;
};

static const struct line *typed;

static int run_typed(struct cli *of, struct error *error)
{
	size_t n = 0;

	while (n < COUNT(typed->words) && typed->words[n])
		n++;
	of->args = typed->words;
	of->n_args = n;
	of->would = NULL;
	of->n_would = 0;
	int result = typed->run(of, error);
	dry_run_print(of);
	return result;
}

static const char *type(const struct line *line, int *ret)
{
	typed = line;
	return printed(run_typed, "", ret);
}

static Dataset *add_volume(void)
{
	Dataset *volume = add_dataset(a, "data", 1 << 30, "zfs.compression=lz4\n");
	DatasetCopy *copy = new_dataset_copy(&call.arena);

	copy->node_id = arena_strdup(&call.arena, "b");
	volume->copies = arena_alloc(&call.arena, sizeof(copy));
	volume->copies[volume->n_copies++] = copy;
	add_push(a, "data", "b", 3);
	return volume;
}

static void add_backup(void)
{
	CopySnapshot *snapshot = new_copy_snapshot(&call.arena);

	b->backup = new_backup_state(&call.arena);
	b->backup->id = arena_strdup(&call.arena, "data");
	b->backup->volume = new_dataset(&call.arena);
	b->backup->volume->format = arena_strdup(&call.arena, "zfs");
	b->backup->snapshots = arena_alloc(&call.arena, sizeof(snapshot));
	b->backup->snapshots[b->backup->n_snapshots++] = snapshot;
	snapshot->name = arena_strdup(&call.arena, "_backup-1");
}

static int begin(void **state)
{
	only_reads = true;
	int result = cli_begin(state);
	add_snapshot(a, add_volume(), "monday");
	add_backup();
	c->trashed = new_trashed_dataset(&call.arena);
	c->trashed->id = arena_strdup(&call.arena, "old");
	c->trashed->leaf = arena_strdup(&call.arena, "old-1");
	cli.dry_run = true;
	return result;
}

static const struct line sentences[] = {
	{cli_resize,
	 {"data", "2G"},
	 "would resize volume 'data' on node 'a' from 1.00G to 2.00G\n"},
	{cli_resize, {"data", "1G"}, "would leave volume 'data' on node 'a' at 1.00G\n"},
	{cli_modify,
	 {"data", "zfs.atime=off", "keep=daily=3"},
	 "would set zfs.atime=off keep=daily=3 of volume 'data' on node 'a'\n"},
	{cli_snapshot,
	 {"data", "tuesday"},
	 "would take snapshot 'tuesday' of volume 'data' on node 'a'\n"},
	{cli_trash,
	 {"restore", "old"},
	 "would make the deleted volume 'old' on node 'c' a volume again\n"},
	{cli_copy,
	 {"add", "data", "c"},
	 "would keep a copy of volume 'data' of node 'a' on node 'c'\n"},
	{cli_sync,
	 {"data"},
	 "would send what was written to volume 'data' of node 'a' to all its copies\n"},
	{cli_pause, {"data"}, "would send nothing more of volume 'data' of node 'a' to node 'b'\n"},
	{cli_resume,
	 {"data"},
	 "would send again what is written to volume 'data' of node 'a' to node 'b'\n"},
	{cli_move, {"data", "b"}, "would move volume 'data' from node 'a' to node 'b'\n"},
	{cli_move, {"data", "a"}, "would leave volume 'data' on node 'a', which has it\n"},
	{cli_confirm,
	 {"data"},
	 "would use volume 'data' on node 'a', even if nodes with copies do not answer\n"},
	{cli_backup,
	 {"add", "data", "b"},
	 "would keep a backup of volume 'data' on node 'b', and pull from node 'a' what it "
	 "lacks\n"},
	{cli_backup,
	 {"run", "data"},
	 "would run the backup of volume 'data' on node 'b', and pull from node 'a' what "
	 "it lacks\n"},
	{cli_backup,
	 {"verify", "data"},
	 "would read the newest snapshot of the backup of volume 'data' on node 'b', and "
	 "record that\n"},
};

static void nothing_is_sent_but_a_sentence_printed(void **state)
{
	int result;

	(void)state;
	for (size_t i = 0; i < COUNT(sentences); i++) {
		assert_string_equal(type(&sentences[i], &result), sentences[i].printed);
		assert_int_equal(result, 0);
	}
	assert_int_equal(a->promised, 0);
	assert_int_equal(c->promised, 0);
}

typeof(fleet_ask_member) __real_fleet_ask_member, __wrap_fleet_ask_member;

/* Agent a has received "films". */
struct reply __wrap_fleet_ask_member(struct fleet *fleet, struct arena *arena,
				     const struct member *member, const char *method,
				     const ProtobufCMessage *request)
{
	static char films[] = "films", *ids[] = {films};
	ListReceivedResponse *list = new_list_received_response(arena);

	if (strcmp(method, "ListReceived") != 0)
		return __real_fleet_ask_member(fleet, arena, member, method, request);
	list->ids = ids;
	list->n_ids = strcmp(member->node, "a") == 0;
	return (struct reply){.response = list};
}

static void the_end_of_a_snapshot_is_a_sentence_too(void **state)
{
	static const struct line line = {
		cli_snapshot,
		{"data@monday"},
		"would destroy snapshot 'data@monday' of volume 'data' on node 'a'\n"};
	int result;

	(void)state;
	cli.drop = true;
	assert_string_equal(type(&line, &result), line.printed);
	assert_int_equal(result, 0);
	a->snapshots[0]->name = arena_strdup(&call.arena, "");
	assert_string_equal(type(&line, &result), "");
	assert_failed(result, ERR_FAILED_PRECONDITION, "another tool or a schedule took it");
}

static void a_snapshot_that_exists_is_printed(void **state)
{
	static const struct line line = {cli_snapshot, {"data", "monday"}, NULL};
	int result;

	(void)state;
	assert_non_null(strstr(type(&line, &result), "data@monday\tdata\ta\t"));
	assert_int_equal(cli.n_would, 0);
	assert_int_equal(result, 0);
}

/* The volume was on node c, which had it attached; no node can use it by that publication. */
static void the_end_of_a_publication_is_a_sentence_too(void **state)
{
	static const struct line line = {cli_unpublish, {"data"}, NULL};
	Publication *publication = new_publication(&call.arena);
	int result;

	(void)state;
	publication->node_id = arena_strdup(&call.arena, "c");
	a->datasets[0]->published = &publication;
	a->datasets[0]->n_published = 1;
	assert_string_equal(type(&line, &result), "would detach volume 'data' from node 'c'\n");
	assert_int_equal(result, 0);
	assert_string_equal(type(&(struct line){cli_move, {"data", "b"}, NULL}, &result), "");
	assert_failed(result, ERR_FAILED_PRECONDITION, "attached to node 'c'");
}

/* A sentence about a new volume; --as gives its name. */
static void a_name_is_looked_up_without_a_claim(void **state)
{
	static const struct line lines[] = {
		{cli_restore,
		 {"data@monday"},
		 "would make volume 'new' of 1.00G on node 'a', a clone of snapshot 'data@monday' "
		 "of volume 'data'\n"},
		{cli_backup,
		 {"restore", "data"},
		 "would make volume 'new' on node 'b' of snapshot '_backup-1' of its backup of "
		 "volume 'data'\n"},
	};
	static const struct line adopt = {
		cli_adopt, {"films"}, "would make what node 'a' received as 'films' a volume\n"};
	int result;

	(void)state;
	cli.node = "a";
	assert_string_equal(type(&adopt, &result), adopt.printed);
	cli.node = NULL;
	cli.as = "new";
	for (size_t i = 0; i < COUNT(lines); i++) {
		assert_string_equal(type(&lines[i], &result), lines[i].printed);
		assert_int_equal(result, 0);
	}
	assert_int_equal(a->promised, 0);
	cli.as = "data";
	for (size_t i = 0; i < COUNT(lines); i++) {
		assert_string_equal(type(&lines[i], &result), "");
		assert_failed(result, ERR_ALREADY_EXISTS, "'data' exists on node 'a'");
	}
}

static void an_impossible_change_fails(void **state)
{
	static const struct {
		struct line line;
		enum error_code code;
		const char *word;
	} cases[] = {
		{{cli_resize, {"data", "1M"}, ""}, ERR_OUT_OF_RANGE, "never shrink"},
		{{cli_resize, {"none", "2G"}, ""}, ERR_NOT_FOUND, "does not exist"},
		{{cli_copy, {"add", "data", "d"}, ""}, ERR_UNAVAILABLE, "node 'd'"},
		{{cli_copy, {"add", "data", "a"}, ""}, ERR_INVALID_ARGUMENT, "itself"},
		{{cli_move, {"data", "c"}, ""}, ERR_FAILED_PRECONDITION, "zcsi copy add data c"},
		{{cli_trash, {"restore", "none"}, ""}, ERR_NOT_FOUND, "zcsi trash list"},
		{{cli_backup, {"add", "data", "d"}, ""}, ERR_NOT_FOUND, "node 'd'"},
		{{cli_backup, {"add", "data", "a"}, ""}, ERR_INVALID_ARGUMENT, "itself"},
		{{cli_adopt, {"none"}, ""}, ERR_NOT_FOUND, "received nothing of the name 'none'"},
	};
	int result;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		cli.node = cases[i].line.run == cli_adopt ? "a" : NULL;
		assert_string_equal(type(&cases[i].line, &result), "");
		assert_failed(result, cases[i].code, cases[i].word);
	}
	cli.node = NULL;
	c->no_copies = "zfs-fuse has none";
	type(&(struct line){cli_copy, {"add", "data", "c"}, ""}, &result);
	assert_failed(result, ERR_FAILED_PRECONDITION, "zfs-fuse has none");
	type(&(struct line){cli_backup, {"add", "data", "c"}, ""}, &result);
	assert_failed(result, ERR_FAILED_PRECONDITION, "zfs-fuse has none");
	a->pushes[0]->paused = true;
	type(&(struct line){cli_move, {"data", "b"}, ""}, &result);
	assert_failed(result, ERR_FAILED_PRECONDITION, "zcsi resume data");
	type(&(struct line){cli_sync, {"data"}, ""}, &result);
	assert_failed(result, ERR_FAILED_PRECONDITION, "zcsi resume data");
}

static void a_move_that_runs_is_named(void **state)
{
	static const struct line line = {cli_move, {"data", "b"}, NULL};
	int result;

	(void)state;
	add_move(a, "data", "b");
	a->move_looks = 10;
	assert_string_equal(type(&line, &result), "would wait until volume 'data' has moved to "
						  "node 'b', which has begun\n");
	cli.cancel = true;
	assert_string_equal(type(&line, &result),
			    "would end the move of volume 'data' and leave it on node 'a'\n");
	assert_int_equal(result, 0);
}

static void sentences_are_json_too(void **state)
{
	static const struct line line = {cli_pause, {"data"}, NULL};
	int result;

	(void)state;
	cli.style.json = true;
	assert_string_equal(type(&line, &result),
			    "{\"version\": 1,\n \"dry_run\": [\n  {\"would\": \"send nothing more "
			    "of volume 'data' of node 'a' to node 'b'\"}],\n \"silent\": []}\n");
}

/* Returns true if the program aborts before it calls the method. */
static bool aborts(const char *method, const ProtobufCMessage *request)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		signal(SIGABRT, SIG_DFL);
		close(STDERR_FILENO);
		fleet_begin(cli.fleet, &cli.arena, 0, method, request);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status);
}

static void a_call_that_changes_something_is_not_made(void **state)
{
	GetDatasetRequest *get = new_get_dataset_request(&cli.arena);
	RenameDatasetRequest *rename = new_rename_dataset_request(&cli.arena);

	(void)state;
	assert_true(aborts("Pause", &new_pause_request(&cli.arena)->base));
	assert_true(aborts("RenameDataset", &rename->base));
	rename->check = true;
	assert_false(aborts("RenameDataset", &rename->base));
	assert_false(aborts("GetDataset", &get->base));
	get->claim = 1;
	assert_true(aborts("GetDataset", &get->base));
}

#define DRY_RUN_TEST(name) cmocka_unit_test_setup_teardown(name, begin, cli_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DRY_RUN_TEST(nothing_is_sent_but_a_sentence_printed),
		DRY_RUN_TEST(the_end_of_a_snapshot_is_a_sentence_too),
		DRY_RUN_TEST(a_snapshot_that_exists_is_printed),
		DRY_RUN_TEST(the_end_of_a_publication_is_a_sentence_too),
		DRY_RUN_TEST(a_name_is_looked_up_without_a_claim),
		DRY_RUN_TEST(an_impossible_change_fails),
		DRY_RUN_TEST(a_move_that_runs_is_named),
		DRY_RUN_TEST(sentences_are_json_too),
		DRY_RUN_TEST(a_call_that_changes_something_is_not_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
