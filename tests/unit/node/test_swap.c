/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the exchange of a volume's dataset for a clone, and of the start of a zcsi-node, which
 * ends the rollbacks that an earlier one has begun.
 */
#include "node/change/swap.h"

#include <string.h>

#include "node/agent/trash.h"
#include "node/catalog/change.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

#define GUID 7

/* A dataset of the pool; its name is "" if the dataset was destroyed. */
struct made {
	char name[64];
	const char *id, *mark, *origin;
};

static struct made made[4];
static struct catalog *catalog;
static const char *reread;
static enum error_code fails; /* how each change of the pool fails */
static bool reading;          /* the first reading of the pool has not ended */
/* How the next two renames end, into the trash and out of it; HANGS: the zfs is hung. */
static enum end { ENDS, REFUSED, HANGS, HANGS_DONE } ends[2];
static unsigned n_renames;
static uint64_t shown = GUID; /* the guid that is reported for each name */

static struct made *named(const char *name)
{
	for (size_t i = 0; i < COUNT(made); i++)
		if (*name && strcmp(made[i].name, name) == 0)
			return &made[i];
	return NULL;
}

static struct made *existing(const char *name)
{
	struct made *found = named(name);

	assert_non_null(found);
	return found ? found : made;
}

/* Returns the datasets with a mark as lines "name\tproperty\tvalue". */
static const char *marks(void)
{
	const char *text = "";

	for (size_t i = 0; i < COUNT(made); i++)
		if (*made[i].name && made[i].mark)
			text = arena_printf(&arena,
					    "%s%s\tzcsi:volume\t%s\n%s\tzcsi:rollback\t%s\n", text,
					    made[i].name, made[i].id, made[i].name, made[i].mark);
	return text;
}

int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *err);
int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *err)
{
	const char *const *argv = exec->argv;

	if (strcmp(argv[1], "list") == 0) {
		*ret_out = mem_strdup("");
		return 0;
	}
	if (strcmp(argv[3], "-d") == 0) {
		*ret_out = mem_strdup(zfs_table_output(&arena, zfs_table_asked(argv), marks()));
		return 0;
	}
	const struct made *found = named(argv[6]);
	if (!found)
		return fail(err, ERR_NOT_FOUND, "it does not exist");
	if (strcmp(argv[5], SWAP_PROPERTY) == 0)
		*ret_out = mem_strdup(arena_printf(&arena, "%s\n", found->mark));
	else if (strcmp(argv[5], "type") == 0)
		*ret_out = mem_strdup("filesystem\n");
	else if (strcmp(argv[5], "origin") == 0)
		*ret_out = mem_strdup(found->origin ? found->origin : "-");
	else
		*ret_out = mem_strdup(arena_printf(&arena, "local\t%s\n", found->id));
	return 0;
}

typeof(zfs_guid) __wrap_zfs_guid;

int __wrap_zfs_guid(const char *name, uint64_t *ret, struct error *err)
{
	*ret = shown;
	return named(name) ? 0 : fail(err, ERR_UNAVAILABLE, "a zfs is hung");
}

typeof(catalog_await) __wrap_catalog_await;

int __wrap_catalog_await(struct catalog *of, int64_t deadline, struct error *err)
{
	(void)of, (void)deadline;
	return reading ? fail(err, ERR_UNAVAILABLE, "the pool is read") : 0;
}

typeof(zfs_is_missing) __wrap_zfs_is_missing;

int __wrap_zfs_is_missing(const char *parent, struct error *err)
{
	assert_string_equal(parent, "t/p");
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}

static int change(struct error *err)
{
	return fails ? fail(err, fails, "zfs says no") : 0;
}

int __wrap_zfs_destroy(const char *name, struct error *err);
int __wrap_zfs_destroy(const char *name, struct error *err)
{
	struct made *found = existing(name);

	if (change(err) < 0)
		return -1;
	found->name[0] = '\0';
	return 0;
}

int __wrap_zfs_rename(const char *name, const char *new_name, struct error *err);
int __wrap_zfs_rename(const char *name, const char *new_name, struct error *err)
{
	struct made *found = existing(name);

	assert_null(named(new_name));
	if (change(err) < 0)
		return -1;
	snprintf(found->name, sizeof(found->name), "%s", new_name);
	return 0;
}

typeof(trash_rename) __wrap_trash_rename;

int __wrap_trash_rename(struct rpc_call *call, const struct dataset *dataset, const char *name,
			struct error *err)
{
	const enum end end = ends[n_renames++];
	struct made *found = existing(dataset->name);

	(void)call;
	if (end == REFUSED)
		return fail(err, ERR_FAILED_PRECONDITION, "zfs says no");
	if (end == HANGS)
		found->name[0] = '\0'; /* the dataset has neither name while zfs is hung */
	else
		snprintf(found->name, sizeof(found->name), "%s", name);
	return end == ENDS ? 0 : fail(err, ERR_UNAVAILABLE, "a zfs is hung");
}

typeof(zfs_set) __wrap_zfs_set;

int __wrap_zfs_set(const char *name, const struct zfs_properties *properties, struct error *err)
{
	(void)err;
	assert_string_equal(name, "t/p/app");
	assert_int_equal(properties->n, 1);
	assert_string_equal(properties->rows[0].name, "zcsi:deleted");
	return 0;
}

int __wrap_zfs_promote(const char *name, struct error *err);
int __wrap_zfs_promote(const char *name, struct error *err)
{
	struct made *found = existing(name);

	if (change(err) < 0)
		return -1;
	found->origin = NULL;
	return 0;
}

typeof(catalog_reread) __wrap_catalog_reread;

int __wrap_catalog_reread(struct catalog *of, int64_t deadline, const char *name, struct error *err)
{
	(void)of, (void)deadline, (void)err;
	reread = name;
	return 0;
}

static int begin(void **state)
{
	(void)state;
	memset(made, 0, sizeof(made));
	reread = NULL;
	fails = ERR_OK;
	reading = false;
	memset(ends, 0, sizeof(ends));
	n_renames = 0;
	catalog = catalog_new("t/p", 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	catalog_free(catalog);
	return 0;
}

static int finish(struct error *err)
{
	return swap_finish_earlier(catalog, &arena, 0, err);
}

static void a_clone_becomes_the_volume_if_that_was_renamed(void **state)
{
	struct error err;

	(void)state;
	made[0] = (struct made){"t/p/_trash/new-app", "app", "7", "t/p/_trash/old-app-7@one"};
	made[1] = (struct made){.name = "t/p/_trash/old-app-7", .id = "app"};
	assert_int_equal(finish(&err), 0);
	assert_string_equal(made[0].name, "t/p/app");
	assert_null(made[0].origin);
	assert_string_equal(reread, "t/p/app");
	made[1] = (struct made){0};
	assert_int_equal(finish(&err), 0);
	assert_string_equal(made[0].name, "t/p/app");
}

static void a_clone_beside_its_volume_is_destroyed(void **state)
{
	struct error err;

	(void)state;
	made[0] = (struct made){"t/p/_trash/new-app", "app", "7", "t/p/app@one"};
	made[1] = (struct made){.name = "t/p/app", .id = "app"};
	assert_int_equal(finish(&err), 0);
	assert_null(named("t/p/_trash/new-app"));
	assert_non_null(named("t/p/app"));
	assert_null(reread);
}

/*
 * A deleted volume "new-app" that was once rolled back looks in the trash like the clone of a
 * rollback.
 */
static void a_deleted_volume_whose_name_begins_with_new_is_no_clone(void **state)
{
	struct error err;

	(void)state;
	made[0] = (struct made){"t/p/_trash/new-app-8", "new-app", "7+512", NULL};
	made[1] = (struct made){"t/p/app-8", "app-8", "6+512", NULL};
	assert_int_equal(finish(&err), 0);
	assert_non_null(named("t/p/_trash/new-app-8"));
	strcpy(made[1].name, "t/p/_trash/old-app-8-7");
	assert_int_equal(finish(&err), 0);
	assert_non_null(named("t/p/_trash/new-app-8"));
	assert_null(reread);
}

static void only_what_a_volume_needs_to_exist_is_waited_for(void **state)
{
	struct error err;

	(void)state;
	made[0] = (struct made){"t/p/_trash/new-app", "app", "7", "t/p/app@one"};
	made[1] = (struct made){.name = "t/p/app", .id = "app"};
	made[2] = (struct made){"t/p/db", "db", "9+512", "t/p/_trash/old-db-9@one"};
	made[3] = (struct made){.name = "t/p/_trash/old-db-9", .id = "db"};
	fails = ERR_FAILED_PRECONDITION;
	assert_int_equal(finish(&err), 0);
	fails = ERR_UNAVAILABLE;
	assert_int_equal(finish(&err), -1);
	fails = ERR_FAILED_PRECONDITION;
	strcpy(made[1].name, "t/p/_trash/old-app-7");
	assert_int_equal(finish(&err), -1);
	fails = ERR_OK;
	assert_int_equal(finish(&err), 0);
	assert_non_null(named("t/p/app"));
	assert_null(existing("t/p/db")->origin);
}

/* The owner of the volume `app` has set a value with lines that look like a mark of `db`. */
static void a_value_with_a_line_break_ends_no_rollback_of_another_volume(void **state)
{
	struct error err;

	(void)state;
	made[0] = (struct made){"t/p/app",
				"app\\nt/p/_trash/new-db\tzcsi:volume\tdb\\n"
				"t/p/_trash/new-db\tzcsi:rollback\t9\tlocal",
				"7", NULL};
	made[1] = (struct made){.name = "t/p/db", .id = "db"};
	made[2] = (struct made){.name = "t/p/_trash/new-db", .id = "db"};
	assert_int_equal(finish(&err), 0);
	assert_non_null(named("t/p/_trash/new-db"));
}

/*
 * A volume that is missing in the middle of a rollback is waited for, as only a person can tell
 * which of its datasets has a wrong value.
 */
static void a_damaged_dataset_is_waited_for_if_its_volume_may_come_of_it(void **state)
{
	static const struct made next = {"t/p/_trash/new-app", "app", "7", NULL},
				 old = {"t/p/_trash/old-app-7", "app\\n", "6+512", NULL};
	struct error err;

	(void)state;
	made[0] = next;
	made[0].id = "app\\n";
	made[1] = old;
	assert_int_equal(finish(&err), -1);
	assert_non_null(strstr(err.text, "'t/p/_trash/new-app'"));
	assert_non_null(strstr(err.text, "zcsi:volume or zcsi:rollback;"));
	made[2] = (struct made){"t/p/app", "app", "5+512", NULL};
	assert_int_equal(finish(&err), 0);
	made[0] = old;
	made[1] = made[2] = (struct made){0};
	assert_int_equal(finish(&err), 0);
	made[1] = next;
	assert_int_equal(finish(&err), -1);
	assert_non_null(strstr(err.text, "'t/p/_trash/old-app-7'"));
	strcpy(made[1].name, "t/p/_trash/new-app-7");
	assert_int_equal(finish(&err), 0);
}

/*
 * The first reading of the pool may have found snapshots under their former names, and the catalog
 * would lack them under the new ones.
 */
static void snapshots_are_taken_back_after_the_first_reading(void **state)
{
	struct error err;

	(void)state;
	made[0] = (struct made){"t/p/app", "app", "7+512", "t/p/_trash/old-app-7@one"};
	made[1] = (struct made){.name = "t/p/_trash/old-app-7", .id = "app"};
	reading = true;
	assert_int_equal(finish(&err), -1);
	assert_non_null(made[0].origin);
	reading = false;
	assert_int_equal(finish(&err), 0);
	assert_null(made[0].origin);
}

static void a_clone_with_a_line_break_in_its_mark_is_not_destroyed(void **state)
{
	const struct swap swap = {"t/p/app", "t/p/_trash/new-app", "t/p/_trash/old-app-7"};
	struct error err;

	(void)state;
	made[0] = (struct made){.name = "t/p/app", .id = "app"};
	made[1] = (struct made){.name = "t/p/_trash/new-app", .id = "app", .mark = "7\nx"};
	assert_int_equal(swap_discard(&swap, &err), -1);
	assert_non_null(strstr(err.text, "'t/p/_trash/new-app'"));
	made[1].mark = "7";
	assert_int_equal(swap_discard(&swap, &err), 0);
	assert_null(named("t/p/_trash/new-app"));
}

/*
 * Run an exchange whose renames end as given. Returns true if the volume may have no dataset then.
 */
static bool is_missing_after(enum end first, enum error_code rename, enum end back, int expected)
{
	const struct swap swap = {"t/p/app", "t/p/_trash/new-app", "t/p/_trash/old-app-7"};
	struct dataset volume = {.id = (char *)"app", .name = (char *)"t/p/app", .guid = GUID};
	struct rpc_call call = {.arena = {.cap = SIZE_MAX}};
	bool missing = !expected;
	struct error err;

	begin(NULL);
	made[0] = (struct made){.name = "t/p/app", .id = "app"};
	made[1] = (struct made){.name = "t/p/_trash/new-app", .id = "app"};
	ends[0] = first;
	fails = rename;
	ends[1] = back;
	assert_int_equal(swap_exchange(&call, &swap, &volume, &missing, &err), expected);
	assert_int_equal(volume.keep, TRASH_KEEP_S);
	end(NULL);
	arena_fini(&call.arena);
	return missing;
}

static void both_datasets_of_an_exchange_are_renamed(void **state)
{
	(void)state;
	assert_false(is_missing_after(ENDS, ERR_OK, ENDS, 0));
	assert_string_equal(made[0].name, "t/p/_trash/old-app-7");
	assert_string_equal(made[1].name, "t/p/app");
	assert_int_equal(n_renames, 1);
}

static void a_volume_that_was_not_exchanged_has_its_dataset(void **state)
{
	(void)state;
	assert_false(is_missing_after(REFUSED, ERR_OK, ENDS, -1));
	assert_string_equal(made[0].name, "t/p/app");
	assert_false(is_missing_after(ENDS, ERR_FAILED_PRECONDITION, ENDS, -1));
	assert_string_equal(made[0].name, "t/p/app");
	assert_int_equal(n_renames, 2);
}

static void a_volume_that_zfs_does_not_show_may_have_no_dataset(void **state)
{
	(void)state;
	assert_true(is_missing_after(HANGS, ERR_OK, ENDS, -1));
	assert_true(is_missing_after(HANGS_DONE, ERR_OK, ENDS, -1));
	assert_true(is_missing_after(ENDS, ERR_UNAVAILABLE, HANGS, -1));
	assert_true(is_missing_after(ENDS, ERR_UNAVAILABLE, REFUSED, -1));
	shown = GUID + 1; /* another dataset has the volume's name */
	assert_true(is_missing_after(REFUSED, ERR_OK, ENDS, -1));
	shown = GUID;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_clone_becomes_the_volume_if_that_was_renamed),
		TEST(a_clone_beside_its_volume_is_destroyed),
		TEST(a_deleted_volume_whose_name_begins_with_new_is_no_clone),
		TEST(snapshots_are_taken_back_after_the_first_reading),
		TEST(a_value_with_a_line_break_ends_no_rollback_of_another_volume),
		TEST(a_damaged_dataset_is_waited_for_if_its_volume_may_come_of_it),
		TEST(a_clone_with_a_line_break_in_its_mark_is_not_destroyed),
		TEST(only_what_a_volume_needs_to_exist_is_waited_for),
		cmocka_unit_test(both_datasets_of_an_exchange_are_renamed),
		cmocka_unit_test(a_volume_that_was_not_exchanged_has_its_dataset),
		cmocka_unit_test(a_volume_that_zfs_does_not_show_may_have_no_dataset),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
