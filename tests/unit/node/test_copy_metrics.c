/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of the metrics of copies: a copy has no series for what is not known of it. */
#include "node/copy/copy_metrics.h"

#include <string.h>

#include "common/clock.h"
#include "tests/cmocka.h"

static struct pushed rows[4];
static size_t n_rows;

struct pushed *__wrap_pusher_list(struct pusher *pusher, struct arena *arena, size_t *ret_n);
struct pushed *__wrap_pusher_list(struct pusher *pusher, struct arena *arena, size_t *ret_n)
{
	struct pushed *copy = arena_alloc(arena, sizeof(rows));

	(void)pusher;
	memcpy(copy, rows, sizeof(rows));
	*ret_n = n_rows;
	return copy;
}

static void add(const char *to, struct pushed row)
{
	row.id = "v";
	row.to = to;
	row.error = "";
	row.every = 300;
	rows[n_rows++] = row;
}

/* Returns the page, until the next call. Any pointer but NULL is a pusher here. */
static const char *page(void)
{
	static char text[16384];
	FILE *out = fmemopen(text, sizeof(text), "w");

	copy_metrics_write((struct pusher *)rows, out);
	fclose(out);
	return text;
}

static bool has(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	return at && (at == text || at[-1] == '\n') && at[strlen(line)] == '\n';
}

static void lag_is_reported_if_known(void **state)
{
	(void)state;
	n_rows = 0;
	add("n2", (struct pushed){.synced = wall_us() - 7000000, .unsent = 0});
	add("n3", (struct pushed){.synced = 5000000, .unsent = 3298534883329, .failed = 1});
	add("n4", (struct pushed){.unsent = -1, .paused = true});
	const char *text = page();
	assert_true(has(text, "zcsi_copy_lag_bytes{volume=\"v\",node=\"n2\"} 0"));
	assert_true(has(text, "zcsi_copy_lag_bytes{volume=\"v\",node=\"n3\"} 3298534883329"));
	assert_true(has(text, "zcsi_copy_synced_timestamp_seconds{volume=\"v\",node=\"n3\"} 5"));
	assert_non_null(strstr(text, "zcsi_copy_lag_seconds{volume=\"v\",node=\"n2\"} 7"));
	assert_true(has(text, "zcsi_copy_failing{volume=\"v\",node=\"n3\"} 1"));
	assert_true(has(text, "zcsi_copy_paused{volume=\"v\",node=\"n4\"} 1"));
	assert_true(has(text, "zcsi_copy_lag_allowed_seconds{volume=\"v\",node=\"n4\"} 300"));
	assert_null(strstr(text, "zcsi_copy_lag_bytes{volume=\"v\",node=\"n4\"}"));
	assert_null(strstr(text, "zcsi_copy_lag_seconds{volume=\"v\",node=\"n4\"}"));
	assert_null(strstr(text, "zcsi_copy_synced_timestamp_seconds{volume=\"v\",node=\"n4\"}"));
}

static void the_old_copy_of_a_replaced_node_has_one_series(void **state)
{
	(void)state;
	n_rows = 0;
	add("n2", (struct pushed){.owed = true, .synced = 5, .unsent = 7});
	const char *text = page();
	assert_true(has(text, "zcsi_copy_owed{volume=\"v\",node=\"n2\"} 1"));
	const char *first = strstr(text, "node=\"n2\"");
	assert_null(strstr(first + 1, "node=\"n2\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lag_is_reported_if_known),
		cmocka_unit_test(the_old_copy_of_a_replaced_node_has_one_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
