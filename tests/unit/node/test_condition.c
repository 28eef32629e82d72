/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of condition_judge(): the condition of a volume that follows from the gathered facts. Also
 * how long condition_gather() waits for a filesystem.
 */
#include "tests/cmocka.h"

#include <errno.h>
#include <string.h>
#include <sys/mount.h>

#include "common/clock.h"
#include "node/csi/condition.h"
#include "node/mount/call.h"

static const struct mount target = {.target = "/t", .source = "p/a", .type = "zfs", .master = 7};
static const struct mount reader = {
	.target = "/t", .source = "p/a", .type = "zfs", .master = 7, .attrs = MOUNT_ATTR_RDONLY};
static const struct mount orphan = {.target = "/t", .source = "p/a", .type = "zfs"};
static const struct mount remote = {
	.target = "/t", .source = "10.0.0.1:/s", .type = "nfs4", .master = 7};
static const struct mount cover = {.target = "/t", .source = "none"};

/* Judge the facts. words are in the text of the expected condition; NULL: the volume is healthy. */
static void expect(struct condition_facts facts, const char *reason, const char *words)
{
	struct condition condition;
	struct arena arena;

	arena_init(&arena, SIZE_MAX);
	if (!facts.top)
		facts.top = facts.mount;
	if (!facts.pool_problem)
		facts.pool_problem = "";
	if (!facts.newer)
		facts.newer = "";
	assert_int_equal(condition_judge(&arena, &facts, &condition), words != NULL);
	if (words) {
		assert_string_equal(condition.reason, reason);
		assert_non_null(strstr(condition.text, words));
	}
	arena_fini(&arena);
}

static void healthy_volumes_have_no_problem(void **state)
{
	(void)state;
	expect((struct condition_facts){.mount = &target, .has_dataset = true}, NULL, NULL);
	expect((struct condition_facts){.mount = &reader, .has_dataset = true, .frozen = true},
	       NULL, NULL);
}

static void each_problem_has_its_words(void **state)
{
	(void)state;
	expect((struct condition_facts){.mount = &target, .has_dataset = true, .top = &cover},
	       "MountedOver", "'none' is mounted over it");
	expect((struct condition_facts){.mount = &target, .has_dataset = true, .error = ETIMEDOUT},
	       "NoAnswer", "'zpool status'");
	expect((struct condition_facts){.mount = &remote, .has_dataset = true, .error = ETIMEDOUT},
	       "NoAnswer", "'10.0.0.1:/s', whose server");
	expect((struct condition_facts){.mount = &target, .has_dataset = true, .error = EIO},
	       "FilesystemError", "Input/output error");
	expect((struct condition_facts){.mount = &target, .pool_problem = "no pool 'p'"},
	       "PoolUnavailable", "no pool 'p'");
	expect((struct condition_facts){.mount = &target}, "DatasetGone", "no volume any more");
	expect((struct condition_facts){.mount = &target, .has_dataset = true, .newer = "n2"},
	       "Superseded", "'n2' took the volume over");
	expect((struct condition_facts){.mount = &target, .has_dataset = true, .frozen = true},
	       "ReadOnly", "read-only");
	expect((struct condition_facts){.mount = &orphan, .has_dataset = true}, "NotStaged",
	       "staging mount");
}

static void the_worst_problem_is_reported(void **state)
{
	(void)state;
	expect((struct condition_facts){.mount = &orphan,
					.error = EIO,
					.frozen = true,
					.pool_problem = "no pool 'p'"},
	       "FilesystemError", "Input/output error");
	expect((struct condition_facts){.mount = &orphan,
					.frozen = true,
					.pool_problem = "no pool 'p'"},
	       "PoolUnavailable", "no pool 'p'");
}

/* The condition of a volume that is not mounted depends on its pool only. */
static void unmounted_volumes_depend_on_their_pool(void **state)
{
	(void)state;
	expect((struct condition_facts){.has_dataset = true}, NULL, NULL);
	expect((struct condition_facts){.pool_problem = "no pool 'p'"}, "PoolUnavailable",
	       "no pool 'p'");
}

/* A volume is DEGRADED, not INACCESSIBLE, as long as the workload can still use its mount. */
static void status_depends_on_the_mount(void **state)
{
	const struct condition_facts mounted = {
		.mount = &target, .top = &target, .pool_problem = "no pool 'p'"};
	const struct condition_facts silent = {
		.mount = &target, .top = &target, .error = EIO, .pool_problem = ""};
	const struct condition_facts absent = {.pool_problem = "no pool 'p'"};
	struct condition condition;
	struct arena arena;

	(void)state;
	arena_init(&arena, SIZE_MAX);
	assert_true(condition_judge(&arena, &mounted, &condition));
	assert_int_equal(condition.status, VOLUME_HEALTH_ERROR_TYPE_DEGRADED);
	assert_true(condition_judge(&arena, &silent, &condition));
	assert_int_equal(condition.status, VOLUME_HEALTH_ERROR_TYPE_INACCESSIBLE);
	assert_true(condition_judge(&arena, &absent, &condition));
	assert_int_equal(condition.status, VOLUME_HEALTH_ERROR_TYPE_INACCESSIBLE);
	arena_fini(&arena);
}

static int64_t asked_at, waits_until; /* when the last statvfs began, and its deadline */

typeof(mount_call_statvfs) __wrap_mount_call_statvfs;

int __wrap_mount_call_statvfs(const struct mount *mount, int64_t deadline, struct statvfs *ret)
{
	(void)mount;
	(void)ret;
	asked_at = now_ms();
	waits_until = deadline;
	return ETIMEDOUT;
}

static void gather(int64_t deadline)
{
	struct rpc_call call = {.deadline = deadline};
	struct mount row = {.id = 2, .parent = 1, .target = "/t", .source = "s", .type = "nfs4"};
	const struct mount_table table = {&row, 1};
	struct condition_facts facts;
	struct statvfs fs;

	condition_gather(&call, "data", &table, &row, &facts, &fs);
	assert_int_equal(facts.error, ETIMEDOUT);
}

/* The server answers by itself up to half a second before the deadline. */
static void a_second_is_left_for_the_answer(void **state)
{
	const int64_t deadline = now_ms() + 5500;

	(void)state;
	gather(deadline);
	assert_int_equal(waits_until, deadline - 1000);
}

static void a_late_call_still_asks_the_filesystem(void **state)
{
	const int64_t before = now_ms();

	(void)state;
	gather(before + 100);
	assert_in_range(waits_until, before + 50, asked_at + 50);
}

static void without_a_deadline_the_wait_ends_too(void **state)
{
	(void)state;
	gather(NO_DEADLINE);
	assert_true(waits_until <= asked_at + 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy_volumes_have_no_problem),
		cmocka_unit_test(each_problem_has_its_words),
		cmocka_unit_test(the_worst_problem_is_reported),
		cmocka_unit_test(unmounted_volumes_depend_on_their_pool),
		cmocka_unit_test(status_depends_on_the_mount),
		cmocka_unit_test(a_second_is_left_for_the_answer),
		cmocka_unit_test(a_late_call_still_asks_the_filesystem),
		cmocka_unit_test(without_a_deadline_the_wait_ends_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
