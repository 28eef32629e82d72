/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the names of snapshots for backups, of source_base(), stored_parse(), stored_read_all()
 * and expire_words().
 */
#include "node/backup/source.h"

#include <string.h>

#include "common/log.h"
#include "node/backup/expire.h"
#include "node/backup/stored.h"
#include "node/zfs/zfs_run.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

#define NOON 1800014400000000 /* 2027-01-15T12:00:00Z, in microseconds */
#define MOST 2

static void a_snapshot_is_of_one_node(void **state)
{
	const char *leaf = source_leaf(&arena, NOON, "n3");

	(void)state;
	assert_string_equal(leaf, "_backup-2027-01-15T12:00:00.000000Z-n3");
	assert_true(source_leaf_is(leaf, "n3"));
	assert_false(source_leaf_is(leaf, "3"));
	assert_false(source_leaf_is(leaf, "n33"));
	assert_false(source_leaf_is("_backup-n3", "n3"));
	assert_false(source_leaf_is("_repl-2027-01-15T12:00:00.000000Z-n3", "n3"));
	assert_true(source_leaf_is(source_leaf(&arena, NOON, "a-b c"), "a-b c"));
	assert_false(source_leaf_is(source_leaf(&arena, NOON, "a-b"), "b"));
	assert_string_equal(source_bookmark(&arena, "t/p/v", "n3"), "t/p/v#_backup-n3");
}

/* The guids of the volume are 1 to 3, of which 1 is a bookmark. Returns the guid of the base. */
static uint64_t base_of(uint64_t *guids, size_t n, struct error *err)
{
	char listed[] = "t/p/v#_backup-n3\t1\t100\t-\n"
			"t/p/v@a\t2\t200\t-\n"
			"t/p/v@b\t3\t300\t-\n";
	BeginBackupRequest *request = new_begin_backup_request(&arena);
	const struct point *base;
	struct history history;

	assert_true(history_parse(&arena, arena_strdup(&arena, listed), &history));
	request->id = (char *)"v";
	request->node_id = (char *)"n3";
	request->guids = guids;
	request->n_guids = n;
	if (source_base(&history, request, &base, err) < 0)
		return UINT64_MAX;
	return base ? base->guid : 0;
}

static void a_stream_begins_at_the_newest_snapshot_of_the_backup(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(base_of(NULL, 0, &err), 0);
	assert_int_equal(base_of((uint64_t[]){1}, 1, &err), 1);
	assert_int_equal(base_of((uint64_t[]){3, 2, 1}, 3, &err), 3);
	assert_int_equal(base_of((uint64_t[]){2, 9}, 2, &err), 2);
}

static void a_backup_that_is_ahead_is_not_continued(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(base_of((uint64_t[]){9, 2}, 2, &err), UINT64_MAX);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, "its snapshot 'a'"));
	assert_int_equal(base_of((uint64_t[]){9, 8}, 2, &err), UINT64_MAX);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, "no snapshot in common"));
}

#define RULES "86400\tdaily=2,monthly=1\t777"

static const char columns[] =
	"guid,creation,used,volsize,receive_resume_token,zcsi:volume,zcsi:backup,zcsi:size,"
	"zcsi:parameters,zcsi:format,zcsi:root,zcsi:keep,zcsi:backup_every,zcsi:backup_keep,"
	"zcsi:verified,userrefs,clones";
static const char listed[] =
	"t/p/_backup\t1\t9\t9\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\n"
	"t/p/_backup/a\t2\t9\t70\t-\tT\ta\tn1,n2\t4096\tp\t-\t0:0:755\tdaily=1\t" RULES "\t-\t-\n"
	"t/p/_backup/a@x\t3\t10\t0\t-\t-\ta\tn1,n2\t4096\tp\t-\t0:0:755\tdaily=1\t" RULES "\t0\t\n"
	"t/p/_backup/a@y\t4\t11\t0\t-\t-\ta\tn1,n2\t4096\tp\t-\t0:0:755\tdaily=1\t" RULES "\t1\t\n"
	"t/p/_backup/a@z\t5\t12\t0\t-\t-\ta\tn1,n2\t4096\tp\t-\t0:0:755\tdaily=1\t" RULES
	"\t0\tt/c\n"
	"t/p/_backup/b\t6\t9\t80\t8192\t-\tb\tn2\t-\t-\text4\t-\t-\t-\t-\t-\t-\t-\n"
	"t/p/_backup/renamed\t7\t9\t80\t-\t-\tb\tn2\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\n"
	"t/p/_backup/other\t8\t9\t80\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\n";

static void backups_are_read_with_their_newest_snapshots(void **state)
{
	struct stored_list list;

	(void)state;
	const struct zfs_table table = zfs_table_of(&arena, columns, listed);
	stored_parse(&arena, "t/p", &table, MOST, &list);
	assert_int_equal(list.n, 2);
	const BackupState *a = list.rows[0], *b = list.rows[1];
	assert_string_equal(a->id, "a");
	assert_string_equal(a->from_node_id, "n1");
	assert_string_equal(a->token, "T");
	assert_int_equal(a->count, 3);
	assert_int_equal(a->n_snapshots, MOST);
	assert_string_equal(a->snapshots[0]->name, "z");
	assert_true(a->snapshots[0]->kept && a->snapshots[1]->kept);
	assert_int_equal(a->volume->size, 4096);
	assert_string_equal(a->volume->parameters, "p");
	assert_string_equal(a->volume->format, "zfs");
	assert_int_equal(a->n_properties, 2);
	assert_string_equal(a->properties[1]->value, "daily=1");
	assert_int_equal(a->n_other_node_ids, 1);
	assert_string_equal(a->other_node_ids[0], "n2");
	assert_int_equal(a->every, 86400);
	assert_int_equal(a->verified, 777);
	assert_string_equal(a->keep, "daily=2,monthly=1");
	assert_int_equal(b->volume->size, 8192);
	assert_string_equal(b->volume->format, "ext4");
	assert_string_equal(b->volume->parameters, "");
	assert_int_equal(b->n_properties + b->n_snapshots + b->n_other_node_ids, 0);
	assert_int_equal(b->every, 0);
	assert_string_equal(b->keep, "");
}

static int64_t timeout_ms;           /* the timeout of the last program */
static const char *printed = listed; /* the columns that it prints */

typeof(zfs_run_once) __wrap_zfs_run_once;

int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *err)
{
	(void)err;
	timeout_ms = exec->timeout_ms;
	*ret_out = mem_strdup(zfs_table_output(&arena, zfs_table_asked(exec->argv),
					       zfs_table_lines(&arena, columns, printed)));
	return 0;
}

/*
 * A zfs that reads many snapshots and has only the timeout of other programs would count as hung,
 * and all calls would be refused.
 */
static void many_snapshots_may_be_read_for_long(void **state)
{
	struct stored_list list;
	struct error err;

	(void)state;
	assert_int_equal(stored_read_all(&arena, "t/p", &list, &err), 0);
	assert_int_equal(list.n, 2);
	assert_int_equal(timeout_ms, 600000);
	zfs_run_set_timeout(700000);
	stored_read_all(&arena, "t/p", &list, &err);
	assert_int_equal(timeout_ms, 700000);
}

static unsigned warnings; /* how many were logged */

typeof(log_write) __wrap_log_write;

void __wrap_log_write(enum log_level level, const struct log_field *fields, unsigned n_fields)
{
	assert_int_equal(level, LOG_WARN);
	assert_int_equal(n_fields, 3);
	assert_string_equal(fields[1].text, "t/p/_backup/a");
	warnings++;
}

/* A value of the backup `a` looks like a backup `ghost` with a snapshot. */
static void a_value_with_a_line_break_is_no_backup(void **state)
{
	struct stored_list list;
	BackupState *backup;
	struct error err;

	(void)state;
	printed = "t/p/_backup/a\t2\t9\t70\t-\t-\ta\\nt/p/_backup/ghost\\tzcsi:volume\\tghost"
		  "\\tlocal\\nt/p/_backup/ghost@x\\tguid\\t3\\t-\tn1\n"
		  "t/p/_backup/b\t6\t9\t80\t8192\t-\tb\tn2\n";
	assert_int_equal(stored_read_all(&arena, "t/p", &list, &err), 0);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.rows[0]->id, "b");
	assert_int_equal(stored_read_all(&arena, "t/p", &list, &err), 0);
	assert_int_equal(warnings, 1);
	assert_int_equal(stored_read(&arena, "t/p", "a", &backup, &err), -1);
	assert_non_null(strstr(err.text, "'t/p/_backup/a'"));
	printed = listed;
}

#define DAY 86400

/* Returns a backup with one snapshot at each of these times, oldest first. */
static BackupState *backup_with(const char *keep, const int64_t *times, size_t n)
{
	BackupState *backup = new_backup_state(&arena);

	backup->name = (char *)"t/b/v";
	backup->keep = (char *)keep;
	backup->snapshots = arena_alloc(&arena, n * sizeof(*backup->snapshots));
	backup->n_snapshots = n;
	for (size_t i = 0; i < n; i++) {
		CopySnapshot *snapshot = backup->snapshots[n - 1 - i] = new_copy_snapshot(&arena);
		snapshot->name = arena_printf(&arena, "_backup-%zu", i);
		snapshot->creation = times[i];
	}
	return backup;
}

static void the_first_snapshot_of_each_day_is_kept(void **state)
{
	const int64_t times[] = {DAY, DAY + 60, 2 * DAY, 2 * DAY + 60, 3 * DAY, 3 * DAY + 60};
	BackupState *backup = backup_with("daily=2", times, COUNT(times));
	size_t n;

	(void)state;
	char **words = expire_words(&arena, backup, 4 * DAY, &n);
	assert_int_equal(n, 1);
	assert_string_equal(words[0], "t/b/v@_backup-0,_backup-1,_backup-3");
	backup->snapshots[5]->kept = true;
	backup->snapshots[4]->name = (char *)"by-hand";
	words = expire_words(&arena, backup, 4 * DAY, &n);
	assert_string_equal(words[0], "t/b/v@_backup-3");
	backup->keep = (char *)"daily=2,monthly=1";
	backup->snapshots[5]->kept = false;
	words = expire_words(&arena, backup, 4 * DAY, &n);
	assert_string_equal(words[0], "t/b/v@_backup-3");
}

static void snapshots_of_the_future_neither_count_nor_go(void **state)
{
	const int64_t times[] = {DAY, 9 * DAY, 10 * DAY, 10 * DAY + 60, 2 * DAY, 3 * DAY, 4 * DAY};
	size_t n;

	(void)state;
	char **words =
		expire_words(&arena, backup_with("daily=2", times, COUNT(times)), 4 * DAY, &n);
	assert_int_equal(n, 1);
	assert_string_equal(words[0], "t/b/v@_backup-0,_backup-4");
}

static void all_snapshots_stay_without_a_rule(void **state)
{
	const int64_t times[] = {DAY, DAY + 60, DAY + 120};
	size_t n;

	(void)state;
	expire_words(&arena, backup_with("", times, COUNT(times)), 4 * DAY, &n);
	assert_int_equal(n, 0);
	expire_words(&arena, backup_with("none", times, COUNT(times)), 4 * DAY, &n);
	assert_int_equal(n, 0);
	expire_words(&arena, backup_with("yearly=1", times, 1), 4 * DAY, &n);
	assert_int_equal(n, 0);
}

static void a_backup_is_due_after_its_interval(void **state)
{
	const int64_t at = 10 * DAY;
	BackupState *backup = backup_with("", &at, 1);

	(void)state;
	assert_false(expire_is_due(backup, 100 * DAY));
	backup->every = DAY;
	assert_false(expire_is_due(backup, 11 * DAY - 1));
	assert_true(expire_is_due(backup, 11 * DAY));
	assert_false(expire_is_due(backup, 10 * DAY - 3600));
	assert_true(expire_is_due(backup, 9 * DAY));
	backup->n_snapshots = 0;
	assert_true(expire_is_due(backup, 0));
	backup->every = -1;
	assert_false(expire_is_due(backup, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_snapshot_is_of_one_node),
		cmocka_unit_test(a_stream_begins_at_the_newest_snapshot_of_the_backup),
		cmocka_unit_test(a_backup_that_is_ahead_is_not_continued),
		cmocka_unit_test(backups_are_read_with_their_newest_snapshots),
		cmocka_unit_test(many_snapshots_may_be_read_for_long),
		cmocka_unit_test(a_value_with_a_line_break_is_no_backup),
		cmocka_unit_test(the_first_snapshot_of_each_day_is_kept),
		cmocka_unit_test(snapshots_of_the_future_neither_count_nor_go),
		cmocka_unit_test(all_snapshots_stay_without_a_rule),
		cmocka_unit_test(a_backup_is_due_after_its_interval),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
