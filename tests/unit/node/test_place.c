/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the place of a volume, as it is read from the pool.
 */
#include "node/move/place.h"

#include <string.h>

#include "node/zfs/zfs_run.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

#define LINEAGE "00112233aabbccdd"

static const char columns[] =
	"guid,written,clones,type,volmode,refreservation,receive_resume_token,"
	"encryptionroot,zcsi:epoch,zcsi:moving,zcsi:members";
static const char *printed; /* the columns that place_read() reads */

typeof(zfs_run_once) __wrap_zfs_run_once;

int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *err)
{
	(void)err;
	*ret_out = mem_strdup(zfs_table_output(&arena, zfs_table_asked(exec->argv),
					       zfs_table_lines(&arena, columns, printed)));
	return 0;
}

static bool parse(const char *text, struct place *ret)
{
	const struct zfs_table table = zfs_table_of(&arena, columns, text);

	return place_parse(&arena, "t/p/v", &table, ret);
}

/* A line of a snapshot: name, guid, bytes written, zcsi:moving. */
#define SNAPSHOT(leaf, guid, written, moving)                                                      \
	"t/p/v@" leaf "\t" guid "\t" written "\t\tsnapshot\tnone\t-\t-\t-\t4\t" moving "\t-\n"
#define DATASET(written, epoch, moving)                                                            \
	"t/p/v\t1\t" written FILESYSTEM "-\t-\t" epoch "\t" moving "\t" LINEAGE ":300:n1,n2\n"
/* The columns of a filesystem from `clones` to `refreservation`. */
#define FILESYSTEM "\t-\tfilesystem\tdefault\t0\t"

static void keys_tokens_and_children_are_seen(void **state)
{
	struct place place;

	(void)state;
	assert_true(parse("t/p/v\t1\t0" FILESYSTEM "1-abc\tt/p/v\t-\t-\t-\n"
			  "t/p/v/child\t2\t0" FILESYSTEM "-\tt/p/v\t-\t-\t-\n",
			  &place));
	assert_true(place.token && place.encrypted && !place.foreign_key);
	assert_int_equal(place.children, 1);
	assert_int_equal(place.epoch, 0);
	assert_true(parse("t/p/v\t1\t0" FILESYSTEM "-\tt/p\t-\t-\t-\n", &place));
	assert_true(!place.token && place.foreign_key && !place.children);
}

static void the_device_is_hidden_by_volmode_and_only_a_zvol_has_one(void **state)
{
	static const struct {
		const char *columns;
		enum place_device device;
		bool reserved;
	} rows[] = {
		{"filesystem\tdefault\t0", DEVICE_NONE, false},
		{"filesystem\tnone\t1048576", DEVICE_NONE, true},
		{"volume\tdefault\t0", DEVICE_SHOWN, false},
		{"volume\tdev\t34603008", DEVICE_SHOWN, true},
		{"volume\tnone\t34603008", DEVICE_HIDDEN, true},
	};
	struct place place;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_true(parse(arena_printf(&arena, "t/p/v\t1\t0\t-\t%s\t-\t-\t-\t-\t-\n",
					       rows[i].columns),
				  &place));
		assert_int_equal(place.device, rows[i].device);
		assert_int_equal(place.reserved, rows[i].reserved);
	}
}

static void other_outputs_are_no_place(void **state)
{
	static const char *const texts[] = {"", "cannot open\n",
					    "t/p/v\t1\t0" FILESYSTEM "-\t-\t-\t-\tforged\n",
					    SNAPSHOT("a", "1", "1", "-")};
	struct place place;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_false(parse(texts[i], &place));
}

/* A value of a snapshot or of another volume looks like lines of a snapshot with a record. */
static void a_value_with_a_line_break_is_no_record_of_a_move(void **state)
{
#define FORGED "n3:5\\nt/p/v@z\\tguid\\t99\\t-\\nt/p/v@z\\tzcsi:moving\\tn2:5"
	struct place place;
	struct error err;

	(void)state;
	printed = DATASET("0", "4", "-") SNAPSHOT("a", "11", "10", "-");
	assert_int_equal(place_read(&arena, "t/p", "v", &place, &err), 0);
	assert_true(place.role == PLACE_PRIMARY && place.n == 1 && !place_marked(&place));
	printed = DATASET("0", "4", "-") SNAPSHOT("a", "11", "10", FORGED);
	assert_int_equal(place_read(&arena, "t/p", "v", &place, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "'t/p/v@a'"));
	assert_int_equal(place.role, PLACE_PRIMARY);
	printed = DATASET("0", "4", FORGED) SNAPSHOT("a", "11", "10", "-");
	assert_int_equal(place_read(&arena, "t/p", "v", &place, &err), -1);
	assert_non_null(strstr(err.text, "'t/p/v'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_tokens_and_children_are_seen),
		cmocka_unit_test(the_device_is_hidden_by_volmode_and_only_a_zvol_has_one),
		cmocka_unit_test(other_outputs_are_no_place),
		cmocka_unit_test(a_value_with_a_line_break_is_no_record_of_a_move),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
