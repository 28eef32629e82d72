/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the index and of the inventory that is built on it, with up to 100,000 snapshots.
 */
#include "tests/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "node/catalog/inventory.h"
#include "tests/arena.h"

static struct dataset *dataset(const char *id)
{
	const struct dataset made = {
		.id = (char *)id, .name = dataset_name(&arena, "t/p", id), .guid = 7, .size = 4096};

	return dataset_copy(&arena, &made);
}

static struct dataset *trashed(const char *id, uint64_t guid)
{
	struct dataset *made = dataset(id);

	made->guid = guid;
	made->name = dataset_trash_name(&arena, "t/p", made->name, guid);
	return made;
}

static struct snapshot *snapshot(const struct dataset *of, const char *leaf, const char *name)
{
	const struct snapshot made = {
		.id = snapshot_id(&arena, of->id, leaf),
		.name = (char *)name,
		.dataset_id = of->id,
		.zfs_name = arena_printf(&arena, "%s@%s", of->name, leaf),
		.creation = 1,
	};

	return snapshot_copy(&arena, &made);
}

static void index_keeps_order(void **state)
{
	static const char *const ids[] = {"m", "a", "z", "\xc3\xbc", "b", "a", "A"};
	struct index index = INDEX_BY(struct dataset, id);

	(void)state;
	for (size_t i = 0; i < COUNT(ids); i++) {
		const void *old = index_put(&index, dataset(ids[i]));
		assert_int_equal(old != NULL, i == 5);
	}
	assert_int_equal(index.n, 6);
	for (size_t i = 1; i < index.n; i++)
		assert_true(strcmp(((struct dataset *)index.rows[i - 1])->id,
				   ((struct dataset *)index.rows[i])->id) < 0);
	assert_string_equal(((struct dataset *)index_get(&index, "a"))->id, "a");
	assert_null(index_get(&index, "c"));
	assert_string_equal(((struct dataset *)index.rows[index_after(&index, "b")])->id, "m");
	assert_string_equal(((struct dataset *)index.rows[index_after(&index, "c")])->id, "m");
	assert_int_equal(index_after(&index, "\xff"), index.n);
	assert_non_null(index_take(&index, dataset("a")));
	assert_null(index_take(&index, dataset("a")));
	assert_int_equal(index.n, 5);
	index_fini(&index);
	assert_int_equal(index_after(&index, ""), 0);
}

static void a_snapshot_needs_its_dataset(void **state)
{
	struct inventory inventory;

	(void)state;
	inventory_init(&inventory);
	struct snapshot *s = snapshot(dataset("a"), "s", "s");
	inventory_put_snapshot(&inventory, "t/p", s);
	assert_null(inventory_named(&inventory, "s"));
	inventory_put_dataset(&inventory, "t/p", dataset("a"));
	inventory_put_snapshot(&inventory, "t/p", s);
	struct snapshot *shown =
		inventory_show(&inventory, &arena, inventory_named(&inventory, "s"));
	assert_int_equal(shown->dataset_guid, 7);
	assert_int_equal(shown->size, 4096);
	inventory_drop(&inventory, "t/p/b@s");
	assert_non_null(inventory_named(&inventory, "s"));
	inventory_drop(&inventory, "t/p/a@s");
	assert_null(inventory_named(&inventory, "s"));
	assert_int_equal(inventory.snapshots.n, 0);
	inventory_fini(&inventory);
}

static void dropping_a_dataset_drops_its_snapshots(void **state)
{
	static const char *const ids[] = {"a", "a.b", "aa"};
	struct dataset *gone = trashed("a", 11);
	struct snapshot_list left;
	struct inventory inventory;

	(void)state;
	inventory_init(&inventory);
	inventory_put_dataset(&inventory, "t/p", gone);
	inventory_put_snapshot(&inventory, "t/p", snapshot(gone, "deleted", "deleted"));
	for (size_t i = 0; i < COUNT(ids); i++) {
		inventory_put_dataset(&inventory, "t/p", dataset(ids[i]));
		inventory_put_snapshot(&inventory, "t/p", snapshot(dataset(ids[i]), "1", ids[i]));
		inventory_put_snapshot(&inventory, "t/p", snapshot(dataset(ids[i]), "2", ""));
	}
	inventory_snapshots_of(&inventory, &arena, "t/p/a", &left);
	assert_int_equal(left.n, 2);
	assert_string_equal(left.rows[0]->zfs_name, "t/p/a@1");
	inventory_drop(&inventory, "t/p/a");
	assert_null(inventory_dataset(&inventory, "t/p/a"));
	assert_null(index_get(&inventory.datasets, "a"));
	assert_null(inventory_named(&inventory, "a"));
	assert_non_null(inventory_named(&inventory, "a.b"));
	assert_non_null(inventory_named(&inventory, "deleted"));
	assert_int_equal(inventory.snapshots.n, 5);
	inventory_drop(&inventory, gone->name);
	assert_int_equal(inventory.trashed.n, 0);
	assert_int_equal(inventory.snapshots.n, 4);
	inventory_snapshots_of(&inventory, &arena, "t/p/a", &left);
	assert_int_equal(left.n, 0);
	inventory_fini(&inventory);
}

/* A deleted volume and its successor with the same id both have a snapshot "daily" of another tool.
 * The id of the snapshot belongs to the existing volume. */
static void existing_datasets_win_the_id(void **state)
{
	struct dataset *rows[] = {dataset("a")}, *gone[] = {trashed("a", 11), trashed("a", 12)};
	struct snapshot *daily[] = {snapshot(gone[0], "daily", ""), snapshot(rows[0], "daily", ""),
				    snapshot(gone[1], "daily", "")};
	struct listing listing = {.datasets = rows,
				  .n_datasets = 1,
				  .trashed = gone,
				  .n_trashed = 2,
				  .snapshots = daily,
				  .n_snapshots = COUNT(daily)};
	struct inventory read, put;

	(void)state;
	inventory_init(&read);
	inventory_init(&put);
	inventory_fill(&read, "t/p", &listing);
	inventory_put_dataset(&put, "t/p", rows[0]);
	inventory_put_dataset(&put, "t/p", gone[0]);
	inventory_put_dataset(&put, "t/p", gone[1]);
	for (size_t i = 0; i < COUNT(daily); i++)
		inventory_put_snapshot(&put, "t/p", daily[i]);
	const struct inventory *both[] = {&read, &put};
	for (size_t i = 0; i < COUNT(both); i++) {
		assert_int_equal(both[i]->trashed.n, 2);
		assert_int_equal(both[i]->snapshots.n, 1);
		assert_string_equal(((struct snapshot *)both[i]->snapshots.rows[0])->zfs_name,
				    "t/p/a@daily");
	}
	inventory_fini(&read);
	inventory_fini(&put);
}

static size_t count(const struct inventory *inventory, struct snapshot_query query)
{
	struct snapshot_list page;
	size_t n = 0;
	bool more = true;

	query.after = "";
	query.max = 3;
	while (more) {
		inventory_page(inventory, &arena, &query, &page, &more);
		for (size_t i = 0; i < page.n; i++) {
			assert_true(strcmp(page.rows[i]->id, query.after) > 0);
			query.after = page.rows[i]->id;
		}
		assert_true(page.n == 3 || !more);
		n += page.n;
	}
	return n;
}

static void pages_are_filtered_and_ordered(void **state)
{
	/* Snapshot ids of the last dataset are so long that they are shortened in the middle of a
	 * UTF-8 character. */
	char *longest = arena_printf(&arena, "x%0*d", 91, 0);
	struct dataset *datasets[] = {dataset("a"), dataset("a-b"), dataset("a@"),
				      dataset(arena_printf(&arena, "%s\xc3\xbc\xc3\xbc", longest))};
	struct snapshot_list group;
	struct inventory inventory;

	(void)state;
	inventory_init(&inventory);
	for (size_t i = 0; i < COUNT(datasets); i++) {
		inventory_put_dataset(&inventory, "t/p", datasets[i]);
		for (int k = 0; k < 5; k++) {
			char *name = arena_printf(&arena, "n%zu-%d-%030d", i, k, k);
			struct snapshot *made = snapshot(datasets[i], name, name);
			if (k == 4)
				made->group = arena_strdup(&arena, "g");
			inventory_put_snapshot(&inventory, "t/p", made);
		}
	}
	assert_int_equal(count(&inventory, (struct snapshot_query){.dataset_id = ""}), 20);
	for (size_t i = 0; i < COUNT(datasets); i++)
		assert_int_equal(count(&inventory,
				       (struct snapshot_query){.dataset_id = datasets[i]->id}),
				 5);
	assert_int_equal(count(&inventory, (struct snapshot_query){.dataset_id = "b"}), 0);
	inventory_group(&inventory, &arena, "g", &group);
	assert_int_equal(group.n, 4);
	for (size_t i = 0; i < group.n; i++)
		assert_string_equal(group.rows[i]->group, "g");
	inventory_group(&inventory, &arena, "f", &group);
	assert_int_equal(group.n, 0);
	inventory_fini(&inventory);
}

#define VOLUMES 10000
#define EACH    10

static void fill_all(struct inventory *inventory)
{
	struct listing listing = {
		.datasets = arena_alloc(&arena, VOLUMES * sizeof(void *)),
		.snapshots = arena_alloc(&arena, VOLUMES * EACH * sizeof(void *)),
	};

	for (int i = 0; i < VOLUMES; i++) {
		struct dataset *of = dataset(arena_printf(&arena, "volume-%d", i));
		listing.datasets[listing.n_datasets++] = of;
		for (int k = 0; k < EACH; k++) {
			char *name = arena_printf(&arena, "snapshot-%d-%d", k, i);
			listing.snapshots[listing.n_snapshots++] = snapshot(of, name, name);
		}
	}
	inventory_init(inventory);
	inventory_fill(inventory, "t/p", &listing);
}

/* This test checks that no entry is lost among many. `make bench` measures the time. */
static void each_of_many_snapshots_is_found(void **state)
{
	struct inventory inventory;

	(void)state;
	fill_all(&inventory);
	assert_int_equal(inventory.snapshots.n, VOLUMES * EACH);
	assert_int_equal(inventory.names.n, VOLUMES * EACH);
	struct snapshot *first = snapshot(dataset("volume-0"), "0", "0");
	for (int i = 0; i < 100; i++) {
		inventory_put_snapshot(&inventory, "t/p", first);
		assert_non_null(inventory_named(&inventory, "0"));
		assert_non_null(index_get(&inventory.snapshots, "volume-9999@snapshot-9-9999"));
		inventory_drop(&inventory, first->zfs_name);
		assert_null(inventory_named(&inventory, "0"));
	}
	assert_int_equal(inventory.snapshots.n, VOLUMES * EACH);
	inventory_fini(&inventory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(index_keeps_order),
		cmocka_unit_test(a_snapshot_needs_its_dataset),
		cmocka_unit_test(dropping_a_dataset_drops_its_snapshots),
		cmocka_unit_test(existing_datasets_win_the_id),
		cmocka_unit_test(pages_are_filtered_and_ordered),
		cmocka_unit_test(each_of_many_snapshots_is_found),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
