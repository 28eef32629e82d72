/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of common/mem.h: the scopes that clean up, and the guarantees of the arena.
 */
#include "tests/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"

static bool is_zero(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

static void scope_closes_unless_stolen(void **state)
{
	(void)state;
	int closed, kept;

	{
		auto_close int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		auto_close int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0 && other >= 0);
		closed = fd;
		kept = steal_fd(&other);
		assert_int_equal(other, -1);
	}
	assert_int_equal(fcntl(closed, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
	assert_int_not_equal(fcntl(kept, F_GETFD), -1);
	close(kept);
}

static void scope_unlocks(void **state)
{
	(void)state;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	{
		scoped_lock(&mutex);
		assert_int_equal(pthread_mutex_trylock(&mutex), EBUSY);
	}
	assert_int_equal(pthread_mutex_trylock(&mutex), 0);
	pthread_mutex_unlock(&mutex);
}

/* The address sanitizer checks that the scope frees its pointers exactly once. */
static void stolen_pointer_outlives_its_scope(void **state)
{
	(void)state;
	char *kept;

	{
		auto_free char *lost = mem_strdup("lost");
		auto_free char *text = mem_strdup("kept");
		kept = steal_ptr(text);
		assert_null(text);
		assert_string_equal(lost, "lost");
	}
	assert_string_equal(kept, "kept");
	free(kept);
}

static void arena_gives_zeroed_aligned_and_separate_memory(void **state)
{
	(void)state;
	struct arena arena;
	char *given[400];
	size_t sizes[COUNT(given)];

	arena_init(&arena, 0);
	for (size_t i = 0; i < COUNT(given); i++) {
		sizes[i] = i * i % 9973 + 1;
		given[i] = arena_alloc(&arena, sizes[i]);
		assert_int_equal((uintptr_t)given[i] % _Alignof(max_align_t), 0);
		assert_true(is_zero(given[i], sizes[i]));
		memset(given[i], (int)(i % 255) + 1, sizes[i]);
	}
	for (size_t i = 0; i < COUNT(given); i++)
		for (size_t at = 0; at < sizes[i]; at++)
			assert_int_equal((unsigned char)given[i][at], i % 255 + 1);
	assert_non_null(arena_alloc(&arena, 0));
	char *large = arena_alloc(&arena, (size_t)8 << 20);
	assert_true(is_zero(large, (size_t)8 << 20));
	arena_fini(&arena);
	assert_int_equal(arena.used, 0);
}

static void arena_cap_holds_for_try_only(void **state)
{
	(void)state;
	struct arena arena;

	arena_init(&arena, 1000);
	assert_null(arena_try(&arena, 1001));
	assert_null(arena_try(&arena, SIZE_MAX));
	assert_null(arena_try(&arena, SIZE_MAX - 40));
	while (arena_try(&arena, 7))
		assert_true(arena.used <= 1000);
	assert_true(arena.used > 900);
	assert_non_null(arena_alloc(&arena, 5000));
	assert_null(arena_try(&arena, 1));
	arena_fini(&arena);
}

static void arena_holds_texts(void **state)
{
	(void)state;
	struct arena arena;

	arena_init(&arena, 0);
	assert_string_equal(arena_strdup(&arena, "text"), "text");
	assert_string_equal(arena_strdup(&arena, ""), "");
	assert_string_equal(arena_printf(&arena, "%s=%d", "a", 7), "a=7");
	char *wide = arena_printf(&arena, "%10000d", 7);
	assert_int_equal(strlen(wide), 10000);
	arena_fini(&arena);
}

static int released;

static void release(void *what)
{
	const int *number = what;

	released = released * 10 + *number;
}

static void arena_releases_what_it_owns(void **state)
{
	(void)state;
	struct arena arena;
	int numbers[2] = {1, 2};

	released = 0;
	arena_init(&arena, 0);
	arena_own(&arena, release, &numbers[0]);
	arena_own(&arena, release, &numbers[1]);
	assert_int_equal(released, 0);
	arena_fini(&arena);
	assert_int_equal(released, 21);
	arena_fini(&arena);
	assert_int_equal(released, 21);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scope_closes_unless_stolen),
		cmocka_unit_test(scope_unlocks),
		cmocka_unit_test(stolen_pointer_outlives_its_scope),
		cmocka_unit_test(arena_gives_zeroed_aligned_and_separate_memory),
		cmocka_unit_test(arena_cap_holds_for_try_only),
		cmocka_unit_test(arena_holds_texts),
		cmocka_unit_test(arena_releases_what_it_owns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
