/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the rules by which a lost owner is replaced, and makes way when it returns.
 */
#include "node/owner/accept.h"
#include "node/owner/aside.h"
#include "node/owner/failover.h"

#include <string.h>

#include "common/clock.h"
#include "common/volume/epoch.h"
#include "node/host/owner.h"
#include "node/owner/diff.h"
#include "node/owner/diverged.h"
#include "node/owner/heard.h"
#include "node/owner/split.h"
#include "node/record/ownership.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

#define LINEAGE "00112233aabbccdd"

/* The property zcsi:owner */

static void an_owner_is_parsed_as_it_was_formatted(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"-",
		"boot=b-1",
		"newer=n2:7",
		"lost=n1",
		"boot=b-1,lost=n1,lost=a_2Cb",
		"newer=_3F:7,lost=n1",
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		const struct ownership ownership = ownership_parse(&arena, texts[i]);
		assert_string_equal(ownership_format(&arena, &ownership), texts[i]);
	}
	struct ownership ownership = ownership_parse(&arena, "boot=b-1,later=x,lost=a_2Cb");
	assert_true(ownership_has_lost(&ownership, "a,b"));
	ownership_find(&ownership, "a,b");
	assert_string_equal(ownership_format(&arena, &ownership), "boot=b-1");
}

/* If another node took the volume over, the rest of zcsi:owner does not count. */
static void a_superseded_volume_has_no_owner_here(void **state)
{
	(void)state;
	const struct ownership ownership = ownership_parse(&arena, "newer=n2:7,boot=b-1");

	assert_string_equal(ownership.boot, "");
	assert_string_equal(ownership.newer, "n2");
	assert_int_equal(ownership.newer_epoch, 7);
	assert_int_equal(ownership_parse(&arena, "newer=n2:x").newer_epoch, 0);
}

/* Members answer in any order, and some know the epoch of a later owner but not its name. */
static void the_latest_owner_is_known_by_its_name(void **state)
{
	(void)state;
	struct ownership ownership = {.newer = ""};

	assert_true(ownership_pass(&ownership, OWNERSHIP_UNKNOWN, 5));
	assert_false(ownership_pass(&ownership, OWNERSHIP_UNKNOWN, 5));
	assert_false(ownership_pass(&ownership, "n2", 4));
	assert_true(ownership_pass(&ownership, "n3", 5));
	assert_false(ownership_pass(&ownership, OWNERSHIP_UNKNOWN, 5));
	assert_false(ownership_pass(&ownership, "n3", 5));
	assert_string_equal(ownership.newer, "n3");
	assert_true(ownership_pass(&ownership, OWNERSHIP_UNKNOWN, 7));
	assert_int_equal(ownership.newer_epoch, 7);
}

static void more_than_half_confirm_an_owner(void **state)
{
	(void)state;
	static const struct {
		size_t members, heard;
		const char *owner;
		bool enough;
	} rows[] = {
		{2, 0, "-", false},       {2, 1, "-", true},        {3, 0, "-", false},
		{3, 1, "-", true},        {4, 1, "-", false},       {4, 2, "-", true},
		{2, 0, "lost=n1", true},  {3, 0, "lost=n1", false}, {3, 0, "lost=n1,lost=n2", true},
		{2, 0, "lost=n9", false},
	};
	static const char *const nodes[] = {"n0", "n1", "n2", "n3"};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct members members = {.lineage = LINEAGE};
		for (size_t k = 0; k < rows[i].members; k++)
			members_add(&members, nodes[k]);
		const struct ownership ownership = ownership_parse(&arena, rows[i].owner);
		assert_int_equal(ownership_is_majority(&ownership, &members, rows[i].heard),
				 rows[i].enough);
	}
}

/* Accept */

static uint64_t known[] = {13, 12, 11};

static void a_copy_is_promised_to_one_node_at_an_epoch(void **state)
{
	(void)state;
	static const struct {
		int64_t epoch; /* the epoch of the copy */
		const char *accepted;
		uint64_t newest;
		const char *error; /* a part of the error text; NULL: no error */
	} rows[] = {
		{3, "", 13, NULL},
		{3, "", 11, NULL},
		{3, "", 0, NULL},
		{3, "n9", 12, NULL},
		{5, "n2", 13, NULL},
		{3, "", 14, "at a snapshot that node 'n2' lacks"},
		{5, "", 13, "another failover"},
		{5, "n3", 13, "for node 'n3'"},
		{6, "n2", 13, "another failover"},
	};
	const AcceptRequest req = {.id = (char *)"v",
				   .lineage = (char *)LINEAGE,
				   .epoch = 5,
				   .node_id = (char *)"n2",
				   .guids = known,
				   .n_guids = COUNT(known)};

	for (size_t i = 0; i < COUNT(rows); i++) {
		CopySnapshot newest = {.guid = rows[i].newest};
		CopySnapshot *list[] = {&newest};
		const CopyState copy = {.name = (char *)"t/p/_replica/v",
					.epoch = rows[i].epoch,
					.accepted_node_id = (char *)rows[i].accepted,
					.snapshots = list,
					.n_snapshots = rows[i].newest ? 1 : 0};
		struct error err;
		assert_int_equal(accept_check(&copy, &req, &err), rows[i].error ? -1 : 0);
		if (rows[i].error)
			assert_non_null(strstr(err.text, rows[i].error));
	}
}

/* Failover */

static struct place_snapshot snapshots[] = {{.name = "t/p/_replica/v@_repl-1", .guid = 11},
					    {.name = "t/p/_replica/v@_repl-2", .guid = 12}};

static struct place copy_place(void)
{
	return (struct place){.role = PLACE_COPY,
			      .name = "t/p/_replica/v",
			      .members = {.lineage = LINEAGE, .nodes = {"n1", "n2", "n3"}, .n = 3},
			      .epoch = 3,
			      .snapshots = snapshots,
			      .n = COUNT(snapshots)};
}

static void check_failover(const struct place *place, const FailoverRequest *req, const char *part)
{
	struct error err;
	int failed = failover_check("n2", place, req, &err);

	assert_int_equal(failed, part ? -1 : 0);
	if (part)
		assert_non_null(strstr(err.text, part));
}

static void a_copy_takes_over_if_it_is_as_it_was_shown(void **state)
{
	(void)state;
	char *lost[] = {(char *)"n1"}, *us[] = {(char *)"n2"}, *other[] = {(char *)"n9"};
	const FailoverRequest good = {.id = (char *)"v",
				      .lineage = (char *)LINEAGE,
				      .epoch = 3 + EPOCH_FAILOVER,
				      .lost_node_ids = lost,
				      .n_lost_node_ids = 1,
				      .guid = 12};
	struct place place = copy_place();
	FailoverRequest req = good;

	check_failover(&place, &req, NULL);
	req.epoch = 2 + EPOCH_FAILOVER;
	check_failover(&place, &req, "is of epoch 3");
	req = good;
	req.guid = 11;
	check_failover(&place, &req, "has other data");
	req = good;
	req.lineage = (char *)"another";
	check_failover(&place, &req, "another volume");
	req = good;
	req.lost_node_ids = us;
	check_failover(&place, &req, "is not lost");
	req.lost_node_ids = other;
	check_failover(&place, &req, "has no data");
	req.n_lost_node_ids = 0;
	check_failover(&place, &req, "no node is declared lost");
	place.written = 1;
	check_failover(&place, &good, "written to by hand");
	place = copy_place();
	place.n = 0;
	check_failover(&place, &good, "is not complete");
	place = copy_place();
	place.children = 1;
	check_failover(&place, &good, "below it");
	place = copy_place();
	place.foreign_key = true;
	check_failover(&place, &good, "key of another dataset");
	place.role = PLACE_NONE;
	check_failover(&place, &good, "has no copy");
}

/* The return of a lost owner */

static void new_data_of_a_returned_host_is_kept(void **state)
{
	(void)state;
	struct place_snapshot list[] = {{.name = "t/p/v@_repl-1", .guid = 11, .written = 9},
					{.name = "t/p/v@_repl-2", .guid = 12},
					{.name = "t/p/v@_repl-3", .guid = 13}};
	struct place place = {.role = PLACE_PRIMARY, .snapshots = list, .n = COUNT(list)};

	assert_int_equal(aside_judge(&place, 13), ASIDE_COPY);
	assert_int_equal(aside_judge(&place, 12), ASIDE_COPY);
	assert_int_equal(aside_judge(&place, 11), ASIDE_COPY);
	assert_int_equal(aside_judge(&place, 0), ASIDE_KEEP);
	assert_int_equal(aside_judge(&place, 14), ASIDE_KEEP);
	place.written = 1;
	assert_int_equal(aside_judge(&place, 13), ASIDE_LOOK);
	assert_int_equal(aside_judge(&place, 0), ASIDE_KEEP);
	place.written = 0;
	list[1].written = 1;
	assert_int_equal(aside_judge(&place, 12), ASIDE_COPY);
	assert_int_equal(aside_judge(&place, 11), ASIDE_LOOK);
	list[1].written = 0;
	list[1].name = "t/p/v@asked";
	assert_int_equal(aside_judge(&place, 12), ASIDE_COPY);
	assert_int_equal(aside_judge(&place, 11), ASIDE_KEEP);
	list[1].name = "t/p/v@_repl-2";
	list[2].cloned = true;
	assert_int_equal(aside_judge(&place, 12), ASIDE_KEEP);
}

static void a_clone_of_a_volume_put_aside_is_promoted(void **state)
{
	(void)state;
	char clone[] = "t/p/_replica/v\tt/p/_diverged/v-4@b";
	char received[] = "t/p/_replica/v\t-";
	char other[] = "t/p/_replica/v\tt/p/_diverged-by-hand/v@b";
	char forged[] = "forged";

	assert_string_equal(split_parse("t/p/_diverged", clone), "t/p/_replica/v");
	assert_null(split_parse("t/p/_diverged", received));
	assert_null(split_parse("t/p/_diverged", other));
	assert_null(split_parse("t/p/_diverged", forged));
}

#define LINE(lineage) lineage ":300:n1,n2"
#define OTHER_LINEAGE "ffeeddccbbaa0099"

/* Take the dataset of these columns. */
static int parse_sides(const char *columns, struct diff_sides *ret, const char **ret_members,
		       struct error *err)
{
	*ret = (struct diff_sides){.name = "t/p/_diverged/v-4"};
	const char *of = "type,origin,guid,encryptionroot,keystatus,zcsi:members";
	const struct zfs_table table = zfs_table_of(&arena, of, columns);
	return diff_parse(table.rows, ret, ret_members, err);
}

static void a_volume_put_aside_is_compared_with_its_origin(void **state)
{
	struct diff_sides sides;
	const char *members;
	struct error err;

	(void)state;
	assert_int_equal(
		parse_sides("t/p/_diverged/v-4\tfilesystem\tt/p/_replica/v@b\t7\t-\tnone\t" LINE(
				    LINEAGE) "\n",
			    &sides, &members, &err),
		0);
	assert_string_equal(sides.origin, "t/p/_replica/v@b");
	assert_string_equal(sides.guid, "7");
	assert_int_equal(diff_check(&arena, &sides, members, LINE(LINEAGE), &err), 0);
	/* The members may have changed since the data was put aside; but the origin may belong to
	 * another volume, of which this one is a clone. */
	assert_int_equal(diff_check(&arena, &sides, members, LINEAGE ":10:n3", &err), 0);
	assert_int_equal(diff_check(&arena, &sides, members, LINE(OTHER_LINEAGE), &err), -1);
	assert_non_null(strstr(err.text, "'zcsi diverged mount v-4 DIR'"));
	assert_int_equal(diff_check(&arena, &sides, members, "-", &err), -1);
	assert_int_equal(diff_check(&arena, &sides, "-", "-", &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
}

static void a_refused_comparison_has_its_reason(void **state)
{
	struct diff_sides sides;
	const char *members;
	struct error err;

	(void)state;
	assert_int_equal(
		parse_sides("t/p/_diverged/v-4\tfilesystem\t-\t7\t-\tnone\t" LINE(LINEAGE) "\n",
			    &sides, &members, &err),
		0);
	assert_int_equal(diff_check(&arena, &sides, members, "", &err), -1);
	assert_non_null(strstr(err.text, "no snapshot in common"));
	assert_int_equal(
		parse_sides("t/p/_diverged/v-4\tvolume\tt/p/_replica/v@b\t7\t-\tnone\t" LINE(
				    LINEAGE) "\n",
			    &sides, &members, &err),
		0);
	assert_int_equal(diff_check(&arena, &sides, members, members, &err), -1);
	assert_non_null(strstr(err.text, "is a zvol"));
	assert_int_equal(
		parse_sides("t/p/_diverged/v-4\tfilesystem\tt/p/_replica/v@b\t7\tt/p/_replica/v\t"
			    "unavailable\t" LINE(LINEAGE) "\n",
			    &sides, &members, &err),
		-1);
	assert_non_null(strstr(err.text, "'zfs load-key t/p/_replica/v'"));
}

static void a_later_call_of_an_owner_replaces_the_earlier_one(void **state)
{
	struct heard *heard = heard_new();
	struct heard_row row = {.id = "v", .lineage = LINEAGE, .owner = "n1", .synced = 5}, again;

	(void)state;
	assert_false(heard_get(heard, &arena, "v", LINEAGE, &again));
	heard_put(heard, &row);
	row.synced = 7;
	heard_put(heard, &row);
	assert_true(heard_get(heard, &arena, "v", LINEAGE, &again));
	assert_int_equal(again.synced, 7);
	assert_string_equal(again.owner, "n1");
	assert_false(heard_get(heard, &arena, "v", "another", &again));
	heard_free(heard);
}

/*
 * The wait before the use of a volume. The call that waits may be the running call of the volume's
 * queue.
 */

static const char *const v = "v";
static struct error err;

static int wait_for(const struct node *node, const char *id, const char *owner, int64_t deadline)
{
	const struct dataset volume = {
		.id = (char *)id, .members = (char *)"n1,n2", .owner = (char *)owner};
	int64_t begun = now_ms();
	int result = owner_wait(node, &volume, deadline, &err);

	assert_true(now_ms() - begun < 10000);
	assert_true(result == 0 || err.code == ERR_UNAVAILABLE);
	return result;
}

/* The answers of a volume's members are recorded by a call in the queue of the volume. */
static void a_call_does_not_keep_its_volume_from_being_recorded(void **state)
{
	const struct node node = {.id = "n1", .boot = "b-1", .owners = owners_new()};

	(void)state;
	assert_int_equal(wait_for(&node, "v", "-", now_ms() + 1), -1);
	assert_int_equal(wait_for(&node, "v", "boot=b-1", now_ms() + 1), -1);
	owners_answered(node.owners, &v, 1);
	assert_int_equal(wait_for(&node, "v", "-", NO_DEADLINE), -1);
	/* Another node took the volume over, and this is not recorded yet. */
	assert_int_equal(wait_for(&node, "v", "boot=b-1", NO_DEADLINE), -1);
	owners_recorded(node.owners, "v");
	assert_int_equal(wait_for(&node, "v", "-", NO_DEADLINE), 0);
	owners_free(node.owners);
}

static void a_volume_does_not_wait_for_others_to_be_recorded(void **state)
{
	const struct node node = {.id = "n1", .boot = "b-1", .owners = owners_new()};

	(void)state;
	assert_int_equal(wait_for(&node, "w", "boot=b-1", now_ms() + 1), -1);
	owners_answered(node.owners, &v, 1);
	assert_int_equal(wait_for(&node, "w", "boot=b-1", NO_DEADLINE), 0);
	owners_asked(node.owners);
	assert_int_equal(wait_for(&node, "v", "-", NO_DEADLINE), 0);
	/* After the first round, answers of a later round block no call. */
	owners_answered(node.owners, &v, 1);
	assert_int_equal(wait_for(&node, "v", "-", NO_DEADLINE), 0);
	owners_free(node.owners);
}

static void a_volume_is_used_by_a_confirmed_owner(void **state)
{
	const struct node node = {.id = "n1", .boot = "b-1"};
	struct dataset volume = {.id = (char *)"v", .members = (char *)"n1,n2"};

	(void)state;
	volume.owner = (char *)"boot=b-1";
	assert_int_equal(owner_check(&node, &volume, &err), 0);
	volume.owner = (char *)"-";
	assert_int_equal(owner_check(&node, &volume, &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, "was booted"));
	volume.owner = (char *)"newer=n2:7,boot=b-1";
	assert_int_equal(owner_check(&node, &volume, &err), -1);
	assert_non_null(strstr(err.text, "node 'n2' took volume 'v' over"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_owner_is_parsed_as_it_was_formatted),
		cmocka_unit_test(a_superseded_volume_has_no_owner_here),
		cmocka_unit_test(the_latest_owner_is_known_by_its_name),
		cmocka_unit_test(more_than_half_confirm_an_owner),
		cmocka_unit_test(a_copy_is_promised_to_one_node_at_an_epoch),
		cmocka_unit_test(a_copy_takes_over_if_it_is_as_it_was_shown),
		cmocka_unit_test(new_data_of_a_returned_host_is_kept),
		cmocka_unit_test(a_clone_of_a_volume_put_aside_is_promoted),
		cmocka_unit_test(a_volume_put_aside_is_compared_with_its_origin),
		cmocka_unit_test(a_refused_comparison_has_its_reason),
		cmocka_unit_test(a_later_call_of_an_owner_replaces_the_earlier_one),
		cmocka_unit_test(a_call_does_not_keep_its_volume_from_being_recorded),
		cmocka_unit_test(a_volume_does_not_wait_for_others_to_be_recorded),
		cmocka_unit_test(a_volume_is_used_by_a_confirmed_owner),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
