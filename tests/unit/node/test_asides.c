/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the list of volumes that another node took over and of which this host has put data
 * aside, and of the metric of these.
 */
#include "tests/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "common/metrics.h"
#include "common/volume/name.h"
#include "node/host/asides.h"
#include "node/host/node.h"
#include "node/owner/owner_metrics.h"
#include "tests/arena.h"

static const char *const found[] = {"data", "data", "films"};
static struct asides asides = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int setup(void **state)
{
	(void)state;
	asides = (struct asides){.lock = PTHREAD_MUTEX_INITIALIZER};
	return 0;
}

static void assert_ids(size_t n, const char *const *ids)
{
	uint64_t *list;

	assert_int_equal(asides_list(&asides, &arena, &list), n);
	for (size_t i = 0; i < n; i++)
		assert_true(list[i] == name_hash(NAME_VOLUME, ids[i]));
}

static void nothing_is_known_before_the_first_reading(void **state)
{
	(void)state;
	assert_int_equal(asides_count(&asides), -1);
	assert_ids(0, NULL);
	asides_put(&asides, asides_begin(&asides), NULL, 0);
	assert_int_equal(asides_count(&asides), 0);
}

static void a_volume_is_named_once_and_its_datasets_are_counted(void **state)
{
	(void)state;
	asides_put(&asides, asides_begin(&asides), found, 3);
	assert_int_equal(asides_count(&asides), 3);
	assert_ids(2, found + 1);
}

static void a_late_end_brings_nothing_back(void **state)
{
	(void)state;
	const uint64_t earlier = asides_begin(&asides), later = asides_begin(&asides);

	asides_put(&asides, later, NULL, 0);
	asides_put(&asides, earlier, found, 3);
	assert_int_equal(asides_count(&asides), 0);
	asides_put(&asides, asides_begin(&asides), found, 1);
	assert_int_equal(asides_count(&asides), 1);
}

static void more_than_it_keeps_are_counted(void **state)
{
	static const char *ids[ASIDES_MAX + 2];

	(void)state;
	for (size_t i = 0; i < COUNT(ids); i++)
		ids[i] = arena_printf(&arena, "v%zu", i);
	asides_put(&asides, asides_begin(&asides), ids, COUNT(ids));
	assert_int_equal(asides_count(&asides), ASIDES_MAX + 2);
	assert_ids(ASIDES_MAX, ids);
}

/* Assert that the metric has this value; NULL: that it is not written. */
static void assert_metric(const char *value)
{
	const struct node node = {.catalog = catalog_new("tank/zcsi", 30), .asides = &asides};
	auto_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	owner_metrics_write(&node, out);
	fclose(out);
	catalog_free(node.catalog);
	const char *at = strstr(text, "\nzcsi_volumes_diverged");
	if (!value)
		assert_null(at);
	else
		assert_string_equal(at,
				    arena_printf(&arena, "\nzcsi_volumes_diverged %s\n", value));
}

static void the_metric_is_what_was_read_last(void **state)
{
	(void)state;
	assert_metric(NULL);
	asides_put(&asides, asides_begin(&asides), found, 3);
	assert_metric("3");
	asides_put(&asides, asides_begin(&asides), NULL, 0);
	assert_metric("0");
}

#define ASIDES_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ASIDES_TEST(nothing_is_known_before_the_first_reading),
		ASIDES_TEST(a_volume_is_named_once_and_its_datasets_are_counted),
		ASIDES_TEST(a_late_end_brings_nothing_back),
		ASIDES_TEST(more_than_it_keeps_are_counted),
		ASIDES_TEST(the_metric_is_what_was_read_last),
	};

	metrics_enable();
	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
