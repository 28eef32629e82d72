/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of key_describe(): which texts are encryption keys, and of which format. The tests in the
 * lab check that zfs accepts the keys.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "node/zfs/key.h"
#include "node/zfs/zfs_run.h"

#define HEX  "0123456789abcdefABCDEF0000000000"
#define LONG HEX HEX HEX HEX HEX HEX HEX HEX HEX HEX HEX HEX HEX HEX HEX HEX

static bool the_kernels = true;

bool __wrap_zfs_is_the_kernels(void);
bool __wrap_zfs_is_the_kernels(void)
{
	return the_kernels;
}

static const char *value_of(const struct zfs_properties *properties, const char *name)
{
	for (size_t i = 0; i < properties->n; i++)
		if (!strcmp(properties->rows[i].name, name))
			return properties->rows[i].value;
	return NULL;
}

static void the_key_format_is_recognised(void **state)
{
	static const struct {
		const char *key, *format;
	} cases[] = {
		{HEX HEX, "hex"},
		{HEX HEX "0", "passphrase"},
		{HEX "0123456789abcdef0123456789abcdeg", "passphrase"},
		{"8 bytes.", "passphrase"},
		{LONG, "passphrase"},
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct zfs_properties properties = {.n = 0};
		assert_int_equal(key_describe(cases[i].key, &properties, &err), 0);
		assert_string_equal(value_of(&properties, "keyformat"), cases[i].format);
		assert_string_equal(value_of(&properties, "keylocation"), "prompt");
		assert_string_equal(properties.key, cases[i].key);
	}
}

static void bad_keys_are_refused_and_not_printed(void **state)
{
	static const struct {
		const char *key;
		enum error_code code;
	} cases[] = {
		{"", ERR_UNAUTHENTICATED},
		{"7 bytes", ERR_INVALID_ARGUMENT},
		{LONG "!", ERR_INVALID_ARGUMENT},
		{"a line\nand another", ERR_INVALID_ARGUMENT},
		{"ends with one\n", ERR_INVALID_ARGUMENT},
		{"of another\r system", ERR_INVALID_ARGUMENT},
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct zfs_properties properties = {.n = 0};
		assert_int_equal(key_describe(cases[i].key, &properties, &err), -1);
		assert_int_equal(err.code, cases[i].code);
		assert_non_null(strstr(err.text, "'encryption_key'"));
		assert_true(!*cases[i].key || !strstr(err.text, cases[i].key));
		assert_int_equal(properties.n, 0);
	}
}

static void zfs_fuse_refuses_keys(void **state)
{
	struct zfs_properties properties = {.n = 0};
	struct error err;

	(void)state;
	the_kernels = false;
	assert_int_equal(key_describe(HEX HEX, &properties, &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, "zfs-fuse cannot encrypt"));
	the_kernels = true;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_key_format_is_recognised),
		cmocka_unit_test(bad_keys_are_refused_and_not_printed),
		cmocka_unit_test(zfs_fuse_refuses_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
