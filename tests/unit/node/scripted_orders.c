/* SPDX-License-Identifier: MPL-2.0 */
/* A list of orders, for the programs of test_order*.c, each of which includes this file once. */
#include "node/copy/order.h"

#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "node/copy/written.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

#define LINEAGE "00112233aabbccdd"

static struct order_list orders;
static uint64_t marks[4]; /* the mark of each volume, which orders_follow gets */

static void quiet(void)
{
	struct error err;

	assert_int_equal(log_setup("error", "logfmt", &err), 0);
}

static struct dataset *volume(const char *name, const char *members)
{
	struct dataset made = {.id = strrchr(name, '/') + 1,
			       .name = (char *)name,
			       .members = (char *)members,
			       .format = format_find(FORMAT_ZFS)};

	return dataset_copy(&arena, &made);
}

static void follow(struct dataset **rows, size_t n)
{
	const struct dataset_list volumes = {rows, n};

	orders_follow(&orders, "n1", &volumes, marks);
}

static void follow_one(const char *members)
{
	follow((struct dataset *[]){volume("t/p/v", members)}, 1);
}

static void done(struct order *order, int64_t synced, int64_t due)
{
	const struct synced state = {synced, order->mark, now_us()};

	order_done(order, &state, due);
}

static int set_up(void **state)
{
	(void)state;
	orders = (struct order_list){.looked = now_ms()};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	orders_fini(&orders);
	return 0;
}
