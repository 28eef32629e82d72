/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of NFS sources and server addresses, and of the mount flags that belong to NFS.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "node/host/address.h"
#include "node/attach/nfs.h"
#include "node/record/share.h"
#include "node/mount/flags.h"

static void sources_are_read_back(void **state)
{
	static const struct {
		const char *server, *source, *address;
	} rows[] = {
		{"127.0.0.1", "127.0.0.1:/s", "127.0.0.1"},
		{"::1", "[::1]:/s", "::1"},
		{"[::1]", "[::1]:/s", "::1"},
	};
	char address[ADDRESS_MAX], own[ADDRESS_MAX];
	struct arena arena;
	struct error err;

	(void)state;
	arena_init(&arena, SIZE_MAX);
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_string_equal(nfs_source(&arena, rows[i].server, "/s"), rows[i].source);
		assert_int_equal(address_of_server(rows[i].source, address, &err), 0);
		assert_string_equal(address, rows[i].address);
	}
	assert_int_equal(address_of_server("no.such.invalid:/s", address, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "'no.such.invalid'"));
	assert_int_equal(address_towards("127.0.0.1", own, &err), 0);
	assert_string_equal(own, "127.0.0.1");
	assert_int_equal(address_towards("a name", own, &err), -1);
	arena_fini(&arena);
}

static void addresses_and_names_are_distinguished(void **state)
{
	(void)state;
	assert_true(address_is("10.0.0.1"));
	assert_true(address_is("fd00::1"));
	assert_false(address_is("10.0.0"));
	assert_false(address_is("host"));
	assert_false(address_is("10.0.0.1/24"));
	assert_false(address_is("*"));
	assert_false(address_is(""));
}

static void an_nfs_flag_has_a_value_or_none(void **state)
{
	static const char *const good[] = {"vers=4.1", "nolock", "nconnect=4", "soft", "vers="};
	static const char *const bad[] = {"vers",       "nolock=1",     "addr=10.0.0.1",
					  "source=x:/", "clientaddr=1", "",
					  "=",          "hard,soft"};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++)
		assert_true(mount_flag_is_nfs(good[i]));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(mount_flag_is_nfs(bad[i]));
}

static void an_exports_path_names_its_volume(void **state)
{
	struct arena arena;

	(void)state;
	arena_init(&arena, SIZE_MAX);
	char *source = nfs_source(&arena, "fd00::1", share_path(&arena, "tank/zcsi/a"));
	assert_int_equal(share_kind(source, "tank/zcsi/a"), SHARE_OF_VOLUME);
	assert_int_equal(share_kind(source, "other/a"), SHARE_OF_VOLUME);
	assert_int_equal(share_kind(source, "a"), SHARE_OF_VOLUME);
	assert_int_equal(share_kind(source, "tank/zcsi/b"), SHARE_OF_OTHER_VOLUME);
	assert_int_equal(share_kind(source, "zcsi/a/a2"), SHARE_OF_OTHER_VOLUME);
	assert_int_equal(share_kind("nas:/mnt/tank/zcsi/a", "a"), SHARE_FOREIGN);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sources_are_read_back),
		cmocka_unit_test(addresses_and_names_are_distinguished),
		cmocka_unit_test(an_nfs_flag_has_a_value_or_none),
		cmocka_unit_test(an_exports_path_names_its_volume),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
