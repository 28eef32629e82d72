/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the properties that a dataset takes over: those of a volume that is rolled back,
 * detached or copied, and those of its snapshots. A value with a line break sets no property.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "node/change/detach.h"
#include "node/change/detach_run.h"
#include "node/change/properties.h"
#include "node/copy/header.h"
#include "node/copy/history.h"
#include "node/zfs/zfs_run.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

#define TEXT(text) ((char *)(text))
/* A value that looks like the line of a property in each of the formats of zfs. */
#define FORGED(name)                                                                               \
	"x\\nsetuid\ton\\nlocal\tsetuid\ton\\n" name "\tsetuid\ton\tlocal\\n" name                 \
	"\tzcsi:snapshot\tghost"

static struct rpc_call call = {.arena = {.cap = SIZE_MAX}};
static const char *printed; /* lines "name\tproperty\tvalue" */
static const char *set;     /* properties set on snapshots, with a space after each */
static struct error err;
static unsigned programs; /* how many were run */
static bool unreadable;   /* all but the first one fail */

typeof(zfs_run_once) __wrap_zfs_run_once;

int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *ret_err)
{
	programs++;
	if (programs > 1 && unreadable)
		return fail(ret_err, ERR_UNAVAILABLE, "a zfs is hung");
	*ret_out = mem_strdup(zfs_table_reply(&call.arena, exec->argv, printed));
	return 0;
}

typeof(history_read) __wrap_history_read;

/* Both sides have the same snapshot, so nothing is sent. */
int __wrap_history_read(struct arena *at, const char *name, struct history *ret,
			struct error *ret_err)
{
	(void)ret_err;
	*ret = (struct history){.n = 1};
	ret->points = arena_alloc(at, sizeof(*ret->points));
	ret->points[0].name = arena_printf(at, "%s@a", name);
	ret->points[0].guid = 7;
	return 0;
}

typeof(zfs_set) __wrap_zfs_set;

int __wrap_zfs_set(const char *name, const struct zfs_properties *properties, struct error *ret_err)
{
	(void)ret_err;
	for (size_t i = 0; i < properties->n; i++)
		set = arena_printf(&call.arena, "%s%s:%s=%s ", set, name, properties->rows[i].name,
				   properties->rows[i].value);
	return 0;
}

static int end(void **state)
{
	(void)state;
	arena_fini(&call.arena);
	arena_init(&call.arena, SIZE_MAX);
	return 0;
}

static void a_dataset_takes_over_what_is_set(void **state)
{
	struct zfs_properties properties = {.n = 0};

	(void)state;
	printed = "t/p/v\tcompression\tlz4\nt/p/v\tzcsi:volume\tv\nt/p/v\tzcsi:staged\tx\n"
		  "t/p/v\ta:b\tone\ttwo\nt/p/v\ta:c\t^inherited\n";
	assert_int_equal(properties_read(&call.arena, "t/p/v", "zcsi:volume", &properties, &err),
			 0);
	assert_int_equal(properties.n, 2);
	assert_string_equal(properties.rows[0].value, "lz4");
	assert_string_equal(properties.rows[1].value, "one\ttwo");
	printed = "";
}

static void a_value_with_a_line_break_is_taken_over_by_no_dataset(void **state)
{
	struct zfs_properties properties = {.n = 0};

	(void)state;
	printed = "t/p/v\tcompression\tlz4\nt/p/v\ta:b\t" FORGED("t/p/v") "\n";
	assert_int_equal(properties_read(&call.arena, "t/p/v", NULL, &properties, &err), -1);
	assert_non_null(strstr(err.text, "'t/p/v'"));
	assert_int_equal(properties.n, 0);
}

static void a_copy_gets_what_is_set(void **state)
{
	ReceiveHeader *header = new_receive_header(&call.arena);
	const char *root;

	(void)state;
	printed = "t/p/v\tzcsi:epoch\t4\nt/p/v\tcompression\tlz4\nt/p/v\tatime\t^off\n";
	assert_int_equal(header_properties(&call.arena, "t/p/v", header, &root, &err), 0);
	assert_string_equal(root, "-");
	assert_int_equal(header->epoch, 4);
	assert_int_equal(header->n_properties, 1);
	assert_string_equal(header->properties[0]->value, "lz4");
}

static void a_value_with_a_line_break_goes_to_no_copy(void **state)
{
	ReceiveHeader *header = new_receive_header(&call.arena);
	const char *root;

	(void)state;
	printed = "t/p/v\tcompression\tlz4\nt/p/v\ta:b\t" FORGED("t/p/v") "\n";
	assert_int_equal(header_properties(&call.arena, "t/p/v", header, &root, &err), 0);
	assert_int_equal(header->n_properties, 1);
	assert_string_equal(header->properties[0]->name, "compression");
	printed = "t/p/v\tcompression\tlz4\nt/p/v\tzcsi:keep\t" FORGED("t/p/v") "\n";
	assert_int_equal(header_properties(&call.arena, "t/p/v", header, &root, &err), -1);
	assert_non_null(strstr(err.text, "'t/p/v'"));
}

/* Only a damaged value is a reason to read again, without the properties of other tools. */
static void an_error_is_not_asked_for_twice(void **state)
{
	ReceiveHeader *header = new_receive_header(&call.arena);
	const char *root;

	(void)state;
	printed = "t/p/v\tcompression\tlz4\nt/p/v\ta:b\tx\nt/p/v\tatime\ton\n";
	programs = 0;
	unreadable = true;
	assert_int_equal(header_properties(&call.arena, "t/p/v", header, &root, &err), -1);
	assert_string_equal(err.text, "a zfs is hung");
	assert_int_equal(programs, 2);
	unreadable = false;
	printed = "t/p/v\tcompression\tlz4\nt/p/v\ta:b\tx\\n\nt/p/v\tatime\ton\n";
	programs = 0;
	assert_int_equal(header_properties(&call.arena, "t/p/v", header, &root, &err), 0);
	assert_int_equal(header->n_properties, 2);
	assert_int_equal(programs, 3);
}

static int copy_records(void)
{
	struct dataset volume = {.name = TEXT("t/p/v")};
	struct detach detach = {
		.call = &call, .volume = &volume, .copy = "t/p/_detach/v", .copied = true};

	set = "";
	return detach_copy(&detach, &err);
}

static void a_snapshot_takes_over_its_own_properties(void **state)
{
	(void)state;
	printed = "t/p/v@a\tzcsi:snapshot\ta\nt/p/v@a\tvolsize\t4096\nt/p/v@b\tzcsi:snapshot\tb\n"
		  "t/p/v@b\tzcsi:volume\t^v\n";
	assert_int_equal(copy_records(), 0);
	assert_string_equal(set, "t/p/_detach/v@a:zcsi:snapshot=a "
				 "t/p/_detach/v@b:zcsi:snapshot=b ");
	printed = "t/p/v@a\tvolsize\t4096\n";
	assert_int_equal(copy_records(), 0);
	assert_string_equal(set, "");
}

static void a_value_with_a_line_break_sets_nothing_on_another_snapshot(void **state)
{
	(void)state;
	printed = "t/p/v@a\tzcsi:snapshot\t" FORGED("t/p/v@b") "\nt/p/v@b\tguid\t9\n";
	assert_int_equal(copy_records(), -1);
	assert_non_null(strstr(err.text, "'t/p/v@a'"));
	assert_string_equal(set, "");
}

/* The origin comes before the value that is set, and the next line would replace it. */
static void a_value_with_a_line_break_is_no_origin(void **state)
{
	char *origin, *mark;

	(void)state;
	printed = "t/p/v\torigin\tt/p/o@a\nt/p/v\tzcsi:detach\t7\n";
	assert_int_equal(detach_read(&call.arena, "t/p/v", &origin, &mark, &err), 0);
	assert_string_equal(origin, "t/p/o@a");
	assert_string_equal(mark, "7");
	printed = "t/p/v\torigin\tt/p/o@a\nt/p/v\tzcsi:detach\t7\\norigin\tt/p/other@a\tlocal\n";
	assert_int_equal(detach_read(&call.arena, "t/p/v", &origin, &mark, &err), -1);
	assert_non_null(strstr(err.text, "'t/p/v'"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, end)
	const struct CMUnitTest tests[] = {
		TEST(a_dataset_takes_over_what_is_set),
		TEST(a_value_with_a_line_break_is_taken_over_by_no_dataset),
		TEST(a_copy_gets_what_is_set),
		TEST(a_value_with_a_line_break_goes_to_no_copy),
		TEST(an_error_is_not_asked_for_twice),
		TEST(a_snapshot_takes_over_its_own_properties),
		TEST(a_value_with_a_line_break_sets_nothing_on_another_snapshot),
		TEST(a_value_with_a_line_break_is_no_origin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
