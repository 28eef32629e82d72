/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of field_check_name(): the code points and the size that CSI allows for a name.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "common/mem.h"
#include "controller/request/field.h"

static void valid_names_are_accepted(void **state)
{
	static const char *const names[] = {
		"a",    "traefik-acme",      "vol[0]",   "../x",   "a@b",         "with space",
		"a\tb", "\xc3\xa9t\xc3\xa9", "\xc2\xa0", "a\r\nb", "\xe2\x82\xac"};
	char longest[TEXT_SIZE_MAX + 1];
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++)
		assert_int_equal(field_check_name("name", names[i], &err), 0);
	memset(longest, 'x', TEXT_SIZE_MAX);
	longest[TEXT_SIZE_MAX] = '\0';
	assert_int_equal(field_check_name("name", longest, &err), 0);
}

static void invalid_names_are_refused(void **state)
{
	static const char *const names[] = {"",     "\x01", "a\x08", "\x0b",     "\x0c",
					    "\x0e", "\x1f", "\x7f",  "\xc2\x80", "x\xc2\x9f"};
	char long_name[TEXT_SIZE_MAX + 2];
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		assert_int_equal(field_check_name("name", names[i], &err), -1);
		assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
		assert_memory_equal(err.text, "name", 4);
	}
	memset(long_name, 'x', sizeof(long_name));
	long_name[TEXT_SIZE_MAX + 1] = '\0';
	assert_int_equal(field_check_name("name", long_name, &err), -1);
	assert_non_null(strstr(err.text, "129 bytes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_names_are_accepted),
		cmocka_unit_test(invalid_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
