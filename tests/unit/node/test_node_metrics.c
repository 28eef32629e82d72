/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the node's metrics, with a catalog that the test fills: which values are written and
 * which are omitted.
 */
#include "tests/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "common/child.h"
#include "common/metrics.h"
#include "node/catalog/catalog_inside.h"
#include "node/metrics.h"
#include "node/zfs/zfs_metrics.h"
#include "node/host/node.h"

#define PARENT "tank/zcsi"

static struct node node;

static int setup(void **state)
{
	(void)state;
	node.catalog = catalog_new(PARENT, 30);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	catalog_free(node.catalog);
	return 0;
}

/* Put a volume into the catalog; size, used and available are bytes. With guid 0 the volume counts
 * as not read since it was created. */
static void put(const char *id, uint64_t guid, int64_t size, int64_t used, int64_t available)
{
	struct arena arena;

	arena_init(&arena, SIZE_MAX);
	const struct dataset dataset = {.id = arena_strdup(&arena, id),
					.name = dataset_name(&arena, PARENT, id),
					.guid = guid,
					.size = size,
					.used = used,
					.available = available};
	catalog_put(node.catalog, &dataset);
	arena_fini(&arena);
}

static char *metrics_text(void)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	node_metrics(&node, out);
	fclose(out);
	return text;
}

static void assert_has(const char *text, const char *line)
{
	if (!strstr(text, line))
		print_error("no '%s' in:\n%s", line, text);
	assert_non_null(strstr(text, line));
}

static size_t count(const char *text, const char *words)
{
	size_t n = 0;

	for (; (text = strstr(text, words)); text++)
		n++;
	return n;
}

static void an_unread_pool_has_no_values(void **state)
{
	auto_free char *text = metrics_text();

	(void)state;
	assert_has(text, "\nzcsi_pool_usable{dataset=\"" PARENT "\"} 0\n");
	assert_has(text, "\nzcsi_catalog_read_timestamp_seconds{dataset=\"" PARENT "\"} 0\n");
	assert_null(strstr(text, "zcsi_pool_available_bytes"));
	assert_null(strstr(text, "zcsi_pool_size_bytes"));
	assert_null(strstr(text, "zcsi_volumes{"));
}

static void unread_values_of_a_volume_are_omitted(void **state)
{
	(void)state;
	node.catalog->read = 1700000000;
	node.catalog->available = 5000;
	node.catalog->capacity = 9000;
	put("read", 7, 1000, 600, 400);
	put("made just \"now\"", 0, 2000, 0, 0);
	auto_free char *text = metrics_text();
	assert_has(text,
		   "\nzcsi_catalog_read_timestamp_seconds{dataset=\"" PARENT "\"} 1700000000\n");
	assert_has(text, "\nzcsi_pool_available_bytes{dataset=\"" PARENT "\"} 5000\n");
	assert_has(text, "\nzcsi_pool_size_bytes{dataset=\"" PARENT "\"} 9000\n");
	assert_has(text, "\nzcsi_volumes{dataset=\"" PARENT "\"} 2\n");
	assert_has(text, "\nzcsi_volumes_size_bytes{dataset=\"" PARENT "\"} 3000\n");
	assert_has(text, "\nzcsi_volumes_used_bytes{dataset=\"" PARENT "\"} 600\n");
	assert_has(text, "\nzcsi_volumes_omitted{dataset=\"" PARENT "\"} 0\n");
	assert_has(text, "\nzcsi_volume_size_bytes{volume=\"made just \\\"now\\\"\"} 2000\n");
	assert_has(text, "\nzcsi_volume_size_bytes{volume=\"read\"} 1000\n");
	assert_has(text, "\nzcsi_volume_used_bytes{volume=\"read\"} 600\n");
	assert_has(text, "\nzcsi_volume_available_bytes{volume=\"read\"} 400\n");
	assert_int_equal(count(text, "\nzcsi_volume_used_bytes{"), 1);
	assert_int_equal(count(text, "\nzcsi_volume_available_bytes{"), 1);
}

static void too_many_volumes_have_totals_only(void **state)
{
	char id[16];

	(void)state;
	node.catalog->read = 1700000000;
	for (int i = 0; i < 1000; i++) {
		snprintf(id, sizeof(id), "v%d", i);
		put(id, 1, 10, 1, 9);
	}
	auto_free char *all = metrics_text();
	assert_int_equal(count(all, "\nzcsi_volume_size_bytes{"), 1000);
	assert_has(all, "\nzcsi_volumes_omitted{dataset=\"" PARENT "\"} 0\n");
	put("one too many", 1, 10, 1, 9);
	auto_free char *totals = metrics_text();
	assert_null(strstr(totals, "{volume="));
	assert_has(totals, "\nzcsi_volumes{dataset=\"" PARENT "\"} 1001\n");
	assert_has(totals, "\nzcsi_volumes_used_bytes{dataset=\"" PARENT "\"} 1001\n");
	assert_has(totals, "\nzcsi_volumes_omitted{dataset=\"" PARENT "\"} 1001\n");
}

static void programs_are_counted_by_how_they_end(void **state)
{
	static const struct {
		enum error_code code;
		int status;
		const char *outcome;
	} ends[] = {{ERR_OK, 0, "ok"},
		    {ERR_OK, 1, "refused"},
		    {ERR_OK, 255, "refused"},
		    {ERR_OK, CHILD_SIGNALLED + 9, "killed"},
		    {ERR_UNAVAILABLE, 0, "timeout"},
		    {ERR_FAILED_PRECONDITION, 0, "not_run"}};
	const char *const argv[] = {"zfs", "create", "secret", NULL};

	(void)state;
	for (size_t i = 0; i < COUNT(ends); i++)
		zfs_metrics_count(argv, ends[i].code, ends[i].status, 20000);
	auto_free char *text = metrics_text();
#define RUNS(outcome)                                                                              \
	"\nzcsi_zfs_processes_total{command=\"zfs\",verb=\"create\",outcome=\"" outcome "\"} "
	assert_has(text, RUNS("ok") "1\n");
	assert_has(text, RUNS("refused") "2\n");
	assert_has(text, RUNS("killed") "1\n");
	assert_has(text, RUNS("timeout") "1\n");
	assert_has(text, RUNS("not_run") "1\n");
	assert_has(text, "\nzcsi_zfs_process_duration_seconds_sum{command=\"zfs\",verb=\"create\""
			 "} 0.12\n");
	assert_null(strstr(text, "secret"));
}

static void a_node_is_ready_when_its_pool_is(void **state)
{
	struct error err = {.code = ERR_OK};
	struct node without = {.catalog = NULL};

	(void)state;
	assert_int_equal(node_ready(&without, &err), 0);
	assert_int_equal(node_ready(&node, &err), -1);
	assert_string_equal(err.text, "'" PARENT "' is still being read; try again");
	node.catalog->state = CATALOG_READY;
	*node.catalog->problem = '\0';
	assert_int_equal(node_ready(&node, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_unread_pool_has_no_values, setup, teardown),
		cmocka_unit_test_setup_teardown(unread_values_of_a_volume_are_omitted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(too_many_volumes_have_totals_only, setup, teardown),
		cmocka_unit_test_setup_teardown(programs_are_counted_by_how_they_end, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_node_is_ready_when_its_pool_is, setup, teardown),
	};

	metrics_enable();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
