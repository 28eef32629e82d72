/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the volume parameters: the values of each key, the canonical text, and the difference of
 * two texts.
 */
#include "tests/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "controller/request/parameter_table.h"
#include "controller/request/parameters.h"
#include "proto/csi.h"
#include "tests/arena.h"

/* Parse the parameters in pairs, a list of key, value, key, value, NULL. */
static int parse(const char *const *pairs, struct parameters *ret, struct error *err)
{
	CreateVolumeRequest *request = new_create_volume_request(&arena);

	for (; *pairs; pairs += 2)
		map_put(&arena, request, parameters, pairs[0], pairs[1]);
	return parameters_parse(&arena, map_of(&arena, request, parameters), (struct map){0}, ret,
				err);
}

static void no_parameters_are_the_defaults(void **state)
{
	struct parameters parameters;
	struct error err;

	(void)state;
	assert_int_equal(parse((const char *[]){NULL}, &parameters, &err), 0);
	assert_int_equal(parameters.n_properties, 0);
	assert_string_equal(parameters.text, "attach=local\nprovisioning=thin\n");
	assert_false(parameters.thick);
}

static void parameters_become_properties_and_a_canonical_text(void **state)
{
	struct parameters parameters;
	struct error err;
	const char *const pairs[] = {
		"zfs.recordsize", "1M", "zfs.compression", "zstd-9", "csi.storage.k8s.io/pvc/name",
		"data",           NULL};

	(void)state;
	assert_int_equal(parse(pairs, &parameters, &err), 0);
	assert_string_equal(parameters.text,
			    "attach=local\nprovisioning=thin\nzfs.compression=zstd-9\n"
			    "zfs.recordsize=1M\n");
	assert_int_equal(parameters.n_properties, 2);
	assert_string_equal(parameters.properties[0]->name, "compression");
	assert_string_equal(parameters.properties[0]->value, "zstd-9");
	assert_string_equal(parameters.properties[1]->name, "recordsize");
	assert_string_equal(parameters.properties[1]->value, "1M");
}

static void the_claim_of_kubernetes_is_kept_and_not_compared(void **state)
{
	struct parameters parameters;
	struct error err;
	const char *const pairs[] = {"csi.storage.k8s.io/pvc/name",
				     "data",
				     "csi.storage.k8s.io/pvc/namespace",
				     "shop",
				     "csi.storage.k8s.io/pv/name",
				     "pvc-1",
				     NULL};

	(void)state;
	assert_int_equal(parse(pairs, &parameters, &err), 0);
	assert_string_equal(parameters.text, "attach=local\nprovisioning=thin\n");
	assert_int_equal(parameters.n_properties, 1);
	assert_string_equal(parameters.properties[0]->name, "kubernetes:claim");
	assert_string_equal(parameters.properties[0]->value, "shop/data");
}

static void an_unknown_key_is_named_with_all_known_ones(void **state)
{
	struct parameters parameters;
	struct error err;
	const char *const keys[] = {"zfs.noSuch", "compression", "Attach", "",
				    "csi.storage.k8s.io"};

	(void)state;
	for (size_t i = 0; i < COUNT(keys); i++) {
		const char *const pairs[] = {keys[i], "x", NULL};
		assert_int_equal(parse(pairs, &parameters, &err), -1);
		assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
		assert_non_null(strstr(err.text, keys[i]));
		assert_non_null(strstr(err.text, "zfs.compression"));
		assert_non_null(strstr(err.text, "zfs.xattr"));
	}
}

static void a_misspelt_key_gets_the_nearest(void **state)
{
	static const char *const cases[][2] = {
		{"compression", "zfs.compression"},
		{"zfs.compresion", "zfs.compression"},
		{"zfs.Recordsize", "zfs.recordsize"},
		{"Attach", "attach"},
		{"provisionning", "provisioning"},
		{"xyzzy", NULL},
		{"", NULL},
	};
	struct parameters parameters;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *const pairs[] = {cases[i][0], "x", NULL};
		assert_int_equal(parse(pairs, &parameters, &err), -1);
		const char *hint = strstr(err.text, "did you mean '");
		assert_int_equal(hint != NULL, cases[i][1] != NULL);
		if (hint)
			assert_memory_equal(hint + strlen("did you mean '"), cases[i][1],
					    strlen(cases[i][1]));
	}
}

static void a_reserved_key_is_refused_with_the_reason(void **state)
{
	static const char *const cases[][2] = {
		{"zfs.mountpoint", "orchestrator"},
		{"zfs.canmount", "orchestrator"},
		{"zfs.refquota", "capacity"},
		{"zfs.quota", "capacity"},
		{"zfs.refreservation", "thick"},
		{"zfs.sharenfs", "nodes that use it"},
		{"zfs.volsize", "capacity"},
		{"zfs.keylocation", "secret"},
		{"zfs.user.zcsi:volume", "reserved for zcsi"},
		{"zfs.user.kubernetes:claim", "another prefix"},
		{"zfs.readonly", "read-only"},
		{"zfs.user.zcsi:published", "reserved for zcsi"},
	};
	struct parameters parameters;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *const pairs[] = {cases[i][0], "x", NULL};
		assert_int_equal(parse(pairs, &parameters, &err), -1);
		assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
		assert_non_null(strstr(err.text, cases[i][0]));
		assert_non_null(strstr(err.text, cases[i][1]));
	}
}

static void contradicting_parameters_are_refused(void **state)
{
	static const char *const cases[][5] = {
		{"zfs.atime", "off", "zfs.relatime", "on", NULL},
		{"zfs.xattr", "off", "zfs.acltype", "posixacl", NULL},
		{"attach", "nfs", "zfs.encryption", "on", NULL},
	};
	struct parameters parameters;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(parse(cases[i], &parameters, &err), -1);
		assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
		assert_non_null(strstr(err.text, cases[i][0]));
		assert_non_null(strstr(err.text, cases[i][2]));
	}
}

static void owner_group_and_mode_are_stored_in_one_text(void **state)
{
	static const char *const cases[][7] = {
		{"owner", "1000", "group", "100", "mode", "2775", NULL},
		{"owner", "0", NULL},
		{"mode", "0700", "group", "4294967294", NULL},
	};
	static const char *const values[] = {"1000:100:2775", "0::", ":4294967294:0700"};
	struct parameters parameters;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(parse(cases[i], &parameters, &err), 0);
		assert_int_equal(parameters.n_properties, 1);
		assert_string_equal(parameters.properties[0]->name, "zcsi:root");
		assert_string_equal(parameters.properties[0]->value, values[i]);
	}
}

static void a_user_property_is_set_and_stored(void **state)
{
	const char *const pairs[] = {"zfs.user.com.sun:auto-snapshot", "false", NULL};
	struct parameters parameters;
	struct error err;

	(void)state;
	assert_int_equal(parse(pairs, &parameters, &err), 0);
	assert_string_equal(parameters.properties[0]->name, "com.sun:auto-snapshot");
	assert_string_equal(parameters.properties[0]->value, "false");
	assert_string_equal(parameters.text, "attach=local\nprovisioning=thin\n"
					     "zfs.user.com.sun:auto-snapshot=false\n");
}

static void only_properties_are_mutable(void **state)
{
	static const struct {
		const char *key, *value;
		int result;
	} cases[] = {
		{"zfs.recordsize", "16K", 0},  {"zfs.user.a:b", "c", 0}, {"attach", "local", -1},
		{"provisioning", "thick", -1}, {"owner", "1", -1},       {"mode", "755", -1},
		{"nonsense", "1", -1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct map_pair pair = {cases[i].key, cases[i].value};
		struct parameters parameters;
		struct error err;
		assert_int_equal(parameters_parse_mutable(&arena, (struct map){&pair, 1},
							  &parameters, &err),
				 cases[i].result);
		if (cases[i].result == 0)
			assert_int_equal(parameters.n_properties, 1);
		else
			assert_non_null(strstr(err.text, cases[i].key));
	}
}

/* Each value is valid, but together they do not fit into zcsi:parameters, the one property that
 * stores the text. */
static void a_text_too_long_for_its_property_is_refused(void **state)
{
	char value[1025];
	struct parameters parameters;
	struct error err;
	const char *const one[] = {"zfs.user.a:b", value, NULL};
	const char *const three[] = {"zfs.user.a:b", value, "zfs.user.a:c", value, "zfs.user.a:d",
				     value,          NULL};

	(void)state;
	memset(value, ' ', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	assert_int_equal(parse(one, &parameters, &err), 0);
	assert_int_equal(parse(three, &parameters, &err), -1);
	assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
	assert_non_null(strstr(err.text, "zfs.user"));
}

static const struct {
	const char *key, *value;
	int result;
} value_cases[] = {
	{"provisioning", "thin", 0},
	{"provisioning", "thick", 0},
	{"provisioning", "sparse", -1},
	{"owner", "0", 0},
	{"owner", "4294967294", 0},
	{"owner", "4294967295", -1},
	{"owner", "-1", -1},
	{"owner", "root", -1},
	{"owner", "", -1},
	{"owner", "10000000000", -1},
	{"group", "1 ", -1},
	{"mode", "755", 0},
	{"mode", "7777", 0},
	{"keep", "hourly=24,daily=30", 0},
	{"keep", "none", 0},
	{"keep", "hourly", -1},
	{"keep", "hourly=0", -1},
	{"mode", "788", -1},
	{"mode", "77", -1},
	{"mode", "07777", -1},
	{"zfs.checksum", "off", -1},
	{"zfs.checksum", "sha256", 0},
	{"zfs.user.a:b", "any text, \xc3\xa9", 0},
	{"zfs.user.a:b", "two\nlines", -1},
	{"zfs.user.a:b", "c1 \xc2\x85", -1},
	{"zfs.user.a:b", "", -1},
	{"zfs.user.ab", "x", -1},
	{"zfs.user.A:b", "x", -1},
	{"zfs.user.-a:b", "x", -1},
	{"zfs.user.1:b", "x", -1},
	{"zfs.user.a\n:b", "x", -1},
	{"zfs.user.", "x", -1},
	{"zfs.user.:", "x", -1},
	{"attach", "local", 0},
	{"attach", "nfs", 0},
	{"attach", "smb", -1},
	{"attach", "", -1},
	{"zfs.atime", "on", 0},
	{"zfs.atime", "ON", -1},
	{"zfs.atime", "on|off", -1},
	{"zfs.atime", "on\nzfs.sync=disabled", -1},
	{"zfs.compression", "gzip-1", 0},
	{"zfs.compression", "gzip-0", -1},
	{"zfs.compression", "gzip-10", -1},
	{"zfs.compression", "zstd-19", 0},
	{"zfs.compression", "zstd-20", -1},
	{"zfs.compression", "zstd-fast-4", 0},
	{"zfs.compression", "*", -1},
	{"zfs.copies", "3", 0},
	{"zfs.copies", "4", -1},
	{"zfs.recordsize", "131072", 0},
	{"zfs.recordsize", "128K", 0},
	{"zfs.recordsize", "128k", 0},
	{"zfs.recordsize", "512", 0},
	{"zfs.recordsize", "256", -1},
	{"zfs.recordsize", "100K", -1},
	{"zfs.recordsize", "16M", 0},
	{"zfs.recordsize", "32M", -1},
	{"zfs.recordsize", "128KB", -1},
	{"zfs.recordsize", "-512", -1},
	{"zfs.recordsize", " 512", -1},
	{"zfs.recordsize", "0", -1},
	{"zfs.recordsize", "18446744073709551616", -1},
	{"zfs.recordsize", "4503599627370496K", -1},
	{"zfs.recordsize", "", -1},
	{"zfs.special_small_blocks", "0", 0},
	{"zfs.special_small_blocks", "32K", 0},
	{"zfs.special_small_blocks", "3K", -1},
	{"zfs.dnodesize", "auto", 0},
	{"zfs.dnodesize", "2k", 0},
	{"zfs.dnodesize", "512", -1},
};

static void values_are_accepted_or_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(value_cases); i++) {
		const char *const pairs[] = {value_cases[i].key, value_cases[i].value, NULL};
		struct parameters parameters;
		struct error err;

		int result = parse(pairs, &parameters, &err);
		if (result != value_cases[i].result)
			print_error("%s=%s\n", value_cases[i].key, value_cases[i].value);
		assert_int_equal(result, value_cases[i].result);
		if (value_cases[i].result == 0)
			continue;
		assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
		assert_non_null(strstr(err.text, value_cases[i].key));
	}
}

static void too_large_parameters_are_refused(void **state)
{
	char value[MAP_SIZE_MAX + 1];
	struct parameters parameters;
	struct error err;

	(void)state;
	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	const char *const pairs[] = {"csi.storage.k8s.io/x", value, NULL};
	assert_int_equal(parse(pairs, &parameters, &err), -1);
	assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
}

static void the_first_difference_is_named(void **state)
{
	static const struct {
		const char *is, *asked, *words;
	} cases[] = {
		{"", "", NULL},
		{"a=1\nb=2\n", "a=1\nb=2\n", NULL},
		{"a=1\nb=2\n", "a=1\nb=3\n", "b is '2', the request asks for '3'"},
		{"a=1\nb=2\n", "a=1\n", "b is '2', the request asks for none"},
		{"a=1\nb=2\n", "b=2\n", "a is '1', the request asks for none"},
		{"b=2\n", "a=1\nb=2\n", "a is not set, the request asks for '1'"},
		{"a=1\n", "a=1\nc=3\n", "c is not set, the request asks for '3'"},
		{"", "a=1\n", "a is not set, the request asks for '1'"},
		{"a=1=2\n", "a=1=3\n", "a is '1=2', the request asks for '1=3'"},
		{"garbage", "a=1\n", "a is not set, the request asks for '1'"},
		{"", "attach=local\nprovisioning=thin\n", NULL},
		{"attach=local\n", "attach=local\nprovisioning=thin\n", NULL},
		{"attach=local\n", "provisioning=thick\n",
		 "provisioning is 'thin', the request asks for 'thick'"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *words = parameters_difference(&arena, cases[i].is, cases[i].asked);
		if (cases[i].words)
			assert_string_equal(words, cases[i].words);
		else
			assert_null(words);
	}
}

/* In a text that zcsi did not write, only the lines of the form KEY=VALUE are compared. */
static void malformed_lines_of_a_stored_text_are_ignored(void **state)
{
	static const char *const odd[] = {"\n", "=", "=\n", "a\n"};

	(void)state;
	for (size_t i = 0; i < COUNT(odd); i++)
		assert_non_null(parameters_difference(&arena, odd[i], "a=1\n"));
	assert_null(parameters_difference(&arena, "\n=x\n\na=1\n\n", "a=1\n"));
}

static void help_lists_all_parameters(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	parameters_help(out);
	fclose(out);
	assert_non_null(strstr(text, "attach"));
	assert_non_null(strstr(text, "zfs.user.<user property>"));
	assert_non_null(strstr(text, "a power of two from 512 to 16M"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_parameters_are_the_defaults, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(parameters_become_properties_and_a_canonical_text,
						arena_setup, arena_teardown),
		cmocka_unit_test_setup_teardown(the_claim_of_kubernetes_is_kept_and_not_compared,
						arena_setup, arena_teardown),
		cmocka_unit_test_setup_teardown(an_unknown_key_is_named_with_all_known_ones,
						arena_setup, arena_teardown),
		cmocka_unit_test_setup_teardown(a_misspelt_key_gets_the_nearest, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(a_reserved_key_is_refused_with_the_reason,
						arena_setup, arena_teardown),
		cmocka_unit_test_setup_teardown(contradicting_parameters_are_refused, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(owner_group_and_mode_are_stored_in_one_text,
						arena_setup, arena_teardown),
		cmocka_unit_test_setup_teardown(a_user_property_is_set_and_stored, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(only_properties_are_mutable, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(a_text_too_long_for_its_property_is_refused,
						arena_setup, arena_teardown),
		cmocka_unit_test_setup_teardown(values_are_accepted_or_refused, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(too_large_parameters_are_refused, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(the_first_difference_is_named, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(malformed_lines_of_a_stored_text_are_ignored,
						arena_setup, arena_teardown),
		cmocka_unit_test_setup_teardown(help_lists_all_parameters, arena_setup,
						arena_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
