/* SPDX-License-Identifier: MPL-2.0 */
/* What is said of a volume, from what was found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <sys/mount.h>

#include "node/condition.h"

#include <cmocka.h> /* last: its fail() is not ours */

static const struct mount target = {.target = "/t", .source = "p/a", .master = 7};
static const struct mount reader = {
	.target = "/t", .source = "p/a", .master = 7, .attrs = MOUNT_ATTR_RDONLY};
static const struct mount orphan = {.target = "/t", .source = "p/a"};
static const struct mount cover = {.target = "/t", .source = "none"};

static void expect(struct condition_facts facts, const char *words)
{
	struct arena arena;

	arena_init(&arena, SIZE_MAX);
	if (!facts.top)
		facts.top = facts.mount;
	if (!facts.pool_problem)
		facts.pool_problem = "";
	const char *problem = condition_problem(&arena, &facts);
	if (!words) {
		assert_null(problem);
	} else {
		assert_non_null(problem);
		assert_non_null(strstr(problem, words));
	}
	arena_fini(&arena);
}

static void what_is_in_order_has_no_problem(void **state)
{
	(void)state;
	expect((struct condition_facts){.mount = &target, .has_dataset = true}, NULL);
	expect((struct condition_facts){.mount = &reader, .has_dataset = true, .frozen = true},
	       NULL);
}

static void each_problem_has_its_words(void **state)
{
	(void)state;
	expect((struct condition_facts){.mount = &target, .has_dataset = true, .top = &cover},
	       "'none' is mounted over it");
	expect((struct condition_facts){.mount = &target, .has_dataset = true, .error = ETIMEDOUT},
	       "does not answer");
	expect((struct condition_facts){.mount = &target, .has_dataset = true, .error = EIO},
	       "Input/output error");
	expect((struct condition_facts){.mount = &target, .pool_problem = "no pool 'p'"},
	       "no pool 'p'");
	expect((struct condition_facts){.mount = &target}, "no volume any more");
	expect((struct condition_facts){.mount = &target, .has_dataset = true, .frozen = true},
	       "read-only");
	expect((struct condition_facts){.mount = &orphan, .has_dataset = true}, "not staged");
}

static void the_worst_is_said(void **state)
{
	(void)state;
	expect((struct condition_facts){.mount = &orphan,
					.error = EIO,
					.frozen = true,
					.pool_problem = "no pool 'p'"},
	       "Input/output error");
	expect((struct condition_facts){.mount = &orphan,
					.frozen = true,
					.pool_problem = "no pool 'p'"},
	       "no pool 'p'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_order_has_no_problem),
		cmocka_unit_test(each_problem_has_its_words),
		cmocka_unit_test(the_worst_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
