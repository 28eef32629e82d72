/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_ARENA_H
#define ZCSI_TEST_ARENA_H

/* An arena for a group of tests: cmocka_run_group_tests(tests, arena_setup, arena_teardown). */

#include "common/mem.h"

static struct arena arena;

static int arena_setup(void **state)
{
	(void)state;
	arena_init(&arena, SIZE_MAX);
	return 0;
}

static int arena_teardown(void **state)
{
	(void)state;
	arena_fini(&arena);
	return 0;
}

#endif
