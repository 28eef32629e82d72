/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of the list of hosts, whose copies become the same in whatever order changes arrive. */
#include "tests/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/volume/host_list.h"

#define ROUNDS 2000

static struct arena memory;
static const char *const nodes[] = {"a", "b", "c"};

/* Returns a row whose endpoint contains the stamp. */
static struct host_row change(const char *node_id, uint64_t stamp)
{
	return (struct host_row){.node_id = arena_strdup(&memory, node_id),
				 .endpoint = arena_printf(&memory, "unix:///%s-%d", node_id,
							  (int)stamp),
				 .dataset = arena_strdup(&memory, "tank/zcsi"),
				 .stamp = stamp,
				 .forgotten = stamp % 2};
}

static void merge(struct host_list *list, const char *node_id, uint64_t stamp)
{
	const struct host_row row = change(node_id, stamp);

	host_list_merge(list, &row);
}

static void the_later_change_counts_in_any_order(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct host_list lists[2] = {{0}};
		struct host_row changes[6];
		for (size_t i = 0; i < COUNT(changes); i++)
			changes[i] = change(nodes[rand() % COUNT(nodes)], 1 + i);
		for (size_t i = 0; i < COUNT(changes); i++) {
			host_list_merge(&lists[0], &changes[i]);
			host_list_merge(&lists[1], &changes[(i * 5 + round) % COUNT(changes)]);
		}
		assert_int_equal(lists[0].digest, lists[1].digest);
		assert_int_equal(lists[0].n, lists[1].n);
		for (size_t i = 0; i < lists[0].n; i++) {
			const struct host_row *one = &lists[0].rows[i], *other = &lists[1].rows[i];
			assert_string_equal(one->node_id, other->node_id);
			assert_string_equal(one->endpoint, other->endpoint);
			assert_int_equal(one->forgotten, other->forgotten);
			assert_true(!i || strcmp(one[-1].node_id, one->node_id) < 0);
		}
		host_list_fini(&lists[0]);
		host_list_fini(&lists[1]);
	}
}

static void our_change_is_the_latest(void **state)
{
	const uint64_t ahead = UINT64_MAX / 2; /* stamp by another clock, which is ahead */
	struct host_list list = {0};

	(void)state;
	merge(&list, "a", ahead);
	struct host_row row = *host_list_find(&list, "a");
	row.since = 7;
	uint64_t digest = list.digest;
	host_list_set(&list, &row);
	assert_int_equal(host_list_find(&list, "a")->stamp, ahead + 1);
	assert_int_equal(host_list_find(&list, "a")->since, 7);
	assert_true(list.digest != digest);
	assert_null(host_list_find(&list, "b"));
	host_list_fini(&list);
}

static void order_grows_with_each_change(void **state)
{
	struct host_list list = {0};

	(void)state;
	merge(&list, "a", 1);
	merge(&list, "b", 2);
	uint64_t order = list.order;
	merge(&list, "a", 4);
	merge(&list, "b", 1);
	assert_true(host_list_find(&list, "a")->order > order);
	assert_false(host_list_find(&list, "b")->order > order);
	host_list_fini(&list);
	assert_int_equal(list.digest, 0);
}

static void a_full_list_drops_forgotten_hosts(void **state)
{
	struct host_list list = {0};
	char name[HOST_TEXT_MAX + 2];

	(void)state;
	for (int i = 0; i < HOST_LIST_MAX; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		merge(&list, name, i == 5 ? 1 : 2);
	}
	merge(&list, "x", 2);
	assert_non_null(host_list_find(&list, "x"));
	assert_null(host_list_find(&list, "n5"));
	merge(&list, "y", 2);
	assert_null(host_list_find(&list, "y"));
	merge(&list, "x", 4);
	assert_int_equal(host_list_find(&list, "x")->stamp, 4);
	assert_int_equal(list.n, HOST_LIST_MAX);
	host_list_fini(&list);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	merge(&list, name, 2);
	merge(&list, "", 2);
	assert_int_equal(list.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_later_change_counts_in_any_order),
		cmocka_unit_test(our_change_is_the_latest),
		cmocka_unit_test(order_grows_with_each_change),
		cmocka_unit_test(a_full_list_drops_forgotten_hosts),
	};

	arena_init(&memory, SIZE_MAX);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	arena_fini(&memory);
	return failed;
}
