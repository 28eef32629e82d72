/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of dns:/// in lists of agents, with names that need no name server.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "common/agents_dns.h"
#include "tests/arena.h"

static struct error err;

static int expand(const char *first, const char *second, struct option_list *ret)
{
	const char *values[] = {first, second};
	const struct option_list list = {values, second ? 2 : 1};

	return agents_dns_expand(&arena, &list, ret, &err);
}

static void other_endpoints_stay(void **state)
{
	struct option_list list;

	(void)state;
	assert_int_equal(expand("unix:///run/a", "tcp://10.0.0.1:1?name=n", &list), 0);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.values[0], "unix:///run/a");
	assert_string_equal(list.values[1], "tcp://10.0.0.1:1?name=n");
}

static void a_name_has_its_addresses(void **state)
{
	struct option_list list;

	(void)state;
	assert_int_equal(expand("unix:///run/a", "dns:///127.0.0.2:9740", &list), 0);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.values[1], "tcp://127.0.0.2:9740?name=127.0.0.2");
	assert_int_equal(expand("dns:///localhost:9740", NULL, &list), 0);
	assert_true(list.n >= 1);
	assert_string_equal(list.values[0], "tcp://127.0.0.1:9740?name=localhost");
}

static void a_list_has_names_or_not(void **state)
{
	const char *values[] = {"unix:///run/a", "dns:///a:1"};

	(void)state;
	assert_true(agents_dns_any(&(struct option_list){values, 2}));
	assert_false(agents_dns_any(&(struct option_list){values, 1}));
}

static void a_malformed_endpoint_is_refused(void **state)
{
	static const char *const wrong[] = {
		"dns:///a",   "dns:///:1",      "dns:///a:",   "dns:///a:0",
		"dns:///a:x", "dns:///a:65536", "dns:///a:1x", "dns:///"};
	struct option_list list;

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		assert_int_equal(expand(wrong[i], NULL, &list), -1);
		assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
		assert_non_null(strstr(err.text, wrong[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(other_endpoints_stay, arena_setup, arena_teardown),
		cmocka_unit_test_setup_teardown(a_name_has_its_addresses, arena_setup,
						arena_teardown),
		cmocka_unit_test(a_list_has_names_or_not),
		cmocka_unit_test_setup_teardown(a_malformed_endpoint_is_refused, arena_setup,
						arena_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
