/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the texts about copies: zcsi:members, and what `zfs get` prints of a copy.
 */
#include "node/replica/replica.h"
#include "node/replica/snapshots.h"
#include "transport/tls_names.h"

#include <stdint.h>
#include <string.h>

#include "node/record/members.h"
#include "node/record/push_rules.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

#define LINEAGE "00112233aabbccdd"

static void members_are_parsed_as_they_were_formatted(void **state)
{
	(void)state;
	struct members members = {.lineage = LINEAGE, .every = 300}, again;

	assert_true(members_add(&members, "n1"));
	assert_true(members_add(&members, "a,b:c"));
	assert_true(members_add(&members, "n1"));
	char *text = members_format(&arena, &members);
	assert_string_equal(text, LINEAGE ":300:n1,a_2Cb_3Ac");
	assert_true(members_parse(&arena, text, &again));
	assert_int_equal(again.n, 2);
	assert_int_equal(again.every, 300);
	assert_string_equal(again.lineage, LINEAGE);
	assert_string_equal(again.nodes[1], "a,b:c");
	members_remove(&again, "n1");
	assert_false(members_have(&again, "n1"));
	members_remove(&again, "a,b:c");
	assert_string_equal(members_format(&arena, &again), "-");
}

static void a_node_that_is_owed_is_no_member(void **state)
{
	struct members members, again;

	(void)state;
	assert_true(members_parse(&arena, LINEAGE ":300:n1,n2,n3", &members));
	assert_true(members_give_up(&members, "n2"));
	assert_true(members_give_up(&members, "n4"));
	char *text = members_format(&arena, &members);
	assert_string_equal(text, LINEAGE ":300:n1,n3:n2,n4");
	assert_true(members_parse(&arena, text, &again));
	assert_true(again.n == 2 && again.n_owed == 2);
	assert_true(members_owe(&again, "n2") && !members_have(&again, "n2"));
	assert_true(members_add(&again, "n2"));
	assert_false(members_owe(&again, "n2"));
	members_remove(&again, "n4");
	members_put_first(&again, "n2");
	members_put_first(&again, "n9");
	assert_string_equal(members_format(&arena, &again), LINEAGE ":300:n2,n1,n3");
	assert_true(members_parse(&arena, LINEAGE ":60:n9:1,2,3,4,5,6,7,8", &again));
	assert_false(members_give_up(&again, "n9"));
	assert_true(members_have(&again, "n9"));
}

static void rules_are_parsed_as_they_were_formatted(void **state)
{
	struct push_rules rules = {.paused = true};

	(void)state;
	assert_true(push_rules_parse(push_rules_format(&arena, &rules)).paused);
	rules.bandwidth = 52428800;
	assert_string_equal(push_rules_format(&arena, &rules), "paused,bandwidth=52428800");
	struct push_rules again = push_rules_parse("paused,bandwidth=52428800");
	assert_true(again.paused && again.bandwidth == 52428800);
	rules.paused = false;
	assert_string_equal(push_rules_format(&arena, &rules), "bandwidth=52428800");
	rules.every = 60;
	assert_string_equal(push_rules_format(&arena, &rules), "bandwidth=52428800,every=60");
	assert_int_equal(push_rules_parse("bandwidth=52428800,every=60").every, 60);
	rules.bandwidth = rules.every = 0;
	rules.all = true;
	assert_string_equal(push_rules_format(&arena, &rules), "snapshots=all");
	assert_true(push_rules_parse("paused,snapshots=all").all);
	rules.all = false;
	rules.pin_limit = 3600;
	assert_string_equal(push_rules_format(&arena, &rules), "pin_limit=3600");
	assert_int_equal(push_rules_parse("snapshots=all,pin_limit=3600").pin_limit, 3600);
	assert_int_equal(push_rules_parse("pin_limit=9,pin_limit=1h,pin_limit").pin_limit, 0);
	rules.pin_limit = 0;
	rules.repair_after = 3600;
	assert_string_equal(push_rules_format(&arena, &rules), "repair_after=3600");
	assert_int_equal(push_rules_parse("repair_after=3600,nodes=2").repair_after, 3600);
	assert_int_equal(push_rules_parse("repair_after=9").repair_after, 0);
	rules.repair_after = 0;
	assert_string_equal(push_rules_format(&arena, &rules), "-");
	assert_false(push_rules_parse("-").paused);
	assert_false(push_rules_parse("").paused);
}

static void words_of_a_later_version_are_skipped(void **state)
{
	(void)state;
	assert_true(push_rules_parse("later=1,paused,more").paused);
	assert_false(push_rules_parse("paused=1,pause,pausedx,,").paused);
	assert_int_equal(push_rules_parse("bandwidth=65535").bandwidth, 0);
	assert_int_equal(push_rules_parse("every=9,every=,every=1m").every, 0);
	assert_false(push_rules_parse("snapshots=ours,snapshots").all);
	assert_int_equal(push_rules_parse("bandwidth=1x,bandwidth=,bandwidth").bandwidth, 0);
	assert_int_equal(push_rules_parse("bandwidth=999999999999999999999").bandwidth, 0);
}

static void members_that_are_no_such_text_are_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"-",
		LINEAGE,
		LINEAGE ":300",
		LINEAGE ":9:n1",
		LINEAGE ":x:n1",
		LINEAGE ":300:",
		LINEAGE ":300:n1,",
		LINEAGE ":300:n1,_zz",
		LINEAGE ":300:1,2,3,4,5,6,7,8,9",
		LINEAGE ":300:n1:",
		LINEAGE ":300:n1:n2:n3",
		"00112233AABBCCDD:300:n1",
		"0:300:n1",
	};
	struct members members;

	for (size_t i = 0; i < COUNT(texts); i++)
		assert_false(members_parse(&arena, texts[i], &members) || members.n);
	assert_true(members_parse(&arena, "", &members));
	assert_int_equal(members.n, 0);
}

static void new_lineages_differ(void **state)
{
	(void)state;
	const char *one = lineage_new(&arena);

	assert_true(lineage_is(one));
	assert_string_not_equal(one, lineage_new(&arena));
}

/* The columns of a copy, and of a snapshot of it. */
#define DATASET(members, epoch)                                                                    \
	"t/p/_replica/v\t11\t17\t0\t8192\t-\t" members "\t" epoch "\t-\t-\t-\t-\n"
#define SNAPSHOT(leaf, guid, asked, holds, clones)                                                 \
	"t/p/_replica/v@" leaf "\t" guid "\t17\t0\t-\t-\t-\t-\t-\t" asked "\t" holds "\t" clones   \
	"\n"

static CopyState *parse_most(const char *text, size_t most)
{
	const struct zfs_table table = zfs_table_of(&arena, replica_columns, text);

	return replica_parse(&arena, &table, most);
}

static CopyState *parse(const char *text)
{
	return parse_most(text, REPLICA_SNAPSHOTS);
}

static void a_copy_is_parsed_newest_snapshot_first(void **state)
{
	(void)state;
	const char *text =
		"t/p/_replica/v\t11\t1700000000\t4096\t8192\t1-abc\t" LINEAGE
		":300:n1\t7\tn2:7\t-\t-\t-\n"
		"t/p/_replica/v@a\t12\t1700000001\t0\t-\t-\t-\t7\tn2:7\t-\t0\t-\n"
		"t/p/_replica/v@b\t18446744073709551615\t1700000002\t0\t-\t-\t-\t7\tn2:7\t-\t0\t\n";
	const CopyState *copy = parse(text);

	assert_non_null(copy);
	assert_string_equal(copy->name, "t/p/_replica/v");
	assert_string_equal(copy->token, "1-abc");
	assert_string_equal(copy->lineage, LINEAGE);
	assert_int_equal(copy->used, 4096);
	assert_int_equal(copy->available, 8192);
	assert_int_equal(copy->epoch, 7);
	assert_string_equal(copy->accepted_node_id, "n2");
	assert_int_equal(copy->n_snapshots, 2);
	assert_string_equal(copy->snapshots[0]->name, "b");
	assert_true(copy->snapshots[0]->guid == UINT64_MAX);
	assert_int_equal(copy->snapshots[1]->creation, 1700000001);
}

static void a_copy_without_members_has_no_lineage(void **state)
{
	(void)state;
	const CopyState *copy = parse(DATASET("-", "-"));

	assert_non_null(copy);
	assert_string_equal(copy->lineage, "");
	assert_string_equal(copy->token, "");
	assert_int_equal(copy->epoch, 0);
}

static void only_a_node_that_has_the_data_may_call(void **state)
{
	(void)state;
	const CopyState *copy = parse(DATASET(LINEAGE ":300:n1,n2", "-"));
	const char *const given[] = {"10.0.0.3", "N2", "node.zcsi"};
	struct tls_names *names = arena_alloc(&arena, sizeof(*names) + sizeof(given));
	struct error err;

	for (size_t i = 0; i < COUNT(given); i++)
		names->list[names->n++] = arena_strdup(&arena, given[i]);
	assert_int_equal(replica_check_known_caller(NULL, copy, "v", &err), 0);
	assert_int_equal(replica_check_known_caller(names, copy, "v", &err), 0);
	names->list[1] = arena_strdup(&arena, "n3");
	assert_int_equal(replica_check_known_caller(names, copy, "v", &err), -1);
	assert_int_equal(err.code, ERR_PERMISSION_DENIED);
	assert_non_null(strstr(err.text, "'n3'"));
	assert_non_null(strstr(err.text, "'v'"));
}

static void other_outputs_are_no_copy(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"",
		SNAPSHOT("a", "12", "-", "0", ""),
		DATASET("forged", "-"),
		DATASET("-\\nt/p/_replica/v@a\\tguid\\t7\\t-", "-"),
		DATASET("-", "-") SNAPSHOT("a", "12", "x\\ny", "0", ""),
		"cannot open\n",
	};

	for (size_t i = 0; i < COUNT(texts); i++)
		assert_null(parse(texts[i]));
}

static void a_copy_is_parsed_with_a_limited_number_of_snapshots(void **state)
{
	(void)state;
	char *text = arena_strdup(&arena, DATASET("-", "-"));

	for (int i = 299; i >= 0; i--)
		text = arena_printf(&arena, "%sv@%d\t%d\t1\t0\t-\t-\t-\t-\t-\t-\t0\t\n", text, i,
				    i);
	const CopyState *copy = parse(text);
	assert_int_equal(copy->n_snapshots, REPLICA_SNAPSHOTS);
	assert_string_equal(copy->snapshots[REPLICA_SNAPSHOTS - 1]->name, "255");
	assert_true(copy->more);
	copy = parse_most(text, 300);
	assert_true(copy->n_snapshots == 300 && !copy->more);
}

/*
 * A copy: its newest snapshot; four older ones of zcsi, of which one is held and one has a clone;
 * and one of another tool.
 */
static const char old_copy[] =
	DATASET(LINEAGE ":300:n1,n2", "7") SNAPSHOT("daily", "1", "-", "0", "")
		SNAPSHOT("_repl-b", "2", "-", "0", "t/look") SNAPSHOT("_repl-c", "3", "-", "1", "")
			SNAPSHOT("asked", "4", "n", "0", "") SNAPSHOT("_repl-d", "5", "-", "0", "")
				SNAPSHOT("_repl-e", "6", "-", "0", "");

static void name(ThinCopyRequest *request, const char *leaf, uint64_t guid)
{
	CopySnapshot *snapshot = new_copy_snapshot(&arena);

	snapshot->name = arena_strdup(&arena, leaf);
	snapshot->guid = guid;
	request->snapshots[request->n_snapshots++] = snapshot;
}

static void our_snapshots_and_kept_ones_are_marked(void **state)
{
	(void)state;
	const CopyState *copy = parse(old_copy);

	assert_non_null(copy);
	for (size_t i = 0; i < copy->n_snapshots; i++) {
		const CopySnapshot *snapshot = copy->snapshots[i];
		assert_int_equal(snapshot->ours, snapshot->guid != 1);
		assert_int_equal(snapshot->kept, snapshot->guid == 2 || snapshot->guid == 3);
	}
}

static void only_named_snapshots_of_ours_are_destroyed(void **state)
{
	(void)state;
	ThinCopyRequest *request = new_thin_copy_request(&arena);
	const CopyState *copy = parse(old_copy);

	assert_null(thin_word(&arena, copy, request));
	request->snapshots = arena_alloc(&arena, 8 * sizeof(*request->snapshots));
	name(request, "daily", 1);
	name(request, "_repl-b", 2);
	name(request, "_repl-c", 3);
	name(request, "_repl-e", 6);
	name(request, "asked", 5);
	name(request, "gone", 9);
	assert_null(thin_word(&arena, copy, request));
	name(request, "_repl-d", 5);
	assert_string_equal(thin_word(&arena, copy, request), "t/p/_replica/v@_repl-d");
	name(request, "asked", 4);
	assert_string_equal(thin_word(&arena, copy, request), "t/p/_replica/v@_repl-d,asked");
}

static void another_lineage_and_an_earlier_epoch_are_refused(void **state)
{
	(void)state;
	const CopyState *copy = parse(old_copy);
	struct error err;

	assert_int_equal(replica_check_lineage(copy, LINEAGE, "v", &err), 0);
	assert_int_equal(replica_check_lineage(copy, "ffffffffffffffff", "v", &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_int_equal(replica_check_epoch(copy, 7, "v", &err), 0);
	assert_int_equal(replica_check_epoch(copy, 8, "v", &err), 0);
	assert_int_equal(replica_check_epoch(copy, 6, "v", &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, "another owner"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_parsed_as_they_were_formatted),
		cmocka_unit_test(a_node_that_is_owed_is_no_member),
		cmocka_unit_test(rules_are_parsed_as_they_were_formatted),
		cmocka_unit_test(words_of_a_later_version_are_skipped),
		cmocka_unit_test(members_that_are_no_such_text_are_refused),
		cmocka_unit_test(new_lineages_differ),
		cmocka_unit_test(a_copy_is_parsed_newest_snapshot_first),
		cmocka_unit_test(a_copy_without_members_has_no_lineage),
		cmocka_unit_test(only_a_node_that_has_the_data_may_call),
		cmocka_unit_test(other_outputs_are_no_copy),
		cmocka_unit_test(a_copy_is_parsed_with_a_limited_number_of_snapshots),
		cmocka_unit_test(our_snapshots_and_kept_ones_are_marked),
		cmocka_unit_test(only_named_snapshots_of_ours_are_destroyed),
		cmocka_unit_test(another_lineage_and_an_earlier_epoch_are_refused),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
