/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the change of zcsi:members by ModifyDataset. This host is n1; the other nodes take a
 * copy, but for n9.
 */
#include "node/copy/membership.h"

#include <string.h>

#include "node/stream/copies.h"
#include "node/zfs/zfs_run.h"
#include "tests/cmocka.h"

#define LINEAGE "00112233aabbccdd"

static bool openzfs;
static const char *server; /* the server of --zfs-over-ssh, or NULL */
static struct rpc_call call;
static struct error err;
static struct membership_change changed; /* the result of the last change */
static const char *rules;                /* zcsi:push of the volume */
static int64_t bandwidth;                /* the next change's, as the next variables */
static const char *snapshots, *follow;
static int64_t pin_limit, repair_after;

bool __wrap_zfs_is_the_kernels(void);
bool __wrap_zfs_is_the_kernels(void)
{
	return openzfs;
}

const char *__wrap_ssh_server(void);
const char *__wrap_ssh_server(void)
{
	return server;
}

int __wrap_push_check(struct push *push, struct error *ret_err);
int __wrap_push_check(struct push *push, struct error *ret_err)
{
	if (strcmp(push->to, "n9") != 0)
		return 0;
	return fail(ret_err, ERR_UNAVAILABLE, "it does not answer");
}

static int set_up(void **state)
{
	static struct copies copies;
	static struct node node = {.id = "n1", .copies = &copies};

	(void)state;
	openzfs = true;
	server = NULL;
	rules = "";
	bandwidth = 0;
	snapshots = follow = "";
	pin_limit = repair_after = 0;
	call = (struct rpc_call){.app = &node, .deadline = NO_DEADLINE};
	arena_init(&call.arena, SIZE_MAX);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_fini(&call.arena);
	return 0;
}

/* Change the members of the volume v. candidates: node ids, with ',' between. */
static int change(const char *members, int32_t replicas, const char *candidates, int64_t every)
{
	ModifyDatasetRequest *request = new_modify_dataset_request(&call.arena);
	char *rest = arena_strdup(&call.arena, candidates), *node;
	struct dataset volume = {.id = (char *)"v",
				 .name = (char *)"t/p/v",
				 .members = arena_strdup(&call.arena, members),
				 .push = arena_strdup(&call.arena, rules)};

	request->id = volume.id;
	request->replicas = replicas;
	request->sync_every = every;
	request->bandwidth = bandwidth;
	request->pin_limit = pin_limit;
	request->repair_after = repair_after;
	request->snapshots = arena_strdup(&call.arena, snapshots);
	request->follow = arena_strdup(&call.arena, follow);
	request->candidates = arena_alloc(&call.arena, strlen(candidates) * sizeof(char *) + 1);
	while ((node = strsep(&rest, ",")))
		if (*node)
			request->candidates[request->n_candidates++] = node;
	return membership_modify(&call, &volume, request, &changed, &err);
}

/* Assert that the last change set this text behind the lineage; NULL: it changed nothing. */
static void assert_members(const char *expected)
{
	const char *text = changed.members;

	if (!expected) {
		assert_null(text);
		return;
	}
	assert_non_null(text);
	assert_true(strlen(text) > LINEAGE_DIGITS);
	assert_string_equal(text + LINEAGE_DIGITS, expected);
}

static void assert_refused(int result, enum error_code code, const char *words)
{
	assert_int_equal(result, -1);
	assert_int_equal(err.code, code);
	assert_non_null(strstr(err.text, words));
	assert_true(!changed.members && !changed.push);
}

static void the_first_candidates_are_added(void **state)
{
	(void)state;
	assert_int_equal(change("", 2, "n3,n2", 0), 0);
	assert_members(":300:n1,n3");
	assert_int_equal(change(LINEAGE ":60:n1,n2", 3, "n2,n4,n3", 0), 0);
	assert_members(":60:n1,n2,n4");
	assert_memory_equal(changed.members, LINEAGE, LINEAGE_DIGITS);
}

static void a_repeat_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(change(LINEAGE ":60:n1,n2", 2, "n3", 60), 0);
	assert_members(NULL);
	rules = "bandwidth=65536,every=60";
	bandwidth = 65536;
	assert_int_equal(change("", 1, "", 60), 0);
	assert_members(NULL);
	assert_null(changed.push);
	rules = "-";
	bandwidth = -1;
	assert_int_equal(change("", 1, "", 0), 0);
	assert_null(changed.push);
}

static void sync_every_is_changed(void **state)
{
	(void)state;
	assert_int_equal(change(LINEAGE ":60:n1,n2", 0, "", 90), 0);
	assert_members(":90:n1,n2");
	assert_int_equal(change("", 2, "n2", 90), 0);
	assert_members(":90:n1,n2");
	assert_null(changed.push);
	assert_refused(change("", 0, "", 9), ERR_INVALID_ARGUMENT, "not by 9");
	assert_refused(change(LINEAGE ":60:n1,n2", 0, "", 9), ERR_INVALID_ARGUMENT, "not by 9");
}

static void a_volume_without_copies_keeps_sync_every_for_the_first_one(void **state)
{
	(void)state;
	assert_int_equal(change("", 1, "", 90), 0);
	assert_members(NULL);
	assert_string_equal(changed.push, "every=90");
	assert_int_equal(change("", 0, "", 90), 0);
	assert_string_equal(changed.push, "every=90");
	rules = "bandwidth=65536,every=90";
	assert_int_equal(change("", 2, "n2", 0), 0);
	assert_members(":90:n1,n2");
	assert_string_equal(changed.push, "bandwidth=65536");
	assert_int_equal(change("", 2, "n2", 20), 0);
	assert_members(":20:n1,n2");
	assert_int_equal(change(LINEAGE ":60:n1,n2", 3, "n3", 0), 0);
	assert_members(":60:n1,n2,n3");
}

static void a_limit_is_changed_and_lifted(void **state)
{
	(void)state;
	rules = "paused,bandwidth=65536";
	bandwidth = 1048576;
	assert_int_equal(change(LINEAGE ":60:n1,n2", 0, "", 0), 0);
	assert_members(NULL);
	assert_string_equal(changed.push, "paused,bandwidth=1048576");
	bandwidth = -1;
	assert_int_equal(change("", 0, "", 0), 0);
	assert_string_equal(changed.push, "paused");
	rules = "bandwidth=65536";
	assert_int_equal(change("", 0, "", 0), 0);
	assert_string_equal(changed.push, "-");
	bandwidth = 65535;
	assert_refused(change("", 0, "", 0), ERR_INVALID_ARGUMENT, "not 65535");
	bandwidth = -2;
	assert_refused(change("", 0, "", 0), ERR_INVALID_ARGUMENT, "not -2");
}

static void pin_limit_is_changed(void **state)
{
	(void)state;
	pin_limit = 3600;
	assert_int_equal(change(LINEAGE ":60:n1,n2", 0, "", 0), 0);
	assert_members(NULL);
	assert_string_equal(changed.push, "pin_limit=3600");
	rules = "bandwidth=65536,pin_limit=3600";
	assert_int_equal(change("", 0, "", 0), 0);
	assert_null(changed.push);
	pin_limit = 0;
	bandwidth = -1;
	assert_int_equal(change("", 0, "", 0), 0);
	assert_string_equal(changed.push, "pin_limit=3600");
	pin_limit = 9;
	assert_refused(change("", 0, "", 0), ERR_INVALID_ARGUMENT,
		       "pin_limit is from 10 to 2592000 seconds, not 9");
}

static void repair_after_is_changed(void **state)
{
	(void)state;
	repair_after = 3600;
	assert_int_equal(change(LINEAGE ":60:n1,n2", 0, "", 0), 0);
	assert_members(NULL);
	assert_string_equal(changed.push, "repair_after=3600");
	rules = "paused,repair_after=3600";
	assert_int_equal(change("", 0, "", 0), 0);
	assert_null(changed.push);
	repair_after = -1;
	assert_int_equal(change("", 0, "", 0), 0);
	assert_string_equal(changed.push, "paused");
	repair_after = 9;
	assert_refused(change("", 0, "", 0), ERR_INVALID_ARGUMENT,
		       "repair_after is from 10 to 2592000 seconds, not 9");
}

static void a_node_that_is_owed_may_be_a_member_again(void **state)
{
	(void)state;
	assert_int_equal(change(LINEAGE ":60:n1,n2:n3,n4", 3, "n3", 0), 0);
	assert_members(":60:n1,n2,n3:n4");
	assert_int_equal(change(LINEAGE ":60:n1:n3", 2, "n3", 0), 0);
	assert_members(":60:n1,n3");
}

static void the_snapshots_of_copies_are_changed(void **state)
{
	(void)state;
	snapshots = "all";
	assert_int_equal(change(LINEAGE ":60:n1,n2", 0, "", 0), 0);
	assert_members(NULL);
	assert_string_equal(changed.push, "snapshots=all");
	rules = "snapshots=all";
	assert_int_equal(change("", 0, "", 0), 0);
	assert_null(changed.push);
	snapshots = "ours";
	assert_int_equal(change("", 0, "", 0), 0);
	assert_string_equal(changed.push, "-");
	snapshots = "mine";
	assert_refused(change("", 0, "", 0), ERR_INVALID_ARGUMENT, "not 'mine'");
}

static void follow_is_changed(void **state)
{
	(void)state;
	follow = "no";
	assert_int_equal(change(LINEAGE ":60:n1,n2", 0, "", 0), 0);
	assert_members(NULL);
	assert_string_equal(changed.push, "follow=no");
	rules = "every=60,follow=no";
	assert_int_equal(change("", 0, "", 0), 0);
	assert_null(changed.push);
	follow = "members";
	assert_int_equal(change("", 0, "", 0), 0);
	assert_string_equal(changed.push, "every=60");
	rules = "";
	assert_int_equal(change("", 0, "", 0), 0);
	assert_null(changed.push);
	follow = "anywhere";
	assert_int_equal(change("", 0, "", 0), 0);
	assert_string_equal(changed.push, "follow=anywhere");
	rules = "every=60,follow=anywhere";
	assert_int_equal(change("", 0, "", 0), 0);
	assert_null(changed.push);
	openzfs = false;
	assert_refused(change("", 0, "", 0), ERR_FAILED_PRECONDITION, "zfs-fuse");
	follow = "everywhere";
	assert_refused(change("", 0, "", 0), ERR_INVALID_ARGUMENT, "not 'everywhere'");
}

static void no_copy_is_dropped(void **state)
{
	(void)state;
	assert_refused(change(LINEAGE ":60:n1,n2,n3", 2, "n4", 0), ERR_FAILED_PRECONDITION,
		       "on 3 nodes, 'n1', 'n2', 'n3'");
	assert_refused(change(LINEAGE ":60:n1,n2", 1, "", 90), ERR_FAILED_PRECONDITION,
		       "zcsi copy drop v NODE");
}

static void a_node_that_does_not_answer_is_named(void **state)
{
	(void)state;
	assert_refused(change("", 3, "n2,n9", 0), ERR_UNAVAILABLE, "node 'n9'");
	assert_int_equal(change("", 2, "n2,n9", 0), 0);
	assert_members(":300:n1,n2");
}

static void too_few_candidates_are_no_success(void **state)
{
	(void)state;
	assert_refused(change(LINEAGE ":60:n1,n2", 4, "n3", 0), ERR_ABORTED, "3 are left");
	assert_refused(change("", 2, "", 0), ERR_ABORTED, "1 are left");
}

static void impossible_changes_are_refused(void **state)
{
	(void)state;
	assert_refused(change("", 9, "n2", 0), ERR_INVALID_ARGUMENT, "replicas is 9");
	assert_refused(change("", -1, "n2", 0), ERR_INVALID_ARGUMENT, "replicas is -1");
	assert_refused(change("n1,n2", 2, "n2", 0), ERR_FAILED_PRECONDITION, "cannot be read");
	openzfs = false;
	assert_refused(change("", 2, "n2", 0), ERR_FAILED_PRECONDITION, "zfs-fuse");
	server = "zcsi@nas";
	assert_refused(change("", 2, "n2", 0), ERR_FAILED_PRECONDITION, "over ssh, 'zcsi@nas'");
	openzfs = true;
	assert_refused(change("", 2, "n2", 0), ERR_FAILED_PRECONDITION,
		       "run zcsi-node on that server");
	follow = "anywhere";
	assert_refused(change("", 0, "", 0), ERR_FAILED_PRECONDITION, "'zcsi@nas'");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_first_candidates_are_added),
		TEST(a_repeat_changes_nothing),
		TEST(sync_every_is_changed),
		TEST(a_volume_without_copies_keeps_sync_every_for_the_first_one),
		TEST(a_limit_is_changed_and_lifted),
		TEST(pin_limit_is_changed),
		TEST(repair_after_is_changed),
		TEST(a_node_that_is_owed_may_be_a_member_again),
		TEST(the_snapshots_of_copies_are_changed),
		TEST(follow_is_changed),
		TEST(no_copy_is_dropped),
		TEST(a_node_that_does_not_answer_is_named),
		TEST(too_few_candidates_are_no_success),
		TEST(impossible_changes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
