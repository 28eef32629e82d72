/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the parser of `zfs get`: which datasets and snapshots are recognised as zcsi's.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "node/record/listing.h"
#include "node/record/volume_parse.h"
#include "tests/arena.h"
#include "tests/zfs_get.h"

static struct listing parse(const char *text)
{
	const char *properties = zfs_row_properties(&arena, MARKER, true);
	struct listing listing;

	assert_true(
		listing_parse(&arena, "t/p", properties, zfs_get_complete(&arena, text), &listing));
	return listing;
}

/* Datasets that are not volumes: zcsi:volume is inherited, the version is unknown, the name does
 * not match, it is a zvol without a format, or it is one level too deep. */
static const char *const foreign = "t/p/i\ttype\tfilesystem\t-\n"
				   "t/p/i\tzcsi:version\t1\tlocal\n"
				   "t/p/i\tzcsi:volume\ti\tinherited from t/p\n"
				   "t/p/w\ttype\tfilesystem\t-\n"
				   "t/p/w\tzcsi:version\t2\tlocal\n"
				   "t/p/w\tzcsi:volume\tw\tlocal\n"
				   "t/p/n\ttype\tfilesystem\t-\n"
				   "t/p/n\tzcsi:version\t1\tlocal\n"
				   "t/p/n\tzcsi:volume\tm\tlocal\n"
				   "t/p/z\ttype\tvolume\t-\n"
				   "t/p/z\tzcsi:version\t1\tlocal\n"
				   "t/p/z\tzcsi:volume\tz\tlocal\n"
				   "t/p/b/c\ttype\tfilesystem\t-\n"
				   "t/p/b/c\tzcsi:version\t1\tlocal\n"
				   "t/p/b/c\tzcsi:volume\tc\tlocal\n";

static void only_zcsis_datasets_are_volumes(void **state)
{
	struct listing listing = parse(arena_printf(&arena, "%s%s",
						    "t/p\ttype\tfilesystem\t-\n"
						    "t/p\tavailable\t1000\t-\n"
						    "t/p\tzcsi:volume\t-\t-\n"
						    "t/p/b\ttype\tfilesystem\t-\n"
						    "t/p/b\tguid\t18446744073709551615\t-\n"
						    "t/p/b\trefquota\t20971520\tlocal\n"
						    "t/p/b\trefreservation\t7\tlocal\n"
						    "t/p/b\tavailable\t7\t-\n"
						    "t/p/b\tzcsi:version\t1\tlocal\n"
						    "t/p/b\tzcsi:parameters\ta_3Db\tlocal\n"
						    "t/p/b\tzcsi:published\tn:1:rw\tlocal\n"
						    "t/p/b\tzcsi:source\tvolume_3Ac\tlocal\n"
						    "t/p/b\tzcsi:root\t1::0700\tlocal\n"
						    "t/p/b\tzcsi:volume\tb\tlocal\n"
						    "t/p/_2E._2Fa\ttype\tfilesystem\t-\n"
						    "t/p/_2E._2Fa\tzcsi:version\t1\tlocal\n"
						    "t/p/_2E._2Fa\tzcsi:published\t-\tlocal\n"
						    "t/p/_2E._2Fa\tzcsi:volume\t_2E._2Fa\tlocal\n",
						    foreign));
	const struct dataset *b = listing.datasets[0];

	(void)state;
	assert_int_equal(listing.n_datasets, 2);
	assert_true(listing.parent);
	assert_int_equal(listing.available, 1000);
	assert_string_equal(b->id, "b");
	assert_string_equal(b->name, "t/p/b");
	assert_string_equal(b->parameters, "a=b");
	assert_string_equal(b->published, "n:1:rw");
	assert_string_equal(b->source, "volume:c");
	assert_string_equal(b->root, "1::0700");
	assert_true(b->guid == UINT64_MAX);
	assert_int_equal(b->size, 20971520);
	assert_int_equal(b->reserved, 7);
	assert_string_equal(listing.datasets[1]->id, "../a");
	assert_string_equal(listing.datasets[1]->published, "");
}

#define ZVOL(name, id, more)                                                                       \
	name "\ttype\tvolume\t-\n" name "\tvolsize\t1048576\tlocal\n" name                         \
	     "\trefquota\t-\t-\n" name "\tzcsi:version\t1\tlocal\n" name "\tzcsi:volume\t" id      \
	     "\tlocal\n" more

/* A zvol is a volume only if zcsi:format is a known format and set locally. */
static void only_zvols_with_a_known_format_are_volumes(void **state)
{
	struct listing listing = parse(
		ZVOL("t/p/a", "a", "t/p/a\tzcsi:format\tblock\tlocal\n") ZVOL(
			"t/p/b", "b",
			"t/p/b\tzcsi:format\text4\tlocal\n"
			"t/p/b\tzcsi:formatted\text4\tlocal\n"
			"t/p/b\tzcsi:staged\tb-1\tlocal\n") ZVOL("t/p/c", "c", "")
			ZVOL("t/p/d", "d", "t/p/d\tzcsi:format\tzfs\tlocal\n")
				ZVOL("t/p/e", "e", "t/p/e\tzcsi:format\txfs\tinherited from t/p\n")
					ZVOL("t/p/f", "f", "t/p/f\tzcsi:format\tntfs\tlocal\n"));

	(void)state;
	assert_int_equal(listing.n_datasets, 2);
	assert_int_equal(listing.n_others, 4);
	assert_string_equal(listing.datasets[0]->format->name, "block");
	assert_false(listing.datasets[0]->formatted);
	assert_int_equal(listing.datasets[0]->size, 1 << 20);
	assert_string_equal(listing.datasets[1]->format->name, "ext4");
	assert_true(listing.datasets[1]->formatted);
	assert_string_equal(listing.datasets[0]->staged, "");
	assert_string_equal(listing.datasets[1]->staged, "b-1");
}

#define VOLUME(name, id, guid)                                                                     \
	name "\ttype\tfilesystem\t-\n" name "\tguid\t" guid "\t-\n" name                           \
	     "\tzcsi:version\t1\tlocal\n" name "\tzcsi:volume\t" id "\tlocal\n"

/* A snapshot inherits zcsi:volume and zcsi:version from its volume. */
#define SNAPSHOT(of, leaf, id, more)                                                               \
	of "@" leaf "\ttype\tsnapshot\t-\n" of "@" leaf "\tzcsi:volume\t" id                       \
	   "\tinherited from " of "\n" more
#define LINE(name, property, value, source) name "\t" property "\t" value "\t" source "\n"

/* The encryption roots are: the volume itself, the source of a clone, the parent, a dataset above
 * the parent, and none. */
static void volumes_with_a_key_below_the_parent_have_a_key(void **state)
{
	struct listing listing = parse(
		VOLUME("t/p/a", "a", "1") LINE("t/p/a", "encryptionroot", "t/p/a", "-") SNAPSHOT(
			"t/p/a", "s", "a", LINE("t/p/a@s", "encryptionroot", "t/p/a", "-"))
			VOLUME("t/p/b", "b", "2") LINE("t/p/b", "encryptionroot", "t/p/_trash/a-1",
						       "-") VOLUME("t/p/c", "c", "3")
				LINE("t/p/c", "encryptionroot", "t/p", "-") VOLUME(
					"t/p/d", "d", "4") LINE("t/p/d", "encryptionroot", "t", "-")
					VOLUME("t/p/e", "e", "5")
						LINE("t/p/e", "encryptionroot", "-", "-"));

	(void)state;
	assert_int_equal(listing.n_datasets, 5);
	for (size_t i = 0; i < listing.n_datasets; i++)
		assert_int_equal(listing.datasets[i]->has_key, i < 2);
	assert_true(listing.snapshots[0]->has_key);
}

static void only_csis_snapshots_have_a_name(void **state)
{
	struct listing listing = parse(
		VOLUME("t/p/a", "a", "11")
			SNAPSHOT("t/p/a", "s_201", "a",
				 LINE("t/p/a@s_201", "zcsi:version", "1", "local")
					 LINE("t/p/a@s_201", "zcsi:snapshot", "s_201", "local")
						 LINE("t/p/a@s_201", "zcsi:size", "4096", "local"))
				SNAPSHOT("t/p/a", "g_g", "a",
					 LINE("t/p/a@g_g", "zcsi:version", "1", "local") LINE(
						 "t/p/a@g_g", "zcsi:snapshot", "g", "local")
						 LINE("t/p/a@g_g", "zcsi:group", "g", "local"))
		/* snapshots: made by another tool; renamed by hand; with an inherited name */
		SNAPSHOT("t/p/a", "daily", "a", "") SNAPSHOT(
			"t/p/a", "renamed", "a",
			LINE("t/p/a@renamed", "zcsi:version", "1", "local")
				LINE("t/p/a@renamed", "zcsi:snapshot", "s", "local"))
			SNAPSHOT("t/p/a", "heir", "a",
				 LINE("t/p/a@heir", "zcsi:version", "1", "inherited from t/p/a")
					 LINE("t/p/a@heir", "zcsi:snapshot", "heir",
					      "inherited from t/p/a")));
	static const char *const ids[] = {"a@s_201", "a@g_g", "a@daily", "a@renamed", "a@heir"};
	static const char *const names[] = {"s 1", "g", "", "", ""};

	(void)state;
	assert_int_equal(listing.n_snapshots, COUNT(ids));
	assert_int_equal(listing.datasets[0]->snapshots, COUNT(ids));
	for (size_t i = 0; i < COUNT(ids); i++) {
		assert_string_equal(listing.snapshots[i]->id, ids[i]);
		assert_string_equal(listing.snapshots[i]->dataset_id, "a");
		assert_string_equal(listing.snapshots[i]->group, i == 1 ? "g" : "");
		assert_string_equal(listing.snapshots[i]->name, names[i]);
	}
	assert_int_equal(listing.snapshots[0]->size, 4096);
}

static void hidden_snapshots_are_counted_but_not_listed(void **state)
{
	struct listing listing = parse(
		VOLUME("t/p/a", "a", "11") SNAPSHOT("t/p/a", "going", "a",
						    LINE("t/p/a@going", "defer_destroy", "on", "-"))
			SNAPSHOT("t/p/a", "_clone-x", "a",
				 LINE("t/p/a@_clone-x", "defer_destroy", "off", "-"))
				SNAPSHOT("t/p/a", "_clone-y", "a",
					 LINE("t/p/a@_clone-y", "defer_destroy", "on", "-"))
		/* snapshots of a dataset that is not a volume */
		SNAPSHOT("t/p/a/child", "s", "a", "")
			LINE("t/p/o@s", "zcsi:volume", "o", "inherited from t/p"));

	(void)state;
	assert_int_equal(listing.n_snapshots, 0);
	assert_int_equal(listing.datasets[0]->snapshots, 3);
	assert_int_equal(listing.n_origins, 1);
	assert_string_equal(listing.origins[0], "t/p/a@_clone-x");
}

static void deleted_volumes_are_recognised_by_their_names(void **state)
{
	struct listing listing =
		parse(VOLUME("t/p/_trash", "_trash", "1") VOLUME("t/p/_trash/a-11", "a", "11")
			      SNAPSHOT("t/p/_trash/a-11", "daily", "a", "")
				      VOLUME("t/p/_trash/a-12", "a", "13"));

	(void)state;
	assert_int_equal(listing.n_datasets, 0);
	assert_int_equal(listing.n_trashed, 1);
	assert_string_equal(listing.trashed[0]->id, "a");
	assert_int_equal(listing.trashed[0]->snapshots, 1);
	assert_int_equal(listing.n_snapshots, 1);
	assert_string_equal(listing.snapshots[0]->id, "a@daily");
	assert_string_equal(listing.snapshots[0]->zfs_name, "t/p/_trash/a-11@daily");
}

/* The volumes: before and after the rename of the dataset, one whose dataset has neither name, and
 * one in the trash. */
static void the_name_of_the_dataset_decides_which_of_two_ids_counts(void **state)
{
	struct listing listing = parse(
		VOLUME("t/p/a", "a,b_20", "11") SNAPSHOT("t/p/a", "s", "a,b_20", "")
			VOLUME("t/p/d_20", "c,d_20", "12") SNAPSHOT("t/p/d_20", "s", "c,d_20", "")
				VOLUME("t/p/x", "e,f", "13") VOLUME("t/p/y", "y,", "14")
					VOLUME("t/p/_trash/g-15", "g,h", "15"));
	static const char *const ids[] = {"a", "d ", "y"};

	(void)state;
	assert_int_equal(listing.n_datasets, COUNT(ids));
	for (size_t i = 0; i < COUNT(ids); i++) {
		assert_string_equal(listing.datasets[i]->id, ids[i]);
		assert_true(listing.datasets[i]->renaming);
	}
	assert_int_equal(listing.n_snapshots, 2);
	assert_string_equal(listing.snapshots[0]->id, "a@s");
	assert_string_equal(listing.snapshots[1]->id, "d @s");
	assert_string_equal(listing.snapshots[1]->dataset_id, "d ");
	assert_string_equal(listing.trashed[0]->id, "g");
	assert_string_equal(volume_ids(&arena, "c", "d "), "c,d_20");
}

static void a_deleted_volume_has_a_date_and_perhaps_a_time_to_keep_it(void **state)
{
	struct listing listing = parse(VOLUME("t/p/_trash/a-11", "a", "11")
					       LINE("t/p/_trash/a-11", "zcsi:deleted", "1700000000",
						    "local") VOLUME("t/p/_trash/a-12", "a", "12")
						       LINE("t/p/_trash/a-12", "zcsi:deleted",
							    "1700000000+2592000", "local"));

	(void)state;
	assert_int_equal(listing.n_trashed, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(listing.trashed[i]->deleted, 1700000000);
	assert_int_equal(listing.trashed[0]->keep, 0);
	assert_int_equal(listing.trashed[1]->keep, 2592000);
}

/* A reservation of the parent is available to the parent alone. */
static void the_available_space_is_that_of_a_volume(void **state)
{
	struct listing listing =
		parse(LINE("t/p", "type", "filesystem", "-") LINE("t/p", "available", "5000", "-")
			      LINE("t/p", "refreservation", "3000", "local"));

	(void)state;
	assert_int_equal(listing.available, 2000);
	assert_int_equal(listing.capacity, 0);
}

/* The trash is not emptied early because of a capacity that is unknown. */
static void the_capacity_is_what_is_used_and_available(void **state)
{
	struct listing known =
		parse(LINE("t/p", "type", "filesystem", "-") LINE("t/p", "available", "5000", "-")
			      LINE("t/p", "used", "7000", "-")
				      LINE("t/p", "refreservation", "3000", "local"));
	struct listing unknown =
		parse(LINE("t/p", "type", "filesystem", "-") LINE("t/p", "available", "5000", "-")
			      LINE("t/p", "used", "-", "-"));

	(void)state;
	assert_int_equal(known.capacity, 9000);
	assert_int_equal(unknown.capacity, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_zcsis_datasets_are_volumes),
		cmocka_unit_test(volumes_with_a_key_below_the_parent_have_a_key),
		cmocka_unit_test(only_zvols_with_a_known_format_are_volumes),
		cmocka_unit_test(only_csis_snapshots_have_a_name),
		cmocka_unit_test(hidden_snapshots_are_counted_but_not_listed),
		cmocka_unit_test(deleted_volumes_are_recognised_by_their_names),
		cmocka_unit_test(a_deleted_volume_has_a_date_and_perhaps_a_time_to_keep_it),
		cmocka_unit_test(the_name_of_the_dataset_decides_which_of_two_ids_counts),
		cmocka_unit_test(the_available_space_is_that_of_a_volume),
		cmocka_unit_test(the_capacity_is_what_is_used_and_available),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
