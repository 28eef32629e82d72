/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of zcsi rename: the command fails if a host has anything of the new name, or does not
 * answer. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

#include "proto/copy.h"

static struct client *const a = &scripted[0], *const b = &scripted[1];

/* The answer of node b to one method, instead of the answer of the agent in memory. */
static struct {
	const char *method;   /* name of the method; NULL: none */
	const void *response; /* response of b; NULL: the call fails */
} planted;
static unsigned checks, renames, aborts; /* calls of RenameDataset; how many of them to refuse */
static bool already;                     /* RenameDatasetResponse.already */
static const char *state;                /* state that the command has printed */

static void *empty(const char *method)
{
	struct arena *arena = &cli.arena;

	if (strcmp(method, "GetDatasetUse") == 0)
		return new_get_dataset_use_response(arena);
	if (strcmp(method, "ListBackups") == 0)
		return new_list_backups_response(arena);
	if (strcmp(method, "ListDiverged") == 0)
		return new_list_diverged_response(arena);
	return strcmp(method, "ListReceived") == 0 ? new_list_received_response(arena) : NULL;
}

typeof(fleet_ask) __real_fleet_ask, __wrap_fleet_ask;

struct reply *__wrap_fleet_ask(struct fleet *fleet, struct arena *arena, const char *method,
			       const ProtobufCMessage *request)
{
	struct reply *replies;
	bool is_planted = planted.method && strcmp(planted.method, method) == 0;

	if (!empty(method)) {
		replies = __real_fleet_ask(fleet, arena, method, request);
	} else {
		replies = arena_alloc(arena, N_AGENTS * sizeof(*replies));
		for (size_t i = 0; i < N_AGENTS; i++)
			replies[i].response = empty(method);
	}
	if (is_planted)
		replies[1].response = (void *)planted.response;
	if (is_planted && !planted.response)
		fail(&replies[1].error, ERR_PERMISSION_DENIED, "not you");
	return replies;
}

typeof(fleet_ask_member) __real_fleet_ask_member, __wrap_fleet_ask_member;

struct reply __wrap_fleet_ask_member(struct fleet *fleet, struct arena *arena,
				     const struct member *member, const char *method,
				     const ProtobufCMessage *request)
{
	const RenameDatasetRequest *rename = (const RenameDatasetRequest *)request;
	RenameDatasetResponse *response = new_rename_dataset_response(arena);
	struct reply reply = {.response = response};

	if (strcmp(method, "RenameDataset") != 0)
		return __real_fleet_ask_member(fleet, arena, member, method, request);
	assert_string_equal(member->node, "a");
	assert_string_equal(rename->new_id, "new");
	assert_int_equal(rename->check, !rename->claim);
	response->already = already;
	*(rename->check ? &checks : &renames) += 1;
	if (rename->check || !aborts)
		return reply;
	aborts--;
	reply.response = NULL;
	fail(&reply.error, ERR_ABORTED, "another call looked it up");
	return reply;
}

typeof(table_print) __wrap_table_print;

void __wrap_table_print(FILE *out, const struct table *table, const struct style *style,
			const struct silence *silences, size_t n_silences)
{
	(void)out, (void)style, (void)silences, (void)n_silences;
	state = table->cells[3].text;
}

static int rename_volume(const char *from)
{
	const char **args = arena_alloc(&cli.arena, 2 * sizeof(*args));

	args[0] = from;
	args[1] = "new";
	cli.args = args;
	cli.n_args = 2;
	state = NULL;
	err = (struct error){0};
	ask_members();
	return cli_rename(&cli, &err);
}

static int begin(void **with)
{
	planted.method = NULL;
	checks = renames = aborts = 0;
	already = false;
	int result = cli_begin(with);
	add_dataset(a, "old", 1 << 20, "");
	return result;
}

static void plant(const char *method, const void *response)
{
	planted.method = method;
	planted.response = response;
}

static void assert_refused(enum error_code code, const char *word)
{
	assert_failed(rename_volume("old"), code, word);
	assert_non_null(strstr(err.text, "is not renamed"));
	assert_null(state);
	assert_int_equal(renames, 0);
}

static void a_volume_is_renamed_at_its_agent(void **with)
{
	(void)with;
	assert_int_equal(rename_volume("old"), 0);
	assert_string_equal(state, "renamed");
	assert_int_equal(checks, 1);
	assert_int_equal(renames, 1);
}

/* An agent that was down when a host was forgotten still has the host in its list. */
static void a_host_is_forgotten_by_the_latest_record(void **with)
{
	struct host_row row = {.node_id = arena_strdup(&call.arena, "d"),
			       .endpoint = arena_strdup(&call.arena, "tcp://d:1"),
			       .dataset = arena_strdup(&call.arena, "tank/csi"),
			       .stamp = 1};

	(void)with;
	host_list_set(&a->hosts, &row);
	assert_refused(ERR_UNAVAILABLE, "zcsi forget d");
	row.stamp = 2;
	row.forgotten = true;
	host_list_set(&b->hosts, &row);
	assert_int_equal(rename_volume("old"), 0);
}

static void a_dry_run_only_checks(void **with)
{
	(void)with;
	cli.dry_run = true;
	assert_int_equal(rename_volume("old"), 0);
	assert_string_equal(state, "would be renamed");
	assert_int_equal(renames, 0);
}

static void a_lost_claim_is_taken_again(void **with)
{
	(void)with;
	aborts = 2;
	assert_int_equal(rename_volume("old"), 0);
	assert_int_equal(renames, 3);
}

static void what_was_renamed_before_counts(void **with)
{
	(void)with;
	add_dataset(a, "new", 1 << 20, "");
	assert_failed(rename_volume("gone"), ERR_NOT_FOUND, "'gone' does not exist");
	already = true;
	assert_int_equal(rename_volume("gone"), 0);
	assert_string_equal(state, "renamed already");
	assert_int_equal(renames, 0);
}

static void a_name_that_is_taken_is_refused(void **with)
{
	(void)with;
	const Dataset *volume = add_dataset(b, "new", 1 << 20, "");
	assert_refused(ERR_ALREADY_EXISTS, "exists on node 'b'");
	add_snapshot(b, volume, "s");
	b->n_datasets = 0;
	assert_refused(ERR_ALREADY_EXISTS, "snapshot 'new@s'");
}

static void a_silent_host_is_in_the_way(void **with)
{
	static const char *const asked[] = {
		"GetDatasetUse", "GetDataset",   "ListDatasetSnapshots", "ListBackups",
		"ListCopies",    "ListDiverged", "ListReceived",
	};

	(void)with;
	for (size_t i = 0; i < COUNT(asked); i++) {
		plant(asked[i], NULL);
		assert_refused(ERR_UNAVAILABLE, "'b' did not report");
	}
	planted.method = NULL;
	b->silent = ERR_UNAVAILABLE;
	assert_refused(ERR_UNAVAILABLE, "all agents must answer");
}

static void a_mount_on_another_node_is_in_the_way(void **with)
{
	GetDatasetUseResponse *use = new_get_dataset_use_response(&cli.arena);
	char *path = (char *)"/mnt";

	(void)with;
	use->paths = &path;
	use->n_paths = 1;
	plant("GetDatasetUse", use);
	assert_refused(ERR_FAILED_PRECONDITION, "on node 'b' at '/mnt'");
}

static void a_copy_of_the_name_is_in_the_way(void **with)
{
	ListCopiesResponse *list = new_list_copies_response(&cli.arena);
	HeldCopy *copy = new_held_copy(&cli.arena);

	(void)with;
	list->copies = &copy;
	list->n_copies = 1;
	plant("ListCopies", list);
	assert_refused(ERR_ALREADY_EXISTS, "zcsi why new");
}

static void what_was_put_aside_or_received_is_in_the_way(void **with)
{
	ListDivergedResponse *aside = new_list_diverged_response(&cli.arena);
	DivergedVolume *volume = new_diverged_volume(&cli.arena);
	ListReceivedResponse *received = new_list_received_response(&cli.arena);
	char *name = (char *)"new";

	(void)with;
	volume->id = name;
	volume->name = (char *)"new-1";
	aside->volumes = &volume;
	aside->n_volumes = 1;
	plant("ListDiverged", aside);
	assert_refused(ERR_ALREADY_EXISTS, "zcsi diverged drop new-1");
	volume->id = (char *)"another";
	assert_int_equal(rename_volume("old"), 0);
	renames = 0;
	received->ids = &name;
	received->n_ids = 1;
	plant("ListReceived", received);
	assert_refused(ERR_ALREADY_EXISTS, "zcsi adopt new");
}

static void a_backup_is_in_the_way(void **with)
{
	ListBackupsResponse *list = new_list_backups_response(&cli.arena);
	BackupState *backup = new_backup_state(&cli.arena);

	(void)with;
	list->backups = &backup;
	list->n_backups = 1;
	plant("ListBackups", list);
	assert_refused(ERR_FAILED_PRECONDITION, "zcsi backup drop old b");
}

#define RENAME_TEST(name) cmocka_unit_test_setup_teardown(name, begin, cli_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RENAME_TEST(a_volume_is_renamed_at_its_agent),
		RENAME_TEST(a_host_is_forgotten_by_the_latest_record),
		RENAME_TEST(a_dry_run_only_checks),
		RENAME_TEST(a_lost_claim_is_taken_again),
		RENAME_TEST(what_was_renamed_before_counts),
		RENAME_TEST(a_name_that_is_taken_is_refused),
		RENAME_TEST(a_silent_host_is_in_the_way),
		RENAME_TEST(a_mount_on_another_node_is_in_the_way),
		RENAME_TEST(a_copy_of_the_name_is_in_the_way),
		RENAME_TEST(what_was_put_aside_or_received_is_in_the_way),
		RENAME_TEST(a_backup_is_in_the_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
