/* SPDX-License-Identifier: MPL-2.0 */
/* The device that keeps a pool from being ONLINE, in what `zpool status` prints. */
#include "tests/cmocka.h"

#include "node/catalog/device.h"

#define BEGIN                                                                                      \
	"  pool: tank\n state: DEGRADED\n  scan: none requested\nconfig:\n\n"                      \
	"\tNAME             STATE     READ WRITE CKSUM\n"                                          \
	"\ttank             DEGRADED     0     0     0\n"
#define END "\nerrors: No known data errors\n"

static const struct row {
	const char *printed, *name, *state;
} rows[] = {
	{BEGIN "\t  mirror-0       DEGRADED     0     0     0\n"
	       "\t    sda          ONLINE       0     0     0\n"
	       "\t    /dev/sdb     OFFLINE      0     0     0\n" END,
	 "/dev/sdb", "OFFLINE"},
	{BEGIN "\t  raidz1-0       DEGRADED     0     0     0\n"
	       "\t    1234567890   UNAVAIL      0     0     0  was /dev/sdc1\n"
	       "\t    sdd          FAULTED      0     0    12  too many errors\n" END,
	 "1234567890", "UNAVAIL"},
	{BEGIN "\t  sda            DEGRADED     0     0    99  too many errors\n"
	       "\tspares\n\t  sdx            AVAIL\n" END,
	 "sda", "DEGRADED"},
	{BEGIN "\t  sda            ONLINE       0     0     0\n" END, "", ""},
	{"no pools available\n", "", ""},
	{"", "", ""},
};

static void the_first_leaf_in_trouble_is_found(void **state)
{
	struct device device;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		device_parse(rows[i].printed, &device);
		assert_string_equal(device.name, rows[i].name);
		assert_string_equal(device.state, rows[i].state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_leaf_in_trouble_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
