/* SPDX-License-Identifier: MPL-2.0 */
/* The index and what is built of it; and that both stay fast with 100,000 snapshots. */
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
	struct holdings holdings;

	(void)state;
	holdings_init(&holdings);
	struct snapshot *s = snapshot(dataset("a"), "s", "s");
	holdings_put_snapshot(&holdings, "t/p", s);
	assert_null(holdings_named(&holdings, "s"));
	holdings_put_dataset(&holdings, "t/p", dataset("a"));
	holdings_put_snapshot(&holdings, "t/p", s);
	struct snapshot *shown = holdings_show(&holdings, &arena, holdings_named(&holdings, "s"));
	assert_int_equal(shown->dataset_guid, 7);
	assert_int_equal(shown->size, 4096);
	holdings_drop(&holdings, "t/p/b@s");
	assert_non_null(holdings_named(&holdings, "s"));
	holdings_drop(&holdings, "t/p/a@s");
	assert_null(holdings_named(&holdings, "s"));
	assert_int_equal(holdings.snapshots.n, 0);
	holdings_fini(&holdings);
}

static void a_dataset_takes_its_snapshots_with_it(void **state)
{
	static const char *const ids[] = {"a", "a.b", "aa"};
	struct dataset *gone = trashed("a", 11);
	struct snapshot_list left;
	struct holdings holdings;

	(void)state;
	holdings_init(&holdings);
	holdings_put_dataset(&holdings, "t/p", gone);
	holdings_put_snapshot(&holdings, "t/p", snapshot(gone, "deleted", "deleted"));
	for (size_t i = 0; i < COUNT(ids); i++) {
		holdings_put_dataset(&holdings, "t/p", dataset(ids[i]));
		holdings_put_snapshot(&holdings, "t/p", snapshot(dataset(ids[i]), "1", ids[i]));
		holdings_put_snapshot(&holdings, "t/p", snapshot(dataset(ids[i]), "2", ""));
	}
	holdings_snapshots_of(&holdings, &arena, "t/p/a", &left);
	assert_int_equal(left.n, 2);
	assert_string_equal(left.rows[0]->zfs_name, "t/p/a@1");
	holdings_drop(&holdings, "t/p/a");
	assert_null(holdings_dataset(&holdings, "t/p/a"));
	assert_null(index_get(&holdings.datasets, "a"));
	assert_null(holdings_named(&holdings, "a"));
	assert_non_null(holdings_named(&holdings, "a.b"));
	assert_non_null(holdings_named(&holdings, "deleted"));
	assert_int_equal(holdings.snapshots.n, 5);
	holdings_drop(&holdings, gone->name);
	assert_int_equal(holdings.trashed.n, 0);
	assert_int_equal(holdings.snapshots.n, 4);
	holdings_snapshots_of(&holdings, &arena, "t/p/a", &left);
	assert_int_equal(left.n, 0);
	holdings_fini(&holdings);
}

/* A deleted volume and its successor, both snapshotted as "daily" by another tool. */
static void the_living_have_the_id(void **state)
{
	struct dataset *rows[] = {dataset("a")}, *gone[] = {trashed("a", 11), trashed("a", 12)};
	struct snapshot *twins[] = {snapshot(gone[0], "daily", ""), snapshot(rows[0], "daily", ""),
				    snapshot(gone[1], "daily", "")};
	struct reading reading = {.datasets = rows,
				  .n_datasets = 1,
				  .trashed = gone,
				  .n_trashed = 2,
				  .snapshots = twins,
				  .n_snapshots = COUNT(twins)};
	struct holdings read, put;

	(void)state;
	holdings_init(&read);
	holdings_init(&put);
	holdings_fill(&read, "t/p", &reading);
	holdings_put_dataset(&put, "t/p", rows[0]);
	holdings_put_dataset(&put, "t/p", gone[0]);
	holdings_put_dataset(&put, "t/p", gone[1]);
	for (size_t i = 0; i < COUNT(twins); i++)
		holdings_put_snapshot(&put, "t/p", twins[i]);
	const struct holdings *both[] = {&read, &put};
	for (size_t i = 0; i < COUNT(both); i++) {
		assert_int_equal(both[i]->trashed.n, 2);
		assert_int_equal(both[i]->snapshots.n, 1);
		assert_string_equal(((struct snapshot *)both[i]->snapshots.rows[0])->zfs_name,
				    "t/p/a@daily");
	}
	holdings_fini(&read);
	holdings_fini(&put);
}

static size_t count(const struct holdings *holdings, struct snapshot_query query)
{
	struct snapshot_list page;
	size_t n = 0;
	bool more = true;

	query.after = "";
	query.max = 3;
	while (more) {
		holdings_page(holdings, &arena, &query, &page, &more);
		for (size_t i = 0; i < page.n; i++) {
			assert_true(strcmp(page.rows[i]->id, query.after) > 0);
			query.after = page.rows[i]->id;
		}
		assert_true(page.n == 3 || !more);
		n += page.n;
	}
	return n;
}

static void pages_are_of_what_was_asked_for(void **state)
{
	/* The ids of the last one's snapshots are cut, within a character. */
	char *longest = arena_printf(&arena, "x%0*d", 91, 0);
	struct dataset *datasets[] = {dataset("a"), dataset("a-b"), dataset("a@"),
				      dataset(arena_printf(&arena, "%s\xc3\xbc\xc3\xbc", longest))};
	struct snapshot_list group;
	struct holdings holdings;

	(void)state;
	holdings_init(&holdings);
	for (size_t i = 0; i < COUNT(datasets); i++) {
		holdings_put_dataset(&holdings, "t/p", datasets[i]);
		for (int k = 0; k < 5; k++) {
			char *name = arena_printf(&arena, "n%zu-%d-%030d", i, k, k);
			struct snapshot *made = snapshot(datasets[i], name, name);
			if (k == 4)
				made->group = arena_strdup(&arena, "g");
			holdings_put_snapshot(&holdings, "t/p", made);
		}
	}
	assert_int_equal(count(&holdings, (struct snapshot_query){.dataset_id = ""}), 20);
	for (size_t i = 0; i < COUNT(datasets); i++)
		assert_int_equal(count(&holdings,
				       (struct snapshot_query){.dataset_id = datasets[i]->id}),
				 5);
	assert_int_equal(count(&holdings, (struct snapshot_query){.dataset_id = "b"}), 0);
	holdings_group(&holdings, &arena, "g", &group);
	assert_int_equal(group.n, 4);
	for (size_t i = 0; i < group.n; i++)
		assert_string_equal(group.rows[i]->group, "g");
	holdings_group(&holdings, &arena, "f", &group);
	assert_int_equal(group.n, 0);
	holdings_fini(&holdings);
}

#define VOLUMES 10000
#define EACH    10

static void fill_all(struct holdings *holdings)
{
	struct reading reading = {
		.datasets = arena_alloc(&arena, VOLUMES * sizeof(void *)),
		.snapshots = arena_alloc(&arena, VOLUMES * EACH * sizeof(void *)),
	};

	for (int i = 0; i < VOLUMES; i++) {
		struct dataset *of = dataset(arena_printf(&arena, "volume-%d", i));
		reading.datasets[reading.n_datasets++] = of;
		for (int k = 0; k < EACH; k++) {
			char *name = arena_printf(&arena, "snapshot-%d-%d", k, i);
			reading.snapshots[reading.n_snapshots++] = snapshot(of, name, name);
		}
	}
	holdings_init(holdings);
	holdings_fill(holdings, "t/p", &reading);
}

/* What it costs is for make bench to say; here, that nothing gets lost among many. */
static void many_are_all_found(void **state)
{
	struct holdings holdings;

	(void)state;
	fill_all(&holdings);
	assert_int_equal(holdings.snapshots.n, VOLUMES * EACH);
	assert_int_equal(holdings.names.n, VOLUMES * EACH);
	struct snapshot *first = snapshot(dataset("volume-0"), "0", "0");
	for (int i = 0; i < 100; i++) {
		holdings_put_snapshot(&holdings, "t/p", first);
		assert_non_null(holdings_named(&holdings, "0"));
		assert_non_null(index_get(&holdings.snapshots, "volume-9999@snapshot-9-9999"));
		holdings_drop(&holdings, first->zfs_name);
		assert_null(holdings_named(&holdings, "0"));
	}
	assert_int_equal(holdings.snapshots.n, VOLUMES * EACH);
	holdings_fini(&holdings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(index_keeps_order),
		cmocka_unit_test(a_snapshot_needs_its_dataset),
		cmocka_unit_test(a_dataset_takes_its_snapshots_with_it),
		cmocka_unit_test(the_living_have_the_id),
		cmocka_unit_test(pages_are_of_what_was_asked_for),
		cmocka_unit_test(many_are_all_found),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
