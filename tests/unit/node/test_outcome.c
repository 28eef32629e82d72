/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the answers that confirm the owner of a volume after a boot. This host is n1; the tests
 * say which bookmarks the volume has, and which members answer.
 */
#include "node/owner/outcome.h"

#include <string.h>

#include "common/log.h"
#include "node/catalog/change.h"
#include "node/copy/history.h"
#include "node/copy/pusher.h"
#include "node/export/exports.h"
#include "node/host/moves.h"
#include "node/stream/copies.h"
#include "node/stream/keyed.h"
#include "node/zfs/zfs.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

#define LINEAGE "00112233aabbccdd"
#define MARK(n) "t/p/v#_repl-" n "\t11\t1000\t0\n"

static const char *members, *owner, *points; /* properties and bookmarks of the volume */
static const char *recorded;                 /* the zcsi:owner that was set last, or NULL */
static unsigned pushes;

void __wrap_keyed_run(struct copies *copies, const char *id, void (*fn)(void *arg), void *arg);
void __wrap_keyed_run(struct copies *copies, const char *id, void (*fn)(void *arg), void *arg)
{
	(void)copies;
	assert_string_equal(id, "v");
	fn(arg);
}

int __wrap_moves_check(struct moves *moves, const char *id, struct error *err);
int __wrap_moves_check(struct moves *moves, const char *id, struct error *err)
{
	(void)moves, (void)id, (void)err;
	return 0;
}

int __wrap_catalog_get(struct catalog *catalog, int64_t deadline, struct arena *at, const char *id,
		       struct dataset **ret, struct error *err);
int __wrap_catalog_get(struct catalog *catalog, int64_t deadline, struct arena *at, const char *id,
		       struct dataset **ret, struct error *err)
{
	(void)catalog, (void)deadline, (void)id, (void)err;
	const struct dataset volume = {.id = (char *)"v",
				       .name = (char *)"t/p/v",
				       .format = format_find(FORMAT_ZFS),
				       .members = arena_printf(at, LINEAGE ":60:%s", members),
				       .owner = (char *)owner};

	*ret = dataset_copy(at, &volume);
	return 0;
}

void __wrap_catalog_put(struct catalog *catalog, const struct dataset *dataset);
void __wrap_catalog_put(struct catalog *catalog, const struct dataset *dataset)
{
	(void)catalog, (void)dataset;
}

int __wrap_zfs_set(const char *name, const struct zfs_properties *properties, struct error *err);
int __wrap_zfs_set(const char *name, const struct zfs_properties *properties, struct error *err)
{
	(void)name, (void)err;
	assert_string_equal(properties->rows[0].name, "zcsi:owner");
	recorded = arena_strdup(&arena, properties->rows[0].value);
	return 0;
}

void __wrap_pusher_push(struct pusher *pusher, const char *id);
void __wrap_pusher_push(struct pusher *pusher, const char *id)
{
	(void)pusher;
	assert_string_equal(id, "v");
	pushes++;
}

int __wrap_exports_apply(struct arena *at, const struct node *node, const struct dataset *volume,
			 int64_t deadline, struct error *err);
int __wrap_exports_apply(struct arena *at, const struct node *node, const struct dataset *volume,
			 int64_t deadline, struct error *err)
{
	(void)at, (void)node, (void)volume, (void)deadline, (void)err;
	return 0;
}

int __wrap_history_read(struct arena *at, const char *dataset, struct history *ret,
			struct error *err);
int __wrap_history_read(struct arena *at, const char *dataset, struct history *ret,
			struct error *err)
{
	(void)err;
	assert_string_equal(dataset, "t/p/v");
	assert_true(history_parse(at, arena_strdup(at, points), ret));
	return 0;
}

static const struct node *this_host(void)
{
	static struct copies copies;
	static const struct node node = {.id = "n1", .boot = "b-2", .copies = &copies};

	return &node;
}

/* Returns the answers of these nodes, whose ids have a comma between; heard: those with a copy. */
static struct outcome outcome_of(const char *answered, const char *heard)
{
	struct outcome outcome = {.id = "v", .passed = {.newer = ""}};

	if (*answered)
		members_parse(&arena, arena_printf(&arena, LINEAGE ":60:%s", answered),
			      &outcome.answered);
	if (*heard)
		members_parse(&arena, arena_printf(&arena, LINEAGE ":60:%s", heard),
			      &outcome.heard);
	return outcome;
}

/* Returns true if this host is confirmed as the owner of v. The arguments are as in outcome_of. */
static bool confirmed(const char *answered, const char *heard)
{
	const struct outcome outcome = outcome_of(answered, heard);

	return outcome_follow(this_host(), &arena, &outcome);
}

/* Returns true if the answers of these nodes change nothing. */
static bool settled(const char *answered)
{
	const struct outcome outcome = outcome_of(answered, answered);
	const struct dataset volume = {.id = (char *)"v", .owner = (char *)owner};

	return outcome_is_settled(this_host(), &arena, &volume, &outcome);
}

static int set_up(void **state)
{
	struct error err;

	assert_int_equal(log_setup("error", "logfmt", &err), 0);
	owner = "boot=b-1";
	recorded = NULL;
	pushes = 0;
	return arena_setup(state);
}

static void a_member_with_a_copy_confirms_the_owner(void **state)
{
	(void)state;
	members = "n1,n2";
	points = MARK("n2");
	assert_false(confirmed("", ""));
	assert_false(confirmed("n2", ""));
	assert_true(confirmed("n2", "n2"));
}

/* After a move, before the first push to the former owner has ended, there is no bookmark. */
static void a_silent_member_without_a_bookmark_may_have_taken_over(void **state)
{
	(void)state;
	members = "n1,n2";
	points = "";
	assert_false(confirmed("", ""));
	assert_true(confirmed("n2", ""));
	assert_true(confirmed("n2", "n2"));
}

/* n3 has no complete copy yet, so n2 may have taken the volume over without asking n3. */
static void a_member_without_a_bookmark_confirms_nothing(void **state)
{
	(void)state;
	members = "n1,n2,n3";
	points = MARK("n2");
	assert_false(confirmed("", ""));
	assert_false(confirmed("n3", "n3"));
	assert_false(confirmed("n3", ""));
	assert_true(confirmed("n2", "n2"));
	assert_true(confirmed("n2,n3", "n2,n3"));
	points = MARK("n2") MARK("n3");
	assert_true(confirmed("n3", "n3"));
}

static void a_member_that_was_declared_lost_is_not_waited_for(void **state)
{
	(void)state;
	members = "n1,n2,n3";
	points = MARK("n2");
	owner = "boot=b-1,lost=n3";
	assert_false(confirmed("", ""));
	assert_false(confirmed("n3", "n3"));
	assert_true(confirmed("n2", "n2"));
	owner = "boot=b-1,lost=n2,lost=n3";
	assert_true(confirmed("", ""));
}

static void a_member_that_was_declared_lost_counts_when_it_answers(void **state)
{
	(void)state;
	members = "n1,n2,n3";
	points = MARK("n2");
	owner = "boot=b-2,lost=n2,lost=n3";
	assert_true(settled(""));
	assert_true(confirmed("", ""));
	assert_null(recorded);
	assert_false(settled("n2"));
	assert_true(confirmed("n2", ""));
	assert_string_equal(recorded, "boot=b-2,lost=n3");
	assert_int_equal(pushes, 1);
}

/* An owner that is not confirmed may have been declared lost itself. */
static void an_unconfirmed_owner_counts_no_member_again(void **state)
{
	(void)state;
	members = "n1,n2,n3";
	points = MARK("n2");
	owner = "boot=b-1,lost=n3";
	assert_false(confirmed("n3", ""));
	assert_null(recorded);
	assert_true(confirmed("n2,n3", "n2"));
	assert_string_equal(recorded, "boot=b-2,lost=n3");
	assert_int_equal(pushes, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, arena_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_member_with_a_copy_confirms_the_owner),
		TEST(a_silent_member_without_a_bookmark_may_have_taken_over),
		TEST(a_member_without_a_bookmark_confirms_nothing),
		TEST(a_member_that_was_declared_lost_is_not_waited_for),
		TEST(a_member_that_was_declared_lost_counts_when_it_answers),
		TEST(an_unconfirmed_owner_counts_no_member_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
