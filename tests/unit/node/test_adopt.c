/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of AdoptDataset of a dataset of another driver, with a scripted zfs that has one dataset:
 * what it is as a volume, that a refused one stays as it was, and that a call which is repeated
 * after zcsi-node was killed, before or after any command, ends as an undisturbed one.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "node/agent/promise.h"
#include "node/agent/trash.h"
#include "node/attach/device.h"
#include "node/attach/probe.h"
#include "node/attach/unused.h"
#include "node/create/made.h"
#include "node/host/size_limits.h"
#include "node/record/volume_parse.h"
#include "node/service.h"
#include "node/zfs/zfs_run.h"
#include "tests/cmocka.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

#define NEVER      (-1)
#define FILESYSTEM "type\tfilesystem\nguid\t7\ncreation\t100\nquota\t1048576\n"
#define ZVOL       "type\tvolume\nguid\t7\nvolsize\t1048576\n"

static struct node node = {.id = "n1"};
static struct rpc_call call = {.app = &node, .arena = {.cap = SIZE_MAX}};
static struct error err;

/* The dataset: its name and its properties, as lines "property\tvalue". */
static struct {
	char name[64], lines[2048];
} pool;

static bool kernel;     /* the ZFS of the kernel: one `zfs set` sets several properties */
static int commands;    /* how many commands have changed anything */
static int dies_at;     /* the command at which zcsi-node is killed; NEVER */
static bool dies_after; /* zcsi-node is killed after that command, not before */
static bool dead;
static const char *content; /* the format on the device of the zvol */
static const char *used;    /* why the dataset is in use; NULL: it is not */
static struct dataset put;  /* the volume that the catalog got last */

/* The scripted zfs */

static char *find(const char *property)
{
	const char *line = arena_printf(&call.arena, "\n%s\t", property);
	const char *whole = arena_printf(&call.arena, "\n%s", pool.lines);
	const char *found = strstr(whole, line);

	return found ? pool.lines + (found - whole) : NULL;
}

static const char *value_of(const char *property)
{
	const char *at = find(property);

	if (!at)
		return "-";
	at += strlen(property) + 1;
	return arena_printf(&call.arena, "%.*s", (int)strcspn(at, "\n"), at);
}

static void set(const char *assignment)
{
	size_t before = strcspn(assignment, "=");
	const char *name = arena_printf(&call.arena, "%.*s", (int)before, assignment);
	char *at = find(name);

	if (at) {
		size_t length = strcspn(at, "\n") + 1;
		memmove(at, at + length, strlen(at + length) + 1);
	}
	size_t end = strlen(pool.lines);
	snprintf(pool.lines + end, sizeof(pool.lines) - end, "%s\t%s\n", name,
		 assignment + before + 1);
}

/* Returns the lines with the name of the dataset before each, for scripted_table.c. */
static const char *named_lines(void)
{
	char *rest = arena_strdup(&call.arena, pool.lines), *line;
	const char *all = "";

	while ((line = strsep(&rest, "\n")) && *line)
		all = arena_printf(&call.arena, "%s%s\t%s\n", all, pool.name, line);
	return all;
}

typeof(zfs_is_the_kernels) __wrap_zfs_is_the_kernels;

bool __wrap_zfs_is_the_kernels(void)
{
	return kernel;
}

static const char *last_of(const char *const *argv)
{
	while (argv[1])
		argv++;
	return *argv;
}

typeof(zfs_run_once) __wrap_zfs_run_once;

int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *ret_err)
{
	const char *const *argv = exec->argv;
	const char *name = last_of(argv);

	if (dead)
		return fail(ret_err, ERR_UNAVAILABLE, "zcsi-node was killed");
	if (strcmp(name, pool.name) != 0)
		return fail(ret_err, ERR_NOT_FOUND, "dataset does not exist");
	if (!strcmp(argv[1], "list"))
		*ret_out = mem_strdup(arena_printf(&call.arena, "%s\n%s@a\n", name, name));
	else if (!strcmp(argv[4], "value"))
		*ret_out = mem_strdup(arena_printf(&call.arena, "%s\n", value_of(argv[5])));
	else
		*ret_out = mem_strdup(zfs_table_reply(&call.arena, argv, named_lines()));
	return 0;
}

static void carry_out(const char *const *argv)
{
	if (!strcmp(argv[1], "rename"))
		snprintf(pool.name, sizeof(pool.name), "%s", argv[3]);
	else
		for (const char *const *word = argv + 2; *word && word[1]; word++)
			set(*word);
}

typeof(zfs_run) __wrap_zfs_run;

int __wrap_zfs_run(const char *const *argv, struct error *ret_err)
{
	bool dies = commands == dies_at;

	if (!dead && (!dies || dies_after)) {
		assert_string_equal(argv[1][0] == 'r' ? argv[2] : last_of(argv), pool.name);
		carry_out(argv);
		commands++;
	}
	dead |= dies;
	return dead ? fail(ret_err, ERR_UNAVAILABLE, "zcsi-node was killed") : 0;
}

/* Other modules */

static const struct dataset *volume(void)
{
	static struct dataset found;
	const char *id = value_of("zcsi:volume");
	bool ends = !strcmp(id, "v,v");

	found = (struct dataset){.id = (char *)"v",
				 .name = pool.name,
				 .guid = 7,
				 .format = format_find(FORMAT_ZFS),
				 .renaming = ends};
	return !strcmp(pool.name, "t/p/v") && !strcmp(value_of("zcsi:version"), "1") &&
			       (ends || !strcmp(id, "v"))
		       ? &found
		       : NULL;
}

typeof(node_find) __wrap_node_find;

int __wrap_node_find(struct rpc_call *with, const char *id, struct dataset **ret,
		     struct error *ret_err)
{
	(void)with, (void)id;
	*ret = (struct dataset *)volume();
	return *ret ? 0 : fail(ret_err, ERR_NOT_FOUND, "there is no such volume");
}

typeof(promise_begin) __wrap_promise_begin;

int __wrap_promise_begin(struct rpc_call *with, const char *key, uint64_t claim,
			 struct error *ret_err)
{
	(void)with, (void)key, (void)claim, (void)ret_err;
	return 0;
}

typeof(promise_end) __wrap_promise_end;

void __wrap_promise_end(struct rpc_call *with, const char *key, uint64_t claim)
{
	(void)with, (void)key, (void)claim;
}

typeof(size_limits_begin) __wrap_size_limits_begin;

int __wrap_size_limits_begin(struct rpc_call *with, struct pledge *pledge, struct error *ret_err)
{
	(void)with, (void)pledge, (void)ret_err;
	return 0;
}

typeof(size_limits_end) __wrap_size_limits_end;

void __wrap_size_limits_end(struct rpc_call *with, struct pledge *pledge)
{
	(void)with, (void)pledge;
}

typeof(made_put) __wrap_made_put;

struct dataset *__wrap_made_put(struct rpc_call *with, const struct dataset *made)
{
	(void)with;
	put = *made;
	return &put;
}

typeof(made_unload_key) __wrap_made_unload_key;

void __wrap_made_unload_key(struct rpc_call *with, const struct dataset *dataset)
{
	(void)with, (void)dataset;
}

typeof(agent_dataset) __wrap_agent_dataset;

Dataset *__wrap_agent_dataset(struct rpc_call *with, const struct dataset *dataset)
{
	(void)with, (void)dataset;
	return NULL;
}

typeof(trash_lock) __wrap_trash_lock;

int __wrap_trash_lock(struct rpc_call *with, const struct dataset *dataset, int *ret_turn,
		      struct error *ret_err)
{
	(void)with, (void)dataset, (void)ret_turn, (void)ret_err;
	return 0;
}

typeof(unused_check) __wrap_unused_check;

int __wrap_unused_check(struct arena *arena, const struct dataset *dataset, struct error *ret_err)
{
	(void)arena, (void)dataset;
	return used ? fail(ret_err, ERR_FAILED_PRECONDITION, "%s", used) : 0;
}

typeof(device_open) __wrap_device_open;

int __wrap_device_open(const char *dataset, int flags, int64_t deadline, struct error *ret_err)
{
	(void)deadline, (void)ret_err;
	assert_string_equal(dataset, pool.name);
	assert_int_equal(flags, O_EXCL);
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

typeof(probe_read) __wrap_probe_read;

int __wrap_probe_read(int device, struct probe *ret, struct error *ret_err)
{
	(void)device, (void)ret_err;
	*ret = (struct probe){.type = ""};
	strcpy(ret->type, content);
	return 0;
}

/* The tests */

static void make(const char *name, const char *lines)
{
	snprintf(pool.name, sizeof(pool.name), "%s", name);
	snprintf(pool.lines, sizeof(pool.lines), "%sdemocratic-csi:x\ty\n", lines);
	commands = 0;
	dies_at = NEVER;
	dead = false;
}

static int begin(void **state)
{
	(void)state;
	node.catalog = catalog_new("t/p", 0);
	kernel = false;
	content = "ext4";
	used = NULL;
	return 0;
}

static int end(void **state)
{
	(void)state;
	catalog_free(node.catalog);
	arena_fini(&call.arena);
	arena_init(&call.arena, SIZE_MAX);
	return 0;
}

static int adopt(const char *format)
{
	AdoptDatasetRequest *request = new_adopt_dataset_request(&call.arena);
	AdoptDatasetResponse *response = new_adopt_dataset_response(&call.arena);

	request->id = (char *)"v";
	request->claim = 1;
	request->guid = 7;
	request->dataset = (char *)"t/csi/v";
	request->format = (char *)format;
	if (!strcmp(pool.name, "t/p/v"))
		request->dataset = pool.name;
	return adopt_dataset(&call, request, response, &err);
}

static void assert_property(const char *name, const char *expected)
{
	assert_string_equal(value_of(name), expected);
}

static void a_filesystem_becomes_a_volume(void **state)
{
	(void)state;
	make("t/csi/v", FILESYSTEM "reservation\t5\ncanmount\ton\n");
	assert_int_equal(adopt(""), 0);
	assert_string_equal(pool.name, "t/p/v");
	assert_non_null(volume());
	assert_property("zcsi:volume", "v");
	assert_property("canmount", "noauto");
	assert_property("refquota", "1048576");
	assert_property("quota", "none");
	assert_property("refreservation", "1048576");
	assert_property("reservation", "none");
	assert_property("democratic-csi:x", "y");
	assert_int_equal(put.size, 1048576);
	assert_int_equal(put.reserved, 1048576);
	assert_int_equal(put.snapshots, 1);
	assert_true(put.was_used);
	assert_false(put.renaming);
}

static void a_zvol_gets_the_format_that_is_on_it(void **state)
{
	(void)state;
	kernel = true;
	make("t/csi/v", ZVOL "refreservation\t99\n");
	assert_int_equal(adopt(""), 0);
	assert_property("zcsi:format", "ext4");
	assert_property("zcsi:formatted", "ext4");
	assert_property("refreservation", "99");
	assert_true(put.formatted);
	assert_int_equal(put.reserved, 99);
	make("t/csi/v", ZVOL "reservation\t99\n");
	content = "dos";
	assert_int_equal(adopt("block"), 0);
	assert_property("zcsi:format", "block");
	assert_property("zcsi:formatted", "-");
	assert_property("refreservation", "auto");
	assert_property("reservation", "none");
	/* A clone keeps its origin, and gets a UUID of its own when it is staged first. */
	make("t/csi/v", ZVOL "origin\tt/csi/w@a\n");
	content = "xfs";
	assert_int_equal(adopt(""), 0);
	assert_property("zcsi:format", "xfs");
	assert_property("zcsi:formatted", "-");
}

static void assert_refused(const char *name, const char *lines, const char *format,
			   const char *expected)
{
	make(name, lines);
	assert_int_equal(adopt(format), -1);
	assert_non_null(strstr(err.text, expected));
	assert_int_equal(commands, 0);
}

static void a_refused_dataset_stays_as_it_was(void **state)
{
	(void)state;
	assert_refused("t/csi/w", FILESYSTEM, "", "there is no 't/csi/v': see 'zfs list'");
	assert_refused("t/csi/v", FILESYSTEM, "ext4", "cannot have the format ext4");
	assert_refused("t/csi/v", FILESYSTEM, "none", "format of volume 'v' is 'none'");
	assert_refused("t/csi/v", FILESYSTEM "sharenfs\ton\n", "",
		       "'zfs inherit sharenfs t/csi/v'");
	used = "it is mounted at '/mnt'";
	assert_refused("t/csi/v", FILESYSTEM, "",
		       "mounted at '/mnt', or run 'zfs unmount t/csi/v'");
	used = NULL;
	kernel = true;
	assert_refused("t/csi/v", ZVOL "keystatus\tunavailable\nencryptionroot\tt/csi/v\n", "",
		       "'zfs load-key t/csi/v'");
	content = "xfs";
	assert_refused("t/csi/v", ZVOL, "ext4", "its device contains 'xfs'");
}

/* The volume of another zcsi-node has the same id, and all properties of an adoption. */
static void a_volume_of_zcsi_is_not_taken_for_an_interrupted_adoption(void **state)
{
	(void)state;
	assert_refused("t/csi/v", FILESYSTEM "zcsi:version\t1\nzcsi:volume\tv\n", "",
		       "zcsi:version,zcsi:volume, so it is or was a volume of zcsi");
}

/* Kill zcsi-node at each command, and repeat the call. Returns how many commands there are. */
static int assert_repeatable(const char *name, const char *lines)
{
	make(name, lines);
	assert_int_equal(adopt(""), 0);
	const char *expected = arena_strdup(&call.arena, pool.lines);
	const int total = commands;

	for (int number = 0; number < 2 * total; number++) {
		make(name, lines);
		dies_at = number / 2;
		dies_after = number % 2;
		/* The last command only removes the second id, and may be missing. */
		assert_int_equal(adopt(""), dies_at < total - 1 ? -1 : 0);
		dies_at = NEVER;
		dead = false;
		assert_int_equal(adopt(""), 0);
		if (volume()->renaming)
			assert_int_equal(agent_end_rename(&call.arena, volume(), &err), 0);
		assert_string_equal(pool.name, "t/p/v");
		for (char *at = arena_strdup(&call.arena, expected), *line;
		     (line = strsep(&at, "\n")) && *line;)
			assert_non_null(strstr(pool.lines, line));
		assert_int_equal(strlen(pool.lines), strlen(expected));
	}
	return total;
}

static void a_call_that_is_repeated_after_a_kill_goes_on(void **state)
{
	const char *lines = FILESYSTEM "reservation\t5\n";

	(void)state;
	/* canmount; the id, three native properties and two without those of the driver, and two of
	 * zcsi; the rename; the end. */
	assert_int_equal(assert_repeatable("t/csi/v", lines), 1 + 9 + 2);
	assert_int_equal(assert_repeatable("t/p/v", lines), 1 + 9 + 1);
	kernel = true;
	assert_int_equal(assert_repeatable("t/csi/v", lines), 4);
	assert_int_equal(assert_repeatable("t/csi/v", ZVOL), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_filesystem_becomes_a_volume, begin, end),
		cmocka_unit_test_setup_teardown(a_zvol_gets_the_format_that_is_on_it, begin, end),
		cmocka_unit_test_setup_teardown(a_refused_dataset_stays_as_it_was, begin, end),
		cmocka_unit_test_setup_teardown(
			a_volume_of_zcsi_is_not_taken_for_an_interrupted_adoption, begin, end),
		cmocka_unit_test_setup_teardown(a_call_that_is_repeated_after_a_kill_goes_on, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
