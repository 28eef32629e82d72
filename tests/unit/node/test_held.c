/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the lists of all copies on a host, and of what was put aside there.
 */
#include "node/replica/held.h"

#include <string.h>

#include "common/log.h"
#include "node/host/asides.h"
#include "node/owner/diverged.h"
#include "node/replica/replica.h"
#include "node/service.h"
#include "node/zfs/zfs_run.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

#define LINEAGE "00112233aabbccdd"

#define SNAPSHOT(id, leaf, guid)                                                                   \
	"t/p/_replica/" id "@" leaf "\t^" id "\t" guid "\t17\t0\t-\t-\t-\t-\t-\t-\t0\t\n"
#define COPY(id, name)                                                                             \
	"t/p/_replica/" name "\t" id "\t1\t16\t4096\t8192\t-\t" LINEAGE                            \
	":300:n1,n2\t3\t-\t-\t-\t-\n"

static void hold(const char *text, struct held_list *ret)
{
	const char *columns = arena_printf(&arena, "zcsi:volume,%s", replica_columns);
	const struct zfs_table table = zfs_table_of(&arena, columns, text);

	held_parse(&arena, "t/p", &table, ret);
}

static void all_copies_are_parsed_with_their_newest_snapshot(void **state)
{
	(void)state;
	struct held_list list;

	hold("t/p/_replica\t-\t0\t1\t0\t8\t-\t-\t-\t-\t-\t-\t-\n" COPY("a", "a")
		     SNAPSHOT("a", "old", "11") SNAPSHOT("a", "new", "12") COPY("b", "b")
			     SNAPSHOT("b", "old", "21") SNAPSHOT("b", "new", "22")
				     COPY("c", "renamed"),
	     &list);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.rows[0].id, "a");
	assert_int_equal(list.rows[0].copy->n_snapshots, 1);
	assert_true(list.rows[0].copy->snapshots[0]->guid == 12);
	assert_true(held_find(&list, "b")->snapshots[0]->guid == 22);
	assert_null(held_find(&list, "c"));
}

/* A value of the copy `a` looks like lines of a copy `ghost`, and like a newer snapshot of b. */
static void a_value_with_a_line_break_is_no_copy(void **state)
{
	struct held_list list;

	(void)state;
	hold(COPY("a\\nt/p/_replica/ghost\\tzcsi:volume\\tghost\\tlocal\\n"
		  "t/p/_replica/b@newer\\tguid\\t99\\t-",
		  "a") SNAPSHOT("a", "old", "11") COPY("b", "b") SNAPSHOT("b", "old", "21"),
	     &list);
	assert_int_equal(list.n, 1);
	assert_true(held_find(&list, "b")->snapshots[0]->guid == 21);
}

static void what_was_put_aside_is_parsed(void **state)
{
	(void)state;
	const char *text =
		"t/p/_diverged\t-\t-\t1\t2\t3\t-\n"
		"t/p/_diverged/v-4\tv\tnewer=n2:6\t4096\t17\t18446744073709551615\t-\n"
		"t/p/_diverged/w-4\tw\tnewer=n2:6\t4096\t17\t5\text4\n"
		"t/p/_diverged/other\t-\t-\t1\t2\t3\t-\n"
		"t/p/_diverged/x-4\tx\\nt/p/_diverged/ghost\\tzcsi:volume\\tghost\\tlocal"
		"\tnewer=n2:6\t4096\t17\t5\t-\n";
	const struct zfs_table table =
		zfs_table_of(&arena, "zcsi:volume,zcsi:owner,used,creation,guid,zcsi:format", text);
	size_t n;
	DivergedVolume **rows = diverged_parse(&arena, "t/p/_diverged", &table, &n);

	assert_int_equal(n, 2);
	assert_string_equal(rows[0]->id, "v");
	assert_string_equal(rows[0]->name, "v-4");
	assert_string_equal(rows[0]->owner_node_id, "n2");
	assert_int_equal(rows[0]->used, 4096);
	assert_true(rows[0]->guid == UINT64_MAX);
	assert_string_equal(rows[0]->format, "zfs");
	assert_string_equal(rows[1]->format, "ext4");
}

/* Reading what is put aside */

typeof(held_possible) __wrap_held_possible;
typeof(zfs_run_once) __wrap_zfs_run_once;
typeof(log_write) __wrap_log_write;

static unsigned warnings; /* how many were logged */

bool __wrap_held_possible(void)
{
	return true;
}

int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *err)
{
	(void)err;
	*ret_out = mem_strdup(zfs_table_output(&arena, zfs_table_asked(exec->argv),
					       "t/p/_diverged/v-4\tzcsi:volume\tv\n"
					       "t/p/_diverged/w-4\tzcsi:volume\tw\\n\n"));
	return 0;
}

void __wrap_log_write(enum log_level level, const struct log_field *fields, unsigned n_fields)
{
	assert_int_equal(level, LOG_WARN);
	assert_int_equal(n_fields, 3);
	assert_string_equal(fields[1].text, "t/p/_diverged/w-4");
	warnings++;
}

static void damaged_data_put_aside_is_logged_once(void **state)
{
	static struct asides asides = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct node node = {.id = "n1", .catalog = catalog_new("t/p", 0), .asides = &asides};
	struct rpc_call call = {.app = &node, .arena = {.cap = SIZE_MAX}};
	struct error err;

	(void)state;
	for (int i = 0; i < 2; i++) {
		ListDivergedResponse *rsp = new_list_diverged_response(&call.arena);
		assert_int_equal(list_diverged(&call, NULL, rsp, &err), 0);
		assert_int_equal(rsp->n_volumes, 1);
		assert_int_equal(warnings, 1);
	}
	arena_fini(&call.arena);
	catalog_free(node.catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_copies_are_parsed_with_their_newest_snapshot),
		cmocka_unit_test(a_value_with_a_line_break_is_no_copy),
		cmocka_unit_test(what_was_put_aside_is_parsed),
		cmocka_unit_test(damaged_data_put_aside_is_logged_once),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
