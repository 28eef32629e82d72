/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of key_describe(): which texts are encryption keys, and of which format. Tests of
 * key_load(): which zfs it runs. The tests in the lab check that zfs accepts the keys.
 */
#include "tests/cmocka.h"

#include <stdio.h>
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

static char ran[256];         /* the words and the input of the programs that were run */
static enum error_code fails; /* how loading a key fails; 0: loading succeeds */

int __wrap_zfs_run_with(const char *const *argv, const char *input, struct error *err);
int __wrap_zfs_run_with(const char *const *argv, const char *input, struct error *err)
{
	const bool checks = !strcmp(argv[4], "-n");
	size_t used = strlen(ran);

	for (; *argv; argv++)
		used += (size_t)snprintf(ran + used, sizeof(ran) - used, "%s ", *argv);
	snprintf(ran + used, sizeof(ran) - used, "< %s;", input);
	if (checks && strcmp(input, "right") != 0)
		return fail(err, ERR_UNAUTHENTICATED, "zfs printed no");
	return !checks && fails ? fail(err, fails, "zfs printed \"already\"") : 0;
}

/* Check the result of key_load and the programs that it runs. */
static void loads(const struct key *key, const char *secret, enum error_code code,
		  const char *programs)
{
	struct error err;

	*ran = '\0';
	assert_int_equal(key_load("p/data", key, secret, &err), code == ERR_OK ? 0 : -1);
	assert_true(code == ERR_OK || err.code == code);
	assert_string_equal(ran, programs);
}

#define LOAD  "zfs load-key -L prompt p/data < right;"
#define CHECK "zfs load-key -L prompt -n p/data < "

static void a_loaded_key_is_only_checked(void **state)
{
	const struct key key = {.root = "p/data", .loaded = true, .managed = true};

	(void)state;
	loads(&key, "right", ERR_OK, CHECK "right;");
	loads(&key, "wrong", ERR_UNAUTHENTICATED, CHECK "wrong;");
	loads(&key, "", ERR_OK, "");
	loads(&key, NULL, ERR_OK, "");
}

static void a_key_of_the_parent_is_not_checked(void **state)
{
	const struct key key = {.root = "p", .loaded = true};

	(void)state;
	loads(&key, "wrong", ERR_OK, "");
}

static void a_key_that_is_loaded_meanwhile_is_checked(void **state)
{
	const struct key key = {.root = "p/data", .managed = true};

	(void)state;
	loads(&key, "right", ERR_OK, LOAD);
	fails = ERR_ALREADY_EXISTS;
	loads(&key, "right", ERR_OK, LOAD CHECK "right;");
	fails = ERR_UNAUTHENTICATED;
	loads(&key, "right", ERR_UNAUTHENTICATED, LOAD);
	fails = ERR_OK;
	loads(&key, NULL, ERR_UNAUTHENTICATED, "");
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
		cmocka_unit_test(a_loaded_key_is_only_checked),
		cmocka_unit_test(a_key_of_the_parent_is_not_checked),
		cmocka_unit_test(a_key_that_is_loaded_meanwhile_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
