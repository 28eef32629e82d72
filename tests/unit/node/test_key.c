/* SPDX-License-Identifier: MPL-2.0 */
/* Which text is a key, and of what kind. Whether zfs takes it is for the lab's tests. */
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

static void a_key_says_what_it_is(void **state)
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

static void what_is_no_key_is_refused_and_not_repeated(void **state)
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

static void zfs_fuse_cannot(void **state)
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
		cmocka_unit_test(a_key_says_what_it_is),
		cmocka_unit_test(what_is_no_key_is_refused_and_not_repeated),
		cmocka_unit_test(zfs_fuse_cannot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
